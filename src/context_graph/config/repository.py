"""Finds the repository that a folder belongs to: all its checkouts share one store.

ext/launcher/src/repository.rs is the twin. A checkout whose `.git` is a folder is its own repository. A
`.git` file names the git dir. A linked worktree's git dir leads to the common git dir, and that to the main
checkout if git records one (its `.git` folder, or core.worktree, as submodules have). If git records none (a
bare repository, `--separate-git-dir`), the git dir itself identifies the repository. Runs no git and reads at
most three small files.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_READ: Final = 4096
"""Bytes read of a file of git's; `[core]` stands at the top of a config."""


def clean(path: str) -> Path:
    """Return ``path`` without empty components, `.` and `..`, as text alone; never with two slashes in
    front."""
    path = os.path.normpath(path)
    return Path(path[1:] if path.startswith("//") else path)


def find_repository(folder: Path) -> Path:
    """Return the top folder of the repository that ``folder``, canonical, belongs to, shared by its
    checkouts; the folder itself outside git.
    """
    for place in (folder, *folder.parents):
        dot_git = place / ".git"
        try:
            mode = os.lstat(dot_git).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            return place
        if stat.S_ISREG(mode):
            return _of_git_file(place, dot_git)
    return folder


def _of_git_file(place: Path, dot_git: Path) -> Path:
    git_dir = _named(place, dot_git)
    if git_dir is None:
        return place
    common, folder_name = git_dir.parent.parent, git_dir.parent.name
    if folder_name == "worktrees" and str(common) != "/":
        return _of_worktree(place, dot_git, git_dir, common)
    return _of_main(place, git_dir)


def _of_worktree(place: Path, dot_git: Path, git_dir: Path, common: Path) -> Path:
    """Return a linked worktree; one that the repository does not know is its own project."""
    back = _first_line(git_dir / "gitdir").strip()
    if not back or not _is_same(_path(git_dir, back), dot_git):
        return place  # an unpacked archive could claim another's memories
    if common.name == ".git":
        return common.parent
    main = _core(common).get(b"worktree")
    checkout = _path(common, main) if main else None
    if checkout is not None and _named(checkout, checkout / ".git") == common:
        return checkout
    return common


def _of_main(place: Path, git_dir: Path) -> Path:
    """Return a main checkout whose git dir is elsewhere."""
    core = _core(git_dir)
    if b"worktree" in core or core.get(b"bare", b"").lower() != b"false" or git_dir.name == ".git":
        # A submodule is its own project; what belongs to another checkout, or to none, proves nothing.
        return place
    if not os.path.isdir(git_dir / "objects") or os.path.lexists(git_dir / "commondir"):
        return place
    return git_dir


def _named(place: Path, dot_git: Path) -> Path | None:
    """Return the git dir that the file ``dot_git`` of the checkout ``place`` names."""
    first = _first_line(dot_git)
    return _path(place, first[len(b"gitdir:") :].strip()) if first.startswith(b"gitdir:") else None


def _path(folder: Path, named: bytes) -> Path:
    return clean(os.path.join(folder, os.fsdecode(named)))


def _is_same(first: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(first), os.lstat(other))
    except (OSError, ValueError):
        return False


def _core(git_dir: Path) -> dict[bytes, bytes]:
    """Return the variables of `[core]` in the head of a repository's config."""
    variables: dict[bytes, bytes] = {}
    section = b""
    for line in _head(git_dir / "config").split(b"\n"):
        stripped = line.strip()
        if stripped.startswith(b"["):
            section = stripped.lower()
        elif section == b"[core]":
            name, _, value = stripped.partition(b"=")
            variables[name.strip().lower()] = value.strip()
    return variables


def _first_line(path: Path) -> bytes:
    return _head(path).split(b"\n", 1)[0]


def _head(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
        with open(handle, "rb", buffering=0) as source:
            return source.read(_READ) or b""
    except (OSError, ValueError):
        return b""
