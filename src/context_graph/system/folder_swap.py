"""Replaces a database's folder by a new one: in one step, or in three that any process can finish.

`restore` does it; whoever opens the database finishes what a killed `restore` left.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import time
from pathlib import Path
from typing import Final

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
