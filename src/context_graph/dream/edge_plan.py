"""The edges as a plan would leave them: redirected, added, weighed anew; not written anywhere yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from context_graph.model.edge import GraphEdge
from context_graph.store.edge_edits import Slot, link_edit, relink_edit, slot_of, unlink_edit
from context_graph.store.edge_table import EdgeTable
from context_graph.store.edits import Edit

__all__ = ["EdgePlan"]


class EdgePlan:
    """Edges of a store and what is to become of them."""

    def __init__(self, table: EdgeTable) -> None:
        self._table = table
        self._before: dict[UUID, GraphEdge | None] = {}
        self._now: dict[UUID, GraphEdge | None] = {}
        self._at: dict[UUID, set[UUID]] = {}
        """Memory -> edges that were moved to it."""
        self._slots: dict[Slot, UUID] = {}

    def get(self, edge_id: UUID) -> GraphEdge | None:
        """The edge as it is to be."""
        if edge_id in self._now:
            return self._now[edge_id]
        return self._table.get(edge_id.bytes)

    def find(self, slot: Slot) -> GraphEdge | None:
        """The edge that is to be in that place."""
        moved = self._slots.get(slot)
        if moved is not None:
            return self._now[moved]
        there = self._table.find(*slot)
        # One that is to be elsewhere leaves its place; one that is to be here would be in `_slots`.
        return None if there is None or there.id in self._now else there

    def of(self, node: UUID) -> list[GraphEdge]:
        """The edges that a memory is to have."""
        ids = dict.fromkeys(edge.id for edge in self._table.of(node.bytes))
        ids |= dict.fromkeys(sorted(self._at.get(node, ())))
        edges = (self.get(one) for one in ids)
        return [edge for edge in edges if edge is not None and node in (edge.source_id, edge.target_id)]

    def put(self, edge: GraphEdge) -> None:
        """That edge is to be there, new or changed."""
        self._leave(edge.id)
        self._now[edge.id] = edge
        self._slots[slot_of(edge)] = edge.id
        for end in (edge.source_id, edge.target_id):
            self._at.setdefault(end, set()).add(edge.id)

    def remove(self, edge_id: UUID) -> None:
        """That edge is to go."""
        self._leave(edge_id)
        self._now[edge_id] = None

    def redirect(self, loser: UUID, survivor: UUID) -> Iterator[tuple[UUID, Slot]]:
        """Every edge of one memory becomes the other's; each that is touched, with a place it had or has.

        One that would lead from a memory to itself goes, and of two in one place the weaker.
        """
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
        """What must be written for these edges: first those that leave their place, then the others."""
        gone, come = [], []
        for edge_id in ids:
            before, now = self._old(edge_id), self._now.get(edge_id, self._old(edge_id))
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

    def _old(self, edge_id: UUID) -> GraphEdge | None:
        if edge_id not in self._before:
            self._before[edge_id] = self._table.get(edge_id.bytes)
        return self._before[edge_id]

    def _leave(self, edge_id: UUID) -> None:
        there = self._now.get(edge_id)
        if there is not None:
            del self._slots[slot_of(there)]
            for end in (there.source_id, there.target_id):
                self._at[end].discard(edge_id)


def _strength(edge: GraphEdge) -> tuple[float, float, int]:
    """Of two edges in one place the greater stays."""
    return edge.weight, edge.confidence, -edge.created_at_ms
