"""What a consolidation is asked to do: its parameters, checked once for every front end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from context_graph.dream.plan import Mode
from context_graph.errors import InvalidParamsError
from context_graph.model.memory import check_range, check_unit

__all__ = ["DEFAULT_THRESHOLD", "Request", "mode_of"]

DEFAULT_THRESHOLD: Final = 0.3
"""Of salience (seed 002)."""
_MOST: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Parameters of one run (seed 002's ConsolidateParams).

    Raises:
        InvalidParamsError: On construction; names the field, its limit and the cure.
    """

    mode: Mode = Mode.LIGHT
    """The mode to run: after the gate (`modes.effective`), not the one that was asked for."""
    salience_threshold: float = DEFAULT_THRESHOLD
    """[0, 1]; memories below it are pruned, 0 prunes none."""
    max_memories: int = 0
    """Look at the newest so many only; 0 for all."""
    at_ms: int = 0
    """Unix ms that counts as now, for ages; 0 for the time of the snapshot."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", mode_of(self.mode))
        check_unit("salience_threshold", self.salience_threshold)
        for name in ("max_memories", "at_ms"):
            value = getattr(self, name)
            if type(value) is not int:
                raise InvalidParamsError.of(name, f"must be a whole number, is {type(value).__name__}")
        check_range("max_memories", self.max_memories, 0, _MOST)
        check_range("at_ms", self.at_ms, 0, (1 << 63) - 1)


def mode_of(value: Any) -> Mode:
    """The mode of that name.

    Raises:
        InvalidParamsError: There is none; names the three.
    """
    try:
        return Mode(value)
    except ValueError:
        raise InvalidParamsError.of("mode", f"is {value!r}, must be light, deep or rem") from None
