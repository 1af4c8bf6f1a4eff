"""Snapshots of memories that are at hand, as `dream.snapshot` makes them of a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

import numpy as np

from context_graph.consolidation.snapshot import F32, Links, Snapshot, numbered
from context_graph.model.edge import GraphEdge, TraversedPath
from context_graph.model.memory import MemoryNode
from context_graph.model.spaces import DIM


def of_memories(
    nodes: Sequence[MemoryNode],
    edges: Sequence[GraphEdge] = (),
    *,
    paths: Sequence[TraversedPath] = (),
    seq: int = 0,
    taken_ms: int = 0,
    used: Mapping[UUID, int] = MappingProxyType({}),
) -> Snapshot:
    """A snapshot of whole memories that are at hand, each with its embedding."""
    rows = {node.id: row for row, node in enumerate(nodes)}
    inside = [edge for edge in edges if edge.source_id in rows and edge.target_id in rows]
    degree = np.zeros(len(nodes), np.int32)
    for edge in edges:
        for end in (edge.source_id, edge.target_id):
            if end in rows:
                degree[rows[end]] += 1

    def blocks(size: int) -> Iterator[tuple[int, F32]]:
        for start in range(0, len(nodes), size):
            packed = b"".join(node.embedding or bytes(4 * DIM) for node in nodes[start : start + size])
            yield start, np.frombuffer(packed, np.float32).reshape(-1, DIM)

    return Snapshot(
        seq=seq,
        taken_ms=taken_ms,
        total=len(nodes),
        ids=[node.id for node in nodes],
        created_ms=np.array([node.created_at_ms for node in nodes], np.int64),
        accessed_ms=np.array([node.last_accessed_ms for node in nodes], np.int64),
        accesses=np.array([node.access_count for node in nodes], np.int64),
        used=np.array([used.get(node.id, 0) for node in nodes], np.int64),
        importance=np.array([node.importance for node in nodes], np.float64),
        pinned=np.array([node.pinned for node in nodes], np.bool_),
        session=numbered(node.session_id for node in nodes),
        project=numbered(node.project for node in nodes),
        modality=[node.modality.value for node in nodes],
        source=[node.source for node in nodes],
        degree=degree,
        links=_links(inside, rows),
        node=lambda row: nodes[row],
        text=lambda row: nodes[row].content,
        read_blocks=blocks,
        paths=list(paths),
    )


def _links(inside: Sequence[GraphEdge], rows: Mapping[UUID, int]) -> Links:
    return Links(
        ids=[edge.id for edge in inside],
        source=np.array([rows[edge.source_id] for edge in inside], np.int32),
        target=np.array([rows[edge.target_id] for edge in inside], np.int32),
        kind=[edge.relationship_type for edge in inside],
        weight=np.array([edge.weight for edge in inside], np.float64),
        confidence=np.array([edge.confidence for edge in inside], np.float64),
    )
