"""Makes changes of memories and edges as values: the records each puts and removes, and what it overwrites.

Every change of a store is an `Edit`, made here; `Work` is a batch of them before it is written. A
consolidation's are made from the store at some commit and written later, so a `Group` says what must not have
changed in between.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store import layout
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.tuning import Write
from context_graph.store.graph.history import HistoryTable, Image
from context_graph.store.graph.node_records import (
    Access,
    StoredNode,
    content_bytes,
    encode_access,
    encode_node,
)
from context_graph.store.graph.reader import GraphReader
from context_graph.store.graph.records import (
    Counters,
    Op,
    decode_edge,
    encode_change,
    encode_counters,
    encode_edge,
    encode_tombstone,
)
from context_graph.store.graph.tables import edge_removal, edge_writes
from context_graph.store.layout import ACCESS, EDGES, INDEX, LOG, META, NODES, TOMBSTONES

Slot = tuple[bytes, bytes, str]
"""Source, target and relationship; there is at most one edge of each."""
_COUNTED: Final = {
    Op.FORGET: Counters(nodes=-1, deleted=1),
    Op.RESTORE: Counters(nodes=1, deleted=-1),
    Op.LINK: Counters(edges=1),
    Op.UNLINK: Counters(edges=-1),
}
"""How many memories and edges there are more after an edit that does not say it itself."""
_ADD: Final = int(Op.ADD)
_NOTHING: Final = Counters()
_ALL: Final = layout.index_prefix(layout.BY_TIME)


class Edit(NamedTuple):
    """One change of a memory or an edge: one commit number."""

    op: int
    """`records.Op`."""
    subject: bytes
    """Id, 16 bytes."""
    writes: Sequence[Write]
    images: Sequence[Image] = ()
    """What it overwrites, for the history; of nothing there, none is kept."""
    ends: Sequence[bytes] = ()
    """The memories at an edge's ends; empty for a memory."""
    more: Counters | None = None
    """What there is more of afterwards, where the kind of change does not tell."""

    def image(self, family: str) -> Image | None:
        """Return the image of that family; None if it has none."""
        return next((image for image in self.images if image.family == family), None)


class Uses(NamedTuple):
    """Counts uses of a memory that has no record of its accesses."""

    id: bytes
    times: int
    last_ms: int


class Group(NamedTuple):
    """Changes that are made together or not at all."""

    items: Sequence[tuple[str, int]]
    """What its maker wants done by it: kind, and place among those of the kind."""
    needs: Sequence[bytes]
    """Ids of memories and edges that must be as they were."""
    edits: Sequence[Edit]
    uses: Sequence[Sequence[Uses]]
    """Merges: the survivor, then the others, whose accesses become its own."""


class Work:
    """One batch of edits in progress: its writes, and the counters after it."""

    def __init__(self, engine: Engine, counters: Counters, history: HistoryTable) -> None:
        """``counters`` are as they are before it."""
        self.batch = engine.batch()
        self.at_ms = time.time_ns() // 1_000_000
        """Unix ms of all its commits."""
        self.seq, self._nodes, self._deleted, self._edges, self._bytes = counters
        self._history = history

    def edit(self, edit: Edit) -> None:
        """Add a change, under the next commit number."""
        self.seq += 1
        self.batch.apply(edit.writes)
        key = layout.seq_key(self.seq)
        self.batch.put(LOG, key, encode_change(key, edit.op, edit.subject, self.at_ms))
        if edit.images or edit.op == Op.RUN:
            self._history.note(
                self.batch, self.seq, self.at_ms, edit.op, edit.subject, edit.images, edit.ends
            )
        more = edit.more or _COUNTED.get(edit.op)
        if more is not None:
            self._nodes += more.nodes
            self._deleted += more.deleted
            self._edges += more.edges
            self._bytes += more.content_bytes

    def add_fresh(self, store: GraphReader, node: MemoryNode, embedding: bytes | None) -> None:
        """As `edit` of an `add_edit` for a live memory whose id was drawn just now: nothing gives way.

        The path of every single store: without the values in between it costs two thirds. Raises as
        `add_edit`.
        """
        self.seq += 1
        batch, key = self.batch, node.id.bytes
        put, at = batch.put, layout.seq_key(self.seq)
        if embedding is not None:  # first, for it is the largest: the batch's buffer then grows once
            put(*store.vectors.entry(self.seq, embedding))
        put(NODES, key, encode_node(key, node))
        if node.access_count:
            put(ACCESS, key, encode_access(key, Access(node.access_count, node.last_accessed_ms)))
        for place in index_keys(node):
            put(INDEX, place, key)
        put(LOG, at, encode_change(at, _ADD, key, self.at_ms))
        self._nodes += 1
        self._bytes += content_bytes(node)

    def finish(self) -> Counters:
        """Add the counters as they will be, and return them."""
        counters = Counters(self.seq, self._nodes, self._deleted, self._edges, self._bytes)
        self.batch.put(META, layout.COUNTERS_KEY, encode_counters(layout.COUNTERS_KEY, counters))
        return counters


