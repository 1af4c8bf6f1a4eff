"""Turns a plan into the records that its commit writes; only reads the store that the plan was made from.

Changes to the same memory, edge or edge position form one group. If any part of it was changed before the
commit, the whole group is left out.
"""

from __future__ import annotations

# hashlib would load OpenSSL for this one function (see store.layout).
from _blake2 import blake2b
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final
from uuid import UUID

from context_graph.consolidation.commit import KINDS, Prepared, reduced
from context_graph.consolidation.plan import Merge, NewLink, Plan, Prune, Reweight
from context_graph.errors import UNREADABLE_RECORD, InvalidParamsError
from context_graph.model.edge import CONSOLIDATION, MADE_BY, GraphEdge
from context_graph.model.memory import MERGED_FROM, MemoryNode, Tombstone, merged_reason
from context_graph.store.engine.tuning import Write
from context_graph.store.graph.edits import (
    Edit,
    Group,
    Slot,
    Uses,
    forget_edit,
    link_edit,
    relink_edit,
    slot_of,
    unlink_edit,
    update_edit,
)
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.records import encode_meta
from context_graph.store.graph.tables import EdgeTable
from context_graph.store.layout import META

MAX_TAGS: Final = 32
MAX_MERGED: Final = 64
"""Memories merged into one of which something is kept; beyond that the oldest go."""
MAX_MERGED_BYTES: Final = 65_536
"""Bytes of all their texts; beyond that entries go without theirs."""
_KINDS: Final = tuple(KINDS)
Item = tuple[str, int]
"""A change: its kind, and its place among the plan's of that kind."""


def prepare(
    store: GraphStore, plan: Plan, *, facts: Mapping[str, Mapping[str, Any]] | None = None
) -> Prepared:
    """Return what committing ``plan`` would write.

    Args:
        store: As the plan was made from it: a checkpoint, or under its lock. May be read-only.
        facts: Facts about the store (`GraphStore.meta`) that change with it, by name; undone with the run.

    Raises:
        InvalidParamsError: A fact that no record can hold.
        StoreError: The store can't be read. One damaged memory only leaves out what it is part of.

    Cost: some 150 us a merge, 60 us a prune.
    """
    work = _Preparation(store, plan)
    for kind, name in KINDS.items():
        for number, change in enumerate(getattr(plan, name)):
            getattr(work, kind)((kind, number), change)
    records = [
        Write(META, name.encode(), encode_meta(name.encode(), content))
        for name, content in (facts or {}).items()
    ]
    records = [write for write in records if store.engine.get(META, write.key) != write.value]
    groups = work.groups()
    done = reduced(plan, (item for group in groups for item in group.items))
    return Prepared(uid=store.uid, plan=done, groups=_renumbered(groups), records=records)


def _renumbered(groups: list[Group]) -> list[Group]:
    """Return the same with the places that the items have in the reduced plan."""
    place: dict[Item, Item] = {}
    count = dict.fromkeys(KINDS, 0)
    for kind, number in sorted(item for group in groups for item in group.items):
        place[kind, number] = (kind, count[kind])
        count[kind] += 1
    return [group._replace(items=[place[item] for item in group.items]) for group in groups]


