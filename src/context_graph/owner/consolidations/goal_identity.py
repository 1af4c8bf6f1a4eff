"""Connects a store's goals with its live sessions: how a session aligns with them, what it takes over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from context_graph.consolidation.plan import Goal
from context_graph.errors import StoreError
from context_graph.identity.ego import SPACES, Alignment

if TYPE_CHECKING:
    from context_graph.identity.live import LiveSession
    from context_graph.owner.sessions.store_context import StoreContext

_TEXTS: Final = 5
"""Memories that tell a goal: those nearest to its centre."""
_TEXT_CHARS: Final = 2000
_GOALS: Final = 10
"""Goals that are adopted at a time, the most certain ones."""
_SESSIONS: Final = 4
"""Sessions that take goals over: those in use last."""


def alignments(
    context: StoreContext, live: LiveSession | None, goals: Sequence[Goal]
) -> dict[UUID, dict[str, Any]]:
    """Goal -> how the purpose vector of ``live`` aligns with it; without those that can't be compared.

    ``overall`` is the cosine of the two purpose vectors, [-1, 1]; ``spaces`` has the 13 alignments by name.
    Cost: some 0.3 ms a goal.
    """
    if live is None or not live.has_evidence:
        return {}
    found = ((goal.goal_id, live.alignment(_texts(context, goal))) for goal in goals)
    return {goal_id: _view(one) for goal_id, one in found if one is not None}


def adopt_goals(context: StoreContext, goals: Sequence[Goal]) -> int:
    """Let the sessions in use adopt the goals that they work for, durably; returns how many did.

    It changes IC and purpose vector of none of them (`LiveSession.adopt`). Cost: some 5 ms a session.

    Raises:
        StoreError: It could not be written; the session is then as it was.
    """
    best = sorted(goals, key=lambda goal: -goal.confidence)[:_GOALS]
    told = [texts for texts in (_texts(context, goal) for goal in best) if texts]
    changed = 0
    for live in list(islice(context.sessions.in_use(), _SESSIONS)) if told else ():
        if live.adopt(told):
            _persist(context, live)
            changed += 1
    return changed


def _persist(context: StoreContext, live: LiveSession) -> None:
    try:
        context.sessions.persist(live)
    except StoreError:
        context.sessions.drop(live.snapshot.session_id)  # memory must not be ahead of the disk
        raise


def _texts(context: StoreContext, goal: Goal) -> list[str]:
    return list(islice(_contents(context, goal.members), _TEXTS))


def _contents(context: StoreContext, members: Iterable[UUID]) -> Iterable[str]:
    for member in members:
        node = context.memory.get(member)
        if node is not None:
            yield node.content[:_TEXT_CHARS]


def _view(found: Alignment) -> dict[str, Any]:
    spaces = zip(SPACES, found.spaces, strict=True)
    return {
        "overall": round(found.overall, 4),
        "spaces": {space.name: round(value, 4) for space, value in spaces},
    }
