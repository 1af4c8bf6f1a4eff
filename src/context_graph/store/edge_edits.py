"""Edges that come, go or change, as edits."""

from __future__ import annotations

from context_graph.model.edge import GraphEdge
from context_graph.store import graph_layout as layout
from context_graph.store.edge_table import adjacent_keys
from context_graph.store.edits import Edit, Write
from context_graph.store.graph_layout import EDGES
from context_graph.store.graph_records import Op, encode_edge
from context_graph.store.history_layout import Image

__all__ = ["Slot", "link_edit", "relink_edit", "slot_of", "unlink_edit"]

Slot = tuple[bytes, bytes, str]
"""Source, target and relationship; there is at most one edge of each."""


def slot_of(edge: GraphEdge) -> Slot:
    """The place of an edge."""
    return edge.source_id.bytes, edge.target_id.bytes, edge.relationship_type


def link_edit(edge: GraphEdge) -> Edit:
    """An edge comes, or comes back."""
    key = layout.edge_key(edge.id.bytes)
    writes = [Write(EDGES, key, encode_edge(key, edge))]
    writes += [Write(EDGES, place, edge.id.bytes) for place in adjacent_keys(edge)]
    return Edit(Op.LINK, edge.id.bytes, writes, (Image(EDGES, key, None),), slot_of(edge)[:2])


def unlink_edit(edge: GraphEdge, record: bytes | None) -> Edit:
    """An edge goes; ``record`` is its own."""
    key = layout.edge_key(edge.id.bytes)
    writes = [Write(EDGES, place, None) for place in (key, *adjacent_keys(edge))]
    return Edit(Op.UNLINK, edge.id.bytes, writes, (Image(EDGES, key, record),), slot_of(edge)[:2])


def relink_edit(edge: GraphEdge, record: bytes | None) -> Edit:
    """An edge has other numbers between the same memories; ``record`` is as it was."""
    key = layout.edge_key(edge.id.bytes)
    writes = (Write(EDGES, key, encode_edge(key, edge)),)
    return Edit(Op.RELINK, edge.id.bytes, writes, (Image(EDGES, key, record),), slot_of(edge)[:2])
