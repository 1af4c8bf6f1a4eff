"""Restores a backup in place of a store's database; the previous database is kept beside it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from context_graph.cli.backup import manifest
from context_graph.cli.backup.make import probe
from context_graph.cli.backup.manifest import Manifest, copy_files, sync_folder
from context_graph.config import Location, lock_path
from context_graph.errors import InvalidInputError, OwnerUnavailableError, StoreLockedError
from context_graph.system.folder_swap import ASIDE, aside_folder, settle, swap
from context_graph.wire import run_folder
from context_graph.wire.client.spawn import stop_owner

_DATABASE: Final = "db"
_KEPT: Final = ("project", "events")
"""Beside the database, and not derived from it. What waits in the event log is applied afterwards."""
_DRAFT: Final = ".restoring-"
_ONE_LOCK: Final = ".restore.lock"
_LOCK_S: Final = 5.0


def put_back(
    backup: Path, contents: Manifest, place: Location, advance: Callable[[int], None]
) -> tuple[Path | None, dict[str, int]]:
    """Check the backup in the folder ``backup`` and make it the database of ``place.store``.

    The owner is stopped and can't start until it is done; hooks leave their events in the log meanwhile.
    Killed at any instant, the store's database is the old or the new one, whole, and the old one is there or
    in a folder `before-restore-…`. The next restore takes away what a killed one had not finished copying.

    Returns:
        Where the old database and what was derived from it are now (None: there was none); what the new one
        holds.

    Raises:
        InvalidInputError: The backup is not as it was written, or something can't be written.
        StoreError: The copy does not open; then nothing was changed.
        OwnerUnavailableError: The owner does not end.
        StoreLockedError: Another restore is at this store.
    """
    manifest.check(backup, contents)
    store = place.store
    draft = store / f"{_DRAFT}{secrets.token_hex(4)}"
    try:
        os.makedirs(store, mode=0o700, exist_ok=True)
        with _only(store):
            _clean(store)
            try:
                copy_files(backup / manifest.DATABASE, draft, advance)
                holds = probe(draft)
                with _alone(place.root):
                    kept = _take_place(store, draft)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise InvalidInputError(f"restore into {store}: {error.filename or ''}: {error.strerror}") from error
    return kept, holds


def put_salvaged(place: Location, salvage: Callable[[Path], None]) -> Path | None:
    """Make what ``salvage`` writes into a new folder the database of ``place.store``, as `put_back` does.

    The owner is stopped before, so that the salvage has all that is there. If it fails, nothing was changed.

    Returns:
        Where the damaged database is now.

    Raises:
        InvalidInputError, OwnerUnavailableError, StoreLockedError: As `put_back`.
    """
    store = place.store
    draft = store / f"{_DRAFT}{secrets.token_hex(4)}"
    try:
        with _only(store), _alone(place.root):
            _clean(store)
            try:
                salvage(draft)
                return _take_place(store, draft)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise InvalidInputError(f"repair of {store}: {error.filename or ''}: {error.strerror}") from error


@contextlib.contextmanager
def _only(store: Path) -> Iterator[None]:
    """Let no other restore work at ``store`` meanwhile: leftovers are then of killed ones."""
    lock = run_folder.take_lock(store / _ONE_LOCK)
    if lock is None:
        raise StoreLockedError(f"another restore into {store} is running; wait until it has ended")
    try:
        yield
    finally:
        os.close(lock)


def _clean(store: Path) -> None:
    """Remove what restores that were killed had begun: copies of backups, folders without content."""
    for left in store.glob(f"{_DRAFT}*"):
        shutil.rmtree(left, ignore_errors=True)
    for left in store.glob(f"{ASIDE}*"):
        with contextlib.suppress(OSError):  # not empty: it keeps something
            left.rmdir()


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """The owner of ``root`` stopped, and its lock held, so that no hook starts one."""
    os.makedirs(lock_path(root).parent, mode=0o700, exist_ok=True)
    end = time.monotonic() + _LOCK_S
    while True:
        stop_owner(root)
        lock = run_folder.take_lock(lock_path(root))
        if lock is not None:
            break
        if time.monotonic() > end:  # hooks of running sessions start one as fast as we stop it
            raise OwnerUnavailableError(
                f"an owner of {root} is started again and again; end the sessions first"
            )
    try:
        yield
    finally:
        os.close(lock)


def _take_place(store: Path, draft: Path) -> Path | None:
    """Make ``draft`` the database of ``store``; where the old one is now.

    The order is for a kill in between. What is derived goes first: without it a database is whole, with that
    of another one it is wrong. And the draft, which may be thrown away, gets a name that is kept before the
    old database can come to have that name.
    """
    database = store / _DATABASE
    settle(database)
    aside = aside_folder(store)
    for entry in list(os.scandir(store)):
        derived = entry.name not in (*_KEPT, _DATABASE) and not entry.name.startswith((".", ASIDE))
        if derived:  # the owner makes it anew
            os.rename(entry.path, aside / entry.name)
    if database.exists():
        os.rename(draft, aside / _DATABASE)
        sync_folder(aside)
        swap(aside / _DATABASE, database)
    else:
        os.rename(draft, database)
    sync_folder(aside)
    sync_folder(store)
    if not any(aside.iterdir()):
        aside.rmdir()
        return None
    return aside