# Memories


def add_edit(
    store: GraphReader, node: MemoryNode, embedding: bytes | None, stone: Tombstone | None = None
) -> Edit:
    """Add a memory; it replaces the one that has its id. ``stone`` is that of a soft-deleted one. Raises
    InvalidParamsError for a field that no record can hold.
    """
    key = node.id.bytes
    there = store.read(key)
    writes: list[Write] = []
    images: tuple[Image, ...] = ()
    gone = _NOTHING
    if there is not None:
        images = _image(store, NODES, key), _image(store, TOMBSTONES, key)
        writes, gone = _cleared(store, there)
    if embedding is not None:  # first, for it is the largest: the batch's buffer then grows once
        writes.append(store.vectors.write(node.commit_seq, embedding))
    writes.append(Write(NODES, key, encode_node(key, node, deleted=stone is not None)))
    if node.access_count or there is not None:
        access = Access(node.access_count, node.last_accessed_ms)
        writes.append(Write(ACCESS, key, encode_access(key, access)))
    if stone is None:
        writes += index_writes(None, node)
    else:
        writes.append(Write(TOMBSTONES, key, encode_tombstone(key, stone)))
    live = stone is None
    more = Counters(
        0, gone.nodes + live, gone.deleted + (not live), 0, gone.content_bytes + content_bytes(node)
    )
    return Edit(Op.ADD, key, writes, images, more=more)


def update_edit(store: GraphReader, before: MemoryNode, after: MemoryNode) -> Edit:
    """Change fields of a live memory. Raises InvalidParamsError for a field that no record can hold."""
    key = after.id.bytes
    writes = [Write(NODES, key, encode_node(key, after)), *index_writes(before, after)]
    more = Counters(content_bytes=content_bytes(after) - content_bytes(before))
    return Edit(Op.UPDATE, key, writes, (_image(store, NODES, key),), more=more)


def forget_edit(store: GraphReader, node: MemoryNode, stone: Tombstone) -> Edit:
    """Soft-delete a live memory."""
    key = node.id.bytes
    writes = [
        Write(NODES, key, encode_node(key, node, deleted=True)),
        Write(TOMBSTONES, key, encode_tombstone(key, stone)),
        *index_writes(node, None),
    ]
    return Edit(Op.FORGET, key, writes, (_image(store, NODES, key), Image(TOMBSTONES, key, None)))


def restore_edit(store: GraphReader, node: MemoryNode) -> Edit:
    """Restore a soft-deleted memory."""
    key = node.id.bytes
    writes = [
        Write(NODES, key, encode_node(key, node)),
        Write(TOMBSTONES, key, None),
        *index_writes(None, node),
    ]
    return Edit(Op.RESTORE, key, writes, (_image(store, NODES, key), _image(store, TOMBSTONES, key)))


def remove_edits(
    store: GraphReader, stored: StoredNode, stone: Tombstone | None, gone: set[bytes]
) -> Iterator[Edit]:
    """Delete a memory for good, with its edges and the history of both.

    ``stone`` is what stays to be seen of it, if anything; ``gone``, edges that went with others of the batch,
    gains those that go now.
    """
    key = stored.node.id.bytes
    for edge in store.edges.of(key):
        if edge.id.bytes not in gone:
            gone.add(edge.id.bytes)
            yield unrecorded(unlink_edit(edge, None))
    writes, more = _cleared(store, stored)
    writes += (Write(NODES, key, None), Write(ACCESS, key, None), *store.history.removal(key))
    if stone is not None:
        writes.append(Write(TOMBSTONES, key, encode_tombstone(key, stone)))
    yield Edit(Op.REMOVE, key, writes, more=more)


def rewrite_edit(store: GraphReader, stored: StoredNode) -> Edit:
    """Replace a memory's metadata without a trace in the history."""
    key = stored.node.id.bytes
    record = encode_node(key, stored.node, deleted=stored.deleted)
    return Edit(Op.UPDATE, key, [*store.history.removal(key), Write(NODES, key, record)])


def _cleared(store: GraphReader, stored: StoredNode) -> tuple[list[Write], Counters]:
    """Remove what is kept of a memory elsewhere than under its id; the writes, and how the counts change."""
    node = stored.node
    writes = store.vectors.removal(node.commit_seq)
    if stored.deleted:
        writes.append(Write(TOMBSTONES, node.id.bytes, None))
    else:
        writes += index_writes(node, None)
    return writes, Counters(0, stored.deleted - 1, -stored.deleted, 0, -content_bytes(node))


def index_writes(before: MemoryNode | None, after: MemoryNode | None) -> list[Write]:
    """Return the writes from old secondary keys to new ones; None for a memory that is not live."""
    if before is None:
        return [] if after is None else [Write(INDEX, key, after.id.bytes) for key in index_keys(after)]
    old = index_keys(before)
    if after is None:
        return [Write(INDEX, key, None) for key in old]
    new, node_id = index_keys(after), after.id.bytes
    gone = [Write(INDEX, key, None) for key in old if key not in new]
    return gone + [Write(INDEX, key, node_id) for key in new if key not in old]


