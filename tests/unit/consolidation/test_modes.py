"""The gate: what C allows, what is done instead, and what is refused."""

from __future__ import annotations

import math

import pytest

from context_graph.consolidation.messages import (
    UNMEASURED,
    Consciousness,
    DreamState,
    ModeNotAllowedError,
    allowed_mode,
)
from context_graph.consolidation.plan import Mode
from context_graph.errors import InvalidParamsError, error_for_code


def at(level: float) -> Consciousness:
    return Consciousness(level, 1.0, 1.0, level)


@pytest.mark.parametrize(
    ("level", "state", "most"),
    [
        (0.0, "Awake", Mode.LIGHT),
        (math.nextafter(0.3, 0), "Awake", Mode.LIGHT),
        (0.3, "Drowsy", Mode.DEEP),
        (math.nextafter(0.6, 0), "Drowsy", Mode.DEEP),
        (0.6, "Dreaming", Mode.REM),
        (math.nextafter(0.8, 0), "Dreaming", Mode.REM),
        (0.8, "DeepSleep", Mode.REM),
        (1.0, "DeepSleep", Mode.REM),
    ],
)
def test_the_state_of_a_level_and_the_most_it_allows(level: float, state: str, most: Mode) -> None:
    assert at(level).dream_state.value == state
    assert allowed_mode(Mode.REM, at(level)) is most
    order = list(Mode)
    for mode in Mode:
        expected = mode if order.index(mode) <= order.index(most) else most
        assert allowed_mode(mode, at(level)) is expected
        assert allowed_mode(mode, at(level), any_state=True, strict=True) is mode


@pytest.mark.parametrize("level", [-0.01, 1.01, math.nan, math.inf])
def test_what_is_no_level_is_no_state(level: float) -> None:
    with pytest.raises(InvalidParamsError, match="consciousness"):
        DreamState.of(level)


def test_strict_refuses_and_names_both_modes_and_c() -> None:
    with pytest.raises(ModeNotAllowedError) as refused:
        allowed_mode(Mode.REM, at(0.45), strict=True)
    text = str(refused.value)
    for part in ("rem", "0.6", "Dreaming", "0.45", "Drowsy", "deep"):
        assert part in text
    assert refused.value.rpc_code == -32602
    assert refused.value.parameter == "mode"
    assert error_for_code("mode_not_allowed") is ModeNotAllowedError
    assert allowed_mode(Mode.DEEP, at(0.45), strict=True) is Mode.DEEP


def test_an_unknown_c_is_no_c_of_zero_and_forbids_nothing() -> None:
    assert UNMEASURED.as_dict() == {
        "integration_score": None,
        "reflection_depth": None,
        "differentiation_index": None,
        "consciousness_level": None,
        "measured": False,
        "dream_state": None,
    }
    assert at(0.0).as_dict()["dream_state"] == "Awake"
    for mode in Mode:
        assert allowed_mode(mode, UNMEASURED, strict=True) is mode
