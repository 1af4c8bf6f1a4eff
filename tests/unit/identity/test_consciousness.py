"""C = I * R * D, and the five states."""

from __future__ import annotations

import math

import pytest

from context_graph.identity.consciousness import (
    ConsciousnessState,
    Metrics,
    consciousness_of,
    measure,
    state_for,
)
from context_graph.model import SessionIdentitySnapshot

UNIFORM = [1 / math.sqrt(13)] * 13


def test_each_state_has_its_three_letter_code_and_its_printed_name() -> None:
    """TC-SESSION-04, REQ-SESSION-03: short_name() and the names of seed 000's block."""
    assert {state.name: state.short_name for state in ConsciousnessState} == {
        "CONSCIOUS": "CON",
        "EMERGING": "EMG",
        "FRAGMENTED": "FRG",
        "DORMANT": "DOR",
        "HYPERSYNC": "HYP",
    }


def test_state_values_are_the_brief_slots_bytes() -> None:
    assert [state.short_name for state in sorted(ConsciousnessState, key=lambda s: s.value)] == [
        "DOR", "FRG", "EMG", "CON", "HYP",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("consciousness", "name"),
    [
        (0.0, "DORMANT"),
        (0.2999, "DORMANT"),
        (0.3, "FRAGMENTED"),
        (0.4999, "FRAGMENTED"),
        (0.5, "EMERGING"),
        (0.7999, "EMERGING"),
        (0.8, "CONSCIOUS"),
        (0.95, "CONSCIOUS"),
        (0.9501, "HYPERSYNC"),
        (1.0, "HYPERSYNC"),
    ],
)
def test_the_level_alone_gives_the_state(consciousness, name) -> None:
    """D3.2: cut points of C."""
    assert state_for(consciousness).name == name


def test_a_session_in_circles_is_hypersync_whatever_c_is() -> None:
    """ADR 0022: a live session's C can't pass 0.881; what over-synchronises one is repeating itself."""
    for consciousness in (0.0, 0.4, 0.62, 0.85, 1.0):
        assert state_for(consciousness, circling=True) is ConsciousnessState.HYPERSYNC
    assert state_for(0.62, circling=False) is ConsciousnessState.EMERGING


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.001, 1.001])
def test_no_state_is_made_of_a_number_that_is_none(bad) -> None:
    """D3.2: NaN is an error, never a state."""
    with pytest.raises(ValueError, match=r"^consciousness must be"):
        state_for(bad)
    with pytest.raises(ValueError, match=r"^consciousness must be"):
        state_for(bad, circling=True)


def test_c_is_the_product_of_its_three_factors() -> None:
    """D3.2: C = I * R * D."""
    assert consciousness_of(0.75, 0.62, 0.81) == pytest.approx(0.37665)
    assert consciousness_of(1.0, 1.0, 1.0) == 1.0
    assert consciousness_of(0.0, 1.0, 1.0) == 0.0


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1])
def test_a_factor_out_of_range_is_refused_by_name_and_value(position, bad) -> None:
    factors = [0.5, 0.5, 0.5]
    factors[position] = bad
    name = ("integration", "reflection", "differentiation")[position]
    with pytest.raises(ValueError) as caught:
        consciousness_of(*factors)
    assert str(caught.value) == f"{name} must be in [0, 1], got {bad!r}"


def test_measuring_computes_every_factor_from_what_it_is_given() -> None:
    metrics = measure(r=0.97, accuracy=1.0, purpose_vector=UNIFORM, ic=0.88)
    assert metrics.integration == metrics.r == 0.97
    assert metrics.reflection == pytest.approx(0.8808, abs=1e-4)
    assert metrics.differentiation == pytest.approx(1.0)
    assert metrics.consciousness == pytest.approx(0.97 * metrics.reflection * metrics.differentiation)
    assert metrics.ic == 0.88
    assert metrics.state is ConsciousnessState.CONSCIOUS
    assert measure(0.9, 0.5, [0.0] * 13, 0.0).consciousness == 0.0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"r": math.nan}, r"integration must be in \[0, 1\], got nan"),
        ({"accuracy": 1.2}, r"accuracy must be in \[0, 1\], got 1.2"),
        ({"ic": -0.2}, r"ic must be in \[0, 1\], got -0.2"),
        ({"purpose_vector": [0.0]}, "purpose_vector must have 13 values, got 1"),
        ({"purpose_vector": [math.nan] * 13}, r"purpose_vector\[0\] must be finite, got nan"),
    ],
)
def test_a_bad_measurement_is_refused_by_name(change, text) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        measure(**{"r": 0.9, "accuracy": 0.5, "purpose_vector": UNIFORM, "ic": 1.0, **change})


def test_a_snapshot_gives_back_the_measures_it_holds() -> None:
    snapshot = SessionIdentitySnapshot(
        session_id="s", consciousness=0.6, integration=0.9, reflection=0.8, differentiation=0.85, last_ic=0.7
    )
    metrics = Metrics.of_snapshot(snapshot)
    assert (metrics.consciousness, metrics.r, metrics.ic) == (0.6, 0.9, 0.7)
    assert metrics.state is ConsciousnessState.EMERGING
