"""A backup put in the place of a store's database; what was there is kept beside it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from context_graph.backup import manifest
from context_graph.backup.copying import copy_files, sync_folder
from context_graph.backup.manifest import Manifest
from context_graph.backup.probe import probe
from context_graph.client import stop_owner
from context_graph.config import Location, lock_path
from context_graph.errors import InvalidInputError, OwnerUnavailableError
from context_graph.wire import lockfile

__all__ = ["put_back"]

_DATABASE: Final = "db"
_KEPT: Final = ("project", "spool")
"""Beside the database, and not derived from it. The spool's events are applied afterwards."""
_LOCK_S: Final = 5.0
_EXCHANGE: Final = 2
_HERE: Final = -100
"""renameat2's RENAME_EXCHANGE and AT_FDCWD."""


def put_back(
    backup: Path, found: Manifest, place: Location, advance: Callable[[int], None]
) -> tuple[Path | None, dict[str, int]]:
    """Check the backup in the folder ``backup`` and make it the database of ``place.store``.

    The owner is stopped and can't start until it is done; hooks leave their events in the spool meanwhile.
    Killed at any instant, the store's database is the old or the new one, whole.

    Returns:
        Where the old database and what was derived from it are now (None: there was none); what the new one
        holds.

    Raises:
        InvalidInputError: The backup is not as it was written, or something can't be written.
        StoreError: The copy does not open; then nothing was changed.
        OwnerUnavailableError: The owner does not end.
    """
    manifest.check(backup, found)
    store = place.store
    draft = store / f".restoring-{secrets.token_hex(4)}"
    try:
        os.makedirs(store, mode=0o700, exist_ok=True)
        copy_files(backup / manifest.DATABASE, draft, advance)
        holds = probe(draft)
        with _alone(place.root):
            kept = _swap(store, draft)
    except OSError as error:
        raise InvalidInputError(f"restore into {store}: {error.filename or ''}: {error.strerror}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return kept, holds


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """The owner of ``root`` stopped, and its lock held, so that no hook starts one."""
    os.makedirs(lock_path(root).parent, mode=0o700, exist_ok=True)
    end = time.monotonic() + _LOCK_S
    while True:
        stop_owner(root)
        lock = lockfile.take(lock_path(root))
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


def _swap(store: Path, draft: Path) -> Path | None:
    """Make ``draft`` the database of ``store``; where the old one is now."""
    database = store / _DATABASE
    aside = store / f"before-restore-{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(2)}"
    os.mkdir(aside, mode=0o700)
    for entry in list(os.scandir(store)):
        # Derived of the old database; the owner makes it anew.
        derived = entry.name not in (*_KEPT, _DATABASE) and not entry.name.startswith(
            (".", "before-restore-")
        )
        if derived:
            os.rename(entry.path, aside / entry.name)
    there = database.exists()
    if there:
        _exchange(draft, database)
        os.rename(draft, aside / _DATABASE)
    else:
        os.rename(draft, database)
    sync_folder(store)
    if not any(aside.iterdir()):
        aside.rmdir()
        return None
    return aside


def _exchange(one: Path, other: Path) -> None:
    """Let two folders change names in one step; in two, where the file system can't."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return
    code = ctypes.get_errno()
    if code not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        raise OSError(code, os.strerror(code), os.fspath(other))
    between = one.with_name(f"{one.name}-old")
    os.rename(other, between)
    os.rename(one, other)
    os.rename(between, one)
