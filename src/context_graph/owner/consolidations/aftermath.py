"""Finishes a consolidation that succeeded: notes, answered requests, and the goals as answers tell them.

A session aligns with a goal as far as their purpose vectors agree.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from context_graph.consolidation.commit import goal_view
from context_graph.consolidation.plan import Goal, Plan, decode_goals
from context_graph.errors import CorruptedIdentityError
from context_graph.identity.ego import SPACES, Alignment
from context_graph.owner.jobs import Job, LastRun, Trigger, trigger_of
from context_graph.store.layout import GOALS_FACT

if TYPE_CHECKING:
    from context_graph.identity.live import LiveSession
    from context_graph.owner.sessions.store_context import StoreContext


_NOTED: Final = (
    *("merged_count", "pruned_count", "links_made_count", "reweighted_count"),
    *("final_memory_count", "duration_ms", "undo_token"),
)
_MEMBERS: Final = 20
"""Most ids of a goal's memories in an answer; the count is of all."""


def follow_up(
    job: Job, result: Mapping[str, Any], context: StoreContext, last: LastRun, log: logging.Logger
) -> None:
    """Finish a run with that result.

    Raises StoreError, OSError if some of it could not be written; the run itself remains valid.
    """
    answer_requests(context, job.started_ms, log)
    last.write(
        {
            "trigger": job.trigger.value,
            "mode": job.request.mode.value,
            "requested_mode": job.requested_mode.value,
            "began_ms": job.started_ms,
            "ended_ms": time.time_ns() // 1_000_000,
            "seq": context.memory_seq(),
            **{name: result.get(name) for name in _NOTED},
        },
        asked=job.trigger is Trigger.ASKED,
    )


def answer_requests(context: StoreContext, before_ms: int, log: logging.Logger) -> None:
    """Remove from the queue the requests that a consolidation begun at ``before_ms`` answers, and close
    the crises that made them.

    A crisis is closed before its request is removed: a death in between causes one run more, never one less.
    Raises StoreError; the next run answers what is left on the queue.
    """
    context.settle()  # runtimes are written below: none may be ahead of its session
    answered = 0
    for request in context.store.dream_queue.pending():
        at_ms = request["at_ms"]
        if not isinstance(at_ms, int) or at_ms > before_ms:
            continue
        if trigger_of(request) is Trigger.CRISIS:
            _close_crisis(context, str(request["session_id"]))
        context.store.dream_queue.finish(str(request["id"]))
        answered += 1
    if answered:
        log.info("dream: store=%s answered %d requests", context.folder.name, answered)


def _close_crisis(context: StoreContext, session_id: str) -> None:
    try:
        live = context.sessions.get(session_id)
    except CorruptedIdentityError:
        return  # whoever asks for that session is told; the request must not wait for it
    if live is not None and live.close_crisis():
        context.store.put_runtime(session_id, live.runtime_bytes())


def found_view(context: StoreContext, session_id: str | None, plan: Plan) -> dict[str, Any]:
    """Return the goals that a search found as JSON, the most certain first, and how much was looked at."""
    return {
        **_goals_view(context, session_id, plan.goals),
        "memory_count": plan.memories,
        "considered_count": plan.considered,
        "clusters_discovered": len(plan.clusters),
        "notes": list(plan.notes),
    }


def kept_view(context: StoreContext, session_id: str | None) -> dict[str, Any]:
    """Return the goals that consolidations keep, as JSON."""
    with context.memory.core.operation("goals") as core:
        kept = decode_goals(core.store.meta(GOALS_FACT))
    return _goals_view(context, session_id, kept)


def _goals_view(context: StoreContext, session_id: str | None, goals: Sequence[Goal]) -> dict[str, Any]:
    """Return the goals, each with how the purpose vector of that session, or the latest, aligns with it."""
    live = (context.sessions.get(session_id) if session_id else None) or context.sessions.latest()
    aligned = alignments(context, live, goals)
    return {
        "goals": [
            {
                **goal_view(goal),
                "members": [str(each) for each in goal.members[:_MEMBERS]],
                "alignment": aligned.get(goal.goal_id),
            }
            for goal in goals
        ],
        "goals_count": len(goals),
    }


_TEXTS: Final = 5
"""Memories that tell a goal: those nearest to its centre."""
_TEXT_CHARS: Final = 2000


def alignments(
    context: StoreContext, live: LiveSession | None, goals: Sequence[Goal]
) -> dict[UUID, dict[str, Any]]:
    """Goal -> how the purpose vector of ``live`` aligns with it; without those that can't be compared.

    ``overall`` is the cosine of the two purpose vectors, [-1, 1]; ``spaces`` has the 13 alignments by name.
    Cost: some 0.3 ms a goal.
    """
    if live is None or not live.has_evidence:
        return {}
    pairs = ((goal.goal_id, live.alignment(_texts(context, goal))) for goal in goals)
    return {goal_id: _view(alignment) for goal_id, alignment in pairs if alignment is not None}


def _texts(context: StoreContext, goal: Goal) -> list[str]:
    nodes = map(context.memory.get, goal.members)
    return [node.content[:_TEXT_CHARS] for node in islice(filter(None, nodes), _TEXTS)]


def _view(alignment: Alignment) -> dict[str, Any]:
    spaces = zip(SPACES, alignment.spaces, strict=True)
    return {
        "overall": round(alignment.overall, 4),
        "spaces": {space.name: round(value, 4) for space, value in spaces},
    }
