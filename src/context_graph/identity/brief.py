"""Writes the state in words: brief, block and alarms (seed 000 REQ-SESSION-09 to 15), and what changed in it.

The client gives a hook's words to the model as if the user had said them. So the sentences for a prompt state
facts, and nothing in them advises, allows or agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_graph.identity.consciousness import ConsciousnessState, Metrics, johari_system
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


StateAndLevel = tuple[str, str]
"""State and IC level, as `ConsciousnessState.name` and `ICLevel.value` spell them."""


def state_and_level(metrics: Metrics) -> StateAndLevel:
    """Return what a model is told of when it changes."""
    return metrics.state.name, ICLevel.from_value(metrics.ic).value


def change_text(before: StateAndLevel | None, metrics: Metrics, circle: str) -> str:
    """Return the sentences for a prompt, one a line; "" if there is nothing new to say.

    Args:
        before: What the model was told last, None for nothing. It then takes a healthy IC for granted.
        metrics: The measures now.
        circle: LiveSession.circle. It is said at every prompt, as its counts go on.
    """
    state, level = state_and_level(metrics)
    old_state, old_level = before or ("", ICLevel.HEALTHY.value)
    lines = []
    if level != old_level:
        lines.append(level_sentence(ICLevel(old_level), metrics.ic))
    if old_state not in ("", state):
        lines.append(f"State: {state} (C={metrics.consciousness:.2f}), before it was {old_state}.")
    return "\n".join((*lines, circle) if circle else lines)


def off_track(history: Sequence[float], labels: Sequence[str] = ()) -> str:
    """Return what an alarm says: which calls of the session are off its track, and what to do about it.

    Args:
        history: The session's IC after each call, in [0, 1], the last at the end; one at least.
        labels: Its last calls in words, as far as they are known.
    """
    recent = history[-_LOOKED_BACK:]
    highest = max(range(len(recent)), key=lambda at: (recent[at], at))
    calls = max(1, len(recent) - 1 - highest)
    named = [f"`{label}`" for label in dict.fromkeys(reversed(labels[-calls:]))][:_NAMED][::-1]
    which = f" ({', '.join(named)})" if named else ""
    last = f"The last {calls} calls{which} look" if calls > 1 else f"The last call{which} looks"
    return (
        f"{last} unlike what this session has been about. If the user changed the subject, that is why; if "
        "not, look again at what they asked for."
    )


def level_sentence(before: ICLevel, ic: float) -> str:
    """IC, in [0, 1], after it left the level ``before``, and what that says of the last calls."""
    level = ICLevel.from_value(ic)
    if level.rank > before.rank:
        return f"Identity continuity fell to {ic:.2f} ({level.value}): {_FELL}."
    return f"Identity continuity rose to {ic:.2f} ({level.value}): {_ROSE}."


_NAMED: Final = 3
"""Calls that an alarm names, the newest."""
_LOOKED_BACK: Final = 12
"""Calls in which an alarm looks for the last one that was on the track."""
_FELL: Final = "the last calls differ from what this session has been about"
_ROSE: Final = "the last calls are closer again to what this session has been about"


def is_known(names: StateAndLevel) -> bool:
    """Return whether both names are of this version; a record may have been damaged."""
    state, level = names
    return state in ConsciousnessState.__members__ and level in list(ICLevel)
