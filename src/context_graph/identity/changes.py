"""Says what changed in a session's state since the model was told last, as sentences for a prompt.

The client gives a hook's words to the model as if the user had said them. So they state facts, and nothing
in them advises, allows or agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_graph.identity.consciousness import ConsciousnessState, Metrics
from context_graph.identity.continuity import ICLevel

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
