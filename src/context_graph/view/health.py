"""Says in one sentence whether context-graph works in a project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from context_graph.text.units import ago, counted

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
