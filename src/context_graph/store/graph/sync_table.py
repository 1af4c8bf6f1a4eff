"""Keeps the notes of exchanges with other machines: JSON objects in META under ``sync:``.

docs/dev/formats.md describes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from context_graph.store.engine.batches import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.graph.node_records import Access, decode_access, encode_access
from context_graph.store.graph.records import decode_meta, encode_meta
from context_graph.store.layout import ACCESS, META, SYNC_PREFIX, after


class SyncTable:
    """Reads the notes, and writes them into batches that their caller commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the note of that name; None if there is none. Raises CorruptedMemoryError."""
        key = SYNC_PREFIX + name.encode()
        record = self._engine.get(META, key)
        return None if record is None else decode_meta(key, record)

    def scan(
        self, prefix: str, after_name: str = "", limit: int = 1 << 30
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield at most ``limit`` (name, note) whose names begin with ``prefix``, from after
        ``after_name``."""
        start = SYNC_PREFIX + prefix.encode()
        first = SYNC_PREFIX + after_name.encode() + b"\0" if after_name else start
        for key, record in islice(self._engine.scan(META, first, after(start)), limit):
            yield key[len(SYNC_PREFIX) :].decode(), decode_meta(key, record)

    def put(self, batch: Batch, name: str, note: Mapping[str, Any]) -> None:
        """Add a note to ``batch``. Raises InvalidParamsError for more than 1 MiB."""
        key = SYNC_PREFIX + name.encode()
        batch.put(META, key, encode_meta(key, note))

    def remove(self, batch: Batch, name: str) -> None:
        """Take a note away."""
        batch.delete(META, SYNC_PREFIX + name.encode())

    def access(self, node_id: bytes) -> Access:
        """Return how often a memory was used, (0, 0) if never."""
        record = self._engine.get(ACCESS, node_id)
        return Access(0, 0) if record is None else decode_access(node_id, record)

    def put_access(self, batch: Batch, node_id: bytes, access: Access) -> None:
        """Add to ``batch``: how often a memory was used."""
        batch.put(ACCESS, node_id, encode_access(node_id, access))

    def accesses(self, after_id: bytes, limit: int) -> Iterator[tuple[bytes, Access]]:
        """Yield at most ``limit`` (id, uses) of memories, by id."""
        rows = self._engine.rows(ACCESS, after_id + b"\0" if after_id else b"")
        for key, record in islice(rows, limit):
            if len(key) == 16:
                yield key, decode_access(key, record)

    def commit(self, batch: Batch) -> None:
        """Write notes alone: no change of the store."""
        self._engine.write(batch)

    def batch(self) -> Batch:
        """Return an empty batch of notes."""
        return self._engine.batch()
