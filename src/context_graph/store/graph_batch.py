"""One batch of changes to memories on its way: what it writes, and what the counters will be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from context_graph.errors import GraphQueryError, StoreError
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store import graph_layout as layout
from context_graph.store import graph_records as records
from context_graph.store.edge_table import EdgeTable
from context_graph.store.edits import Edit, Write
from context_graph.store.engine import Engine
from context_graph.store.graph_layout import ACCESS, EDGES, INDEX, LOG, NODES, TOMBSTONES
from context_graph.store.graph_records import Counters, Op
from context_graph.store.history import HistoryTable, Image
from context_graph.store.node_records import (
    Access,
    StoredNode,
    encode_access,
    encode_node,
)
from context_graph.store.vector_table import VectorTable

__all__ = ["Work", "content_bytes", "index_keys"]

_COUNTED: Final = {Op.FORGET: (-1, 0), Op.RESTORE: (1, 0), Op.LINK: (0, 1), Op.UNLINK: (0, -1)}
"""How many live memories, and edges, there are more after such an edit."""


class Work:
    """One batch on its way: what it writes, and what the counters will be."""

    def __init__(
        self,
        engine: Engine,
        counters: Counters,
        read: Callable[[bytes], StoredNode | None],
        edges: EdgeTable,
        vectors: VectorTable,
        history: HistoryTable,
    ) -> None:
        """
        Args:
            counters: As they are before it.
            read: Finds a memory by its id.
            edges, vectors, history: Of the same database.
        """
        self.batch = engine.batch()
        self.at_ms = time.time_ns() // 1_000_000
        """Unix ms of all its commits."""
        self._engine = engine
        self._history = history
        self.seq, self._nodes, self._deleted, self._edge_count, self._bytes = counters
        self._read = read
        self._edges = edges
        self._vectors = vectors
        self._gone: set[UUID] = set()

    def counters(self) -> Counters:
        """What they will be."""
        return Counters(self.seq, self._nodes, self._deleted, self._edge_count, self._bytes)

    def note(self, op: int, subject: bytes, images: Sequence[Image] = (), ends: Sequence[bytes] = ()) -> None:
        """One entry of the change log, under the next commit number, and what it overwrites."""
        self.seq += 1
        key = layout.seq_key(self.seq)
        self.batch.put(LOG, key, records.encode_change(key, op, subject, self.at_ms))
        if images or op == Op.RUN:
            self._history.note(self.batch, self.seq, self.at_ms, op, subject, images, ends)

    def put(self, write: Write) -> None:
        """One record is put, or removed."""
        if write.value is None:
            self.batch.delete(write.family, write.key)
        else:
            self.batch.put(write.family, write.key, write.value)

    def edit(self, edit: Edit) -> None:
        """A change that was worked out beforehand."""
        for write in edit.writes:
            self.put(write)
        nodes, edges = _COUNTED.get(edit.op, (0, 0))
        self._nodes, self._deleted = self._nodes + nodes, self._deleted - nodes
        self._edge_count += edges
        self.note(edit.op, edit.subject, edit.images, edit.ends)

    def image(self, family: str, key: bytes) -> Image:
        """That record as it is before this batch."""
        return Image(family, key, self._engine.get(family, key))

    def _edge_image(self, edge: GraphEdge) -> Image:
        return self.image(EDGES, layout.edge_key(edge.id.bytes))

    def add_node(
        self,
        node: MemoryNode,
        embedding: bytes | None,
        tombstone: Tombstone | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        """A memory comes, under the next commit number.

        Args:
            tombstone: If it is soft-deleted.
            fresh: Its id was drawn just now: nothing is looked for that it would replace.
        """
        key = node.id.bytes
        there = None if fresh else self._read(key)
        images: tuple[Image, ...] = ()
        if there is not None:
            images = self.image(NODES, key), self.image(TOMBSTONES, key)
            self._clear(there)
        self.note(Op.ADD, key, images)
        if node.commit_seq != self.seq:
            raise StoreError(f"memory {node.id} carries commit {node.commit_seq}, the next is {self.seq}")
        if embedding is not None:  # first, for it is the largest: the batch's buffer then grows once
            self._vectors.put(self.batch, self.seq, embedding)
        self.batch.put(NODES, key, encode_node(key, node, deleted=tombstone is not None))
        if node.access_count or there is not None:
            access = Access(node.access_count, node.last_accessed_ms)
            self.batch.put(ACCESS, key, encode_access(key, access))
        self._bytes += content_bytes(node)
        if tombstone is None:
            self._nodes += 1
            self._index(node)
        else:
            self._deleted += 1
            self.batch.put(TOMBSTONES, key, records.encode_tombstone(key, tombstone))

    def update_node(self, node: MemoryNode) -> None:
        """A live memory has other fields."""
        key = node.id.bytes
        found = self._read(key)
        if found is None or found.deleted:
            raise GraphQueryError(f"no memory {node.id} in this store")
        there = found.node
        for at in index_keys(there):
            self.batch.delete(INDEX, at)
        self._bytes += content_bytes(node) - content_bytes(there)
        self.batch.put(NODES, key, encode_node(key, node))
        self._index(node)
        self.note(Op.UPDATE, key, (self.image(NODES, key),))

    def bury(self, node: MemoryNode, tombstone: Tombstone) -> None:
        """A live memory is soft-deleted."""
        key = node.id.bytes
        for at in index_keys(node):
            self.batch.delete(INDEX, at)
        self.batch.put(NODES, key, encode_node(key, node, deleted=True))
        self.batch.put(TOMBSTONES, key, records.encode_tombstone(key, tombstone))
        self._nodes, self._deleted = self._nodes - 1, self._deleted + 1
        self.note(Op.FORGET, key, (self.image(NODES, key), Image(TOMBSTONES, key, None)))

    def unbury(self, node: MemoryNode) -> None:
        """A soft-deleted memory comes back."""
        key = node.id.bytes
        self.batch.put(NODES, key, encode_node(key, node))
        self.batch.delete(TOMBSTONES, key)
        self._index(node)
        self._nodes, self._deleted = self._nodes + 1, self._deleted - 1
        self.note(Op.RESTORE, key, (self.image(NODES, key), self.image(TOMBSTONES, key)))

    def remove_node(self, found: StoredNode) -> None:
        """A memory goes for good, with its edges and the history of both."""
        self._clear(found)
        key = found.node.id.bytes
        self.batch.delete(NODES, key)
        self.batch.delete(ACCESS, key)
        for edge in self._edges.of(key):
            if edge.id not in self._gone:  # its other end may go in the same batch
                self._gone.add(edge.id)
                self.remove_edge(edge, keep=False)
        self._history.drop(self.batch, key)
        self.note(Op.REMOVE, key)

    def rewrite_node(self, found: StoredNode) -> None:
        """A memory has other metadata, as if it had never been otherwise."""
        key = found.node.id.bytes
        self._history.drop(self.batch, key)
        self.batch.put(NODES, key, encode_node(key, found.node, deleted=found.deleted))
        self.note(Op.UPDATE, key)

    def put_edge(self, edge: GraphEdge) -> None:
        """An edge comes, or changes. A traversal alone is a use and leaves nothing in the history."""
        there = self._edges.get(edge.id.bytes)
        self._edge_count += there is None
        self._edges.put(self.batch, edge)
        if there is None:
            self.note(Op.LINK, edge.id.bytes)
        else:
            used = replace(
                there,
                traversal_count=edge.traversal_count,
                last_traversed_ms=edge.last_traversed_ms,
                steering_reward=edge.steering_reward,
            )
            images = () if used == edge else (self._edge_image(edge),)
            self.note(Op.RELINK, edge.id.bytes, images, _ends(there) if images else ())

    def remove_edge(self, edge: GraphEdge, *, keep: bool = True) -> None:
        """An edge goes.

        Args:
            keep: Have it in the history.
        """
        self._edges.remove(self.batch, edge)
        self._edge_count -= 1
        images = (self._edge_image(edge),) if keep else ()
        self.note(Op.UNLINK, edge.id.bytes, images, _ends(edge) if keep else ())

    def _clear(self, found: StoredNode) -> None:
        """Everything that is kept of a memory elsewhere than under its id."""
        node = found.node
        if found.deleted:
            self._deleted -= 1
            self.batch.delete(TOMBSTONES, node.id.bytes)
        else:
            self._nodes -= 1
            for at in index_keys(node):
                self.batch.delete(INDEX, at)
        self._bytes -= content_bytes(node)
        self._vectors.delete(self.batch, node.commit_seq)

    def _index(self, node: MemoryNode) -> None:
        for at in index_keys(node):
            self.batch.put(INDEX, at, node.id.bytes)


def _ends(edge: GraphEdge) -> tuple[bytes, bytes]:
    return edge.source_id.bytes, edge.target_id.bytes


_ALL: Final = layout.index_prefix(layout.BY_TIME)


def index_keys(node: MemoryNode) -> list[bytes]:
    """The secondary keys of a live memory."""
    prefixes = [_ALL]
    if node.session_id is not None:
        prefixes.append(layout.index_prefix(layout.SESSION, node.session_id))
    if node.agent_id is not None:
        prefixes.append(layout.index_prefix(layout.AGENT, node.agent_id))
    if node.project is not None:
        prefixes.append(layout.index_prefix(layout.PROJECT, node.project))
    prefixes.extend(layout.index_prefix(layout.TAG, tag) for tag in node.tags)
    return [layout.index_key(prefix, node.created_at_ms, node.commit_seq) for prefix in prefixes]


def content_bytes(node: MemoryNode) -> int:
    """UTF-8 bytes of its content."""
    text = node.content
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
