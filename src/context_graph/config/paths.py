"""Finds data root, project, store and socket paths, as `Path`s; the rules are in ``places``.

tests/golden/paths.tsv tests them, and the launcher's: a hook and the CLI must always mean the same store.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from context_graph.config import places, repository
from context_graph.config.places import fnv1a64

__all__ = ["fnv1a64"]


@dataclass(frozen=True, slots=True)
class Location:
    """Where one call works: the data root, the store's folder, the project's top folder."""

    root: Path
    store: Path
    project: Path


class Repository(NamedTuple):
    """What a folder's store is named after.

    Attributes:
        top: The repository's top folder, shared by its checkouts; the folder itself outside git.
        old: What versions up to 0.2 named the store of this checkout after, where that is another folder.
        shared: Whether another checkout of this repository may have a store under an old name.
    """

    top: Path
    old: Path | None = None
    shared: bool = False


def find_repository(folder: Path) -> Repository:
    """The repository that ``folder``, canonical, belongs to."""
    top, old, shared = repository.find(os.fspath(folder))
    return Repository(Path(top), Path(old) if old is not None else None, shared)


def data_root(env: Mapping[str, str] | None = None) -> Path:
    """$CONTEXT_GRAPH_HOME, else $XDG_DATA_HOME/context-graph, else ~/.local/share/context-graph.

    Raises:
        ConfigError: If the path is not absolute, or no variable names a home.
    """
    return Path(places.data_root(os.environ if env is None else env))


def project_dir(env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Path:
    """The folder the call belongs to: $CLAUDE_PROJECT_DIR if it exists, else the working folder; canonical.

    The client's working folder follows `cd`; CLAUDE_PROJECT_DIR does not, so it goes first.
    """
    return Path(
        places.project_dir(os.environ if env is None else env, None if cwd is None else os.fspath(cwd))
    )


def working_dir() -> Path:
    """Where the process works.

    Raises:
        ConfigError: That folder has been removed.
    """
    return Path(places.working_dir())


def project_top(folder: Path) -> Path:
    """The top folder of ``folder``'s repository, shared by its checkouts; ``folder`` itself outside git."""
    return find_repository(folder).top


def checkout_top(folder: Path) -> Path:
    """The top of the checkout that ``folder`` is in, a linked worktree's own; ``folder`` outside git."""
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


def client_dir(env: Mapping[str, str] | None = None) -> Path:
    """The client's own folder: $CLAUDE_CONFIG_DIR, else ~/.claude."""
    env = os.environ if env is None else env
    named = env.get("CLAUDE_CONFIG_DIR", "")
    return Path(named) if named.startswith("/") else Path(env.get("HOME", "/")) / ".claude"


def store_key(top: Path) -> str:
    """Folder name of a project's store: readable slug, then 16 hex digits of the path's hash."""
    return places.store_key(os.fspath(top))


def store_dir(root: Path, top: Path) -> Path:
    """The store of the project whose top folder is ``top``."""
    return root / "stores" / store_key(top)


def project_store(root: Path, found: Repository) -> Path:
    """The store of a repository, found again where it was made under an old name."""
    old = None if found.old is None else os.fspath(found.old)
    return Path(places.project_store(os.fspath(root), (os.fspath(found.top), old, found.shared)))


def locate(
    db_path: str | None = None, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Location:
    """Root, store and project of a call; ``db_path`` (an option) goes before $CONTEXT_GRAPH_DB_PATH.

    Raises:
        PathNotAllowedError: If the named store leaves the allowed roots (REQ-HOOKS-30).
    """
    env = os.environ if env is None else env
    root, store, top, _ = places.locate(db_path, env, None if cwd is None else os.fspath(cwd))
    return Location(Path(root), Path(store), Path(top))


def lock_path(root: Path) -> Path:
    """The owner's lock file; its text is `pid version fingerprint`."""
    return root / "run" / "owner.lock"


def log_dir(root: Path) -> Path:
    """Folder of the owner's log files."""
    return root / "log"


def socket_path(root: Path) -> Path:
    """The owner's socket: in the data root or, where that path is too long to bind, under /tmp."""
    return Path(places.socket_path(os.fspath(root)))
