"""One session in a sentence or two, from its own counts (seed 001 REQ-HOOKS-21, --generate-summary)."""

from __future__ import annotations

from context_graph.identity.continuity import classify_ic
from context_graph.identity.live import LiveSession
from context_graph.model import EventKind

__all__ = ["session_summary"]


def session_summary(live: LiveSession, duration_ms: int = 0) -> str:
    """Events, tools, failures, IC and its low point; says so when nothing was measured."""
    counts = live.events_by_kind
    failed = counts.get(EventKind.POST_TOOL_FAILURE.value, 0)
    tools = counts.get(EventKind.POST_TOOL.value, 0) + failed
    prompts = counts.get(EventKind.PROMPT_SUBMIT.value, 0)
    parts = [
        f"Session {live.snapshot.session_id}: {live.events_applied} events",
        f"{prompts} prompts, {tools} tool calls ({failed} failed)",
    ]
    if live.ic_history:
        ic = live.snapshot.last_ic
        parts.append(f"IC {ic:.2f} ({classify_ic(ic)}), lowest {min(live.ic_history):.2f}")
    else:
        parts.append("nothing measured yet")
    if duration_ms:
        parts.append(f"{duration_ms / 1000:.0f} s")
    return "; ".join(parts)
