"""Reads the memories in one database: by id, in order of commit or of time."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from context_graph.errors import CorruptedMemoryError, MemoryFormatError, ReadFailedError, StoreError
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store import layout
from context_graph.store.engine.engine import Engine
from context_graph.store.graph import records
from context_graph.store.graph.history import HistoryTable
from context_graph.store.graph.node_records import StoredNode, content_bytes, decode_access, decode_node
from context_graph.store.graph.records import Change, Counters, Op
from context_graph.store.graph.tables import EdgeTable, PathTable
from context_graph.store.graph.vector_table import VectorTable
from context_graph.store.layout import ACCESS, INDEX, LOG, META, NODES, TOMBSTONES, Place, after, key_name

_LOG: Final = logging.getLogger(__name__)
_ID_BYTES: Final = 16
_SIZES: Final = ("rocksdb.cur-size-all-mem-tables", "rocksdb.live-sst-files-size")


class GraphReader:
    """The memories of one open database. Not thread-safe."""

    def __init__(self, engine: Engine) -> None:
        """Over an ``engine`` that has the families of memory."""
        self._engine = engine
        self.history = HistoryTable(engine)
        self.edges = EdgeTable(engine)
        self.vectors = VectorTable(engine)
        self.paths = PathTable(engine)

    @property
    def engine(self) -> Engine:
        """The open database, for other parts of ``store``."""
        return self._engine

    @property
    def path(self) -> Path:
        """The database's folder, absolute."""
        return self._engine.path

    def read(self, node_id: bytes) -> StoredNode | None:
        """Return the memory of that id, soft-deleted or not; None if there is none. Cost: two lookups, some
        15 us.

        Raises CorruptedMemoryError, MemoryFormatError if its record can't be read. Raises
        DatabaseCorruptionError, ReadFailedError: The database can't.
        """
        try:
            record = self._engine.get(NODES, node_id)
            if record is None or len(node_id) != _ID_BYTES:
                return None
            access = self._engine.get(ACCESS, node_id)
        except StoreError as error:
            if type(error) is StoreError:  # none of the causes that have a class of their own
                name = key_name(node_id)
                raise ReadFailedError(f"memory {name} could not be read: {error}", node_id=name) from error
            raise
        return decode_node(node_id, record, None if access is None else decode_access(node_id, access))

    def get(self, node_id: bytes) -> MemoryNode | None:
        """Return the live memory of that id; None if there is none (EC-CORE-011). Raises as read."""
        stored = self.read(node_id)
        return None if stored is None or stored.deleted else stored.node

    def page(self, prefix: bytes, limit: int, *, start: Place | None = None) -> list[Place]:
        """Return at most ``limit`` live memories of one kind, the newest first, from after ``start``.
        ``prefix``: `layout.index_prefix` of a session, agent, project, tag, or of all.
        """
        at = after(prefix) if start is None else layout.index_key(prefix, start.created_at_ms, start.seq)
        scan = self._engine.scan(INDEX, at, prefix, reverse=True)
        return [Place(*layout.split_index_key(key), node_id) for key, node_id in islice(scan, limit)]

    def ids_with_prefix(self, start: bytes, limit: int) -> list[bytes]:
        """Return at most ``limit`` ids of memories, soft-deleted or not, that begin with ``start``."""
        ids: list[bytes] = []
        for key, _ in self._engine.scan(NODES, start):
            if not key.startswith(start) or len(ids) == limit:
                break
            if len(key) == _ID_BYTES:
                ids.append(key)
        return ids

    def in_order(self, after_seq: int = 0, *, skip_damaged: bool = False) -> Iterator[StoredNode]:
        """Yield all memories, soft-deleted or not, in order of commit from after ``after_seq``.
        ``skip_damaged`` passes over records that can't be read, with a line in the log.
        """
        for change in self.changes_after(after_seq):
            if change.op != Op.ADD:
                continue
            try:
                stored = self.read(change.subject)
            except (CorruptedMemoryError, MemoryFormatError) as error:
                if not skip_damaged:
                    raise
                _LOG.error("%s", error)
                continue
            # Added again since (an import, a re-capture): it comes where it was added last.
            if stored is not None and stored.node.commit_seq == change.seq:
                yield stored

    def node_records(self) -> Iterator[tuple[bytes, bytes]]:
        """Return (id, record) of all memories, soft-deleted or not, by id and unchecked."""
        return self._engine.rows(NODES, whole=True)

    def changes_after(self, seq: int) -> Iterator[Change]:
        """Yield the change log from after commit ``seq``."""
        for key, record in self._engine.rows(LOG, layout.seq_key(seq + 1)):
            yield records.decode_change(key, record)

    def tombstone(self, node_id: bytes) -> Tombstone | None:
        """Return when and why that memory was deleted; None if it was not."""
        record = self._engine.get(TOMBSTONES, node_id) if len(node_id) == _ID_BYTES else None
        return None if record is None else records.decode_tombstone(node_id, record)

    def tombstones(self, after_id: bytes = b"", *, skip_damaged: bool = False) -> Iterator[Tombstone]:
        """Yield all tombstones, by id, from after ``after_id``; ``skip_damaged`` as `in_order`'s."""
        for key, record in self._engine.rows(TOMBSTONES, after_id + b"\0" if after_id else b""):
            try:
                stone = records.decode_tombstone(key, record)
            except (CorruptedMemoryError, MemoryFormatError) as error:
                if not skip_damaged:
                    raise
                _LOG.error("%s", error)
                continue
            yield stone

    def meta(self, name: str) -> dict[str, Any] | None:
        """Return a fact about the store, such as ``provider``; None if it was never written."""
        record = self._engine.get(META, name.encode())
        return None if record is None else records.decode_meta(name.encode(), record)

    def storage(self) -> dict[str, int]:
        """RocksDB's tickers since the database was opened, and ``memtable_bytes`` and ``table_bytes``."""
        sizes = dict.fromkeys(("memtable_bytes", "table_bytes"), 0)
        for family in layout.MEMORY_FAMILIES:
            for name, its in zip(sizes, _SIZES, strict=True):
                sizes[name] += int(self._engine.property(family, its) or 0)
        return {**self._engine.statistics(), **sizes}


def counted(engine: Engine) -> Counters:
    """Return the counters as the records have them. Cost: a scan of all memories."""
    nodes = deleted = size = 0
    for key, record in engine.rows(NODES):
        node_record = decode_node(key, record)
        deleted, nodes = deleted + node_record.deleted, nodes + (not node_record.deleted)
        size += content_bytes(node_record.node)
    edges = sum(1 for _ in EdgeTable(engine).all())
    last = next((key for key, _ in engine.scan(LOG, b"\x80", reverse=True) if len(key) == 8), b"")
    return Counters(layout.split_seq(last), nodes, deleted, edges, size)
