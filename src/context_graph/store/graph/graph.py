"""Keeps memories and their edges in one database. Every change is one atomic batch: the record, its
embedding, its secondary keys, an entry of the change log and the counters, durable before the call returns.

Each change has a commit number, from 1 and without gaps; a memory keeps that of the change that added it. The
module does not know what a memory means. Not thread-safe: `memory.memex` holds the lock.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from context_graph.errors import CorruptedMemoryError, GraphQueryError, MemoryFormatError, StoreError
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store import layout
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.tuning import DEFAULT_TUNING, Tuning
from context_graph.store.graph import records
from context_graph.store.graph.edits import (
    Edit,
    Work,
    add_edit,
    forget_edit,
    put_edge_edit,
    remove_edits,
    restore_edit,
    rewrite_edit,
    unlink_edit,
    update_edit,
)
from context_graph.store.graph.history import Act
from context_graph.store.graph.node_records import Access, StoredNode, encode_access
from context_graph.store.graph.reader import GraphReader, counted
from context_graph.store.graph.records import Counters
from context_graph.store.graph.scrub import Scrubber
from context_graph.store.graph.tables import edge_writes
from context_graph.store.layout import ACCESS, META, TOMBSTONES, key_name
from context_graph.store.schema import gain_memory, has_memory, open_database

_LOG: Final = logging.getLogger(__name__)
PURGE_BATCH: Final = 64
_UID: Final = "uid"


class GraphStore(GraphReader):
    """The memories of one database, read and written."""

    def __init__(self, engine: Engine) -> None:
        """Over an open ``engine``, which gains the families of memory if it does not have them.

        Raises StoreError if it can't: read-only, full, or damaged (subclass).
        """
        if not has_memory(engine):
            gain_memory(engine)
        super().__init__(engine)
        self._scrubber = Scrubber(engine, self.vectors)
        self.act: Act | None = None
        """What the commits are part of now."""
        self._counters = self._load_counters()
        self.uid = self._load_uid()
        if not engine.read_only:
            try:
                self.scrub()
            except StoreError as error:  # it must not keep the store from being opened
                _LOG.warning("what was deleted for good is still in files of %s: %s", self.path, error)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, create: bool = True, tuning: Tuning = DEFAULT_TUNING
    ) -> GraphStore:
        """Open the database folder ``path``; arguments and errors as Engine.open."""
        return cls._owning(open_database(path, create=create, tuning=tuning))

    @classmethod
    def read_only(cls, path: str | os.PathLike[str]) -> GraphStore:
        """Return the database folder ``path``, such as a `checkpoint`, to be read and never changed.

        Raises StoreError if there is none, or it has no memories, or as Engine.open.
        """
        return cls._owning(open_database(path, create=False, read_only=True))

    @classmethod
    def _owning(cls, engine: Engine) -> GraphStore:
        try:
            return cls(engine)
        except BaseException:
            engine.close()
            raise

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Make a consistent copy of the database in the new folder ``path``, made of hard links; it costs
        the disk what is written to neither of the two afterwards. Raises StoreError.

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
        """The store's counts."""
        return self._counters

    @property
    def next_seq(self) -> int:
        """The number of the next commit; the next memory must carry it."""
        return self._counters.seq + 1

    @staticmethod
    def count_in(engine: Engine) -> int:
        """Live memories in the database of ``engine``, without opening its memory: one or two lookups."""
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
            fresh: None of the ids is there: they were drawn just now, or looked for.

        Raises:
            InvalidParamsError: A field that no record can hold.
            StoreError: The write failed; nothing of it is stored, and this object is as it was.
        """
        work = self.begin()
        buried = deleted or {}
        for node, embedding in nodes:
            if node.commit_seq != work.seq + 1:
                raise StoreError(f"memory {node.id} carries commit {node.commit_seq}, next is {work.seq + 1}")
            if fresh and not buried:
                work.add_fresh(self, node, embedding)
            else:
                work.edit(add_edit(self, node, embedding, buried.get(node.id.bytes)))
        for edge in edges:
            work.edit(put_edge_edit(self, edge))
        for stone in tombstones:
            key = stone.id.bytes
            work.batch.put(TOMBSTONES, key, records.encode_tombstone(key, stone))
        self.commit(work)

    def update(self, nodes: Iterable[MemoryNode]) -> None:
        """Write changed fields of live memories (not content, which would need another embedding).

        Raises GraphQueryError if one of them is not in the store. Raises InvalidParamsError, StoreError: As
        `add`.
        """
        self._apply(update_edit(self, self._live(node.id.bytes), node) for node in nodes)

    def put_uses(
        self,
        accesses: Iterable[tuple[bytes, Access]],
        edges: Iterable[GraphEdge] = (),
        paths: Iterable[Sequence[GraphEdge]] = (),
        *,
        at_ms: int = 0,
    ) -> None:
        """Note uses of memories, edges and paths in one batch. No change of them: it has no commit number.

        ``edges`` are there, with their traversals as they are to be; ``paths`` are runs of edges, each from
        where the last one led, that were taken at ``at_ms`` (Unix ms).
        """
        batch = self._engine.batch()
        for node_id, access in accesses:
            batch.put(ACCESS, node_id, encode_access(node_id, access))
        for edge in edges:
            batch.apply(edge_writes(edge))
        for path in paths:
            nodes = (path[0].source_id, *(edge.target_id for edge in path))
            self.paths.note(batch, nodes, min(edge.confidence for edge in path), at_ms)
        self._engine.write(batch)

    def put_vectors(self, embeddings: Iterable[tuple[int, bytes]]) -> None:
        """Write embeddings by commit number that were lost, in one batch. No change: they have no commit.

        Raises StoreError if the write failed; nothing of it is stored.
        """
        batch = self._engine.batch()
        batch.apply(self.vectors.write(seq, embedding) for seq, embedding in embeddings)
        self._engine.write(batch)

    def put_edges(self, edges: Iterable[GraphEdge]) -> None:
        """Store new or changed edges in one batch. Raises as `add`."""
        self._apply(put_edge_edit(self, edge) for edge in edges)

    def remove_edges(self, edges: Iterable[GraphEdge]) -> None:
        """Remove edges in one batch. Raises as `add`."""
        self._apply(unlink_edit(edge, self.edges.record(edge.id.bytes)) for edge in edges)

    def forget(self, node_id: bytes, tombstone: Tombstone) -> MemoryNode:
        """Soft-delete a live memory: out of every listing, its record marked; returns it.

        Raises GraphQueryError if it is not in the store, or deleted. Raises StoreError as `add`.
        """
        node = self._live(node_id)
        self._apply([forget_edit(self, node, tombstone)])
        return node

    def restore(self, node_id: bytes) -> MemoryNode:
        """Undo a soft delete; returns the memory.

        Raises GraphQueryError if no soft-deleted memory has that id. Raises StoreError as `add`.
        """
        stored = self.read(node_id)
        if stored is None or not stored.deleted:
            raise GraphQueryError(f"no soft-deleted memory {key_name(node_id)}; nothing to restore")
        self._apply([restore_edit(self, stored.node)])
        return stored.node

    def remove(
        self,
        stones: Mapping[bytes, Tombstone | None],
        rewritten: Sequence[StoredNode] = (),
        facts: Mapping[str, Mapping[str, Any] | None] | None = None,
    ) -> list[MemoryNode]:
        """Delete memories for good, with embeddings, accesses and edges, in one batch; returns them.

        Their texts stay in tables and logs until `scrub`, which the store remembers to be due.

        Args:
            stones: By id, what stays to be seen of each, if anything.
            rewritten: Others that held a text of them, as they are without it; their history goes too.
            facts: Facts about the store that held a text of them, as they are without it; None for none.
                Their history goes too.

        Raises:
            GraphQueryError: One is not in the store.
            StoreError: As `add`.
        """
        work, unlinked = self.begin(), set[bytes]()
        removed: list[MemoryNode] = []
        for node_id, stone in stones.items():
            stored = self.read(node_id)
            if stored is None:
                raise GraphQueryError(f"no memory {key_name(node_id)} in this store")
            for edit in remove_edits(self, stored, stone, unlinked):
                work.edit(edit)
            removed.append(stored.node)
        for other in rewritten:
            work.edit(rewrite_edit(self, other))
        facts = facts or {}
        work.batch.apply(self.history.removal_of_facts(facts))
        for name, content in facts.items():
            if content is None:
                work.batch.delete(META, name.encode())
            else:
                work.batch.put(META, name.encode(), records.encode_meta(name.encode(), content))
        self._scrubber.note(work.batch, (*removed, *(other.node for other in rewritten)), facts)
        self.commit(work)
        return removed

    def scrub(self) -> None:
        """Erase what was removed from tables and logs, if that was not done yet. Raises StoreError."""
        self._scrubber.scrub()

    def purge(self, before_ms: int) -> list[MemoryNode]:
        """Delete for good what was soft-deleted before that time; also drops older tombstones and history.

        What can't be read stays, with a line in the log, and keeps nothing else from going. Atomic for each
        PURGE_BATCH memories; returns the removed ones. Cost: a scan of the tombstones.
        """
        due = [stone for stone in self.tombstones(skip_damaged=True) if stone.deleted_at_ms < before_ms]
        removed: list[MemoryNode] = []
        for at in range(0, len(due), PURGE_BATCH):
            work, unlinked = self.begin(), set[bytes]()
            for stone in due[at : at + PURGE_BATCH]:
                try:
                    stored = self.read(stone.id.bytes) if stone.soft else None
                except (CorruptedMemoryError, MemoryFormatError) as error:
                    _LOG.error("not purged: %s", error)
                    continue
                if stored is not None and stored.deleted:
                    for edit in remove_edits(self, stored, None, unlinked):
                        work.edit(edit)
                    removed.append(stored.node)
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
        counters = counted(self._engine)
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
        """Return the store's 16 random bytes, which distinguish it even from one that took its path."""
        meta = self.meta(_UID)
        if meta is None:
            meta = {"uid": os.urandom(16).hex()}
            if not self._engine.read_only:
                self.put_meta(_UID, meta)
        return bytes.fromhex(meta["uid"])

    def _live(self, node_id: bytes) -> MemoryNode:
        node = self.get(node_id)
        if node is None:
            raise GraphQueryError(f"no memory {key_name(node_id)} in this store")
        return node

    def _apply(self, edits: Iterable[Edit]) -> None:
        work = self.begin()
        for edit in edits:
            work.edit(edit)
        self.commit(work)

    def begin(self) -> Work:
        """Return an empty batch of changes, for `commit`. For ``store`` alone."""
        return Work(self._engine, self._counters, self.history)

    def commit(self, work: Work) -> None:
        """Write ``work`` with the counters, atomically. Raises as `add`."""
        run = None
        if self.act is not None and work.seq > self._counters.seq:
            run = self.act.run.grown(self.next_seq, work.seq)
            self.history.put_run(work.batch, run)
        counters = work.finish()
        self._engine.write(work.batch)
        self._counters = counters
        if self.act is not None and run is not None:
            self.act.run = run
