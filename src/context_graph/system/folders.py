"""Watches folders, where the system tells of them (Linux: inotify), and replaces one by another."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

# From <sys/inotify.h>.
_ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x4, 0x8, 0x40, 0x80
_DELETE, _DELETE_SELF, _MOVE_SELF = 0x200, 0x400, 0x800
_ONLYDIR: Final = 0x01000000
TAKEN_AWAY: Final = _DELETE | _MOVED_FROM | _MOVED_TO | _DELETE_SELF | _MOVE_SELF
"""Something in or around them is deleted or moved."""
WRITTEN: Final = _ATTRIB | _CLOSE_WRITE | _MOVED_TO | _DELETE_SELF | _MOVE_SELF
"""A file in them is written, put there or given another time, or they are themselves replaced."""
_READ_BYTES: Final = 16 * 1024


class FolderWatch:
    """Watches folders, not those in them, for ``events``: TAKEN_AWAY or WRITTEN."""

    def __init__(self, folders: Iterable[Path], events: int) -> None:
        self._handle = -1
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, AttributeError):
            return
        if handle < 0:
            return
        watched = [
            libc.inotify_add_watch(handle, os.fsencode(folder), events | _ONLYDIR) for folder in folders
        ]
        if max(watched, default=-1) < 0 or (events == WRITTEN and min(watched) < 0):
            os.close(handle)
            return
        self._handle = handle

    def fileno(self) -> int:
        """Return the descriptor to poll, or -1 where nothing is told."""
        return self._handle

    def is_stirred(self) -> bool:
        """Return whether something may have happened since the last call: always where nothing is told."""
        stirred = self._handle < 0
        with contextlib.suppress(OSError):
            while self._handle >= 0 and os.read(self._handle, _READ_BYTES):
                stirred = True
        return stirred

    def close(self) -> None:
        """Stop watching. Safe to call twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


# `restore` replaces a database's folder by a new one: in one step, or in three that any process can finish.
# Whoever opens the database finishes what a killed `restore` left.


ASIDE: Final = "before-restore-"
"""Folders in a store whose names begin so keep what was there; we never remove one that holds something."""
_EXCHANGE: Final = 2
_HERE: Final = -100
"""renameat2's RENAME_EXCHANGE and AT_FDCWD."""
_CANT: Final = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def swap(new: Path, database: Path) -> None:
    """Let the folders ``new`` and ``database`` change names.

    Where the file system can't do that in one step there are instants at which the old one is in neither
    place: `settle` finds it. Raises OSError if that fails; ``database`` is then as it was.
    """
    if _exchange(new, database):
        return
    left = _leaving(database)
    os.rename(database, left)
    try:
        os.rename(new, database)
    except OSError:
        settle(database)
        raise
    with contextlib.suppress(FileNotFoundError):  # somebody who opened the database has settled it
        os.rename(left, new)


def settle(database: Path) -> None:
    """Finish a swap that was cut short: a missing ``database`` gets its old folder back, and where the new
    one is in its place the old one is kept beside it.

    For whoever opens it. Never fails: what can't be put back is found missing.
    """
    left = _leaving(database)
    if not os.path.lexists(left):
        return
    with contextlib.suppress(OSError):
        os.rename(left, aside_folder(database.parent) / database.name if database.exists() else database)


def aside_folder(store: Path) -> Path:
    """Return a new folder in ``store`` for what was there before; raises OSError."""
    made = store / f"{ASIDE}{time.strftime('%Y%m%dT%H%M%S')}-{os.urandom(2).hex()}"
    os.mkdir(made, mode=0o700)
    return made


def _leaving(database: Path) -> Path:
    """Return where the old folder is during a swap in three steps."""
    return database.with_name(f".leaving-{database.name}")


def _exchange(first: Path, other: Path) -> bool:
    """In one step; False where the system or the file system has none.

    Raises OSError if the system refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    renameat2 = getattr(libc, "renameat2", None)  # macOS's C library has another
    if renameat2 is None:
        return False
    if renameat2(_HERE, os.fsencode(first), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANT:
        return False
    raise OSError(code, os.strerror(code), os.fspath(other))
