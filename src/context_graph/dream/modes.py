"""How much a consolidation may do now: consciousness C gates the modes (seed 002, D5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from context_graph.dream.plan import Mode
from context_graph.errors import InvalidParamsError
from context_graph.model.memory import check_unit

__all__ = ["UNMEASURED", "Consciousness", "DreamState", "ModeNotAllowedError", "allowed", "effective"]


class DreamState(StrEnum):
    """What C means for dreams; the values are what answers print."""

    AWAKE = "Awake"
    """C < 0.3: light."""
    DROWSY = "Drowsy"
    """0.3 <= C < 0.6: deep as well."""
    DREAMING = "Dreaming"
    """0.6 <= C < 0.8: rem as well."""
    DEEP_SLEEP = "DeepSleep"
    """0.8 <= C."""

    @classmethod
    def of(cls, consciousness: float) -> DreamState:
        """The state of a C in [0, 1].

        Raises:
            InvalidParamsError: Outside, or NaN: that is never a state.
        """
        check_unit("consciousness", consciousness)
        return next(state for state, least in reversed(_LEAST.items()) if consciousness >= least)

    def allows(self, mode: Mode) -> bool:
        """Whether ``mode`` may run in this state."""
        return _LEAST[self] >= _LEAST[_NEEDS[mode]]


_LEAST: Final = {
    DreamState.AWAKE: 0.0,
    DreamState.DROWSY: 0.3,
    DreamState.DREAMING: 0.6,
    DreamState.DEEP_SLEEP: 0.8,
}
_NEEDS: Final = {Mode.LIGHT: DreamState.AWAKE, Mode.DEEP: DreamState.DROWSY, Mode.REM: DreamState.DREAMING}


class Measured(Protocol):
    """What identity measures of a session (`identity.consciousness.Metrics`)."""

    @property
    def consciousness(self) -> float: ...
    @property
    def integration(self) -> float: ...
    @property
    def reflection(self) -> float: ...
    @property
    def differentiation(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Consciousness:
    """C and its three factors while a run is made, each in [0, 1] (seed 002's context)."""

    integration_score: float
    reflection_depth: float
    differentiation_index: float
    consciousness_level: float

    @classmethod
    def of(cls, measured: Measured) -> Consciousness:
        """From what identity measures."""
        return cls(
            measured.integration, measured.reflection, measured.differentiation, measured.consciousness
        )

    @property
    def dream_state(self) -> DreamState:
        """The state that this C is."""
        return DreamState.of(self.consciousness_level)

    def as_dict(self) -> dict[str, object]:
        """JSON-able, by seed 002's field names."""
        return {
            "integration_score": self.integration_score,
            "reflection_depth": self.reflection_depth,
            "differentiation_index": self.differentiation_index,
            "consciousness_level": self.consciousness_level,
            "dream_state": self.dream_state.value,
        }


UNMEASURED: Final = Consciousness(0.0, 0.0, 0.0, 0.0)
"""Where no session has been measured: Awake."""


class ModeNotAllowedError(InvalidParamsError):
    """A mode that C does not allow, where the caller wanted it or nothing."""

    code = "mode_not_allowed"


def allowed(state: DreamState) -> Mode:
    """The most that may run in ``state``."""
    return next(mode for mode in reversed(Mode) if state.allows(mode))


def effective(
    requested: Mode, consciousness: Consciousness, *, strict: bool = False, any_state: bool = False
) -> Mode:
    """The mode to run when ``requested`` is asked for: that one, or the most that C allows.

    Args:
        strict: Refuse instead of doing less.
        any_state: Run what is asked for whatever C is: a person's word, not a tool's.

    Raises:
        ModeNotAllowedError: ``strict``, and C does not allow it; names both modes.
    """
    state = consciousness.dream_state
    if any_state or state.allows(requested):
        return requested
    most = allowed(state)
    if strict:
        needs = _NEEDS[requested]
        raise ModeNotAllowedError.of(
            "mode",
            f"{requested.value} needs C >= {_LEAST[needs]:g} ({needs.value}), C is "
            f"{consciousness.consciousness_level:.2f} ({state.value}), which allows {most.value}; ask for "
            f"{most.value}, or leave strict out to have {most.value} run instead",
        )
    return most
