"""`memory consolidate` and what belongs to it, on the owner's side: start, ask, cancel; undo, runs, history.

Arguments come as a JSON object in the request's body, answers as JSON, as with the other memory verbs. A run
goes on between the calls: whoever started it comes back and asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from context_graph.owner.call import Call
from context_graph.owner.memory_call import answer, arguments, memex_of, resolved
from context_graph.wire.frames import Reply

__all__ = ["HANDLERS"]

_PARAMS: Final = ("mode", "salience_threshold", "max_memories", "dry_run", "strict")
_JOB_CHARS: Final = 64
_GOALS_MAX: Final = 50
_MIN_CONFIDENCE: Final = 0.3
_LISTED: Final = 100
"""Ids of one undo that are told; the counts are of all."""
_TOKEN_CHARS: Final = 36


def _consolidate(call: Call) -> Reply:
    given = arguments(call)
    params = {name: given.raw(name) for name in _PARAMS if given.has(name)}
    for name in ("dry_run", "strict"):
        params[name] = given.flag(name, False)
    any_state = given.flag("any_state", False)
    session_id = given.text("session_id", high=100) or call.request.session_env or None
    given.finish()
    job = call.dreams.consolidate(call.request, params, session_id=session_id, any_state=any_state)
    return answer(job.view())


def _status(call: Call) -> Reply:
    return answer(call.dreams.job(_job_id(call)).view())


def _cancel(call: Call) -> Reply:
    job = call.dreams.job(_job_id(call))
    job.cancel()
    return answer(job.view())


def _job_id(call: Call) -> str:
    given = arguments(call)
    job_id = given.required("job", high=_JOB_CHARS)
    given.finish()
    return job_id


def _undo(call: Call) -> Reply:
    given = arguments(call)
    token = given.text("token", high=_TOKEN_CHARS)
    given.finish()
    undone = memex_of(call).undo(token)
    return answer(
        {
            "token": None if undone.token is None else str(undone.token),
            "undone": str(undone.undone),
            "mode": undone.mode,
            "restored": undone.restored,
            "forgotten": undone.forgotten,
            "changed": undone.changed,
            "edges": undone.edges,
            "kept_count": len(undone.kept),
            "kept": list(undone.kept[:_LISTED]),
        }
    )


def _runs(call: Call) -> Reply:
    given = arguments(call)
    limit = given.between("limit", 1, 1000, 20)
    given.finish()
    runs = [
        {
            "token": str(run.token),
            "mode": run.mode,
            "at_ms": run.at_ms,
            "first_commit": run.first,
            "last_commit": run.last,
            "counts": dict(run.counts),
            "details": dict(run.details),
            "undoes": None if run.undoes is None else str(run.undoes),
            "undone_by": None if run.undone_by is None else str(run.undone_by),
        }
        for run in memex_of(call).runs(limit)
    ]
    return answer({"runs": runs})


def _history(call: Call) -> Reply:
    from context_graph.memory.exchange_records import edge_to_json

    given = arguments(call)
    text, limit = given.required("id"), given.between("limit", 1, 1000, 100)
    given.finish()
    memex = memex_of(call)
    wanted = resolved(memex, text)
    versions: list[dict[str, Any]] = [
        {
            "seq": version.seq,
            "at_ms": version.at_ms,
            "what": version.what,
            "run": None if version.run is None else str(version.run),
            "before": dict(version.before),
            "edge": None if version.edge is None else edge_to_json(version.edge),
        }
        for version in memex.history(wanted, limit)
    ]
    return answer({"id": str(wanted), "versions": versions})


def _goals(call: Call) -> Reply:
    """The goals that consolidations keep; with ``discover`` a job that searches for them and keeps none."""
    given = arguments(call)
    discover = given.flag("discover", False)
    confidence, most = given.number("min_confidence", 0.0, 1.0), given.between("max_goals", 1, _GOALS_MAX, 10)
    session_id = given.text("session_id", high=100) or call.request.session_env or None
    given.finish()
    if discover:
        params = {"min_confidence": _MIN_CONFIDENCE if confidence is None else confidence, "max_goals": most}
        return answer(call.dreams.discover_goals(call.request, params, session_id=session_id).view())
    from context_graph.owner.dream_goals import kept_view

    return answer(kept_view(call.context, session_id))


HANDLERS: dict[str, Callable[[Call], Reply]] = {
    "memory.consolidate": _consolidate,
    "memory.consolidate.status": _status,
    "memory.consolidate.cancel": _cancel,
    "memory.undo": _undo,
    "memory.runs": _runs,
    "memory.history": _history,
    "memory.goals": _goals,
}