class _Preparation:
    def __init__(self, store: GraphStore, plan: Plan) -> None:
        self._store = store
        self._taken_ms = plan.taken_ms
        self._edges = _Edges(store.edges)
        self._edits: dict[Item, list[Edit]] = defaultdict(list)
        self._needs: dict[Item, set[bytes]] = defaultdict(set)
        self._touched_edges: dict[Item, dict[UUID, None]] = defaultdict(dict)
        self._uses: dict[Item, list[Uses]] = {}
        self._taken: set[UUID] = set()
        """Memories that are merged or pruned, survivors too: each is so once."""
        self._gone: set[UUID] = set()
        self._known: dict[UUID, bool] = {}
        """Memories at edges' ends, and whether they are live."""
        self._sets = _Sets()

    def merge(self, item: Item, merge: Merge) -> None:
        ids = (merge.survivor, *merge.losers)
        nodes = [self._live(node_id) for node_id in ids]
        if len(set(ids)) != len(ids) or not self._taken.isdisjoint(ids) or None in nodes:
            return
        survivor, *losers = [node for node in nodes if node is not None]
        try:
            edits = [update_edit(self._store, survivor, _merged(survivor, losers))]
        except InvalidParamsError:  # its metadata would be too long
            return
        edits += [self._forgotten(loser, merged_reason(survivor.id)) for loser in losers]
        self._take(item, ids, edits)
        self._gone.update(merge.losers)
        self._uses[item] = [
            Uses(node.id.bytes, node.access_count, node.last_accessed_ms) for node in (survivor, *losers)
        ]
        for loser in losers:
            for edge_id, slot in self._edges.redirect(loser.id, survivor.id):
                self._touch(item, edge_id, slot)

    def prune(self, item: Item, prune: Prune) -> None:
        node = self._live(prune.id)
        if node is None or prune.id in self._taken:
            return
        self._take(item, (prune.id,), [self._forgotten(node, f"pruned: salience {prune.salience:.3f}")])
        self._gone.add(prune.id)

    def reweight(self, item: Item, reweight: Reweight) -> None:
        edge = self._edges.get(reweight.edge)
        if edge is None or edge.weight == reweight.after:
            return
        self._edges.put(replace(edge, weight=reweight.after))
        self._touch(item, edge.id, slot_of(edge))

    def link(self, item: Item, link: NewLink) -> None:
        ends = (link.source, link.target)
        slot = (link.source.bytes, link.target.bytes, link.relationship_type)
        if link.source == link.target or not self._gone.isdisjoint(ends):
            return
        if self._edges.find(slot) is not None or not all(self._there(end) for end in ends):
            return
        edge = _new_edge(link, self._free_id(b"".join((*slot[:2], slot[2].encode()))), self._taken_ms)
        self._edges.put(edge)
        self._needs[item].update(slot[:2])
        self._touch(item, edge.id, slot)

    def groups(self) -> list[Group]:
        """Return what is to be done, each change with all that it hangs together with."""
        parts: dict[Item, list[Item]] = defaultdict(list)
        for item in sorted({*self._edits, *self._touched_edges}, key=_order):
            parts[self._sets.root(item)].append(item)
        made = []
        for items in parts.values():
            edges = list(dict.fromkeys(edge_id for item in items for edge_id in self._touched_edges[item]))
            edits = [edit for item in items for edit in self._edits[item]] + self._edges.edits(edges)
            needs = {need for item in items for need in self._needs[item]} | {edge.bytes for edge in edges}
            uses = [self._uses[item] for item in items if item in self._uses]
            if edits:
                made.append(Group(items, sorted(needs), edits, uses))
        return made

    def _forgotten(self, node: MemoryNode, reason: str) -> Edit:
        return forget_edit(self._store, node, Tombstone(node.id, self._taken_ms, reason, soft=True))

    def _free_id(self, name: bytes) -> UUID:
        """Return an edge's id made of its place; another where an edge of that id was moved since."""
        for number in count():
            made = blake2b(name + number.to_bytes(4, "big"), digest_size=16).digest()
            edge_id = UUID(bytes=made, version=5)
            if self._edges.get(edge_id) is None:
                break
        return edge_id

    def _live(self, node_id: UUID) -> MemoryNode | None:
        try:
            return self._store.get(node_id.bytes)
        except UNREADABLE_RECORD:
            return None

    def _there(self, node_id: UUID) -> bool:
        if node_id not in self._known:
            self._known[node_id] = self._live(node_id) is not None
        return self._known[node_id]

    def _take(self, item: Item, ids: Iterable[UUID], edits: list[Edit]) -> None:
        self._taken.update(ids)
        self._needs[item].update(node_id.bytes for node_id in ids)
        self._edits[item] = edits

    def _touch(self, item: Item, edge_id: UUID, slot: Slot) -> None:
        self._touched_edges[item][edge_id] = None
        self._sets.join(item, edge_id.bytes)
        self._sets.join(item, slot)


class _Edges:
    """The edges as a plan would leave them: redirected, added, reweighted; not written anywhere yet."""

    def __init__(self, table: EdgeTable) -> None:
        self._table = table
        self._now: dict[UUID, GraphEdge | None] = {}
        self._at: dict[UUID, set[UUID]] = {}
        """Memory -> edges that were moved to it."""
        self._slots: dict[Slot, UUID] = {}

    def get(self, edge_id: UUID) -> GraphEdge | None:
        if edge_id in self._now:
            return self._now[edge_id]
        return self._table.get(edge_id.bytes)

    def find(self, slot: Slot) -> GraphEdge | None:
        moved = self._slots.get(slot)
        if moved is not None:
            return self._now[moved]
        there = self._table.find(*slot)
        # One that is to be elsewhere leaves its place; one that is to be here would be in `_slots`.
        return None if there is None or there.id in self._now else there

    def of(self, node: UUID) -> list[GraphEdge]:
        ids = dict.fromkeys(edge.id for edge in self._table.of(node.bytes))
        ids |= dict.fromkeys(sorted(self._at.get(node, ())))
        edges = (self.get(edge_id) for edge_id in ids)
        return [edge for edge in edges if edge is not None and node in (edge.source_id, edge.target_id)]

    def put(self, edge: GraphEdge) -> None:
        self._leave(edge.id)
        self._now[edge.id] = edge
        self._slots[slot_of(edge)] = edge.id
        for end in (edge.source_id, edge.target_id):
            self._at.setdefault(end, set()).add(edge.id)

    def remove(self, edge_id: UUID) -> None:
        self._leave(edge_id)
        self._now[edge_id] = None

    def redirect(self, loser: UUID, survivor: UUID) -> Iterator[tuple[UUID, Slot]]:
        """Move every edge of one memory to another; each edge touched, with a place it had or has."""
        for edge in self.of(loser):
            yield edge.id, slot_of(edge)
            moved = replace(
                edge,
                source_id=survivor if edge.source_id == loser else edge.source_id,
                target_id=survivor if edge.target_id == loser else edge.target_id,
            )
            if moved.source_id == moved.target_id:
                self.remove(edge.id)
                continue
            there = self.find(slot_of(moved))
            if there is not None:
                yield there.id, slot_of(moved)
                if _strength(there) >= _strength(moved):
                    self.remove(edge.id)
                    continue
                self.remove(there.id)
            yield edge.id, slot_of(moved)
            self.put(moved)

    def edits(self, ids: list[UUID]) -> list[Edit]:
        """Return what must be written for these edges, first those that leave their place."""
        gone, come = [], []
        for edge_id in ids:
            before = self._table.get(edge_id.bytes)
            now = self._now.get(edge_id, before)
            if before == now:
                continue
            if before is not None and (now is None or slot_of(before) != slot_of(now)):
                gone.append(unlink_edit(before, self._table.record(edge_id.bytes)))
                before = None
            if now is not None and before is not None:
                come.append(relink_edit(now, self._table.record(edge_id.bytes)))
            elif now is not None:
                come.append(link_edit(now))
        return gone + come

    def _leave(self, edge_id: UUID) -> None:
        there = self._now.get(edge_id)
        if there is not None:
            del self._slots[slot_of(there)]
            for end in (there.source_id, there.target_id):
                self._at[end].discard(edge_id)


