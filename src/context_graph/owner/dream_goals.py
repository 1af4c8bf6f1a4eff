"""Goals of a store as JSON: those that a search found, and those that consolidations keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from context_graph.dream import goal_records
from context_graph.dream.plan import Goal, Plan
from context_graph.dream.result import goal_view
from context_graph.owner.goal_identity import alignments

if TYPE_CHECKING:
    from context_graph.owner.store_context import StoreContext

__all__ = ["found_view", "kept_view"]

_MEMBERS: Final = 20
"""Ids of a goal's memories that are told; the count is of all."""


def found_view(context: StoreContext, session_id: str | None, plan: Plan) -> dict[str, Any]:
    """What a search found, the most certain goal first, and how much was looked at."""
    return {
        **_view(context, session_id, plan.goals),
        "memory_count": plan.memories,
        "considered_count": plan.considered,
        "clusters_discovered": len(plan.clusters),
        "notes": list(plan.notes),
    }


def kept_view(context: StoreContext, session_id: str | None) -> dict[str, Any]:
    """What the last consolidations keep."""
    with context.memory.core.turn("goals") as core:
        kept = goal_records.decode(core.store.meta(goal_records.NAME))
    return _view(context, session_id, kept)


def _view(context: StoreContext, session_id: str | None, goals: Sequence[Goal]) -> dict[str, Any]:
    """The goals, each with how the purpose vector of that session, or the latest, aligns with it."""
    live = (context.sessions.get(session_id) if session_id else None) or context.sessions.latest()
    aligned = alignments(context, live, goals)
    return {
        "goals": [
            {
                **goal_view(one),
                "members": [str(each) for each in one.members[:_MEMBERS]],
                "alignment": aligned.get(one.goal_id),
            }
            for one in goals
        ],
        "goals_count": len(goals),
    }
