"""Reads what a hook needs of a git repository from its files, without starting a process.

The exception is a repository that keeps its references in a reftable: its HEAD says nothing, so git itself is
asked, with a time limit.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from context_graph.system.small_files import open_regular, read_bytes

_SMALL = 4096
_HEADS = "refs/heads/"
_REFTABLE_HEAD = ".invalid"
_GIT_WAIT_S = 1.0


@dataclass(slots=True)
class Repo:
    """One working tree, or bare repository: its top, its own git folder, the one all worktrees share."""

    top: str
    git_dir: str
    common_dir: str
    bare: bool = False

    @property
    def linked(self) -> bool:
        """Whether it is a linked worktree."""
        return self.git_dir != self.common_dir


class Head(NamedTuple):
    """Where HEAD is: ``branch`` (empty if none), ``state`` branch, rebase, detached or unreadable."""

    branch: str
    state: str


def parents(folder: str) -> list[str]:
    """Return ``folder`` and every folder above it, nearest first. ``folder`` is absolute and normal."""
    folders = [folder]
    while folder != "/":
        folder = folder.rpartition("/")[0] or "/"
        folders.append(folder)
    return folders


def find_repo(folder: str) -> Repo | None:
    """Return the repository that ``folder`` (absolute, resolved) lies in."""
    for above in parents(folder):
        repo = repo_at(above)
        if repo is not None:
            return repo
    return None


def repo_at(place: str) -> Repo | None:
    """Return the repository whose top is ``place``: a .git folder, a .git file, or a bare repository."""
    dot_git = place.rstrip("/") + "/.git"
    try:
        mode = os.stat(dot_git).st_mode
    except (OSError, ValueError):
        return _bare(place)
    if stat.S_ISDIR(mode):
        return Repo(place, dot_git, _common_dir(dot_git))
    text = _first_line(dot_git) if stat.S_ISREG(mode) else ""
    if not text.startswith("gitdir:"):
        return None
    git_dir = os.path.realpath(os.path.join(place, text[len("gitdir:") :].strip()))
    if not os.path.isdir(git_dir):
        return None
    return Repo(place, git_dir, _common_dir(git_dir))


def repo_of_git_dir(git_dir: str, top: str) -> Repo | None:
    """Return the repository with its own folder ``git_dir``, worked on in ``top``."""
    folder = os.path.realpath(git_dir)
    return Repo(top, folder, _common_dir(folder)) if os.path.isdir(folder) else None


def _bare(place: str) -> Repo | None:
    # A .git folder itself looks bare; who stands in it belongs to the working tree above.
    if place.endswith("/.git") or not os.path.isfile(place.rstrip("/") + "/HEAD"):
        return None
    if os.path.isdir(place + "/objects") and os.path.isdir(place + "/refs"):
        return Repo(place, place, place, bare=True)
    return None


def main_checkout(worktree: Repo, hint: str = "") -> str:
    """Return the top folder of the checkout that ``worktree`` is linked to; empty where that can't be told
    (bare).

    ``hint`` is a folder of the user's, which may be that checkout: a git folder of its own elsewhere names
    none.
    """
    common = worktree.common_dir
    if common.endswith("/.git"):
        return common.removesuffix("/.git") or "/"
    named = _core_worktree(common)
    if named:
        return os.path.realpath(os.path.join(common, named))
    other = find_repo(hint) if hint else None
    if other is not None and not other.linked and not other.bare and other.common_dir == common:
        return other.top
    return ""


def _core_worktree(common_dir: str) -> str:
    """Return ``core.worktree``, which git writes into a submodule's configuration."""
    for line in _read(common_dir + "/config", 1 << 16).splitlines():
        key, _, value = line.partition(b"=")
        if key.strip().lower() == b"worktree":
            return os.fsdecode(value.strip().strip(b'"'))
    return ""


def _common_dir(git_dir: str) -> str:
    named = _first_line(git_dir + "/commondir")
    return os.path.realpath(os.path.join(git_dir, named)) if named else git_dir


