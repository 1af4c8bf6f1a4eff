"""Computes what undoing a run writes: each memory and edge as it was, unless it was changed since."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from context_graph.model.edge import GraphEdge
from context_graph.store.engine.cursor import Write
from context_graph.store.graph.edits import Edit, index_writes, link_edit, relink_edit, slot_of, unlink_edit
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.history import ACCESS_AFTER, Entry, Image
from context_graph.store.graph.node_records import Access, decode_access, decode_node, encode_access
from context_graph.store.graph.records import Op, decode_edge, decode_tombstone
from context_graph.store.graph.runs import Run
from context_graph.store.graph_layout import ACCESS, EDGES, META, NODES, TOMBSTONES


class Undoing(NamedTuple):
    """What undoing a run comes to."""

    edits: list[Edit]
    records: list[Write]
    """Facts about the store as they were."""
    kept: list[bytes]
    """Memories and edges that were changed since, or are gone: they stay as they are."""


def undoing_of(store: GraphStore, run: Run) -> Undoing:
    """What must be written so that everything is as it was before ``run``. Cost: some 100 us a change."""
    first: dict[bytes, Entry] = {}
    records: list[Write] = []
    for entry in store.history.between(run.first, run.last):
        if entry.op == Op.RUN:
            records = [Write(META, image.key, image.before) for image in entry.images]
        else:
            first.setdefault(entry.subject, entry)
    mine, kept = [], _gone(store, run, first)
    for subject, entry in first.items():
        if _is_as_left(store, subject, run.last):
            mine.append(entry)
        else:
            kept.append(subject)
    edits: list[Edit] = []
    for entry in mine:
        if entry.image(EDGES) is None:
            edits += _node_edits(store, entry, kept)
    edits += _edge_edits(store, [entry for entry in mine if entry.image(EDGES) is not None], kept)
    return Undoing(edits, records, kept)


def _gone(store: GraphStore, run: Run, known: Container[bytes]) -> list[bytes]:
    """What the run changed and was deleted for good since, and the history with it."""
    changes = takewhile(lambda change: change.seq <= run.last, store.changes_after(run.first))
    return list(dict.fromkeys(change.subject for change in changes if change.subject not in known))


def _is_as_left(store: GraphStore, subject: bytes, last: int) -> bool:
    """Whether a memory or edge is as commit ``last`` left it: not changed since, or changed back.

    Traversals and accesses are uses and no changes.
    """
    for entry in store.history.of(subject, last):
        if entry.subject == subject:
            return all(store.engine.get(image.family, image.key) == image.before for image in entry.images)
    return True


# Memories


def _node_edits(store: GraphStore, entry: Entry, kept: list[bytes]) -> Iterator[Edit]:
    key, image = entry.subject, entry.image(NODES)
    record = store.engine.get(NODES, key)
    if image is None or image.before is None or record is None:
        kept.append(key)
        return
    old_stone = entry.image(TOMBSTONES)
    if old_stone is not None and _merged_into_nothing(store, old_stone):
        kept.append(key)
        return
    before, now = decode_node(key, image.before), decode_node(key, record)
    writes = [Write(NODES, key, image.before)]
    images = [Image(NODES, key, record)]
    writes += index_writes(None if now.deleted else now.node, None if before.deleted else before.node)
    stone = store.engine.get(TOMBSTONES, key)
    if before.deleted != now.deleted:
        writes.append(Write(TOMBSTONES, key, None if old_stone is None else old_stone.before))
        images.append(Image(TOMBSTONES, key, stone))
    for write, old in _access_back(store, entry):
        writes.append(write)
        images += [old, Image(ACCESS_AFTER, key, write.value)]
    yield Edit(_op(before.deleted, now.deleted), key, writes, images)


def _merged_into_nothing(store: GraphStore, stone: Image) -> bool:
    """Whether that tombstone names a survivor that is gone for good: nothing would show the memory then."""
    into = None if stone.before is None else decode_tombstone(stone.key, stone.before).merged_into
    return into is not None and store.read(into.bytes) is None


def _op(deleted: bool, deleted_now: bool) -> int:
    if deleted == deleted_now:
        return Op.UPDATE
    return Op.FORGET if deleted else Op.RESTORE


def _access_back(store: GraphStore, entry: Entry) -> Iterator[tuple[Write, Image]]:
    """The accesses as they were, with the uses since then on top."""
    image, after = entry.image(ACCESS), entry.image(ACCESS_AFTER)
    if image is None or after is None:
        return
    key, now = entry.subject, store.engine.get(ACCESS, entry.subject)
    back = image.before
    if now is not None and now != after.before:
        then = Access(0, 0) if after.before is None else decode_access(key, after.before)
        old = Access(0, 0) if image.before is None else decode_access(key, image.before)
        current = decode_access(key, now)
        times = max(0, old.times + current.times - then.times)
        back = encode_access(key, Access(times, current.last_ms))
    yield Write(ACCESS, key, back), Image(ACCESS, key, now)


# Edges


def _edge_edits(store: GraphStore, entries: list[Entry], kept: list[bytes]) -> list[Edit]:
    """First those that leave their place, then those that come or come back."""
    gone: list[Edit] = []
    come: list[tuple[bytes, GraphEdge, GraphEdge | None]] = []
    leaving: set[bytes] = set()
    for entry in entries:
        image = entry.image(EDGES)
        now = store.edges.get(entry.subject)
        back = None if image is None or image.before is None else decode_edge(image.key, image.before)
        if now is not None and back is not None:
            back = _with_uses(back, now)
        if now is not None and (back is None or slot_of(back) != slot_of(now)):
            leaving.add(entry.subject)
        if back is not None:
            come.append((entry.subject, back, now))
        elif now is not None:
            gone.append(unlink_edit(now, store.edges.record(entry.subject)))
    back_again: list[Edit] = []
    for subject, back, now in come:
        if not _has_place(store, back, leaving):
            kept.append(subject)
        elif now is None:
            back_again.append(link_edit(back))
        elif slot_of(now) == slot_of(back):
            back_again.append(relink_edit(back, store.edges.record(subject)))
        else:
            gone.append(unlink_edit(now, store.edges.record(subject)))
            back_again.append(link_edit(back))
    return gone + back_again


def _with_uses(back: GraphEdge, now: GraphEdge) -> GraphEdge:
    """``back`` with the traversals that came since; a run makes none."""
    return replace(
        back,
        traversal_count=now.traversal_count,
        last_traversed_ms=now.last_traversed_ms,
        steering_reward=now.steering_reward,
    )


def _has_place(store: GraphStore, edge: GraphEdge, leaving: set[bytes]) -> bool:
    """Whether its memories are there, and no other edge of its kind between them."""
    source, target, relationship = slot_of(edge)
    if store.read(source) is None or store.read(target) is None:
        return False
    there = store.edges.find(source, target, relationship)
    return there is None or there.id == edge.id or there.id.bytes in leaving
