"""Uses of edges that were counted after a change of them was worked out: the change keeps them.

A use has no commit number (`GraphStore.put_uses`), so it is no reason to leave the change out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from context_graph.model.edge import GraphEdge
from context_graph.store.edits import Edit, Write
from context_graph.store.engine import Engine
from context_graph.store.graph_layout import EDGES, edge_key
from context_graph.store.graph_records import decode_edge, encode_edge

__all__ = ["with_uses"]


def with_uses(engine: Engine, edits: Sequence[Edit]) -> list[Edit]:
    """``edits`` with the uses of their edges as they are by now. Cost: one lookup for each changed edge."""
    used = _used_since(engine, edits)
    return [_brought_up(edit, *used[edit.subject]) if edit.subject in used else edit for edit in edits]


def _used_since(engine: Engine, edits: Sequence[Edit]) -> dict[bytes, tuple[bytes, GraphEdge, int]]:
    """Edge -> its record now, the edge, and how often it was used since; of those that were."""
    before = {
        image.key: image.before
        for edit in edits
        if (image := edit.image(EDGES)) is not None and image.before is not None
    }
    found = {}
    for (key, record), now in zip(before.items(), engine.get_many(EDGES, list(before)), strict=True):
        if now is None or now == record:
            continue
        edge, was = decode_edge(key, now), decode_edge(key, record)
        found[edge.id.bytes] = now, edge, edge.traversal_count - was.traversal_count
    return found


def _brought_up(edit: Edit, record: bytes, edge: GraphEdge, uses: int) -> Edit:
    key = edge_key(edit.subject)
    writes = []
    for write in edit.writes:
        if write.key == key and write.value is not None:
            planned = decode_edge(key, write.value)
            planned = replace(
                planned,
                traversal_count=planned.traversal_count + uses,
                last_traversed_ms=max(planned.last_traversed_ms, edge.last_traversed_ms),
            )
            write = Write(write.family, key, encode_edge(key, planned))
        writes.append(write)
    images = [
        image._replace(before=record) if image.key == key and image.before is not None else image
        for image in edit.images
    ]
    return edit._replace(writes=writes, images=images)
