"""Writes that RocksDB applies together, checked before it sees them."""

from __future__ import annotations

from rocksdict import ColumnFamily, WriteBatch

from context_graph.errors import StoreClosedError, StoreError
from context_graph.store.failures import missing_family

__all__ = ["Batch", "require_bytes"]


class Batch:
    """Writes that become visible and durable together, or not at all. Used once."""

    __slots__ = ("_batch", "_handles")

    def __init__(self, handles: dict[str, ColumnFamily]) -> None:
        self._batch: WriteBatch | None = WriteBatch(raw_mode=True)
        self._handles = handles

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Set ``key`` to ``value`` in ``family``. Cost: 0.7 us; a memory's batch has six of them."""
        batch = self._batch
        if batch is None or type(key) is not bytes or type(value) is not bytes or family not in self._handles:
            require_bytes(key, value)
            batch = self._open()
            self._handle(family)
        batch.put(key, value, self._handles[family])

    def delete(self, family: str, key: bytes) -> None:
        """Remove ``key``; nothing happens if it is not there."""
        require_bytes(key)
        self._open().delete(key, self._handle(family))

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Remove the keys from ``start`` up to but not including ``end``."""
        require_bytes(start, end)
        self._open().delete_range(start, end, self._handle(family))

    def _open(self) -> WriteBatch:
        if self._batch is None:
            raise StoreError("this batch has been written; begin another")
        return self._batch

    def _handle(self, family: str) -> ColumnFamily:
        if not self._handles:
            raise StoreClosedError("this batch's store is closed")
        try:
            return self._handles[family]
        except KeyError:
            raise missing_family(family) from None

    def take(self) -> WriteBatch:
        """The engine's: the batch, which is then used up."""
        batch, self._batch = self._open(), None
        return batch


def require_bytes(*values: object) -> None:
    """Refuse what RocksDict would take for something else.

    Raises:
        TypeError: One of them is no bytes.
    """
    for value in values:
        if type(value) is not bytes:
            raise TypeError(f"keys and values are bytes, got {type(value).__name__}")