def index_keys(node: MemoryNode) -> list[bytes]:
    """Return the secondary keys of a live memory."""
    place = layout.index_place(node.created_at_ms, node.commit_seq)
    prefixes = [_ALL]
    if node.session_id is not None:
        prefixes.append(layout.index_prefix(layout.SESSION, node.session_id))
    if node.agent_id is not None:
        prefixes.append(layout.index_prefix(layout.AGENT, node.agent_id))
    if node.project is not None:
        prefixes.append(layout.index_prefix(layout.PROJECT, node.project))
    prefixes.extend(layout.index_prefix(layout.TAG, tag) for tag in node.tags)
    return [prefix + place for prefix in prefixes]


def _image(store: GraphReader, family: str, key: bytes) -> Image:
    return Image(family, key, store.engine.get(family, key))


# Edges


def slot_of(edge: GraphEdge) -> Slot:
    """Return the place of an edge."""
    return edge.source_id.bytes, edge.target_id.bytes, edge.relationship_type


def link_edit(edge: GraphEdge) -> Edit:
    """Add an edge, or restore it."""
    image = Image(EDGES, layout.edge_key(edge.id.bytes), None)
    return Edit(Op.LINK, edge.id.bytes, edge_writes(edge), (image,), slot_of(edge)[:2])


def unlink_edit(edge: GraphEdge, record: bytes | None) -> Edit:
    """Remove an edge; ``record`` is its own."""
    image = Image(EDGES, layout.edge_key(edge.id.bytes), record)
    return Edit(Op.UNLINK, edge.id.bytes, edge_removal(edge), (image,), slot_of(edge)[:2])


def relink_edit(edge: GraphEdge, record: bytes | None) -> Edit:
    """Change the numbers of an edge; ``record`` is the old one."""
    image = Image(EDGES, layout.edge_key(edge.id.bytes), record)
    return Edit(Op.RELINK, edge.id.bytes, edge_writes(edge)[:1], (image,), slot_of(edge)[:2])


def put_edge_edit(store: GraphReader, edge: GraphEdge) -> Edit:
    """Add or change an edge. A traversal alone is a use and leaves nothing in the history."""
    record = store.edges.record(edge.id.bytes)
    if record is None:
        return unrecorded(link_edit(edge))
    there = decode_edge(layout.edge_key(edge.id.bytes), record)
    used = replace(
        there,
        traversal_count=edge.traversal_count,
        last_traversed_ms=edge.last_traversed_ms,
        steering_reward=edge.steering_reward,
    )
    edit = relink_edit(there, record)._replace(writes=edge_writes(edge))
    return unrecorded(edit) if used == edge else edit


def unrecorded(edit: Edit) -> Edit:
    """Return ``edit`` without anything for the history."""
    return edit._replace(images=(), ends=())


def with_uses(engine: Engine, edits: Sequence[Edit]) -> list[Edit]:
    """Return ``edits`` with the uses of their edges that were counted after these were worked out.

    A use has no commit number (`GraphStore.put_uses`), so it is no reason to leave the change out. Cost: one
    lookup for each changed edge.
    """
    used = _used_since(engine, edits)
    return [_brought_up(edit, *used[edit.subject]) if edit.subject in used else edit for edit in edits]


def _used_since(engine: Engine, edits: Sequence[Edit]) -> dict[bytes, tuple[bytes, GraphEdge, int]]:
    """Edge -> its record now, the edge, and how often it was used since; of those that were."""
    before = {
        image.key: image.before
        for edit in edits
        if (image := edit.image(EDGES)) is not None and image.before is not None
    }
    used = {}
    for (key, record), now in zip(before.items(), engine.get_many(EDGES, list(before)), strict=True):
        if now is None or now == record:
            continue
        edge, was = decode_edge(key, now), decode_edge(key, record)
        used[edge.id.bytes] = now, edge, edge.traversal_count - was.traversal_count
    return used


def _brought_up(edit: Edit, record: bytes, edge: GraphEdge, uses: int) -> Edit:
    key = layout.edge_key(edit.subject)
    writes = []
    for write in edit.writes:
        if write.key == key and write.value is not None:
            planned = decode_edge(key, write.value)
            planned = replace(
                planned,
                traversal_count=planned.traversal_count + uses,
                last_traversed_ms=max(planned.last_traversed_ms, edge.last_traversed_ms),
            )
            write = Write(write.family, key, encode_edge(key, planned))
        writes.append(write)
    images = [
        image._replace(before=record) if image.key == key and image.before is not None else image
        for image in edit.images
    ]
    return edit._replace(writes=writes, images=images)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection inside; saves a third of the time with 10,000 records."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
