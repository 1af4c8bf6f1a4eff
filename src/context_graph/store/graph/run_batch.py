"""Writes a run as one batch: its changes, what was there before, its record. Works out how to undo one."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, NamedTuple
from uuid import uuid4

from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store.engine.tuning import Write
from context_graph.store.graph.edits import (
    Edit,
    Group,
    Uses,
    forget_edit,
    index_writes,
    link_edit,
    relink_edit,
    slot_of,
    unlink_edit,
    with_uses,
)
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.history import ACCESS_AFTER, Entry, Image, Run
from context_graph.store.graph.node_records import Access, decode_access, decode_node, encode_access
from context_graph.store.graph.records import Op, decode_edge, decode_tombstone
from context_graph.store.layout import ACCESS, EDGES, META, NODES, TOMBSTONES

_MOST_USES = (1 << 32) - 1
UNDONE = "what stored it was undone"
"""The reason in the tombstone of a memory that an undo forgets."""


@dataclass(slots=True, kw_only=True)
class Changes:
    """The changes to write as one run."""

    mode: str
    edits: Sequence[Edit]
    uses: Sequence[Sequence[Uses]] = ()
    """As `Group.uses`."""
    records: Sequence[Write] = ()
    """Facts about the store (`GraphStore.meta`) as they are on the disk, None for one that is to go."""
    counts: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    undoes: Run | None = None
    by: str = ""
    """As `Run.by`."""
    more: bool = False
    """Whether more will be committed as part of it, so that it is written even if it is empty."""


def changed_since(store: GraphStore, seq: int) -> tuple[set[bytes], bool]:
    """Return what was changed after commit ``seq``: ids of memories, edges and the ends of new edges; and
    whether a memory was deleted for good.
    """
    changed: set[bytes] = set()
    has_removal = False
    for change in store.changes_after(seq):
        changed.add(change.subject)
        has_removal |= change.op == Op.REMOVE
        if change.op == Op.LINK:
            edge = store.edges.get(change.subject)
            if edge is not None:
                changed |= {edge.source_id.bytes, edge.target_id.bytes}
    return changed, has_removal


def unchanged(groups: Iterable[Group], changed: set[bytes]) -> list[Group]:
    """Return the groups that need nothing of what was changed."""
    return [group for group in groups if changed.isdisjoint(group.needs)] if changed else list(groups)


def write_run(store: GraphStore, changes: Changes) -> tuple[Run | None, list[Edit]]:
    """Write a run in one batch and return it with all that it edited; None if there is nothing to write.

    Raises InvalidParamsError for details that no record can hold. Raises StoreError if the write failed;
    nothing of it is stored.
    """
    before = (Image(META, write.key, store.engine.get(META, write.key)) for write in changes.records)
    pairs = [
        (write, image)
        for write, image in zip(changes.records, before, strict=True)
        if write.value != image.before
    ]
    if not (changes.edits or pairs or changes.more):
        return None, []
    work, token = store.begin(), uuid4()
    work.edit(Edit(Op.RUN, token.bytes, [write for write, _ in pairs], [image for _, image in pairs]))
    first = work.seq
    accesses = _accesses(store, changes.uses)
    edits = [_with_access(edit, accesses) if edit.op == Op.UPDATE else edit for edit in changes.edits]
    edits = with_uses(store.engine, edits)
    for edit in edits:
        work.edit(edit)
    run = Run(
        token=token,
        mode=changes.mode,
        at_ms=work.at_ms,
        first=first,
        last=work.seq,
        counts=changes.counts,
        details=changes.details,
        undoes=None if changes.undoes is None else changes.undoes.token,
        by=changes.by,
    )
    store.history.put_run(work.batch, run)
    if changes.undoes is not None:
        store.history.put_run(work.batch, replace(changes.undoes, undone_by=run.token))
    store.commit(work)
    return run, edits


def _accesses(store: GraphStore, merges: Sequence[Sequence[Uses]]) -> dict[bytes, tuple[Image, bytes]]:
    """Survivor -> (its accesses before, its accesses with those of the others), as they are by now."""
    members = [uses.id for merge in merges for uses in merge]
    there = dict(zip(members, store.engine.get_many(ACCESS, members), strict=True))
    accesses = {}
    for merge in merges:
        survivor = merge[0].id
        all_uses = [_access(uses, there[uses.id]) for uses in merge]
        times = min(_MOST_USES, sum(access.times for access in all_uses))
        if times:
            record = encode_access(survivor, Access(times, max(access.last_ms for access in all_uses)))
            accesses[survivor] = Image(ACCESS, survivor, there[survivor]), record
    return accesses


def _access(uses: Uses, record: bytes | None) -> Access:
    return Access(uses.times, uses.last_ms) if record is None else decode_access(uses.id, record)


def _with_access(edit: Edit, accesses: Mapping[bytes, tuple[Image, bytes]]) -> Edit:
    images = accesses.get(edit.subject)
    if images is None:
        return edit
    before, record = images
    return edit._replace(
        writes=[*edit.writes, Write(ACCESS, edit.subject, record)],
        images=[*edit.images, before, Image(ACCESS_AFTER, edit.subject, record)],
    )


# Undoing a run: memories first, then edges


class Undoing(NamedTuple):
    """The result of working out how to undo a run."""

    edits: list[Edit]
    records: list[Write]
    """Facts about the store as they were."""
    kept: list[bytes]
    """Memories and edges that were changed since, or are gone: they stay as they are."""
    texts: list[MemoryNode]
    """Memories as they were whose text is another now: they must be stored anew."""


def undoing_of(store: GraphStore, run: Run) -> Undoing:
    """Return the writes after which everything is as it was before ``run``. Cost: some 100 us a change."""
    first: dict[bytes, Entry] = {}
    records: list[Write] = []
    for begin, end in run.ranges:
        for entry in store.history.between(begin, end):
            if entry.op == Op.RUN:
                records = [Write(META, image.key, image.before) for image in entry.images]
            else:
                first.setdefault(entry.subject, entry)
    mine: list[Entry] = []
    edits, kept = _without_new(store, run, first)
    texts: list[MemoryNode] = []
    for subject, entry in first.items():
        if _is_as_left(store, subject, run.last):
            mine.append(entry)
        else:
            kept.append(subject)
    for entry in mine:
        if entry.image(EDGES) is None:
            edits += _node_edits(store, entry, kept, texts)
    edits += _edge_edits(store, [entry for entry in mine if entry.image(EDGES) is not None], kept)
    return Undoing(edits, records, kept, texts)


def subjects_of(store: GraphStore, run: Run) -> dict[bytes, int]:
    """Return the memories and edges that the run changed, each with its first change (`records.Op`)."""
    subjects: dict[bytes, int] = {}
    for begin, end in run.ranges:
        for change in takewhile(lambda change: change.seq <= end, store.changes_after(begin - 1)):  # noqa: B023
            if change.op != Op.RUN:
                subjects.setdefault(change.subject, change.op)
    return subjects


def _without_new(store: GraphStore, run: Run, known: Container[bytes]) -> tuple[list[Edit], list[bytes]]:
    """Return the edits after which what the run added is forgotten, and what of it was changed or deleted
    since.

    Nothing is kept of an addition, so the change log tells of it. Deleted, with their history, may also be
    memories and edges that it changed.
    """
    edits: list[Edit] = []
    kept: list[bytes] = []
    for subject, op in subjects_of(store, run).items():
        if subject in known:
            continue
        edge = store.edges.get(subject) if op == Op.LINK else None
        node = store.get(subject) if op == Op.ADD else None
        if edge is not None:
            edits.append(unlink_edit(edge, store.edges.record(subject)))
        elif node is not None and _is_as_left(store, subject, run.last):
            stone = Tombstone(node.id, time.time_ns() // 1_000_000, UNDONE, soft=True)
            edits.append(forget_edit(store, node, stone))
        else:
            kept.append(subject)
    return edits, kept


def _is_as_left(store: GraphStore, subject: bytes, last: int) -> bool:
    """Return whether a memory or edge is as commit ``last`` left it: not changed since, or changed back.

    Traversals and accesses are uses and no changes.
    """
    for entry in store.history.of(subject, last):
        if entry.subject == subject:
            return all(store.engine.get(image.family, image.key) == image.before for image in entry.images)
    return True


def _node_edits(
    store: GraphStore, entry: Entry, kept: list[bytes], texts: list[MemoryNode]
) -> Iterator[Edit]:
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
    if before.node.commit_seq != now.node.commit_seq:  # its vector is gone
        if before.deleted or now.deleted:
            kept.append(key)
        else:
            texts.append(before.node)
        return
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
    """Return whether a tombstone's survivor is gone for good: nothing would show the memory then."""
    into = None if stone.before is None else decode_tombstone(stone.key, stone.before).merged_into
    return into is not None and store.read(into.bytes) is None


def _op(deleted: bool, deleted_now: bool) -> int:
    if deleted == deleted_now:
        return Op.UPDATE
    return Op.FORGET if deleted else Op.RESTORE


def _access_back(store: GraphStore, entry: Entry) -> Iterator[tuple[Write, Image]]:
    """Yield the accesses as they were, with the uses since then on top."""
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
    """Return ``back`` with the traversals that came since; a run makes none."""
    return replace(
        back,
        traversal_count=now.traversal_count,
        last_traversed_ms=now.last_traversed_ms,
        steering_reward=now.steering_reward,
    )


def _has_place(store: GraphStore, edge: GraphEdge, leaving: set[bytes]) -> bool:
    """Return whether its memories are there, and no other edge of its kind between them."""
    source, target, relationship = slot_of(edge)
    if store.read(source) is None or store.read(target) is None:
        return False
    there = store.edges.find(source, target, relationship)
    return there is None or there.id == edge.id or there.id.bytes in leaving
