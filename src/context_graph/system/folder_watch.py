"""Tells that something happened in some folders, where the system says so (Linux: inotify)."""

from __future__ import annotations

import contextlib
import ctypes
import os
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
    """Watches folders, not those in them.

    Args:
        events: TAKEN_AWAY or WRITTEN.
    """

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
