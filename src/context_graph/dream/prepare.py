"""From a plan to the records that its commit writes. Reads the store that the plan was made from, no more.

Changes that touch the same memory, edge or place of an edge are one group: if something of it was changed
when the time comes, all of it stays undone.
"""

from __future__ import annotations

# hashlib would load OpenSSL for this one function (see store.layout).
from _blake2 import blake2b
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final
from uuid import UUID

from context_graph.dream.edge_plan import EdgePlan
from context_graph.dream.plan import Merge, NewLink, Plan, Prune, Reweight
from context_graph.dream.prepared import KINDS, Prepared, reduced
from context_graph.dream.provenance import merged_metadata
from context_graph.errors import UNREADABLE_RECORD, InvalidParamsError
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone, merged_reason
from context_graph.store.edge_edits import Slot, slot_of
from context_graph.store.edits import Edit, Group, Uses, Write
from context_graph.store.graph import GraphStore
from context_graph.store.graph_layout import META
from context_graph.store.graph_records import encode_meta
from context_graph.store.node_edits import forget_edit, update_edit

__all__ = ["prepare"]

MAX_TAGS: Final = 32
Item = tuple[str, int]
Touched = bytes | Slot


def prepare(
    store: GraphStore, plan: Plan, *, facts: Mapping[str, Mapping[str, Any]] | None = None
) -> Prepared:
    """What committing ``plan`` would write.

    Args:
        store: As the plan was made from it: a checkpoint, or under its lock. May be read-only.
        facts: Facts about the store (`GraphStore.meta`) that change with it, by name; undone with the run.

    Raises:
        InvalidParamsError: A fact that no record can hold.
        StoreError: The store can't be read. One damaged memory only leaves out what it is part of.

    Cost: some 150 us a merge, 60 us a prune.
    """
    work = _Preparation(store, plan)
    for number, merge in enumerate(plan.merges):
        work.merge(("merge", number), merge)
    for number, prune in enumerate(plan.prunes):
        work.prune(("prune", number), prune)
    for number, reweight in enumerate(plan.reweights):
        work.reweight(("reweight", number), reweight)
    for number, link in enumerate(plan.links):
        work.link(("link", number), link)
    records = [
        Write(META, name.encode(), encode_meta(name.encode(), content))
        for name, content in (facts or {}).items()
    ]
    records = [write for write in records if store.engine.get(META, write.key) != write.value]
    groups = work.groups()
    done = reduced(plan, (item for group in groups for item in group.items))
    return Prepared(uid=store.uid, plan=done, groups=_renumbered(groups), records=records)


def _renumbered(groups: list[Group]) -> list[Group]:
    """The same with the places that the items have in the reduced plan."""
    place: dict[Item, Item] = {}
    count = dict.fromkeys(KINDS, 0)
    for kind, number in sorted(item for group in groups for item in group.items):
        place[kind, number] = (kind, count[kind])
        count[kind] += 1
    return [group._replace(items=[place[item] for item in group.items]) for group in groups]


