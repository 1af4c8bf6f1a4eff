"""Makes the rows of the map: which memories are alike, what they are about, and how that shifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from context_graph.consolidation.map import Spot, decode_map
from context_graph.consolidation.plan import Goal, decode_goals
from context_graph.memory.memex import Memex
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.view.memories import one_line
from context_graph.store.layout import GOALS_FACT, MAP_FACT
from context_graph.view.rows import DriftPoint, GoalRow, Map, MapCluster, MapPoint, PatternRow

_TEXT_CHARS: Final = 80


def map_of(context: StoreContext) -> Map:
    """Return the map as the last deep or rem consolidation drew it, without what was forgotten since.

    Cost: a read for each of up to 2,000 memories, some 20 ms.
    """
    if not context.memory_count() and context.memory_seq() is None:
        return Map()
    memex = context.memory
    with memex.uncounted():
        with memex.core.operation("get") as core:
            drawn = decode_map(core.store.meta(MAP_FACT))
            goals = decode_goals(core.store.meta(GOALS_FACT))
            missing = sum(1 for _ in core.store.in_order(drawn.seq)) if drawn is not None else 0
        if drawn is None:
            return Map(goals=_goals(goals))
        return Map(
            at_ms=drawn.at_ms,
            missing=missing,
            points=_points(memex, drawn.spots),
            clusters=[
                MapCluster(
                    label=cluster.label,
                    memories=cluster.memories,
                    coherence=cluster.coherence,
                    x=cluster.x,
                    y=cluster.y,
                )
                for cluster in drawn.clusters
            ],
            goals=_goals(goals),
            patterns=[
                PatternRow(text=pattern.text, memories=pattern.memories, confidence=pattern.confidence)
                for pattern in drawn.patterns
            ],
            drift=[
                DriftPoint(at_ms=point.at_ms, similarity=point.similarity, level=point.level)
                for point in drawn.drift
            ],
        )


def _points(memex: Memex, spots: Sequence[Spot]) -> list[MapPoint]:
    points = []
    for spot in spots:
        node = memex.get(UUID(spot.id))
        if node is not None:
            points.append(
                MapPoint(spot.id, spot.x, spot.y, spot.cluster, one_line(node.content, _TEXT_CHARS))
            )
    return points


def _goals(goals: Sequence[Goal]) -> list[GoalRow]:
    return [
        GoalRow(
            id=str(goal.goal_id),
            text=goal.description,
            level=goal.level.value,
            confidence=round(goal.confidence, 4),
            memories=len(goal.members),
            parent="" if goal.parent is None else str(goal.parent),
        )
        for goal in goals
    ]