def _first_line(path: str) -> str:
    return os.fsdecode(_read(path, _SMALL).split(b"\n", 1)[0]).strip()


def _read(path: str, limit: int, start: int = 0) -> bytes:
    """Return ``limit`` bytes from ``start`` on; none of what is no regular file or can't be read."""
    try:
        with open_regular(path) as source:
            source.seek(start)
            return source.read(limit)
    except (OSError, ValueError):
        return b""


def read_head(repo: Repo) -> Head:
    """Return the branch that work in ``repo`` belongs to; in a rebase the one that is rebased."""
    text = head_text(repo.git_dir)
    if text.startswith("ref:"):
        name = text[len("ref:") :].strip()
        if name == _HEADS + _REFTABLE_HEAD:
            return _reftable_head(repo)
        return Head(name.removeprefix(_HEADS), "branch") if name else Head("", "unreadable")
    if not text:
        return Head("", "unreadable")
    for folder in ("rebase-merge", "rebase-apply"):
        name = _first_line(f"{repo.git_dir}/{folder}/head-name")
        if name.startswith(_HEADS):
            return Head(name.removeprefix(_HEADS), "rebase")
    return Head("", "detached")


def branch_of(folder: str) -> str:
    """Return the branch that is checked out in ``folder``; "" off any branch and outside repositories."""
    repo = find_repo(folder) if folder else None
    return read_head(repo).branch if repo is not None else ""


def head_text(git_dir: str) -> str:
    """Return what stands in HEAD: ``ref: NAME``, or a commit; empty if it can't be read."""
    path = git_dir + "/HEAD"
    try:
        return "ref: " + os.readlink(path)  # git once wrote HEAD as a link
    except (OSError, ValueError):
        return _first_line(path)


_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_OF_THE_USER = frozenset(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"))


def ask_git(
    repo: Repo, *words: str, timeout_s: float, in_tree: bool = False
) -> subprocess.CompletedProcess[bytes] | None:
    """Return what git itself says of ``repo``, where its files don't tell; None if it can't be run in time.

    Of our own environment only what says where the user's settings are counts: an agent's shell points git to
    hooks of ours. With ``in_tree`` it is asked in the working tree.
    """
    env = {name: of for name, of in os.environ.items() if name[:4] != "GIT_" or name in _OF_THE_USER}
    place = [] if in_tree else [f"--git-dir={repo.git_dir}"]
    try:
        return subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *place, *words],
            cwd=repo.top if in_tree else None,
            env=env | _QUIET,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _reftable_head(repo: Repo) -> Head:
    done = ask_git(repo, "symbolic-ref", "-q", "HEAD", timeout_s=_GIT_WAIT_S)
    if done is None:
        return Head("", "unreadable")
    name = os.fsdecode(done.stdout.strip())
    return Head(name.removeprefix(_HEADS), "branch") if name.startswith(_HEADS) else Head("", "detached")


def branch_names(repo: Repo) -> set[str] | None:
    """Return every local branch, also those that are checked out but have no commit yet; None if files don't
    tell.

    Cost: one walk of refs/heads and one read of packed-refs. For the command line, not for hooks.
    """
    common = repo.common_dir
    if os.path.isdir(common + "/reftable"):
        return None
    branches: set[str] = set()
    root = common + "/refs/heads"
    for folder, _, names in os.walk(root):
        inside = folder[len(root) + 1 :]
        branches.update(
            f"{inside}/{name}" if inside else name for name in names if not name.endswith(".lock")
        )
    try:
        with open_regular(common + "/packed-refs") as source:
            for line in source:
                name = os.fsdecode(line.strip()).partition(" ")[2]
                if name.startswith(_HEADS):
                    branches.add(name.removeprefix(_HEADS))
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        return None
    return branches | _checked_out(repo)


def _checked_out(repo: Repo) -> set[str]:
    folders, linked = [repo.common_dir], repo.common_dir + "/worktrees"
    if os.path.isdir(linked):
        folders += [f"{linked}/{name}" for name in os.listdir(linked)]
    heads = (read_head(Repo(repo.top, folder, repo.common_dir)) for folder in folders)
    return {head.branch for head in heads if head.branch}


