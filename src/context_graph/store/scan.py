"""Reading a column family in key order, so that damage is an error and never an early end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rocksdict import Rdict, RdictIter, ReadOptions

from context_graph import watchdog
from context_graph.errors import StoreClosedError
from context_graph.store.failures import call

__all__ = ["Scan", "open_cursor"]

AHEAD_BYTES: Final = 2 << 20
"""Read ahead of a pass over a whole family."""
_ROWS: Final = 1024


class Scan(Iterator[tuple[bytes, bytes]]):
    """Keys and values in order, of the database as it was when the scan began.

    Raises:
        DatabaseCorruptionError: At the first damaged block, instead of ending there.
        StoreClosedError: When the engine was closed meanwhile.
    """

    __slots__ = ("__weakref__", "_iter", "_left", "_path", "_reverse", "_until")

    def __init__(self, cursor: RdictIter, start: bytes, until: bytes, reverse: bool, path: Path) -> None:
        self._iter: RdictIter | None = cursor
        self._until = until
        self._reverse = reverse
        self._path = path
        self._left = _ROWS
        _seek(cursor, start, until, reverse)

    def __next__(self) -> tuple[bytes, bytes]:
        cursor = self._iter
        if cursor is None:
            raise StoreClosedError(f"{self._path} was closed during a scan")
        if not cursor.valid():
            del cursor  # an error would keep it, and with it the database open (`failures.call`)
            call(self._path, self._iter.status)  # type: ignore[union-attr]
            raise StopIteration
        key: bytes = cursor.key()
        if (key < self._until) if self._reverse else (bool(self._until) and key >= self._until):
            raise StopIteration
        value: bytes = cursor.value()
        if self._reverse:
            cursor.prev()
        else:
            cursor.next()
        self._left -= 1
        if not self._left:  # a pass over a large family ends: it is no work that gets nowhere
            self._left = _ROWS
            watchdog.progress()
        return key, value

    def release(self) -> None:
        """Let go of the database; the engine does so on closing."""
        self._iter = None


def open_cursor(family: Rdict, whole: bool) -> RdictIter:
    """A cursor over ``family``; ``whole`` reads ahead, and leaves in the cache what others put there."""
    if not whole:
        return family.iter()
    options = ReadOptions()
    options.fill_cache(False)  # type: ignore[call-arg]  # RocksDict's stub has it as a property
    options.set_readahead_size(AHEAD_BYTES)
    return family.iter(options)


def _seek(cursor: RdictIter, start: bytes, until: bytes, reverse: bool) -> None:
    if not reverse:
        if start:
            cursor.seek(start)
        else:
            cursor.seek_to_first()
        return
    if not start:
        cursor.seek_to_last()
        return
    cursor.seek_for_prev(start)
    if cursor.valid() and cursor.key() == start:  # start is exclusive in reverse, as the end is forwards
        cursor.prev()
