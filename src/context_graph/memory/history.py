"""Reconstructs a memory's history, and its state at a time, from what each change overwrote.

All of it runs inside an operation of the core. Uses (accesses, traversals) are not changes: their counts are
today's, except where a consolidation added them up.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from context_graph.errors import GraphQueryError, InvalidParamsError
from context_graph.memory.core import Core, now_ms
from context_graph.memory.exchange.records import node_to_json
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone, iso_time
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.history import Entry
from context_graph.store.graph.node_records import StoredNode, decode_access, decode_node
from context_graph.store.graph.records import Op, decode_edge, decode_tombstone
from context_graph.store.layout import ACCESS, EDGES, NODES, TOMBSTONES

_WHAT: Final = {
    Op.ADD: "added",
    Op.UPDATE: "changed",
    Op.FORGET: "forgotten",
    Op.RESTORE: "restored",
    Op.LINK: "linked",
    Op.UNLINK: "unlinked",
    Op.RELINK: "relinked",
}
_LATE: Final = math.inf
"""Sorts after every commit of the same millisecond."""
_NOT_TOLD: Final = ("id", "last_accessed_ms", "embedding")


@dataclass(frozen=True, slots=True)
class Version:
    """One change of a memory, or of one of its edges."""

    seq: int | None
    """Its commit number; None for an edge of which only the creation time is known."""
    at_ms: int | None
    """Unix ms; None from before times were kept."""
    what: str
    """added, changed, forgotten, merged, restored, linked, unlinked, relinked."""
    run: UUID | None = None
    """The consolidation or undo it belongs to."""
    before: dict[str, Any] = field(default_factory=dict)
    """The fields it changed, as they were, named as in an export."""
    after: dict[str, Any] = field(default_factory=dict)
    """The same fields as they became."""
    edge: GraphEdge | None = None
    """Of a change of an edge, the edge before it, or the new edge."""
    reason: str = ""
    """Of a deleted or merged memory, the reason in its tombstone."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """A memory as it was at a time."""

    node: MemoryNode
    deleted: bool
    """It was soft-deleted then."""
    edges: tuple[GraphEdge, ...]
    """Its edges then, also those to soft-deleted memories."""


def history(core: Core, node_id: UUID, limit: int) -> list[Version]:
    """Return the changes of a memory and of its edges, newest first. Raises as `Reading.history`."""
    if limit < 1:
        raise InvalidParamsError.of("limit", f"is {limit}, must be at least 1")
    store, key = core.store, node_id.bytes
    stored = store.read(key)
    if stored is None:
        raise GraphQueryError(f"no memory {node_id} in this store")
    entries = list(store.history.of(key))
    versions = [*_of_node(store, key, [entry for entry in entries if entry.subject == key], stored)]
    edges = [entry for entry in entries if entry.subject != key]
    versions += [_of_edge(store, entry) for entry in edges]
    placed = [
        (version.at_ms or 0, _LATE if version.seq is None else float(version.seq), version)
        for version in versions
    ]
    placed += [(version.at_ms or 0, place, version) for place, version in _beginnings(store, node_id, edges)]
    placed.sort(key=lambda item: item[:2], reverse=True)
    return _with_runs(store, [version for _, _, version in placed[:limit]])


def as_of(core: Core, node_id: UUID, at_ms: int) -> AsOf | None:
    """Return a memory as it was at that time; None if it was not there. Raises as `Reading.as_of`."""
    store, key = core.store, node_id.bytes
    _check_time(store, at_ms)
    entries = list(store.history.of(key))
    later = [entry for entry in entries if entry.at_ms > at_ms]
    stored = _node_then(store, key, [entry for entry in later if entry.subject == key])
    if stored is None or _added_ms(store, stored.node) > at_ms:
        return None
    return AsOf(stored.node, stored.deleted, tuple(_edges_then(store, node_id, later, at_ms)))


def _check_time(store: GraphStore, at_ms: int) -> None:
    if at_ms > now_ms():
        raise InvalidParamsError.of("as_of", f"is {iso_time(at_ms)}, which is still to come")
    begun = store.history.begun_ms()
    if not begun or at_ms < begun:
        since = f"it begins at {iso_time(begun)}" if begun else "there is none yet"
        raise InvalidParamsError.of("as_of", f"is {iso_time(at_ms)}, before this store's history: {since}")


def _added_ms(store: GraphStore, node: MemoryNode) -> int:
    """Return when that memory was stored; 0 from before times were kept."""
    change = next(store.changes_after(node.commit_seq - 1), None)
    return 0 if change is None or change.seq != node.commit_seq else change.at_ms


# Memories


def _node_then(store: GraphStore, key: bytes, later: list[Entry]) -> StoredNode | None:
    """Return the memory before the first of those changes."""
    for entry in later:
        image = entry.image(NODES)
        if image is not None:
            uses = entry.image(ACCESS)
            record = store.engine.get(ACCESS, key) if uses is None else uses.before
            access = None if record is None else decode_access(key, record)
            return None if image.before is None else decode_node(key, image.before, access)
    return store.read(key)


def _of_node(store: GraphStore, key: bytes, entries: list[Entry], now: StoredNode) -> Iterator[Version]:
    """Yield its own changes; each is the difference between the state before it and before the next one."""
    for place, entry in enumerate(entries):
        before = _node_then(store, key, entries[place:])
        after = _node_then(store, key, entries[place + 1 :]) if place + 1 < len(entries) else now
        stone = _stone_after(store, key, entries[place + 1 :]) if entry.op == Op.FORGET else None
        what = "merged" if stone is not None and stone.merged_into else _WHAT.get(entry.op, "changed")
        yield Version(
            entry.seq,
            entry.at_ms,
            what,
            before=_difference(before, after),
            after=_difference(after, before),
            reason="" if stone is None else stone.reason,
        )
    if not any(entry.seq == now.node.commit_seq for entry in entries):
        yield Version(now.node.commit_seq, _added_ms(store, now.node) or None, "added")


def _stone_after(store: GraphStore, key: bytes, later: list[Entry]) -> Tombstone | None:
    for entry in later:
        image = entry.image(TOMBSTONES)
        if image is not None:
            return None if image.before is None else decode_tombstone(key, image.before)
    return store.tombstone(key)


def _difference(before: StoredNode | None, other: StoredNode | None) -> dict[str, Any]:
    """Return the fields of ``before`` that differ in ``other``."""
    if before is None or other is None:
        return {}
    fields, others = node_to_json(before.node), node_to_json(other.node)
    return {
        name: value for name, value in fields.items() if name not in _NOT_TOLD and others.get(name) != value
    }


# Edges


def _of_edge(store: GraphStore, entry: Entry) -> Version:
    image = entry.image(EDGES)
    if image is not None and image.before is not None:
        edge: GraphEdge | None = decode_edge(image.key, image.before)
    else:
        edge = _edge_then(store, entry.subject, entry.seq)
    return Version(entry.seq, entry.at_ms, _WHAT.get(entry.op, "relinked"), edge=edge)


def _beginnings(store: GraphStore, node_id: UUID, entries: list[Entry]) -> Iterator[tuple[float, Version]]:
    """Yield the creation of edges that no entry tells of, with their places among changes of one time."""
    first: dict[bytes, Entry] = {}
    for entry in entries:
        first.setdefault(entry.subject, entry)
    edges = [(_LATE, edge) for edge in store.edges.of(node_id.bytes) if edge.id.bytes not in first]
    for entry in first.values():
        image = entry.image(EDGES)
        if image is not None and image.before is not None:
            edges.append((entry.seq - 0.5, decode_edge(image.key, image.before)))
    for place, edge in edges:
        if node_id in (edge.source_id, edge.target_id):
            yield place, Version(None, edge.created_at_ms, "linked", edge=edge)


def _edge_then(store: GraphStore, edge_id: bytes, seq: int) -> GraphEdge | None:
    """Return an edge as commit ``seq`` left it."""
    for entry in store.history.of(edge_id, seq):
        image = entry.image(EDGES)
        if image is not None:
            return None if image.before is None else decode_edge(image.key, image.before)
    return store.edges.get(edge_id)


def _edges_then(store: GraphStore, node_id: UUID, later: list[Entry], at_ms: int) -> Iterator[GraphEdge]:
    """Yield the edges that a memory had; ``later`` are the entries since then about it and its edges."""
    ids = dict.fromkeys(edge.id.bytes for edge in store.edges.of(node_id.bytes))
    ids |= dict.fromkeys(entry.subject for entry in later if entry.subject != node_id.bytes)
    for edge_id in ids:
        before = [entry.seq for entry in store.history.of(edge_id) if entry.at_ms > at_ms]
        edge = _edge_then(store, edge_id, before[0] - 1) if before else store.edges.get(edge_id)
        if edge is None or node_id not in (edge.source_id, edge.target_id):
            continue
        if edge.created_at_ms <= at_ms:  # nothing is kept of how an edge came, but that time
            yield edge


def _with_runs(store: GraphStore, versions: list[Version]) -> list[Version]:
    """Return the same entries, each with the run whose range its commit is in."""
    runs = sorted(store.history.runs(), key=lambda run: run.first)
    firsts = [run.first for run in runs]
    rows = []
    for version in versions:
        place = bisect_right(firsts, version.seq or 0) - 1
        inside = place >= 0 and (version.seq or 0) <= runs[place].last
        rows.append(replace(version, run=runs[place].token) if inside else version)
    return rows