_PACKED_BYTES = 64 << 20
_LOG_BYTES = 1 << 20
_WAIT_S = 1.0


def tip_of(repo: Repo) -> dict[str, Any]:
    """Return ``head`` (its text: a reference's name, or a commit), ``tip`` (the commit, "" if there is none
    yet) and ``log`` (bytes of HEAD's log, -1 without one).

    Cost: three small reads; one of packed-refs where the branch has no file of its own.
    """
    head = head_text(repo.git_dir)
    return {"head": head, "tip": _resolve_head(repo, head), "log": _log_size(repo)}


def has_moved(repo: Repo, before: dict[str, Any]) -> bool:
    """Return whether a commit was made in this checkout since ``before``; another branch checked out is none.

    Where HEAD's log does not tell a checkout from a commit, HEAD at another commit counts as moved.
    """
    now = tip_of(repo)
    if now["tip"] == before.get("tip"):
        return False
    if now["head"] == before.get("head"):
        return True
    old = str(before.get("head", ""))
    if old.startswith("ref:") and _resolve_head(repo, old) not in ("", before.get("tip")):
        return True
    actions = actions_since(repo, before.get("log"))
    return actions is None or any(not action.startswith(b"checkout:") for action in actions)


_WITHOUT_COMMIT = (b"checkout:", b"reset:", b"rebase", b"pull", b"merge", b"clone:", b"branch:", b"fetch")
"""How HEAD's log begins where git has moved it without a commit that it asks its hooks about."""


def makes_commit(repo: Repo, before: dict[str, Any]) -> bool:
    """Return whether HEAD has moved since ``before`` by a new commit; not where HEAD has no log."""
    if _log_size(repo) < 0 or not has_moved(repo, before):
        return False
    actions = actions_since(repo, before.get("log"))
    return actions is None or any(not action.startswith(_WITHOUT_COMMIT) for action in actions)


def keeps_reftable(repo: Repo) -> bool:
    """Return whether its references are in a table that only git reads."""
    return os.path.isdir(repo.common_dir + "/reftable")


def _resolve_head(repo: Repo, head: str) -> str:
    if not head.startswith("ref:"):
        return head
    name = head[len("ref:") :].strip()
    if name == "refs/heads/.invalid" or keeps_reftable(repo):
        done = ask_git(repo, "rev-parse", "-q", "--verify", "HEAD", timeout_s=_WAIT_S)
        return os.fsdecode(done.stdout.strip()) if done is not None else ""
    for folder in dict.fromkeys((repo.git_dir, repo.common_dir)):
        commit = _read(f"{folder}/{name}", 256).strip()
        if commit:
            return os.fsdecode(commit)
    data = _read(repo.common_dir + "/packed-refs", _PACKED_BYTES)
    at = data.find(b" " + os.fsencode(name) + b"\n")
    return data[max(0, data.rfind(b"\n", 0, at) + 1) : at].decode("ascii", "replace") if at >= 0 else ""


def _log_size(repo: Repo) -> int:
    try:
        return os.stat(repo.git_dir + "/logs/HEAD").st_size
    except OSError:
        return -1


def actions_since(repo: Repo, size: object) -> list[bytes] | None:
    """Return what HEAD's log says was done since it had ``size`` bytes; None if it does not say."""
    if not isinstance(size, int) or size < 0:
        return None
    data = _read(repo.git_dir + "/logs/HEAD", _LOG_BYTES, size)
    lines = [line.partition(b"\t")[2] for line in data.splitlines()]
    return lines or None


_BYTES = 256 << 10
_INCLUDED = 8
"""Included files that are read; more, or a loop, are not followed."""