def _strength(edge: GraphEdge) -> tuple[float, float, int]:
    """Sort key of edges: of two in one place the greater stays."""
    return edge.weight, edge.confidence, -edge.created_at_ms


class _Sets:
    """Groups items that touch the same thing (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[Item, Item] = {}
        self._holder: dict[bytes | Slot, Item] = {}

    def root(self, item: Item) -> Item:
        """Return the item that represents the group of ``item``."""
        while (parent := self._parent.get(item, item)) != item:
            self._parent[item] = self._parent.get(parent, parent)
            item = parent
        return item

    def join(self, item: Item, touched: bytes | Slot) -> None:
        """Record that ``item`` touches that."""
        root, other = self.root(item), self.root(self._holder.setdefault(touched, item))
        if root != other:
            self._parent[max(root, other, key=_order)] = min(root, other, key=_order)


def _order(item: Item) -> tuple[int, int]:
    return _KINDS.index(item[0]), item[1]


def _merged(survivor: MemoryNode, losers: list[MemoryNode]) -> MemoryNode:
    """Return the survivor after the merge (D5.2): the greatest importance, the earliest time, all tags."""
    nodes = (survivor, *losers)
    return replace(
        survivor,
        importance=max(node.importance for node in nodes),
        created_at_ms=min(node.created_at_ms for node in nodes),
        pinned=any(node.pinned for node in nodes),
        tags=tuple(dict.fromkeys(tag for node in nodes for tag in node.tags))[:MAX_TAGS],
        metadata={**survivor.metadata, MERGED_FROM: _merged_from(survivor, losers)},
    )


def _merged_from(survivor: MemoryNode, losers: Sequence[MemoryNode]) -> list[dict[str, Any]]:
    """Return what is kept of ``losers``, and of those merged into them: texts where they differ."""
    entries = _merged_before(survivor)
    for loser in losers:
        entries += _merged_before(loser)
        entries.append(_entry(loser))
    texts, size = {survivor.content}, 0
    kept = []
    for entry in reversed(entries[-MAX_MERGED:]):
        text = entry.get("content")
        length = len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else 0
        if text in texts or size + length > MAX_MERGED_BYTES:
            entry = {name: value for name, value in entry.items() if name != "content"}
        elif isinstance(text, str):
            texts.add(text)
            size += length
        kept.append(entry)
    return kept[::-1]


def _merged_before(node: MemoryNode) -> list[dict[str, Any]]:
    """Return what an earlier merge left; a value of that name that is none of ours is an entry too."""
    value = node.metadata.get(MERGED_FROM)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        return list(value)
    return [{"value": value}]


def _entry(node: MemoryNode) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": str(node.id),
        "content": node.content,
        "created_at_ms": node.created_at_ms,
        "source": node.source,
    }
    return entry if node.session_id is None else {**entry, "session_id": node.session_id}


def _new_edge(link: NewLink, edge_id: UUID, at_ms: int) -> GraphEdge:
    metadata: dict[str, Any] = {MADE_BY: CONSOLIDATION, "why": link.why}
    if link.path:
        metadata["path"] = [str(node_id) for node_id in link.path]
    return GraphEdge(
        id=edge_id,
        source_id=link.source,
        target_id=link.target,
        relationship_type=link.relationship_type,
        weight=link.weight,
        confidence=link.confidence,
        created_at_ms=at_ms,
        last_traversed_ms=at_ms,
        is_amortized_shortcut=link.shortcut,
        metadata=metadata,
    )
