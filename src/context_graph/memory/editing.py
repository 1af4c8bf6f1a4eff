"""Changes memories: one commit for each change, first in the store, then in the derived data.

All of it runs inside an operation of the core. If something fails after the commit, the derived data is
dropped and rebuilt from the records, so disk and memory never differ.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from context_graph.claude.hooks.origin import CANARY_TAG
from context_graph.errors import GraphQueryError, InvalidParamsError, StoreError
from context_graph.kernels.tokens import Encoded
from context_graph.memory.core import Core, now_ms
from context_graph.memory.merged import Left, deleted_together, facts_without_texts
from context_graph.memory.metrics.store_metrics import Measured
from context_graph.memory.recall import between
from context_graph.memory.writing import Draft, redacted, redacted_node, text_to_embed
from context_graph.model.edge import MAX_HOPS, MIN_HOPS, GraphEdge
from context_graph.model.memory import USER_REQUESTED, MemoryNode, Tombstone, UTLState, check_depth
from context_graph.store.graph.node_records import Access, StoredNode

_LOG: Final = logging.getLogger(__name__)
MAX_REASON_CHARS: Final = 500
DAY_MS: Final = 86_400_000
MAX_WAYS: Final = 16
"""Paths of one answer that are counted."""

Way = tuple[GraphEdge, ...]


def store_drafts(core: Core, drafts: Sequence[Draft], encoded: Sequence[Encoded]) -> list[MemoryNode]:
    """Store checked and redacted drafts in one batch; an existing ``node_id`` gives the memory there is."""
    stored = [None if draft.node_id is None else core.store.read(draft.node_id.bytes) for draft in drafts]
    if len(drafts) == 1 and stored[0] is None:
        return [_store_one(core, drafts[0], encoded[0])]
    there = [None if memory is None else memory.node for memory in stored]
    work = [
        pair for pair, known in zip(zip(drafts, encoded, strict=True), there, strict=True) if known is None
    ]
    fresh = iter(_store_new(core, work) if work else ())
    return [next(fresh) if known is None else known for known in there]


def _store_one(core: Core, draft: Draft, encoded: Encoded) -> MemoryNode:
    core.record_provider()
    made = _made(core, draft, encoded, core.store.next_seq)
    core.store.add(((made.node, made.node.embedding),), made.edges, fresh=True)
    try:
        derived = core.derived
        derived.index.add(made.node, encoded)
        derived.metrics.added(made.node, made.node.embedding or b"", made.edges, measured=made.measured)
        core.committed()
    except Exception:
        start_anew(core)
    return made.node


def _store_new(core: Core, work: Sequence[tuple[Draft, Encoded]]) -> list[MemoryNode]:
    """Store several in one batch; each is measured against the store and the drafts before it."""
    core.record_provider()
    derived, seq = core.derived, core.store.next_seq
    made: list[_Made] = []
    try:
        for number, (draft, encoded) in enumerate(work):
            made_one = _made(core, draft, encoded, seq + number)
            made.append(made_one)
            derived.metrics.added(made_one.node, made_one.node.embedding or b"", measured=made_one.measured)
            derived.index.add(made_one.node, encoded)
        edges = [edge for memory in made for edge in memory.edges]
        core.store.add([(memory.node, memory.node.embedding) for memory in made], edges)
    except BaseException:
        core.forget_derived()  # it counts what was not stored
        raise
    with followed(core):
        for made_one in made:
            for edge in made_one.edges:
                derived.metrics.linked(edge)
    return [memory.node for memory in made]


class _Made(NamedTuple):
    """A memory about to be stored, with its measurements."""

    node: MemoryNode
    measured: Measured
    edges: Sequence[GraphEdge]


def _made(core: Core, draft: Draft, encoded: Encoded, seq: int) -> _Made:
    node_id, at, derived, ends = draft.node_id or uuid4(), now_ms(), core.derived, draft.ends()
    for _, _, target in ends:
        core.live(target)
    embedding = draft.embedding or encoded.embedding
    measured = derived.metrics.measure(
        node_id,
        embedding,
        importance=draft.importance,
        anchors=derived.index.anchors(encoded.terms, draft.tags),
        links=len(ends),
        session_id=draft.session_id,
    )
    node = MemoryNode(
        **draft.fields(),
        id=node_id,
        created_at_ms=at if draft.occurred_at_ms is None else draft.occurred_at_ms,
        last_accessed_ms=at,
        johari_quadrant=measured.quadrant,
        utl_state=measured.state,
        semantic_cluster=measured.topic,
        commit_seq=seq,
        embedding=embedding,
    )
    if not ends:
        return _Made(node, measured, ())
    stamp: dict[str, Any] = {"source_id": node_id, "created_at_ms": at, "last_traversed_ms": at}
    edges = [
        GraphEdge(id=uuid4(), target_id=target, relationship_type=kind, weight=weight, **stamp)
        for kind, weight, target in ends
    ]
    return _Made(node, measured, edges)


def put_nodes(
    core: Core,
    nodes: Sequence[MemoryNode],
    *,
    edges: Sequence[GraphEdge] = (),
    deleted: Mapping[UUID, Tombstone] | None = None,
    tombstones: Sequence[Tombstone] = (),
) -> list[MemoryNode]:
    """Store whole memories, edges and tombstones with their own ids, in one batch.

    A memory that is there already is replaced. Each is checked and redacted; a missing embedding or measured
    state is computed.
    """
    core.record_provider()
    derived, seq = core.derived, core.store.next_seq
    before = _replaced(core, nodes)
    prepared = [_prepared(core, node, seq + number) for number, node in enumerate(nodes)]
    buried = {key.bytes: _clean_stone(core, stone) for key, stone in (deleted or {}).items()}
    clean_edges, new_edges = checked_edges(core, edges, coming={node.id for node in nodes})
    core.store.add(
        [(node, node.embedding) for node, _ in prepared],
        clean_edges,
        deleted=buried,
        tombstones=[_clean_stone(core, stone) for stone in tombstones],
    )
    with followed(core):
        for node, encoded in prepared:
            key = node.id.bytes
            core.cache.discard(key)
            old = before.get(key)
            if old is not None and not old.stored.deleted:
                derived.metrics.removed(old.stored.node, old.vector, old.edges)
            derived.index.add(node, encoded, live=key not in buried)
            if key not in buried:
                derived.metrics.added(node, node.embedding or b"", old.edges if old else ())
        for edge in new_edges:
            derived.metrics.linked(edge)
    return [node for node, _ in prepared]


def _clean_stone(core: Core, stone: Tombstone) -> Tombstone:
    return replace(stone, reason=core.redactor.redact(stone.reason))


class _Old(NamedTuple):
    """The stored state of a memory that is to be replaced."""

    stored: StoredNode
    vector: bytes
    edges: list[GraphEdge]


def _replaced(core: Core, nodes: Sequence[MemoryNode]) -> dict[bytes, _Old]:
    keys = {node.id.bytes for node in nodes}
    if len(keys) != len(nodes):
        raise InvalidParamsError.of("nodes", "names an id twice; a batch holds each once")
    old: dict[bytes, _Old] = {}
    for key in keys:
        stored = core.store.read(key)
        if stored is not None:
            vector = core.store.vectors.get(stored.node.commit_seq) or b""
            old[key] = _Old(stored, vector, core.store.edges.of(key))
    return old


def _prepared(core: Core, node: MemoryNode, seq: int) -> tuple[MemoryNode, Encoded]:
    """Return a whole memory as it is to be stored: redacted, embedded, and measured if it never was."""
    clean = redacted_node(node, core.redactor)
    encoded = core.provider.encode(text_to_embed(clean))
    embedding = node.embedding or encoded.embedding
    if clean.semantic_cluster is not None or clean.utl_state != UTLState():
        return replace(clean, commit_seq=seq, embedding=embedding), encoded
    measured = core.derived.metrics.measure(
        clean.id,
        embedding,
        importance=clean.importance,
        anchors=core.derived.index.anchors(encoded.terms, clean.tags),
        session_id=clean.session_id,
    )
    made = replace(
        clean,
        commit_seq=seq,
        embedding=embedding,
        utl_state=measured.state,
        johari_quadrant=measured.quadrant,
        semantic_cluster=measured.topic,
    )
    return made, encoded


def checked_edges(
    core: Core, edges: Sequence[GraphEdge], coming: set[UUID]
) -> tuple[list[GraphEdge], list[GraphEdge]]:
    """Whole edges redacted, and those among them that are new; their memories are there or among ``coming``.

    Raises:
        GraphQueryError: An end that is not in the store.
        InvalidParamsError: Another edge is the same relation between the same memories.
    """
    clean: list[GraphEdge] = []
    fresh: list[GraphEdge] = []
    for edge in edges:
        for end in (edge.source_id, edge.target_id):
            if end not in coming and core.store.read(end.bytes) is None:
                raise GraphQueryError(f"edge {edge.id} names memory {end}, which is not in this store")
        there = core.store.edges.find(edge.source_id.bytes, edge.target_id.bytes, edge.relationship_type)
        if there is not None and there.id != edge.id:
            raise InvalidParamsError.of(
                "edges", f"holds {edge.id}, but {there.id} is the same relation between the same memories"
            )
        check_depth("metadata", edge.metadata)
        kind = core.redactor.redact_id(edge.relationship_type)
        clean.append(replace(edge, relationship_type=kind, metadata=redacted(edge.metadata, core.redactor)))
        if there is None:
            fresh.append(clean[-1])
    return clean, fresh


def update_nodes(core: Core, nodes: Iterable[MemoryNode]) -> None:
    """Write changed fields of live memories in one batch; content, times and embedding can't change."""
    changed = [replace(node, embedding=None) for node in nodes]
    core.store.update(changed)
    with followed(core):
        for node in changed:
            core.cache.discard(node.id.bytes)
            core.derived.index.update(node)
            core.derived.metrics.updated(node)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result of a deletion."""

    tombstone: Tombstone
    along: tuple[Tombstone, ...] = ()
    """The merged memories that were deleted for good with it."""
    left: tuple[Left, ...] = ()
    """The merged memories that stay."""
    unscrubbed: str = ""
    """Why files still hold what is deleted for good; the next such deletion or opening rewrites them."""

    def deletion_report(self) -> dict[str, Any]:
        """Return what a deletion for good tells of merged memories and of the disk, JSON-able."""
        report: dict[str, Any] = {
            "also_deleted": [str(merged.id) for merged in self.along],
            "left": [{"id": str(merged.id), "why": merged.why} for merged in self.left],
        }
        return {**report, "still_on_disk": self.unscrubbed} if self.unscrubbed else report


def forget(core: Core, node_id: UUID, *, soft: bool, reason: str, quoting: Sequence[UUID] = ()) -> Forgotten:
    """Delete a memory: softly, or for good with its merged memories and the history of what quoted it."""
    if not soft and reason != USER_REQUESTED:
        raise InvalidParamsError(
            "Permanent deletion requires reason='user_requested'",
            parameter="reason",
            row="ERR-CORE-007",
            detail="Invalid params: Permanent deletion requires reason='user_requested'",
            recovery="Use soft_delete=true for non-user-requested deletions, or confirm user intent",
        )
    if len(reason) > MAX_REASON_CHARS:
        raise InvalidParamsError.of("reason", f"has {len(reason)} characters, at most {MAX_REASON_CHARS}")
    stored = core.store.read(node_id.bytes)
    if stored is None:
        raise GraphQueryError(f"no memory {node_id} in this store")
    stone = Tombstone(node_id, now_ms(), core.redactor.redact(reason), soft)
    return _forget_softly(core, stored, stone) if soft else _delete(core, stored, stone, quoting)


def _forget_softly(core: Core, stored: StoredNode, stone: Tombstone) -> Forgotten:
    key = stored.node.id.bytes
    if stored.deleted:
        return Forgotten(core.store.tombstone(key) or stone)
    derived = core.derived
    edges, vector = core.store.edges.of(key), core.store.vectors.get(stored.node.commit_seq)
    core.store.forget(key, stone)
    with followed(core):
        core.cache.discard(key)
        derived.forgotten(stored.node, vector, edges)
    return Forgotten(stone)


def _delete(core: Core, stored: StoredNode, stone: Tombstone, quoting: Sequence[UUID]) -> Forgotten:
    derived, key = core.derived, stored.node.id.bytes
    together = deleted_together(core.store, stored.node.id)
    holder_ids = {holder.node.id for holder in together.holders}
    quoted = (core.store.read(node_id.bytes) for node_id in quoting if node_id not in holder_ids)
    together.holders.extend(holder for holder in quoted if holder is not None)
    stones = [stone, *(replace(stone, id=merged.node.id) for merged in together.merged)]
    edges, vector = core.store.edges.of(key), core.store.vectors.get(stored.node.commit_seq)
    # Of doctor's own memory nothing stays to be seen.
    trial = CANARY_TAG in stored.node.tags
    core.store.remove(
        {stone.id.bytes: None if trial else stone for stone in stones},
        rewritten=together.holders,
        facts={} if trial else facts_without_texts(core.store),
    )
    with followed(core):
        for holder in together.holders:
            core.cache.discard(holder.node.id.bytes)
        core.cache.discard(key)
        if not stored.deleted:
            derived.forgotten(stored.node, vector, edges)
        derived.index.drop([stone.id for stone in stones])
    try:
        core.store.scrub()
        unscrubbed = ""
    except StoreError as error:
        _LOG.warning("what was deleted for good is still in files of %s: %s", core.folder.name, error)
        unscrubbed = str(error)
        core.mistrust()
    return Forgotten(stone, tuple(stones[1:]), tuple(together.left), unscrubbed)


def restore(core: Core, node_id: UUID) -> MemoryNode:
    """Undo a soft delete; a live memory is returned as it is."""
    live = core.node(node_id)
    if live is not None:
        return live
    derived = core.derived
    node = core.store.restore(node_id.bytes)
    with followed(core):
        vector = core.store.vectors.get(node.commit_seq) or b""
        derived.restored(node, vector, core.store.edges.of(node_id.bytes))
    return node


def purge(core: Core, at_ms: int) -> list[UUID]:
    """Delete for good what was soft-deleted longer ago than the retention."""
    core.purged_ms = at_ms
    before = at_ms - int(core.config.retention_days * DAY_MS)
    removed = [node.id for node in core.store.purge(before)]
    if removed:
        with followed(core):
            core.derived.index.drop(removed)
    return removed


def touch(core: Core, ids: Iterable[UUID], at_ms: int, followed: Sequence[GraphEdge] = ()) -> None:
    """Count a use of each memory, best first, and of the followed edges between them; skips unknown ids."""
    nodes = [node for node in map(core.node, dict.fromkeys(ids)) if node is not None]
    used = [replace(node, access_count=node.access_count + 1, last_accessed_ms=at_ms) for node in nodes]
    if used:
        core.store.put_uses(
            [(node.id.bytes, Access(node.access_count, at_ms)) for node in used],
            *_traversals(core, [node.id for node in used], at_ms, followed),
            at_ms=at_ms,
        )
        for node in used:
            core.cache.replace(node)
            core.derived.metrics.touched(node)


def reward(core: Core, worth: Sequence[tuple[UUID, float]]) -> None:
    """Add to the mean worth of each edge that is there."""
    changed: dict[UUID, GraphEdge] = {}
    for edge_id, value in worth:
        edge = changed.get(edge_id) or core.store.edges.get(edge_id.bytes)
        if edge is not None:
            changed[edge_id] = edge.rewarded(value)
    if changed:
        core.store.put_uses((), changed.values())


def _traversals(
    core: Core, ids: Sequence[UUID], at_ms: int, followed: Sequence[GraphEdge]
) -> tuple[list[GraphEdge], list[Way]]:
    """Return (the edges with one traversal more, the paths they form)"""
    if not followed:
        return [], []
    there = (core.store.edges.get(edge.id.bytes) for edge in between(followed, ids))
    edges = [edge for edge in there if edge is not None]
    counted = [
        replace(edge, traversal_count=edge.traversal_count + 1, last_traversed_ms=at_ms) for edge in edges
    ]
    return counted, ways(edges, ids)


def ways(edges: Sequence[GraphEdge], nodes: Iterable[UUID]) -> list[Way]:
    """Return the paths of MIN_HOPS to MAX_HOPS edges that connect an answer's memories; at most MAX_WAYS.

    A breadth-first search from the best memory on, along edges and against them, strongest first, reaches
    each memory over the fewest edges. A path runs from a memory that nothing leads to, through the start, to
    one that nothing leads on from.

    Args:
        edges: As `between` gives them.
        nodes: The answer's memories, best first.
    """
    found_ways: list[Way] = []
    seen: set[UUID] = set()
    for root in nodes:
        if root in seen:
            continue
        seen.add(root)
        behind = _leaves(root, edges, seen, forward=False)
        ahead = _leaves(root, edges, seen, forward=True)
        for start in behind:
            for end in ahead:
                way = (*reversed(start), *end)
                if len(way) >= MIN_HOPS and len(found_ways) < MAX_WAYS:
                    found_ways.append(way[:MAX_HOPS])
    return found_ways


def _leaves(root: UUID, edges: Sequence[GraphEdge], seen: set[UUID], *, forward: bool) -> list[Way]:
    """Return the paths from ``root`` to the last memories reachable in one direction; ``((),)`` for none."""
    leaves: list[Way] = []
    waiting: deque[tuple[UUID, Way]] = deque([(root, ())])
    while waiting:
        at, way = waiting.popleft()
        before = len(waiting)
        for edge in edges:
            here, there = (edge.source_id, edge.target_id) if forward else (edge.target_id, edge.source_id)
            if here == at and there not in seen:
                seen.add(there)
                waiting.append((there, (*way, edge)))
        if len(waiting) == before:
            leaves.append(way)
    return leaves


def edge(core: Core, edge_id: UUID) -> GraphEdge:
    """Return the edge of that id; GraphQueryError if there is none."""
    link = core.store.edges.get(edge_id.bytes)
    if link is None:
        raise GraphQueryError(f"no edge {edge_id} in this store")
    return link


def put_edges(core: Core, edges: list[GraphEdge], *, new: bool) -> None:
    """Write edges; ``new`` ones are counted."""
    derived = core.derived if new else None
    core.store.put_edges(edges)
    with followed(core):
        if derived is not None:
            for each in edges:
                derived.metrics.linked(each)


def remove_edge(core: Core, edge_id: UUID) -> GraphEdge:
    """Remove an edge and return it; GraphQueryError if there is none."""
    removed, derived = edge(core, edge_id), core.derived
    core.store.remove_edges([removed])
    with followed(core):
        derived.metrics.unlinked(removed)
    return removed


@contextmanager
def followed(core: Core) -> Iterator[None]:
    """Update the derived data inside, after a commit; if that fails, it is rebuilt on next use."""
    try:
        yield
        core.committed()
    except Exception:
        start_anew(core)


def start_anew(core: Core) -> None:
    """Log the current exception and drop the derived data; next use rebuilds it from the records."""
    _LOG.exception("derived state of %s is made anew", core.folder.name)
    core.cache.clear()
    core.forget_derived()
