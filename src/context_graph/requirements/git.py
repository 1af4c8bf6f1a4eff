"""What a hook must know of a git repository, read from its files: no process is started.

A repository that keeps its references in a reftable says nothing in HEAD; that one case is left to
git itself (``reftable``), bounded in time, and remembered by the caller.
"""

from __future__ import annotations

import os
import stat

from context_graph.requirements.files import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

__all__ = [
    "Head",
    "Repo",
    "ask_git",
    "branch_names",
    "find_repo",
    "head_text",
    "main_checkout",
    "parents",
    "read_head",
    "repo_at",
]

_SMALL = 4096
_HEADS = "refs/heads/"
_REFTABLE_HEAD = ".invalid"
_GIT_WAIT_S = 1.0


class Repo:
    """One working tree, or bare repository: its top, its own git folder, the one all worktrees share."""

    __slots__ = ("bare", "common_dir", "git_dir", "linked", "top")

    def __init__(self, top: str, git_dir: str, common_dir: str, *, bare: bool = False) -> None:
        self.top, self.git_dir, self.common_dir, self.bare = top, git_dir, common_dir, bare
        self.linked = git_dir != common_dir
        """Whether it is a linked worktree."""


class Head:
    """Where HEAD is: ``branch`` (empty if none), ``state`` branch, rebase, detached or unreadable."""

    __slots__ = ("branch", "state")

    def __init__(self, branch: str, state: str) -> None:
        self.branch, self.state = branch, state


def parents(folder: str) -> list[str]:
    """``folder`` and every folder above it, nearest first. ``folder`` is absolute and normal."""
    found = [folder]
    while folder != "/":
        folder = folder.rpartition("/")[0] or "/"
        found.append(folder)
    return found


def find_repo(folder: str) -> Repo | None:
    """The repository that ``folder`` (absolute, resolved) lies in."""
    for place in parents(folder):
        repo = repo_at(place)
        if repo is not None:
            return repo
    return None


def repo_at(place: str) -> Repo | None:
    """The repository whose top is ``place`` itself: a .git folder, a .git file, or a bare repository."""
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


def _bare(place: str) -> Repo | None:
    # A .git folder itself looks bare; who stands in it belongs to the working tree above.
    if place.endswith("/.git") or not os.path.isfile(place.rstrip("/") + "/HEAD"):
        return None
    if os.path.isdir(place + "/objects") and os.path.isdir(place + "/refs"):
        return Repo(place, place, place, bare=True)
    return None


def main_checkout(worktree: Repo, hint: str = "") -> str:
    """The top folder of the checkout that ``worktree`` is linked to; empty where that can't be told (bare).

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
    """``core.worktree``, which git writes into a submodule's configuration."""
    try:
        with open_regular(common_dir + "/config") as source:
            lines = source.read(1 << 16).splitlines()
    except (OSError, ValueError):
        return ""
    for line in lines:
        key, _, value = line.partition(b"=")
        if key.strip().lower() == b"worktree":
            return os.fsdecode(value.strip().strip(b'"'))
    return ""


def _common_dir(git_dir: str) -> str:
    named = _first_line(git_dir + "/commondir")
    return os.path.realpath(os.path.join(git_dir, named)) if named else git_dir


def _first_line(path: str) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return ""
    try:
        data = os.read(handle, _SMALL)
    except OSError:
        return ""
    finally:
        os.close(handle)
    return os.fsdecode(data.split(b"\n", 1)[0]).strip()


def read_head(repo: Repo) -> Head:
    """The branch that work in ``repo`` belongs to; in the middle of a rebase the one that is rebased."""
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


def head_text(git_dir: str) -> str:
    """What stands in HEAD: ``ref: NAME``, or a commit; empty if it can't be read."""
    path = git_dir + "/HEAD"
    try:
        return "ref: " + os.readlink(path)  # git once wrote HEAD as a link
    except (OSError, ValueError):
        return _first_line(path)


def ask_git(repo: Repo, *words: str, timeout_s: float) -> subprocess.CompletedProcess[bytes] | None:
    """What git itself says of ``repo``, for what its files don't tell; None if it can't be run in time."""
    import subprocess

    try:
        return subprocess.run(
            ["git", f"--git-dir={repo.git_dir}", *words],
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
    """Every local branch, also those that are checked out but have no commit yet; None if files don't tell.

    Cost: one walk of refs/heads and one read of packed-refs. For the command line, not for hooks.
    """
    common = repo.common_dir
    if os.path.isdir(common + "/reftable"):
        return None
    found: set[str] = set()
    root = common + "/refs/heads"
    for folder, _, names in os.walk(root):
        inside = folder[len(root) + 1 :]
        found.update(f"{inside}/{name}" if inside else name for name in names if not name.endswith(".lock"))
    try:
        with open_regular(common + "/packed-refs") as source:
            for line in source:
                name = os.fsdecode(line.strip()).partition(" ")[2]
                if name.startswith(_HEADS):
                    found.add(name.removeprefix(_HEADS))
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        return None
    return found | _checked_out(repo)


def _checked_out(repo: Repo) -> set[str]:
    folders, linked = [repo.common_dir], repo.common_dir + "/worktrees"
    if os.path.isdir(linked):
        folders += [f"{linked}/{name}" for name in os.listdir(linked)]
    heads = (read_head(Repo(repo.top, folder, repo.common_dir)) for folder in folders)
    return {head.branch for head in heads if head.branch}
