"""Edges in the database: one record an edge, and a key at each of its two ends that leads to it."""

from __future__ import annotations

from collections.abc import Iterator

from context_graph.model.edge import Direction, GraphEdge
from context_graph.store import graph_layout as layout
from context_graph.store.batch import Batch
from context_graph.store.engine import Engine
from context_graph.store.graph_layout import EDGES
from context_graph.store.graph_records import decode_edge, encode_edge
from context_graph.store.layout import after

__all__ = ["EdgeTable", "adjacent_keys"]

_SIDES = {Direction.OUT: ("out",), Direction.IN: ("in",), Direction.BOTH: ("out", "in")}
_EDGE_PREFIX = layout.edge_key(b"")


class EdgeTable:
    """Reads edges, and writes them into batches that its caller commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, edge_id: bytes) -> GraphEdge | None:
        """The edge of that id, None if there is none."""
        key = layout.edge_key(edge_id)
        record = self._engine.get(EDGES, key)
        return None if record is None else decode_edge(key, record)

    def record(self, edge_id: bytes) -> bytes | None:
        """The edge's record as it is on the disk."""
        return self._engine.get(EDGES, layout.edge_key(edge_id))

    def find(self, source: bytes, target: bytes, relationship: str) -> GraphEdge | None:
        """The edge from one memory to another with that relationship; there is at most one."""
        edge_id = self._engine.get(EDGES, layout.adjacency_key("out", source, target, relationship))
        return None if edge_id is None else self.get(edge_id)

    def of(self, node_id: bytes, direction: Direction = Direction.BOTH) -> list[GraphEdge]:
        """The edges of a memory; those that leave it first. Cost: one lookup an edge, some 10 us."""
        found: dict[bytes, None] = {}
        for side in _SIDES[direction]:
            prefix = layout.adjacency_prefix(side, node_id)
            for _, edge_id in self._engine.scan(EDGES, prefix, _end(prefix)):
                found[edge_id] = None
        edges = (self.get(edge_id) for edge_id in found)
        return [edge for edge in edges if edge is not None]

    def all(self, after_id: bytes = b"") -> Iterator[GraphEdge]:
        """Every edge, by id, from the one after ``after_id``."""
        start = layout.edge_key(after_id + b"\0") if after_id else _EDGE_PREFIX
        for key, record in self._engine.scan(EDGES, start, after(_EDGE_PREFIX)):
            yield decode_edge(key, record)

    def put(self, batch: Batch, edge: GraphEdge) -> None:
        """Add to ``batch``: ``edge``, new or changed.

        Raises:
            InvalidParamsError: A field that no record can hold.
        """
        key = layout.edge_key(edge.id.bytes)
        batch.put(EDGES, key, encode_edge(key, edge))
        for adjacent in adjacent_keys(edge):
            batch.put(EDGES, adjacent, edge.id.bytes)

    def remove(self, batch: Batch, edge: GraphEdge) -> None:
        """Add to ``batch``: ``edge`` is gone."""
        batch.delete(EDGES, layout.edge_key(edge.id.bytes))
        for adjacent in adjacent_keys(edge):
            batch.delete(EDGES, adjacent)


def adjacent_keys(edge: GraphEdge) -> tuple[bytes, bytes]:
    """The keys at the edge's two ends that lead to it."""
    source, target = edge.source_id.bytes, edge.target_id.bytes
    return (
        layout.adjacency_key("out", source, target, edge.relationship_type),
        layout.adjacency_key("in", target, source, edge.relationship_type),
    )


def _end(prefix: bytes) -> bytes:
    """The first key after all of ``prefix``, whose last bytes may be 0xFF."""
    number = int.from_bytes(prefix, "big") + 1  # never overflows: prefixes begin with an ASCII letter
    return number.to_bytes(len(prefix), "big")
