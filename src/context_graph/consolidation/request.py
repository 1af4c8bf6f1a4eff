"""Checks a request for a consolidation, and how much of it consciousness C allows (seed 002, D5.1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from context_graph.consolidation.plan import Mode
from context_graph.errors import InvalidParamsError
from context_graph.model.memory import check_range, check_unit

DEFAULT_THRESHOLD: Final = 0.3
"""The salience below which a memory is pruned (seed 002)."""
_MOST: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class GoalSearch:
    """Which goals to look for."""

    min_confidence: float
    """[0, 1]."""
    max_goals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Parameters of one run (seed 002's ConsolidateParams), as its process gets them.

    Construction raises InvalidParamsError, which names the field, its limit and the cure.
    """

    mode: Mode = Mode.LIGHT
    """The mode to run, after the gate (`allowed_mode`)."""
    salience_threshold: float = DEFAULT_THRESHOLD
    """[0, 1]; memories below it are pruned, 0 prunes none."""
    max_memories: int = 0
    """Consider only the newest; 0 for all."""
    at_ms: int = 0
    """Unix ms that counts as now, for ages; 0 for the time of the snapshot."""
    goals: GoalSearch | None = None
    """Look for goals only."""
    unattended: bool = False
    """Nobody asked for the run: it forgets nothing that a person or an import brought."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", mode_of(self.mode))
        check_unit("salience_threshold", self.salience_threshold)
        for name, most in (("max_memories", _MOST), ("at_ms", (1 << 63) - 1)):
            value = getattr(self, name)
            if type(value) is not int:
                raise InvalidParamsError.of(name, f"must be a whole number, is {type(value).__name__}")
            check_range(name, value, 0, most)


def mode_of(value: Any) -> Mode:
    """Return the mode of that name; InvalidParamsError names the three."""
    try:
        return Mode(value)
    except ValueError:
        raise InvalidParamsError.of("mode", f"is {value!r}, must be light, deep or rem") from None


class DreamState(StrEnum):
    """The states of C for consolidation; the values are printed in answers."""

    AWAKE = "Awake"
    DROWSY = "Drowsy"
    DREAMING = "Dreaming"
    DEEP_SLEEP = "DeepSleep"

    @classmethod
    def of(cls, consciousness: float) -> DreamState:
        """Return the state of a C in [0, 1]; InvalidParamsError outside of it, or for NaN."""
        check_unit("consciousness", consciousness)
        return next(state for state, (least, _) in reversed(_STATES.items()) if consciousness >= least)


_STATES: Final = {
    DreamState.AWAKE: (0.0, Mode.LIGHT),
    DreamState.DROWSY: (0.3, Mode.DEEP),
    DreamState.DREAMING: (0.6, Mode.REM),
    DreamState.DEEP_SLEEP: (0.8, Mode.REM),
}
"""Each state with its least C, and the most that may run in it."""


@dataclass(frozen=True, slots=True)
class Consciousness:
    """C and its three factors during a run, each in [0, 1] (seed 002's context)."""

    integration_score: float
    reflection_depth: float
    differentiation_index: float
    consciousness_level: float
    measured: bool = True
    """Whether a session was measured; if not, the numbers mean nothing."""

    @property
    def dream_state(self) -> DreamState:
        """The state that this C is."""
        return DreamState.of(self.consciousness_level)

    def as_dict(self) -> dict[str, object]:
        """JSON-able, by seed 002's field names; null for all but ``measured`` if nothing was measured."""
        document: dict[str, object] = {**asdict(self), "dream_state": self.dream_state.value}
        return document if self.measured else {**dict.fromkeys(document), "measured": False}


UNMEASURED: Final = Consciousness(0.0, 0.0, 0.0, 0.0, measured=False)
"""No session has been measured, as without hooks: C is unknown, which forbids nothing."""


class ModeNotAllowedError(InvalidParamsError):
    """C does not allow the mode, and the caller refuses a lesser one."""

    code = "mode_not_allowed"


def allowed_mode(
    requested: Mode, consciousness: Consciousness, *, strict: bool = False, any_state: bool = False
) -> Mode:
    """Return the mode to run: ``requested``, or the highest that a measured C allows.

    Args:
        strict: Refuse instead of doing less.
        any_state: Run what is requested whatever C is, because a person asked.

    Raises:
        ModeNotAllowedError: ``strict``, and C does not allow it; names both modes.
    """
    state = consciousness.dream_state
    _, most = _STATES[state]
    modes = list(Mode)
    if any_state or not consciousness.measured or modes.index(requested) <= modes.index(most):
        return requested
    if strict:
        needs, least = next((state, least) for state, (least, mode) in _STATES.items() if mode is requested)
        raise ModeNotAllowedError.of(
            "mode",
            f"{requested.value} needs C >= {least:g} ({needs.value}), C is "
            f"{consciousness.consciousness_level:.2f} ({state.value}), which allows {most.value}; ask for "
            f"{most.value}, or leave strict out to have {most.value} run instead",
        )
    return most
