"""Memories and their edges in one database. Every change is one atomic batch: the record, its embedding, its
secondary keys, an entry of the change log and the counters, durable before the call returns.

Each change has a commit number, from 1 and without gaps; a memory keeps that of the change that added it. It
knows nothing of what a memory means. Not thread-safe: `memory.memex` holds the lock.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from context_graph.errors import CorruptedMemoryError, GraphQueryError, MemoryFormatError, StoreError
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store import graph_layout as layout
from context_graph.store import graph_records as records
from context_graph.store.engine import Engine
from context_graph.store.graph_batch import Work, content_bytes
from context_graph.store.graph_layout import ACCESS, LOG, META, NODES, TOMBSTONES, Place, key_name
from context_graph.store.graph_reader import GraphReader
from context_graph.store.graph_records import Change, Counters, Op
from context_graph.store.layout import FORMAT_KEY
from context_graph.store.memory_families import gain_memory, has_memory, keeps_history
from context_graph.store.node_records import (
    Access,
    StoredNode,
    decode_node,
    encode_access,
)
from context_graph.store.scrub import Scrubbed, Scrubber
from context_graph.store.sessions import SessionStore
from context_graph.store.tuning import DEFAULT_TUNING, Tuning

__all__ = ["Access", "Change", "Counters", "GraphStore", "Op", "Place", "StoredNode"]

_LOG: Final = logging.getLogger(__name__)
PURGE_BATCH: Final = 64
_UID: Final = "uid"


class GraphStore(GraphReader):
    """The memories of one database, read and written."""

    def __init__(self, engine: Engine) -> None:
        """Over an open ``engine``, which gains those families of memory that it does not have.

        Raises:
            StoreError: It can't: read-only, full, or damaged (subclass).
        """
        if not (keeps_history(engine) or (has_memory(engine) and engine.read_only)):
            gain_memory(engine)
        super().__init__(engine)
        self._scrubber = Scrubber(engine, self.vectors, self.history)
        self._counters = self._load_counters()
        self.uid = self._load_uid()
        if not engine.read_only:
            self._scrub_again()

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

    @property
    def counters(self) -> Counters:
        """What the store holds."""
        return self._counters

    @property
    def next_seq(self) -> int:
        """The number of the next commit; the next memory must carry it."""
        return self._counters.seq + 1

    @staticmethod
    def count_beside(sessions: SessionStore) -> int:
        """Live memories in the database of ``sessions``, without opening its memory: one or two lookups."""
        engine = sessions.engine
        record = engine.get(META, layout.COUNTERS_KEY) if has_memory(engine) else None
        return 0 if record is None else records.decode_counters(layout.COUNTERS_KEY, record).nodes

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

    def put_vectors(self, embeddings: Iterable[tuple[int, bytes]]) -> None:
        """Write embeddings by commit number that were lost, in one batch. No change: they have no commit.

        Raises:
            StoreError: The write failed; nothing of it is stored.
        """
        batch = self._engine.batch()
        for seq, embedding in embeddings:
            self.vectors.put(batch, seq, embedding)
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
        self, stones: Mapping[bytes, Tombstone | None], rewritten: Sequence[StoredNode] = ()
    ) -> list[MemoryNode]:
        """Delete memories for good, with embeddings, accesses and edges, in one batch; returns them.

        Their texts stay in tables and logs until `scrub`, which the store remembers to be due.

        Args:
            stones: By id, what stays to be seen of each, if anything.
            rewritten: Others that held a text of them, as they are without it; their history goes too.

        Raises:
            GraphQueryError: One is not in the store.
            StoreError: As `add`.
        """
        work = self.begin()
        removed: list[MemoryNode] = []
        for node_id, stone in stones.items():
            found = self.read(node_id)
            if found is None:
                raise GraphQueryError(f"no memory {key_name(node_id)} in this store")
            work.remove_node(found)
            removed.append(found.node)
            if stone is not None:
                work.batch.put(TOMBSTONES, node_id, records.encode_tombstone(node_id, stone))
        for other in rewritten:
            work.rewrite_node(other)
        places = [Scrubbed.of(node) for node in (*removed, *(other.node for other in rewritten))]
        self._scrubber.note(work.batch, places)
        self.commit(work)
        return removed

    def scrub(self) -> None:
        """Have what was removed leave tables and logs, if that was not done yet. Raises StoreError."""
        self._scrubber.scrub()

    def purge(self, before_ms: int) -> list[MemoryNode]:
        """Delete for good what was soft-deleted before that time; also drops older tombstones and history.

        What can't be read stays, with a line in the log, and keeps nothing else from going. Atomic for each
        PURGE_BATCH memories; returns the removed ones. Cost: a scan of the tombstones.
        """
        due = [stone for stone in self.tombstones(skip_damaged=True) if stone.deleted_at_ms < before_ms]
        removed: list[MemoryNode] = []
        for at in range(0, len(due), PURGE_BATCH):
            work = self.begin()
            for stone in due[at : at + PURGE_BATCH]:
                try:
                    found = self.read(stone.id.bytes) if stone.soft else None
                except (CorruptedMemoryError, MemoryFormatError) as error:
                    _LOG.error("not purged: %s", error)
                    continue
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

    def _scrub_again(self) -> None:
        """What a process had no time or room for; it must not keep the store from being opened."""
        try:
            self.scrub()
        except StoreError as error:
            _LOG.warning("what was deleted for good is still in files of %s: %s", self.path, error)

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
