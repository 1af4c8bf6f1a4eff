"""Noticing, without a tick, that the owner's folder was taken away from under it."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = ["FolderWatch"]

# From <sys/inotify.h>.
_DELETE, _DELETE_SELF, _MOVE_SELF, _MOVED_FROM, _MOVED_TO = 0x200, 0x400, 0x800, 0x40, 0x80
_ONLYDIR: Final = 0x01000000
_CONTENT: Final = _DELETE | _MOVED_FROM | _MOVED_TO | _DELETE_SELF | _MOVE_SELF | _ONLYDIR
_READ_BYTES: Final = 16 * 1024
_EVENT: Final = struct.Struct("iIII")


class FolderWatch:
    """Something in, or around, one of the folders was deleted or moved: the descriptor is readable.

    What exactly happened is the caller's to look up; events only say when to look. Where inotify
    is missing or used up, ``fileno()`` is -1 and the caller's own occasional look must do.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._handle = -1
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, AttributeError):
            return
        if handle < 0:
            return
        watched = [libc.inotify_add_watch(handle, os.fsencode(folder), _CONTENT) for folder in folders]
        if max(watched, default=-1) < 0:
            os.close(handle)
            return
        self._handle = handle

    def fileno(self) -> int:
        """The descriptor to poll, or -1."""
        return self._handle

    def clear(self) -> bool:
        """Read and drop what is queued; whether there was anything."""
        seen = False
        while self._handle >= 0:
            try:
                data = os.read(self._handle, _READ_BYTES)
            except OSError:
                break
            seen = seen or len(data) >= _EVENT.size
        return seen

    def close(self) -> None:
        """Stop watching. Safe to call twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
