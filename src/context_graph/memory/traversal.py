"""Finds the edges and paths along which an answer was found.

Recall lets its best memories pass some of their score along their edges. An edge was traversed if both its
ends are in the answer; several in a row, all in their own direction, are a path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from context_graph.model.edge import MAX_HOPS, MIN_HOPS, GraphEdge

MAX_EDGES: Final = 32
"""Edges of one answer whose traversal is counted, the strongest."""
MAX_WAYS: Final = 16
"""Paths of one answer that are counted."""

Way = tuple[GraphEdge, ...]


def between(edges: Iterable[GraphEdge], nodes: Iterable[UUID]) -> list[GraphEdge]:
    """Those of ``edges`` with both ends among ``nodes``, each once: at most MAX_EDGES, strongest first."""
    here = set(nodes)
    found = {edge.id: edge for edge in edges if edge.source_id in here and edge.target_id in here}
    return sorted(found.values(), key=lambda edge: (-edge.effective_weight(), edge.id))[:MAX_EDGES]


def ways(edges: Sequence[GraphEdge], nodes: Iterable[UUID]) -> list[Way]:
    """The paths of MIN_HOPS to MAX_HOPS edges along which an answer's memories hang together.

    From the best memory on, breadth first, so that each memory is reached over the fewest edges, the
    strongest first: along edges that leave it, and against those that lead to it. A path is a whole way, from
    where nothing led there to where nothing led on, through the memory it was found from.

    Args:
        edges: As `between` gives them.
        nodes: The answer's memories, the best first.

    Returns:
        At most MAX_WAYS, each a run of edges whose ends meet.
    """
    found: list[Way] = []
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
                if len(way) >= MIN_HOPS and len(found) < MAX_WAYS:
                    found.append(way[:MAX_HOPS])
    return found


def _leaves(root: UUID, edges: Sequence[GraphEdge], seen: set[UUID], *, forward: bool) -> list[Way]:
    """The ways from ``root`` to the last memories that can be reached one way; ``((),)`` if none can."""
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