def git_aliases(common_dir: str, home: str, git_dir: str = "") -> dict[str, str]:
    """Return alias to value, of the repository's and the user's git configuration; ``git_dir`` is the
    worktree's.

    What `[includeIf]` names is read whatever its condition: an alias too many asks once too often.

    Cost: a read of up to four small files, and of eight that they include. What can't be read has none.
    """
    paths = [f"{home}/.config/git/config", f"{home}/.gitconfig"] if home else []
    paths += [f"{common_dir}/config"] if common_dir else []
    paths += [f"{git_dir}/config.worktree"] if git_dir else []
    aliases: dict[str, str] = {}
    seen = set(paths)
    waiting = paths[::-1]
    while waiting:
        path = waiting.pop()
        included: list[str] = []
        for section, name, key, value in _settings(_text(path)):
            if section == "alias":  # [alias "ci"] command = commit is the newer way to write it
                aliases[(name or key).lower()] = value
            elif section in ("include", "includeif") and key.lower() == "path" and value:
                value = value.partition(" ;")[0].partition(" #")[0].strip()
                below = home + value[1:] if value.startswith("~/") else value
                included.append(os.path.normpath(os.path.join(os.path.dirname(path), below)))
        for other in included:
            if other not in seen and len(seen) < len(paths) + _INCLUDED:
                seen.add(other)
                waiting.append(other)
    return aliases


def _text(path: str) -> str:
    try:
        return read_bytes(path, _BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _settings(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, the name behind it, key and value of each line that sets something."""
    section = name = ""
    for line in map(str.strip, text.replace("\\\n", " ").splitlines()):
        if line.startswith("["):
            head, _, line = line[1:].partition("]")
            kind, _, name = head.partition(" ")
            section, name, line = kind.strip().lower(), name.strip().strip('"'), line.strip()
        if line[:1] in ("", "#", ";"):
            continue
        key, _, value = map(str.strip, line.partition("="))
        if value[:1] == value[-1:] == '"' and len(value) > 1:
            value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        yield section, name, key, value


# What differs in a working tree: by git's own status, and by who committed


STATUS_S = 0.5
"""How long git's status may take; a repository that needs longer is not watched."""

_PATHS = 2000
_STATUS_BYTES = 1 << 20
_MADE = (b"commit", b"cherry-pick", b"revert", b"am:")
"""How the lines of HEAD's log begin that tell of a commit made here; a pull brings others' work."""


def snapshot(repo: Repo, timeout_s: float = STATUS_S) -> dict[str, Any] | None:
    """Return what is changed in the working tree now, and where HEAD is; None if git does not say in time.

    ``tip`` is `tip_of`'s; ``files``: path below the top -> what tells one change of it from another, the
    first 2,000. Cost: one run of git's status, 5 ms in a small repository; one stat for each changed file.
    """
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=all")
    done = ask_git(repo, *words, timeout_s=timeout_s, in_tree=True)
    if done is None or done.returncode or len(done.stdout) > _STATUS_BYTES:
        return None
    files: dict[str, str] = {}
    entries = iter(done.stdout.split(b"\0"))
    for entry in entries:
        kind, fields = entry[:1], {b"1": 8, b"2": 9, b"u": 10, b"?": 1}.get(entry[:1], 0)
        parts = entry.split(b" ", fields)
        if fields and len(parts) > fields and len(files) < _PATHS:
            path = os.fsdecode(parts[fields])
            files[path] = f"{os.fsdecode(b' '.join(parts[:fields]))} {_mark(repo.top, path)}"
        if kind == b"2":
            next(entries, b"")  # where a renamed file was
    return {"tip": tip_of(repo), "files": files}


def changed_since(repo: Repo, before: dict[str, Any], now: dict[str, Any]) -> list[str] | None:
    """Return the files that differ between two snapshots; None if commits were made, which may hold any."""
    if before.get("tip") != now["tip"]:
        actions = actions_since(repo, before.get("tip", {}).get("log"))
        if actions and any(action.startswith(_MADE) for action in actions):
            return None
    old = before.get("files")
    old = old if isinstance(old, dict) else {}
    return [path for path, mark in now["files"].items() if old.get(path) != mark]


def _mark(top: str, path: str) -> str:
    try:
        status = os.lstat(os.path.join(top, path))
    except (OSError, ValueError):
        return "-"
    return f"{status.st_size} {status.st_mtime_ns}"
