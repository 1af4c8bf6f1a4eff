"""Renders `status`: the few figures that say whether all is well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_graph.cli.output.doctor_text import size, span
from context_graph.cli.output.tables import counted


def status_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each line, in the order of interest."""
    store, owner = found["store"], found["owner"]
    memory, sessions = store["memory"], store["sessions"]
    rows = [
        ("project", found["project"]),
        ("session", _session(found["identity"], sessions, found["at_ms"])),
        ("identity", _identity(found["identity"])),
        ("requirements", found["requirements"]),
        ("memories", _memories(memory, found["at_ms"])),
        (
            "owner",
            f"version {owner['version']}, {size(owner['rss_bytes'])}, up {span(owner['uptime_s'])}, "
            f"{counted(owner['clients'], 'client')}",
        ),
        ("waiting", _waiting(store, found["identity"], memory)),
    ]
    problems = [*store["problems"], *(part["error"] for part in (memory, sessions) if "error" in part)]
    return [*rows, *(("problem", text) for text in problems)]


def _session(identity: Mapping[str, Any], sessions: Mapping[str, Any], now_ms: int) -> str:
    if "session_id" not in identity:
        return "none yet: no hook has recorded anything here"
    last = sessions.get("last_event_ms")
    ago = f", the last event {span(max(0, now_ms - last) / 1000)} ago" if last else ""
    of = f" of {sessions['count']}" if "count" in sessions else ""
    return f"{identity['session_id'][:8]}{of}, {counted(identity['events_applied'], 'event')}{ago}"


def _identity(identity: Mapping[str, Any]) -> str:
    state = identity.get("consciousness_state")
    if not state:
        return "nothing measured yet"
    return (
        f"IC {state['identity_continuity']:.2f} ({identity['ic_classification']}), {identity['state']} "
        f"(C={state['consciousness']:.2f}), r={state['integration']:.2f}"
    )


def _memories(memory: Mapping[str, Any], now_ms: int) -> str:
    if not memory.get("live"):
        return "none yet"
    last = memory.get("last_capture_ms")
    captured = f", a session captured {span(max(0, now_ms - last) / 1000)} ago" if last else ""
    used = f", {memory['used']} of {memory['memories']} shown were used" if memory.get("memories") else ""
    return f"{memory['live']}{captured}{used}"


def _waiting(store: Mapping[str, Any], identity: Mapping[str, Any], memory: Mapping[str, Any]) -> str:
    counts = (
        (store["spool_pending"], "spooled event", "spooled events"),
        (memory.get("captures_due", 0), "session to capture", "sessions to capture"),
        (len(identity.get("dreams_pending", ())), "consolidation", "consolidations"),
    )
    return ", ".join(counted(*one) for one in counts if one[0]) or "nothing"
