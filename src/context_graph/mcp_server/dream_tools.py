"""The tools that take long: consolidate_memories and discover_goals (seed 002). Their answers come late.

What may run when, and where it is computed, is the host's business; here are the parameters, the progress
that the client sees, and the way to cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, Final

import orjson

from context_graph.mcp_server.call import ToolCall
from context_graph.mcp_server.deferred import Deferred
from context_graph.mcp_server.host import Job, OnDone
from context_graph.mcp_server.registry import Tool
from context_graph.mcp_server.result import answer
from context_graph.mcp_server.schemas import DESCRIPTIONS, HINTS, MODES, PARAMETERS, RESULTS
from context_graph.model.memory import VerbosityLevel

__all__ = ["dream_tools"]

_THRESHOLD: Final = 0.3
_MIN_CONFIDENCE: Final = 0.3
_GOALS: Final = 10
_GOALS_MAX: Final = 50
_MEMORIES_MAX: Final = (1 << 31) - 1
_LIST_CHARS: Final = {
    "merged": 10_000,
    "pruned": 6_500,
    "links_made": 5_000,
    "goals": 20_000,
    "new_patterns": 2_500,
    "skipped": 1_500,
}
"""Of JSON, for each list of an answer: what a client shows its model at once. List by list, so that a dry
run's are cut where the real run's are."""
_CUT: Final = "Lists are cut, counts are not: set_verbosity 2, or the command's --json, has more."


def dream_tools() -> list[Tool]:
    """Both, in the order in which a client sees them."""
    return [
        Tool(
            name,
            DESCRIPTIONS[name],
            PARAMETERS[name],
            run,
            RESULTS[name],
            HINTS[name],
            once_a_minute=name == "consolidate_memories",
        )
        for name, run in (("consolidate_memories", _consolidate), ("discover_goals", _discover_goals))
    ]


def _consolidate(call: ToolCall) -> Deferred:
    given = call.arguments
    threshold = given.number("salience_threshold", 0.0, 1.0)
    params = {
        "mode": given.choice("mode", MODES, "light"),
        "salience_threshold": _THRESHOLD if threshold is None else threshold,
        "max_memories": given.between("max_memories", 0, _MEMORIES_MAX, 0),
        "dry_run": given.flag("dry_run", False),
        "strict": given.flag("strict", False),
    }
    given.finish()
    return _promised(
        call,
        lambda on_done: call.host.consolidate(
            params, session_id=call.session_id, on_progress=call.progress, on_done=on_done
        ),
    )


def _discover_goals(call: ToolCall) -> Deferred:
    given = call.arguments
    confidence = given.number("min_confidence", 0.0, 1.0)
    params = {
        "min_confidence": _MIN_CONFIDENCE if confidence is None else confidence,
        "max_goals": given.between("max_goals", 1, _GOALS_MAX, _GOALS),
    }
    given.finish()
    return _promised(
        call,
        lambda on_done: call.host.discover_goals(
            params, session_id=call.session_id, on_progress=call.progress, on_done=on_done
        ),
    )


def _promised(call: ToolCall, start: Callable[[OnDone], Job]) -> Deferred:
    """The answer of work that ``start`` begins, with the pulse of the time at which it ends."""
    deferred = Deferred()

    def done(outcome: Mapping[str, Any] | Exception) -> None:
        if isinstance(outcome, Exception):
            deferred.failed(outcome)
            return
        try:
            told = outcome if call.verbosity is VerbosityLevel.FULL_INSIGHTS else _fitting(outcome)
            deferred.done(answer(told, call.host.memory().pulse().as_dict()))
        except Exception as error:
            deferred.failed(error)

    job = start(done)
    deferred.on_cancel = job.cancel
    return deferred


def _fitting(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """``outcome`` with its lists cut to what a model can read, and a note where one was."""
    fitting = dict(outcome)
    for name in _LIST_CHARS.keys() & outcome.keys():
        ends = accumulate(len(orjson.dumps(entry)) + 1 for entry in outcome[name])
        fitting[name] = outcome[name][: sum(end <= _LIST_CHARS[name] for end in ends)]
    if any(len(fitting[name]) < len(outcome[name]) for name in _LIST_CHARS.keys() & outcome.keys()):
        fitting["notes"] = [*outcome.get("notes", ()), _CUT]
    return fitting
