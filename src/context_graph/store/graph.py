"""Memories and their edges in one database. Every change is one atomic batch: the record, its embedding, its
secondary keys, an entry of the change log and the counters, durable before the call returns.

Each change has a commit number, from 1 and without gaps; a memory keeps that of the change that added it. It
knows nothing of what a memory means. Not thread-safe: `memory.memex` holds the lock.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from context_graph.errors import (
    CorruptedMemoryError,
    GraphQueryError,
    MemoryFormatError,
    ReadFailedError,
    StoreError,
)
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store import graph_layout as layout
from context_graph.store import graph_records as records
from context_graph.store.edge_table import EdgeTable
from context_graph.store.engine import Engine
from context_graph.store.graph_batch import Work, content_bytes
from context_graph.store.graph_layout import ACCESS, INDEX, LOG, META, NODES, TOMBSTONES, Place, key_name
from context_graph.store.graph_records import Change, Counters, Op
from context_graph.store.history import HistoryTable
from context_graph.store.layout import FORMAT_KEY, after
from context_graph.store.memory_families import gain_memory, has_memory, keeps_history
from context_graph.store.node_records import (
    Access,
    StoredNode,
    decode_access,
    decode_node,
    encode_access,
)
from context_graph.store.path_table import PathTable
from context_graph.store.scrub import Scrubber
from context_graph.store.sessions import SessionStore
from context_graph.store.tuning import DEFAULT_TUNING, Tuning
from context_graph.store.vector_table import VectorTable

__all__ = ["Access", "Change", "Counters", "GraphStore", "Op", "Place", "StoredNode"]

_LOG: Final = logging.getLogger(__name__)
PURGE_BATCH: Final = 64
_ID_BYTES: Final = 16
_UID: Final = "uid"
_SIZES: Final = ("rocksdb.cur-size-all-mem-tables", "rocksdb.live-sst-files-size")


class GraphStore:
    """The memories of one database."""

    def __init__(self, engine: Engine) -> None:
        """Over an open ``engine``, which gains those families of memory that it does not have.

        Raises:
            StoreError: It can't: read-only, full, or damaged (subclass).
        """
        if not (keeps_history(engine) or (has_memory(engine) and engine.read_only)):
            gain_memory(engine)
        self._engine = engine
        self.history = HistoryTable(engine)
        self.edges = EdgeTable(engine)
        self.vectors = VectorTable(engine)
        self.paths = PathTable(engine)
        self._scrubber = Scrubber(engine, self.vectors, self.history)
        self._counters = self._load_counters()
        self.uid = self._load_uid()

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, create: bool = True, tuning: Tuning = DEFAULT_TUNING
    ) -> GraphStore:
        """Open the database folder ``path``; arguments and errors as Engine.open."""
        return cls._owning(Engine.open(path, create=create, tuning=tuning))

    @classmethod
    def read_only(cls, path: str | os.PathLike[str]) -> GraphStore:
        """The database folder ``path``, such as a `checkpoint`, to be read and never changed.

        Raises:
            StoreError: There is none, or it has no memories, or as Engine.open.
        """
        return cls._owning(Engine.open(path, create=False, read_only=True))

    @classmethod
    def _owning(cls, engine: Engine) -> GraphStore:
        try:
            return cls(engine)
        except BaseException:
            engine.close()
            raise

    @classmethod
    def beside(cls, sessions: SessionStore) -> GraphStore:
        """The memories in the database of ``sessions``, which stays its owner. Raises as the constructor."""
        return cls(sessions.engine)

    @property
    def engine(self) -> Engine:
        """The open database, for what else of ``store`` works on it."""
        return self._engine

    @property
    def path(self) -> Path:
        """The database's folder, absolute."""
        return self._engine.path

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """A consistent copy of the database in the new folder ``path``, made of hard links; it costs the disk
        what is written to neither of the two afterwards. Raises StoreError.

        Cost: a flush of what is in memory; some 5 ms, with full buffers 50.
        """
        self._engine.checkpoint(path)

    def flush(self) -> None:
        """Write buffers to tables. Not needed for durability."""
        self._engine.flush()

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._engine.close()

    def reopen(self) -> None:
        """Open the database again after a failed write; see Engine.reopen."""
        self._engine.reopen()
        self._counters = self._load_counters()
        self.vectors.load()

    def storage(self) -> dict[str, int]:
        """RocksDB's tickers since the database was opened, and ``memtable_bytes`` and ``table_bytes``."""
        sizes = dict.fromkeys(("memtable_bytes", "table_bytes"), 0)
        for family in layout.MEMORY_FAMILIES:
            for name, its in zip(sizes, _SIZES, strict=True):
                sizes[name] += int(self._engine.property(family, its) or 0)
        return {**self._engine.statistics(), **sizes}

    # Reading

    @property
    def counters(self) -> Counters:
        """What the store holds."""
        return self._counters

    @property
    def next_seq(self) -> int:
        """The number of the next commit; the next memory must carry it."""
        return self._counters.seq + 1

    def read(self, node_id: bytes) -> StoredNode | None:
        """The memory of that id, soft-deleted or not; None if there is none. Cost: two lookups, some 15 us.

        Raises:
            CorruptedMemoryError, MemoryFormatError: Its record can't be read.
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
        """The live memory of that id; None if there is none (EC-CORE-011). Raises as read."""
        found = self.read(node_id)
        return None if found is None or found.deleted else found.node

    def embedding(self, seq: int) -> bytes | None:
        """The embedding of the memory with commit number ``seq``: 1536 float32."""
        return self.vectors.get(seq)

    def page(
        self, prefix: bytes, limit: int, *, start: Place | None = None, newest_first: bool = True
    ) -> list[Place]:
        """At most ``limit`` live memories of one kind in order of time, from after ``start``.

        Args:
            prefix: `graph_layout.index_prefix` of a session, agent, project, tag, or of all.
        """
        end = after(prefix)
        at = b"" if start is None else layout.index_key(prefix, start.created_at_ms, start.seq)
        if newest_first:
            scan = self._engine.scan(INDEX, at or end, prefix, reverse=True)
        else:
            scan = self._engine.scan(INDEX, at + b"\0" if at else prefix, end)
        return [Place(*layout.split_index_key(key), node_id) for key, node_id in islice(scan, limit)]

    def ids_with_prefix(self, start: bytes, limit: int) -> list[bytes]:
        """At most ``limit`` ids of memories, soft-deleted or not, that begin with the bytes ``start``."""
        found: list[bytes] = []
        for key, _ in self._engine.scan(NODES, start):
            if not key.startswith(start) or len(found) == limit:
                break
            if len(key) == _ID_BYTES:
                found.append(key)
        return found

    def in_order(self, after_seq: int = 0, *, skip_damaged: bool = False) -> Iterator[StoredNode]:
        """All memories, soft-deleted or not, in order of commit from after ``after_seq``.

        Args:
            skip_damaged: Pass over records that can't be read, with a line in the log, instead of raising.
        """
        for change in self.changes_after(after_seq):
            if change.op != Op.ADD:
                continue
            try:
                found = self.read(change.subject)
            except (CorruptedMemoryError, MemoryFormatError) as error:
                if not skip_damaged:
                    raise
                _LOG.error("%s", error)
                continue
            # Added again since (an import, a re-capture): it comes where it was added last.
            if found is not None and found.node.commit_seq == change.seq:
                yield found

    def embeddings(self, after_seq: int = 0) -> Iterator[tuple[int, bytes]]:
        """(commit number, embedding) in order of commit from after ``after_seq``."""
        return self.vectors.after(after_seq)

    def changes_after(self, seq: int) -> Iterator[Change]:
        """The change log from after commit ``seq``."""
        for key, record in self._engine.scan(LOG, layout.seq_key(seq + 1)):
            if key != FORMAT_KEY:
                yield records.decode_change(key, record)

    def tombstone(self, node_id: bytes) -> Tombstone | None:
        """When and why that memory was deleted; None if it was not."""
        record = self._engine.get(TOMBSTONES, node_id) if len(node_id) == _ID_BYTES else None
        return None if record is None else records.decode_tombstone(node_id, record)

    def tombstones(self, after_id: bytes = b"") -> Iterator[Tombstone]:
        """All tombstones, by id, from after ``after_id``."""
        for key, record in self._engine.scan(TOMBSTONES, after_id + b"\0" if after_id else b""):
            if key != FORMAT_KEY:
                yield records.decode_tombstone(key, record)

    @staticmethod
    def count_beside(sessions: SessionStore) -> int:
        """Live memories in the database of ``sessions``, without opening its memory: one or two lookups."""
        engine = sessions.engine
        record = engine.get(META, layout.COUNTERS_KEY) if has_memory(engine) else None
        return 0 if record is None else records.decode_counters(layout.COUNTERS_KEY, record).nodes

    def meta(self, name: str) -> dict[str, Any] | None:
        """A fact about the store, such as ``provider``; None if it was never written."""
        record = self._engine.get(META, name.encode())
        return None if record is None else records.decode_meta(name.encode(), record)

    # Writing

    def add(
        self,
        nodes: Sequence[tuple[MemoryNode, bytes | None]],
        edges: Sequence[GraphEdge] = (),
        *,
        deleted: Mapping[bytes, Tombstone] | None = None,
        tombstones: Iterable[Tombstone] = (),
        fresh: bool = False,
    ) -> None:
        """Store memories with their embeddings, then edges, in one batch.

        Args:
            nodes: Each with the commit number it is to have: `next_seq` and so on. One whose id is there
                already takes the place of that memory.
            edges: New ones, or changed ones under their id.
            deleted: Tombstones of those among ``nodes`` that are soft-deleted (an import's).
            tombstones: Of memories that are gone.
            fresh: The ids were drawn just now, so that none of them can be there.

        Raises:
            InvalidParamsError: A field that no record can hold.
            StoreError: The write failed; nothing of it is stored, and this object is as it was.
        """
        work = self.begin()
        buried = deleted or {}
        for node, embedding in nodes:
            stone = buried.get(node.id.bytes) if buried else None
            work.add_node(node, embedding, stone, fresh=fresh)
        for edge in edges:
            work.put_edge(edge)
        for stone in tombstones:
            key = stone.id.bytes
            work.batch.put(TOMBSTONES, key, records.encode_tombstone(key, stone))
        self.commit(work)

    def update(self, nodes: Iterable[MemoryNode]) -> None:
        """Write changed fields of live memories (not content, which would need another embedding).

        Raises:
            GraphQueryError: One of them is not in the store.
            InvalidParamsError, StoreError: As `add`.
        """
        work = self.begin()
        for node in nodes:
            work.update_node(node)
        self.commit(work)

    def put_access(self, accesses: Iterable[tuple[bytes, Access]]) -> None:
        """Note uses of memories. Not a change of them: it has no commit number."""
        self.put_uses(accesses)

    def put_uses(
        self,
        accesses: Iterable[tuple[bytes, Access]],
        edges: Iterable[GraphEdge] = (),
        paths: Iterable[Sequence[GraphEdge]] = (),
        *,
        at_ms: int = 0,
    ) -> None:
        """Note uses of memories, edges and paths in one batch. No change of them: it has no commit number.

        Args:
            edges: That are there, with their traversals as they are to be.
            paths: Runs of edges, each from where the last one led, that were taken at ``at_ms`` (Unix ms).
        """
        batch = self._engine.batch()
        for node_id, access in accesses:
            batch.put(ACCESS, node_id, encode_access(node_id, access))
        for edge in edges:
            self.edges.put(batch, edge)
        for path in paths:
            nodes = (path[0].source_id, *(edge.target_id for edge in path))
            self.paths.note(batch, nodes, min(edge.confidence for edge in path), at_ms)
        self._engine.write(batch)

    def put_edges(self, edges: Iterable[GraphEdge]) -> None:
        """Store new or changed edges in one batch. Raises as `add`."""
        self.add((), tuple(edges))

    def remove_edges(self, edges: Iterable[GraphEdge]) -> None:
        """Take edges out in one batch. Raises as `add`."""
        work = self.begin()
        for edge in edges:
            work.remove_edge(edge)
        self.commit(work)

    def put_embeddings(self, embeddings: Iterable[tuple[MemoryNode, bytes]]) -> None:
        """Replace embeddings of memories in one batch (another provider). Raises as `add`."""
        work = self.begin()
        for node, embedding in embeddings:
            self.vectors.put(work.batch, node.commit_seq, embedding)
            work.note(Op.EMBED, node.id.bytes)
        self.commit(work)

    def forget(self, node_id: bytes, tombstone: Tombstone) -> MemoryNode:
        """Soft-delete a live memory: out of every listing, its record marked; returns it.

        Raises:
            GraphQueryError: It is not in the store, or deleted.
            StoreError: As `add`.
        """
        found = self._live(node_id)
        work = self.begin()
        work.bury(found, tombstone)
        self.commit(work)
        return found

    def restore(self, node_id: bytes) -> MemoryNode:
        """Undo a soft delete; returns the memory.

        Raises:
            GraphQueryError: No soft-deleted memory has that id.
            StoreError: As `add`.
        """
        found = self.read(node_id)
        if found is None or not found.deleted:
            raise GraphQueryError(f"no soft-deleted memory {key_name(node_id)}; nothing to restore")
        work = self.begin()
        work.unbury(found.node)
        self.commit(work)
        return found.node

    def remove(
        self, node_id: bytes, tombstone: Tombstone | None, rewritten: Sequence[StoredNode] = ()
    ) -> MemoryNode:
        """Delete a memory for good, with embedding, accesses and edges, and off the disk's tables.

        Args:
            tombstone: What stays to be seen of it, if anything.
            rewritten: Others that held its text, as they are without it; their history goes too.

        Raises:
            GraphQueryError: It is not in the store.
            StoreError: As `add`.
        """
        found = self.read(node_id)
        if found is None:
            raise GraphQueryError(f"no memory {key_name(node_id)} in this store")
        work = self.begin()
        work.remove_node(found)
        for other in rewritten:
            work.rewrite_node(other)
        if tombstone is not None:
            work.batch.put(TOMBSTONES, node_id, records.encode_tombstone(node_id, tombstone))
        self.commit(work)
        self._scrubber.scrub([found.node, *(other.node for other in rewritten)])
        return found.node

    def purge(self, before_ms: int) -> list[MemoryNode]:
        """Delete for good what was soft-deleted before that time; also drops older tombstones and history.

        Atomic for each PURGE_BATCH memories; returns the removed ones. Cost: a scan of the tombstones.
        """
        due = [stone for stone in self.tombstones() if stone.deleted_at_ms < before_ms]
        removed: list[MemoryNode] = []
        for at in range(0, len(due), PURGE_BATCH):
            work = self.begin()
            for stone in due[at : at + PURGE_BATCH]:
                found = self.read(stone.id.bytes) if stone.soft else None
                if found is not None and found.deleted:
                    work.remove_node(found)
                    removed.append(found.node)
                work.batch.delete(TOMBSTONES, stone.id.bytes)
            self.commit(work)
        self.history.purge(before_ms)
        return removed

    def put_meta(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a fact about the store: a JSON object. Raises as `add`."""
        key = name.encode()
        self._engine.put(META, key, records.encode_meta(key, content))

    def recount(self) -> Counters:
        """Work the counters out anew from the records. Cost: a scan of all memories."""
        nodes = deleted = size = 0
        for key, record in self._engine.scan(NODES):
            if key != FORMAT_KEY:
                found = decode_node(key, record)
                deleted, nodes = deleted + found.deleted, nodes + (not found.deleted)
                size += content_bytes(found.node)
        edges = sum(1 for _ in self.edges.all())
        last = next(
            (key for key, _ in self._engine.scan(LOG, b"\x80", reverse=True) if key != FORMAT_KEY), b""
        )
        counters = Counters(layout.split_seq(last), nodes, deleted, edges, size)
        self._engine.put(META, layout.COUNTERS_KEY, records.encode_counters(layout.COUNTERS_KEY, counters))
        self._counters = counters
        return counters

    def _load_counters(self) -> Counters:
        record = self._engine.get(META, layout.COUNTERS_KEY)
        if record is None:
            return Counters()
        try:
            return records.decode_counters(layout.COUNTERS_KEY, record)
        except CorruptedMemoryError:
            return self.recount()  # derived data (invariant 7)

    def _load_uid(self) -> bytes:
        """16 random bytes that tell this store from any other, also from one that took its path."""
        found = self.meta(_UID)
        if found is None:
            found = {"uid": os.urandom(16).hex()}
            if not self._engine.read_only:
                self.put_meta(_UID, found)
        return bytes.fromhex(found["uid"])

    def _live(self, node_id: bytes) -> MemoryNode:
        found = self.get(node_id)
        if found is None:
            raise GraphQueryError(f"no memory {key_name(node_id)} in this store")
        return found

    def begin(self) -> Work:
        """An empty batch of changes, for `commit`. For ``store`` alone."""
        return Work(self._engine, self._counters, self.read, self.edges, self.vectors, self.history)

    def commit(self, work: Work) -> None:
        """Write ``work`` with the counters, atomically. Raises as `add`."""
        counters = work.counters()
        record = records.encode_counters(layout.COUNTERS_KEY, counters)
        work.batch.put(META, layout.COUNTERS_KEY, record)
        self._engine.write(work.batch)
        self._counters = counters
