"""Finds the repository that a folder belongs to: all its checkouts share one store.

ext/launcher/src/repository.rs is the twin. A checkout whose `.git` is a folder is its own repository. A
`.git` file names the git dir. A linked worktree's git dir leads to the common git dir, and that to the main
checkout if git records one (its `.git` folder, or core.worktree, as submodules have). If git records none (a
bare repository, `--separate-git-dir`), the git dir itself identifies the repository. Runs no git and reads at
most three small files. Paths are texts here, for a hook that runs in Python has no time to load `pathlib`.
"""

from __future__ import annotations

import os
import stat

_READ = 4096
"""Bytes read of a file of git's; `[core]` stands at the top of a config."""

Found = tuple[str, str | None, bool]
"""The repository's top folder, shared by its checkouts, or the folder itself outside git; what versions up to
0.2 named the store of this checkout after, where that is another folder; whether another checkout of this
repository may have a store under an old name."""


def find(folder: str) -> Found:
    """The repository that ``folder``, canonical, belongs to."""
    place = folder
    while True:
        dot_git = os.path.join(place, ".git")
        try:
            mode = os.lstat(dot_git).st_mode
        except OSError:
            mode = 0
        if stat.S_ISDIR(mode):
            return place, None, False
        if stat.S_ISREG(mode):
            return _of_git_file(place, dot_git)
        above = os.path.dirname(place)
        if above == place:
            return folder, None, False
        place = above


def _of_git_file(place: str, dot_git: str) -> Found:
    git_dir = _named(place, dot_git)
    if git_dir is None:
        return place, None, False
    common, folder_name = os.path.split(os.path.dirname(git_dir))
    if folder_name == "worktrees" and common != "/":
        return _of_worktree(place, dot_git, git_dir, common)
    return _of_main(place, git_dir)


def _of_worktree(place: str, dot_git: str, git_dir: str, common: str) -> Found:
    """A linked worktree; one that the repository does not know is its own project."""
    back = _first_line(f"{git_dir}/gitdir").strip()
    if not back or not _is_same(_path(git_dir, back), dot_git):
        return place, None, False  # an unpacked archive could claim another's memories
    if os.path.basename(common) == ".git":
        return os.path.dirname(common), None, False
    main = _core(common).get(b"worktree")
    checkout = _path(common, main) if main else None
    if checkout is not None and _named(checkout, os.path.join(checkout, ".git")) == common:
        return checkout, common, True
    return common, None, True


def _of_main(place: str, git_dir: str) -> Found:
    """A main checkout whose git dir is elsewhere."""
    core = _core(git_dir)
    worktree = core.get(b"worktree")
    bare = core.get(b"bare", b"").lower() != b"false"
    if worktree is not None or bare or os.path.basename(git_dir) == ".git":
        # A submodule is its own project; what belongs to another checkout, or to none, proves nothing.
        return place, None, worktree is not None and _is_same(_path(git_dir, worktree), place)
    if not os.path.isdir(f"{git_dir}/objects") or os.path.lexists(f"{git_dir}/commondir"):
        return place, None, False
    return git_dir, place, True


def _named(place: str, dot_git: str) -> str | None:
    """The git dir that the file ``dot_git`` of the checkout ``place`` names."""
    first = _first_line(dot_git)
    return _path(place, first[len(b"gitdir:") :].strip()) if first.startswith(b"gitdir:") else None


def _path(folder: str, named: bytes) -> str:
    path = os.path.normpath(os.path.join(folder, os.fsdecode(named)))
    return path[1:] if path.startswith("//") else path


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except (OSError, ValueError):
        return False


def _core(git_dir: str) -> dict[bytes, bytes]:
    """The variables of `[core]` in the head of a repository's config."""
    found: dict[bytes, bytes] = {}
    section = b""
    for line in _head(f"{git_dir}/config").split(b"\n"):
        stripped = line.strip()
        if stripped.startswith(b"["):
            section = stripped.lower()
        elif section == b"[core]":
            name, _, value = stripped.partition(b"=")
            found[name.strip().lower()] = value.strip()
    return found


def _first_line(path: str) -> bytes:
    return _head(path).split(b"\n", 1)[0]


def _head(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(handle, _READ)
    except OSError:
        return b""
    finally:
        os.close(handle)
