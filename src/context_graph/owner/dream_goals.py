"""Goals that were found in a store, as JSON for whoever asked to have it searched."""

from __future__ import annotations

from typing import Any, Final

from context_graph.dream.plan import Goal, Plan

__all__ = ["goal_view", "goals_view"]

_MEMBERS: Final = 20
"""Ids of a goal's memories that are told; the count is of all."""


def goals_view(plan: Plan) -> dict[str, Any]:
    """What a search found: the goals, the most certain first, and how much was looked at."""
    return {
        "goals": [goal_view(one) for one in plan.goals],
        "goals_count": len(plan.goals),
        "memory_count": plan.memories,
        "considered_count": plan.considered,
        "clusters_discovered": len(plan.clusters),
        "notes": list(plan.notes),
    }


def goal_view(one: Goal) -> dict[str, Any]:
    """One goal."""
    return {
        "goal_id": str(one.goal_id),
        "description": one.description,
        "level": one.level.value,
        "confidence": round(one.confidence, 4),
        "coherence": round(one.coherence, 4),
        "parent": None if one.parent is None else str(one.parent),
        "member_count": len(one.members),
        "members": [str(each) for each in one.members[:_MEMBERS]],
    }
