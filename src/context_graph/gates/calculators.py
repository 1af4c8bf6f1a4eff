"""Runs the processes behind dynamic requirements, each within a time limit."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress

from context_graph.git.repository import Repo, ask_git
from context_graph.wire.environment import kept_environment

_TRUNKS = ("main", "master")
_BASES = ("refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master")
_STACKED = ("refs/heads/feature/", "refs/heads/fix/")
_STACKED_MAX = 16
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_UNTRACKED_FILES = 2000
_UNTRACKED_BYTES = 1 << 20
_OUTPUT = 64 * 1024
_LIMITED = f'ulimit -d {1 << 20} 2>/dev/null; exec "$@"'
"""KiB of data, not of addresses: some runtimes reserve far more of these than they use."""
_NOT_RUN = (126, 127)
"""What a shell ends with where it finds no program."""


class CalculationError(Exception):
    """A dynamic requirement's number could not be computed; the text says why."""


def branch_size(repo: Repo, branch: str, until: float) -> float:
    """Return lines added and removed since the branch left its base, uncommitted and untracked ones included.

    The base is the nearest commit shared with main, master or another feature/* or fix/* branch. main and
    master themselves are not measured.

    Raises:
        CalculationError: If git fails or time is up.
    """
    if branch in _TRUNKS:
        return 0
    base = _base(repo, branch, until)
    out = _git(repo, ["diff", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", base], until)
    total = 0
    for line in out.splitlines():
        added, _, rest = line.partition(b"\t")
        removed = rest.partition(b"\t")[0]
        total += int(added) + int(removed) if added.isdigit() and removed.isdigit() else 0
    listed = _git(repo, ["ls-files", "--others", "--exclude-standard", "-z"], until)
    for name in listed.split(b"\0")[:_UNTRACKED_FILES]:
        if time.monotonic() > until:
            raise CalculationError("its time was up while counting untracked files")
        total += _lines(os.path.join(os.fsencode(repo.top), name)) if name else 0
    return total


def _base(repo: Repo, branch: str, until: float) -> str:
    """Return the commit to compare the branch with; the empty tree for a branch without commits."""
    if _git(repo, ["rev-parse", "-q", "--verify", "HEAD^{commit}"], until, fails=True) == b"":
        return _EMPTY_TREE
    args = ["for-each-ref", "--sort=-committerdate", "--format=%(refname) %(objectname)", *_BASES, *_STACKED]
    refs = [line.split() for line in _git(repo, args, until).decode("utf-8", "replace").splitlines()]
    own = "refs/heads/" + branch
    names = {ref: commit for ref, commit in refs if ref != own}
    stacked = [commit for ref, commit in names.items() if ref.startswith(_STACKED)][:_STACKED_MAX]
    trunks = [commit for ref, commit in names.items() if ref in _BASES]
    head = _git(repo, ["rev-parse", "HEAD"], until).strip().decode()
    shared = {_git(repo, ["merge-base", "HEAD", tip], until, fails=True).strip().decode() for tip in trunks}
    # A branch that holds all of this one (made at its tip, say) is no base: nothing would be left to count.
    shared |= {
        common
        for tip in stacked
        if (common := _git(repo, ["merge-base", "HEAD", tip], until, fails=True).strip().decode()) != head
    }
    shared.discard("")
    if not shared:
        return "HEAD"
    ahead = {
        base: int(_git(repo, ["rev-list", "--count", f"{base}..HEAD"], until) or b"0") for base in shared
    }
    return min(ahead, key=lambda commit: (ahead[commit], commit))


def _git(repo: Repo, args: list[str], until: float, *, fails: bool = False) -> bytes:
    left = until - time.monotonic()
    done = ask_git(repo, *args, timeout_s=left, in_tree=True) if left > 0 else None
    if done is None:
        raise CalculationError("git took too long, or can't be run")
    if done.returncode and not fails:
        raise CalculationError(f"git {args[0]}: {done.stderr.decode('utf-8', 'replace').strip()[:120]}")
    return done.stdout if not done.returncode else b""


def _lines(path: bytes) -> int:
    try:
        status = os.lstat(path)
        if status.st_size > _UNTRACKED_BYTES or not os.path.isfile(path) or os.path.islink(path):
            return 0
        with open(path, "rb") as source:
            data = source.read(_UNTRACKED_BYTES)
    except OSError:
        return 0
    if b"\0" in data[:8192]:
        return 0
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def run_command(command: str | list[str], root: str, branch: str, until: float, *, index: str = "") -> float:
    """Return the first word that ``command`` prints, a number; run in the project's folder.

    Each of its processes may have 1 GiB of data, all together 64 KiB of output. Where git asks, ``index``
    is the one that it commits: the command's own git calls see that.

    Raises:
        CalculationError: If it can't be run, fails, takes too long, prints too much or no number first.
    """
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else command
    env = kept_environment(os.environ)  # a client's keys and tokens are none of a project's business
    env.update(CONTEXT_GRAPH_BRANCH=branch, CONTEXT_GRAPH_PROJECT=root)
    if index:
        env["GIT_INDEX_FILE"] = index
    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", _LIMITED, "sh", *words],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CalculationError(f"its command can't be run: {error}") from error
    with child:
        try:
            out = _output_of(child, until)
        except CalculationError:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    if child.returncode in _NOT_RUN:
        raise CalculationError("its command can't be run: there is no such program, or it is none")
    if child.returncode:
        raise CalculationError(f"its command ended with status {child.returncode}")
    return _number(out)


def _output_of(child: subprocess.Popen[bytes], until: float) -> bytes:
    """Return what the child prints until it ends, in time."""
    assert child.stdout is not None
    out, source = b"", child.stdout.fileno()
    with selectors.DefaultSelector() as ready:
        ready.register(source, selectors.EVENT_READ)
        while ready.select(max(0.0, until - time.monotonic())):
            part = os.read(source, _OUTPUT)
            out += part
            if len(out) > _OUTPUT:
                raise CalculationError(f"its command printed more than {_OUTPUT} bytes")
            if not part:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(max(0.0, until - time.monotonic()))
                    return out
                break
    raise CalculationError("its command took too long")


def _number(out: bytes) -> float:
    words = out.split(None, 1)
    try:
        value = float(words[0]) if words else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise CalculationError("its command printed no number")
    return value
