"""Finds the store of a project whose folder was renamed or moved, by what each store notes of its repository.

A store is named after its project's path. Its notes are small files beside the database: `project` has the
path, `origin` two hashes that stay the same wherever the repository lies.
"""

from __future__ import annotations

import os
from _blake2 import blake2b
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from context_graph.git.repository import Repo, ask_git, find_repo

ORIGIN: Final = "origin"
ADOPTED: Final = "adopted"
"""There once another project took the memories over: then they are offered no more."""
_NOTE_BYTES: Final = 8192


class Moved(NamedTuple):
    """A store whose project is gone."""

    project: Path
    store: Path


def project_of(store: Path) -> Path | None:
    """Return the project that ``store`` was made for, as its note says."""
    named = _note(store / "project").rstrip(b"\n")
    return Path(os.fsdecode(named)) if named.startswith(b"/") else None


def note_origin(store: Path, project: Path) -> None:
    """Note what stays the same of the project's repository, if it has any. Raises OSError."""
    origin = origin_of(os.fspath(project))
    if any(origin):  # one without a commit has none yet: it is looked at when the store is opened next
        (store / ORIGIN).write_text("\n".join(origin) + "\n", "ascii")


def moved_here(root: Path, store: Path, project: Path) -> list[Moved]:
    """Return the stores of the project's repository whose folders are gone and that nobody adopted.

    Cost: some small files a store, and `origin_of` where there may be one.
    """
    gone = []
    try:
        folders = sorted((root / "stores").iterdir())
    except OSError:
        return []
    for folder in folders:
        noted = (
            _note(folder / ORIGIN).decode("ascii", "replace").split("\n") if folder.name != store.name else []
        )
        there = project_of(folder) if any(noted) else None
        if there is not None and not os.path.lexists(there) and not os.path.lexists(folder / ADOPTED):
            gone.append((Moved(there, folder), Origin(*noted[:2])))
    own = origin_of(os.fspath(project)) if gone else Origin()
    return [moved for moved, origin in gone if own.is_of(origin)]


def note_of(root: Path, store: Path, project: Path, store_of: Callable[[Path], Path]) -> str:
    """Return what whoever works in a project without memories should know of others', with the cure; "" for
    nothing. ``store_of``: the store of a project.
    """
    moved = moved_here(root, store, project)
    if moved:
        places = " and ".join(str(store.project) for store in moved)
        return (
            f"memories of this repository are kept for {places}, which no longer exists; "
            "context-graph-cli memory adopt takes them over"
        )
    repo = find_repo(os.fspath(project))
    parent, inside, _ = repo.git_dir.partition("/.git/modules/") if repo is not None else ("", "", "")
    if inside and os.path.isdir(store_of(Path(parent)) / "db"):
        return f"this is a submodule of {parent}, which has memories of its own: ask for them there"
    return ""


def _note(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_NOTE_BYTES)
    except OSError:
        return b""


_WAIT_S: Final = 0.5
_DIGEST_BYTES: Final = 12


class Origin(NamedTuple):
    """Both hashed, 24 hex digits; "" where it is not known."""

    first: str = ""
    """Its first commit."""
    remote: str = ""
    """The address of `origin`, without login and ending."""

    def is_of(self, other: Origin) -> bool:
        """Return whether both are of one repository: forks and clones too have the same first commit."""
        if self.first and other.first:
            return self.first == other.first
        return bool(self.remote) and self.remote == other.remote


def origin_of(folder: str) -> Origin:
    """Return the origin of the repository that ``folder`` (absolute, resolved) lies in. Cost: two processes
    of git, at most half a second each.
    """
    repo = find_repo(folder)
    if repo is None:
        return Origin()
    shallow = os.path.exists(os.path.join(repo.common_dir, "shallow"))  # its first commit is cut off
    first = "" if shallow else _said(repo, "rev-list", "--max-parents=0", "HEAD")
    remote = _said(repo, "config", "--get", "remote.origin.url")
    return Origin(_digest(min(first.split(), default="")), _digest(_address(remote)))


def _said(repo: Repo, *words: str) -> str:
    done = ask_git(repo, *words, timeout_s=_WAIT_S)
    return "" if done is None or done.returncode else os.fsdecode(done.stdout).strip()


def _address(remote: str) -> str:
    """Return the same for `https://host/a/b`, `git@host:a/b.git` and `ssh://git@host/a/b/`."""
    text = remote.partition("://")[2] or remote
    text = text.rpartition("@")[2] if "@" in text.split("/")[0] else text
    return text.replace(":", "/", 1).rstrip("/").removesuffix(".git").casefold()


def _digest(text: str) -> str:
    named = text.encode("utf-8", "surrogateescape")
    return blake2b(named, digest_size=_DIGEST_BYTES, person=b"repo-origin").hexdigest() if text else ""
