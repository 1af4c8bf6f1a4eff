"""Says whether context-graph works in a project: in one sentence, and line by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from context_graph.text.units import ago, counted

if TYPE_CHECKING:
    from context_graph.view.rows import Health

_DAY_MS: Final = 86_400_000
NUMBERS: Final = "numbers"
"""The line with the measures behind the words; `status --verbose` alone shows it."""

COURSES: Final = {
    "healthy": "on course: it goes on with what it was about",
    "good": "on course, with some new work",
    "warning": "drifting: much of it is not what it was about",
    "degraded": "has left what it was about",
}
"""What identity continuity says, by its level."""


def exchange_text(last: Mapping[str, Any], at_ms: int) -> str:
    """Return what the last exchanges with a place came to (`sync.run.Last`), at Unix time ``at_ms``."""
    if not last["done_ms"]:
        return f"{last['where']}: never yet; {last['failed']}"
    when = f"{ago(last['done_ms'], at_ms)} ago"
    failed = f"; the last try failed: {last['failed']}" if last["failed"] else ""
    ahead = f"; {counted(len(last['ahead']), 'machine')} with a clock ahead of ours" if last["ahead"] else ""
    refused = f", {last['refused_count']} not taken" if last["refused_count"] else ""
    return f"{last['where']}: {when}; sent {last['told']}, received {last['heard']}{refused}{ahead}{failed}"


def sentence(store: Mapping[str, Any], at_ms: int, hooks_set_up: Callable[[], bool]) -> tuple[bool, str]:
    """Return whether it works, and the sentence about that.

    Args:
        store: What the owner says of the store (`doctor.look`).
        at_ms: Now, Unix milliseconds.
        hooks_set_up: Whether settings or a plugin have our hooks.
    """
    broken = [part["error"] for part in (store["memory"], store["sessions"]) if "error" in part]
    if broken:
        return False, f"Not working: {broken[0]}"
    last = store["sessions"].get("last_event_ms")
    if not hooks_set_up():
        if last and at_ms - last <= _DAY_MS:
            came = f"an event came {ago(last, at_ms)} ago: by a plugin, or another program."
            return True, f"No hooks are set up here, but {came}"
        before = f"the last event was {ago(last, at_ms)} ago, and " if last else ""
        return False, f"Not working: {before}no hooks are set up here; run `context-graph-cli setup`."
    memories = counted(store["memory"].get("live", 0), "memory", "memories")
    if not last:
        return True, f"Ready: hooks are set up and nothing has happened yet; {memories}. Start `claude` here."
    today = store["memory"].get("shown_since", 0)
    waiting = store["events_waiting"]
    late = f" {counted(waiting, 'event')} not recorded yet." if waiting else ""
    seen = f"last event {ago(last, at_ms)} ago" if at_ms - last >= 1000 else "last event just now"
    return True, f"Working: {seen}, {memories}, {today} shown today.{late}"


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
        report: What `doctor.look` says of it.
        identity: The latest session's numbers, as `consciousness status` shows them.
        requirements: The line of the gates for the status bar.
    """
    from context_graph.view.rows import Health, Line  # few who say the sentence show the rows

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
