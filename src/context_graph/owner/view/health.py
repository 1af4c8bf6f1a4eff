"""Makes the rows that say whether context-graph works in a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_graph.text.units import ago, counted
from context_graph.view.health import COURSES, NUMBERS, exchange_text, sentence
from context_graph.view.rows import Health, Line


def health_of(
    report: Mapping[str, Any],
    identity: Mapping[str, Any],
    requirements: str,
    now_ms: int,
    *,
    hooks_set_up: bool = True,
) -> Health:
    """Return the health of one store.

    Whether hooks are set up is the client's side of it, which the commands look at.

    Args:
        found: What `doctor.look` says of it.
        identity: The latest session's numbers, as `consciousness status` shows them.
        requirements: The line of the gates for the status bar.
    """
    works, text = sentence(report, now_ms, lambda: hooks_set_up)
    sessions, memory = report["sessions"], report["memory"]
    lines = [
        Line("state", text, not works),
        Line("session", _session(identity, sessions, now_ms)),
        Line("identity", _identity(identity)),
        *([Line(NUMBERS, _numbers(identity))] if identity.get("consciousness_state") else ()),
        Line("requirements", requirements),
        Line("memories", _memories(memory, now_ms)),
        Line("this week", _week(memory)),
        Line("waiting", _waiting(report, identity, memory)),
        *([Line("elsewhere", report["elsewhere"])] if report["elsewhere"] else ()),
        *(
            Line("exchange", exchange_text(exchange, now_ms), bool(exchange["failed"]))
            for exchange in report["exchanges"]
        ),
        *(Line("problem", text, True) for text in _problems(report)),
    ]
    figures = {"identity": identity, "store": report, "requirements": requirements}
    return Health(project=report["project"], works=works, sentence=text, lines=lines, figures=figures)


def _problems(report: Mapping[str, Any]) -> Sequence[str]:
    """Return what is wrong, in sentences."""
    parts = [part["error"] for part in (report["sessions"], report["memory"]) if "error" in part]
    return [*parts, *report["problems"]]


def _week(memory: Mapping[str, Any]) -> str:
    """Return what was put before the model in the last seven days."""
    shown = memory.get("week_injections", 0)
    return f"{memory.get('week_tokens', 0)} tokens of memories, shown on {counted(shown, 'occasion')}"


def _session(identity: Mapping[str, Any], sessions: Mapping[str, Any], now_ms: int) -> str:
    if "session_id" not in identity:
        return "none yet: no hook has recorded anything here"
    last = sessions.get("last_event_ms")
    seen = f", the last event {ago(last, now_ms)} ago" if last else ""
    of = f" of {sessions['count']}" if "count" in sessions else ""
    return f"{identity['session_id'][:8]}{of}, {counted(identity['events_applied'], 'event')}{seen}"


def _identity(identity: Mapping[str, Any]) -> str:
    if not identity.get("consciousness_state"):
        return "nothing measured yet"
    return COURSES.get(str(identity["ic_classification"]), "not known")


def _numbers(identity: Mapping[str, Any]) -> str:
    state = identity["consciousness_state"]
    return (
        f"continuity {state['identity_continuity']:.2f} ({identity['ic_classification']}), "
        f"consciousness {state['consciousness']:.2f} ({identity['state'].lower()})"
    )


def _memories(memory: Mapping[str, Any], now_ms: int) -> str:
    if not memory.get("live"):
        return "none yet"
    last = memory.get("last_capture_ms")
    captured = f", a session captured {ago(last, now_ms)} ago" if last else ""
    used = f", {memory['used']} of {memory['memories']} shown were used" if memory.get("memories") else ""
    return f"{memory['live']}{captured}{used}"


def _waiting(store: Mapping[str, Any], identity: Mapping[str, Any], memory: Mapping[str, Any]) -> str:
    counts = (
        (store["events_waiting"], "waiting event", "waiting events"),
        (memory.get("captures_due", 0), "session to capture", "sessions to capture"),
        (len(identity.get("dreams_pending", ())), "consolidation", "consolidations"),
    )
    return ", ".join(counted(*count) for count in counts if count[0]) or "nothing"
