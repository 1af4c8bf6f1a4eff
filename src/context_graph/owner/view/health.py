"""The rows that say whether context-graph works in a project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_graph.view.health import sentence
from context_graph.view.rows import Health, Line
from context_graph.view.units import counted, span


def health_of(found: Mapping[str, Any], now_ms: int, *, hooks_set_up: bool = True) -> Health:
    """The health of one store, of which `doctor.look` says ``found``.

    Whether hooks are set up is the client's side of it, which the commands look at.
    """
    works, said = sentence(found, now_ms, lambda: hooks_set_up)
    lines = [Line("state", said, not works), *_lines(found, now_ms)]
    return Health(project=found["project"], works=works, sentence=said, lines=lines)


def _lines(found: Mapping[str, Any], now_ms: int) -> Iterator[Line]:
    sessions, memory = found["sessions"], found["memory"]
    captured = memory.get("last_capture_ms")
    yield Line("captured", f"a session, {_ago(captured, now_ms)}" if captured else "none yet")
    yield Line("this week", week(memory))
    if "week" in sessions:
        yield Line("sessions", f"{sessions['count']}, {sessions['week']} of them this week")
    if found["spool_pending"]:
        yield Line("waiting", f"{counted(found['spool_pending'], 'event')} not recorded yet")
    for text in problems(found):
        yield Line("problem", text, True)


def problems(found: Mapping[str, Any]) -> Sequence[str]:
    """What is wrong, in sentences."""
    parts = [part["error"] for part in (found["sessions"], found["memory"]) if "error" in part]
    return [*parts, *found["problems"]]


def week(memory: Mapping[str, Any]) -> str:
    """What was put before the model in a week, and what of it was used."""
    shown, used = memory.get("memories", 0), memory.get("used", 0)
    tokens = memory.get("week_tokens", 0)
    return (
        f"{tokens} tokens of memories; {used} of {counted(shown, 'memory', 'memories')} ever shown were used"
    )


def _ago(at_ms: int, now_ms: int) -> str:
    return f"{span(max(0, now_ms - at_ms) / 1000)} ago"
