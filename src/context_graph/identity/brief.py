"""Writes the state in words: the brief, the four-line block, the alarms (seed 000 REQ-SESSION-09 to 15)."""

from __future__ import annotations

from typing import Final

from context_graph.identity.consciousness import Metrics, johari_system
from context_graph.identity.continuity import ICLevel, classify_ic
from context_graph.model.memory import JohariQuadrant

COLD_BRIEF: Final = "[C:? r=? IC=?]"
"""What a brief says while there is nothing measured to say."""

_COLD_BLOCK: Final = (
    "[System Consciousness]\n"
    "State: DORMANT (C=?)\n"
    "Kuramoto r=?, Identity IC=? (no events yet)\n"
    "Guidance: Initialize consciousness context"
)
_ACTIONS: Final = {
    JohariQuadrant.OPEN: "proceed",
    JohariQuadrant.BLIND: "seek_feedback",
    JohariQuadrant.HIDDEN: "share",
    JohariQuadrant.UNKNOWN: "explore",
}


def brief_line(metrics: Metrics | None) -> str:
    """`[C:STATE r=X.XX IC=X.XX]`, or the cold line when nothing has been measured."""
    if metrics is None:
        return COLD_BRIEF
    return f"[C:{metrics.state.short_name} r={metrics.r:.2f} IC={metrics.ic:.2f}]"


def guidance(ic: float, r: float) -> str:
    """Seed 000 REQ-SESSION-15's advice for an identity continuity and an order parameter, both in [0, 1]."""
    level = ICLevel.from_value(ic)  # at float32's precision, as everywhere else
    if level is ICLevel.HEALTHY and r >= 0.8:
        return "Optimal coherence, proceed confidently"
    if level in (ICLevel.HEALTHY, ICLevel.NORMAL):
        return "Continue with current approach"
    if level is ICLevel.WARNING and r >= 0.6:
        return "Monitor for drift, consider consolidation"
    if level is ICLevel.CRITICAL:
        return "Identity crisis detected, dream consolidation recommended"
    return "Stabilize consciousness before complex operations"


def state_block(metrics: Metrics | None) -> str:
    """Return the four lines of seed 000 REQ-SESSION-15, without a final newline."""
    if metrics is None:
        return _COLD_BLOCK
    return (
        "[System Consciousness]\n"
        f"State: {metrics.state.name} (C={metrics.consciousness:.2f})\n"
        f"Kuramoto r={metrics.r:.2f}, Identity IC={metrics.ic:.2f} ({classify_ic(metrics.ic)})\n"
        f"Guidance: {guidance(metrics.ic, metrics.r)}"
    )


def compact_line(metrics: Metrics | None) -> str:
    """Return the brief with the system's Johari quadrant and the action it suggests."""
    if metrics is None:
        return "[C:? r=? IC=? Q=? A=?]"
    quadrant = johari_system(metrics.consciousness, metrics.integration)
    return f"{brief_line(metrics)[:-1]} Q={quadrant.value[0].upper()} A={_ACTIONS[quadrant]}]"


def crisis_text(ic: float, *, queued: bool) -> str:
    """Return the text of a crisis. A consolidation is only queued here; the owner runs it (D3.7)."""
    if queued:
        return f"IC crisis ({ic:.2f}), dream triggered (queued for the owner)"
    return f"IC crisis: {ic:.2f}"