class _Preparation:
    def __init__(self, store: GraphStore, plan: Plan) -> None:
        self._store = store
        self._plan = plan
        self._edges = EdgePlan(store.edges)
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
        """Several memories become one."""
        ids = (merge.survivor, *merge.losers)
        nodes = [self._live(one) for one in ids]
        if len(set(ids)) != len(ids) or not self._taken.isdisjoint(ids) or None in nodes:
            return
        survivor, *losers = [node for node in nodes if node is not None]
        stones = [
            Tombstone(loser.id, self._plan.taken_ms, merged_reason(survivor.id), soft=True)
            for loser in losers
        ]
        try:
            edits = [update_edit(self._store, survivor, _merged(survivor, losers))]
        except InvalidParamsError:  # its metadata would be too long
            return
        edits += [forget_edit(self._store, loser, stone) for loser, stone in zip(losers, stones, strict=True)]
        self._take(item, ids, edits)
        self._gone.update(merge.losers)
        self._uses[item] = [
            Uses(node.id.bytes, node.access_count, node.last_accessed_ms) for node in (survivor, *losers)
        ]
        for loser in losers:
            for edge_id, slot in self._edges.redirect(loser.id, survivor.id):
                self._touch(item, edge_id, slot)

    def prune(self, item: Item, prune: Prune) -> None:
        """A memory is forgotten."""
        node = self._live(prune.id)
        if node is None or prune.id in self._taken:
            return
        reason = f"pruned: salience {prune.salience:.3f}"
        stone = Tombstone(prune.id, self._plan.taken_ms, reason, soft=True)
        self._take(item, (prune.id,), [forget_edit(self._store, node, stone)])
        self._gone.add(prune.id)

    def reweight(self, item: Item, reweight: Reweight) -> None:
        """An edge is weighed anew."""
        edge = self._edges.get(reweight.edge)
        if edge is None or edge.weight == reweight.after:
            return
        self._edges.put(replace(edge, weight=reweight.after))
        self._touch(item, edge.id, slot_of(edge))

    def link(self, item: Item, link: NewLink) -> None:
        """An edge is made."""
        ends = (link.source, link.target)
        slot = (link.source.bytes, link.target.bytes, link.relationship_type)
        if (
            link.source == link.target
            or not self._gone.isdisjoint(ends)
            or self._edges.find(slot) is not None
        ):
            return
        if not all(self._there(end) for end in ends):
            return
        edge = _new_edge(link, self._free_id(b"".join((*slot[:2], slot[2].encode()))), self._plan.taken_ms)
        self._edges.put(edge)
        self._needs[item].update(slot[:2])
        self._touch(item, edge.id, slot)

    def groups(self) -> list[Group]:
        """What is to be done, each change with all that it hangs together with."""
        parts: dict[Item, list[Item]] = defaultdict(list)
        for item in sorted({*self._edits, *self._touched_edges}, key=_order):
            parts[self._sets.root(item)].append(item)
        made = []
        for items in parts.values():
            edges = list(dict.fromkeys(one for item in items for one in self._touched_edges[item]))
            edits = [edit for item in items for edit in self._edits[item]] + self._edges.edits(edges)
            needs = {one for item in items for one in self._needs[item]} | {edge.bytes for edge in edges}
            uses = [self._uses[item] for item in items if item in self._uses]
            if edits:
                made.append(Group(items, sorted(needs), edits, uses))
        return made

    def _free_id(self, name: bytes) -> UUID:
        """An edge's id made of its place; another one where an edge of that id was moved elsewhere since."""
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
        """Whether it is live, as often as it is asked for."""
        found = self._known.get(node_id)
        if found is None:
            found = self._known[node_id] = self._live(node_id) is not None
        return found

    def _take(self, item: Item, ids: Iterable[UUID], edits: list[Edit]) -> None:
        self._taken.update(ids)
        self._needs[item].update(one.bytes for one in ids)
        self._edits[item] = edits

    def _touch(self, item: Item, edge_id: UUID, slot: Slot) -> None:
        self._touched_edges[item][edge_id] = None
        self._sets.join(item, edge_id.bytes)
        self._sets.join(item, slot)


class _Sets:
    """Which items hang together, by what they touch."""

    def __init__(self) -> None:
        self._parent: dict[Item, Item] = {}
        self._holder: dict[Touched, Item] = {}

    def root(self, item: Item) -> Item:
        """The one that stands for all that hang together with ``item``."""
        while (parent := self._parent.get(item, item)) != item:
            self._parent[item] = self._parent.get(parent, parent)
            item = parent
        return item

    def join(self, item: Item, touched: Touched) -> None:
        """``item`` touches that."""
        one, other = self.root(item), self.root(self._holder.setdefault(touched, item))
        if one != other:
            self._parent[max(one, other, key=_order)] = min(one, other, key=_order)


_PLACE: Final = {kind: place for place, kind in enumerate(("merge", "prune", "reweight", "link"))}


def _order(item: Item) -> tuple[int, int]:
    return _PLACE[item[0]], item[1]


def _merged(survivor: MemoryNode, losers: list[MemoryNode]) -> MemoryNode:
    """The survivor as it is to be (D5.2): the greatest importance, the earliest time, all tags."""
    tags = dict.fromkeys(tag for node in (survivor, *losers) for tag in node.tags)
    return replace(
        survivor,
        importance=max(node.importance for node in (survivor, *losers)),
        created_at_ms=min(node.created_at_ms for node in (survivor, *losers)),
        pinned=any(node.pinned for node in (survivor, *losers)),
        tags=tuple(tags)[:MAX_TAGS],
        metadata=merged_metadata(survivor, losers),
    )


def _new_edge(link: NewLink, edge_id: UUID, at_ms: int) -> GraphEdge:
    metadata: dict[str, Any] = {"made_by": "consolidation", "why": link.why}
    if link.path:
        metadata["path"] = [str(one) for one in link.path]
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
