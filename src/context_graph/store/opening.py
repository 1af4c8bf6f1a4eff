"""One opener of a database at a time.

RocksDB's own lock comes late: before it takes it, it moves and removes its information logs, and we list and
read the database's files. Two that do so at once each see files vanish, which reads as damage. So whoever
opens a database holds a flock on its folder until RocksDB's lock is taken; the kernel frees it when the
holder dies, and no file is left behind.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from context_graph.errors import StoreLockedError
from context_graph.store.failures import lock_holder, refuse_held

__all__ = ["opening"]

_WAIT_S: Final = 5.0
"""For one that looks at the files: milliseconds, unless it was stopped in the midst of it."""
_STEP_S: Final = 0.002


@contextmanager
def opening(folder: Path, *, read_only: bool) -> Iterator[None]:
    """No other process or thread opens the database at ``folder`` meanwhile; readers open it side by side.

    A reader of a database that somebody has open is not held up. Where the folder can't be locked (it is
    missing, may not be read, or its file system has no locks) nothing is: opening it says what is wrong.

    Raises:
        StoreLockedError: Somebody has it open, or has been about to open it for 5 s.
    """
    handle = _take(folder, read_only=read_only)
    try:
        if not read_only:
            refuse_held(folder)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _take(folder: Path, *, read_only: bool) -> int | None:
    """The locked descriptor of ``folder``, None where there is nothing to lock or to wait for."""
    end = time.monotonic() + _WAIT_S
    while True:
        if read_only and lock_holder(folder) is not None:
            return None
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if _lock(handle, fcntl.LOCK_SH if read_only else fcntl.LOCK_EX) and _same(handle, folder):
                return handle
        except OSError:
            os.close(handle)
            return None
        os.close(handle)
        if not read_only:
            refuse_held(folder)
        if time.monotonic() > end:
            raise StoreLockedError(
                f"another process has been opening {folder} for {_WAIT_S:g} s; try again when it has ended"
            )
        time.sleep(_STEP_S)


def _lock(handle: int, kind: int) -> bool:
    """Whether the lock was free; OSError where the file system has none."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _same(handle: int, folder: Path) -> bool:
    """Whether ``folder`` is still what ``handle`` is open on: a restore may have put another in its place."""
    return os.path.samestat(os.fstat(handle), os.stat(folder))
