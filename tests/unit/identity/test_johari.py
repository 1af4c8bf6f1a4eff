"""Both Johari windows at their thresholds."""

from __future__ import annotations

import math

import pytest

from context_graph.identity.consciousness import johari_knowledge, johari_system
from context_graph.model.memory import JohariQuadrant

FLOAT32_OF_07 = 0.699999988079071


@pytest.mark.parametrize(
    ("entropy", "coherence", "quadrant"),
    [
        (0.2, 0.8, "open"),
        (0.8, 0.2, "blind"),
        (0.2, 0.2, "hidden"),
        (0.8, 0.8, "unknown"),
        (0.5, 0.5, "blind"),
        (0.5, 0.7, "unknown"),
        (0.3, 0.5, "hidden"),
        (0.4999, 0.5001, "open"),
        (0.0, 1.0, "open"),
        (1.0, 0.0, "blind"),
    ],
)
def test_knowledge_is_judged_by_entropy_and_coherence_at_one_half(entropy, coherence, quadrant) -> None:
    """D3.6: 0.5 / 0.5 exactly is Blind."""
    assert johari_knowledge(entropy, coherence) is JohariQuadrant(quadrant)


@pytest.mark.parametrize(
    ("consciousness", "integration", "quadrant"),
    [
        (0.7, 0.7, "open"),
        (0.6999, 0.7, "blind"),
        (0.7, 0.6999, "hidden"),
        (0.6999, 0.6999, "unknown"),
        (0.5, 0.97, "blind"),
        (0.0, 0.0, "unknown"),
        (1.0, 1.0, "open"),
        (FLOAT32_OF_07, FLOAT32_OF_07, "open"),
    ],
)
def test_the_system_is_judged_by_c_and_i_at_seven_tenths(consciousness, integration, quadrant) -> None:
    """REQ-HOOKS-16: quadrant of C and I, high from 0.7 on, also when read back from float32."""
    assert johari_system(consciousness, integration) is JohariQuadrant(quadrant)


def test_quadrants_are_written_in_lower_case() -> None:
    """REQ-HOOKS-16: JSON names of the quadrants."""
    assert [quadrant.value for quadrant in JohariQuadrant] == ["open", "blind", "hidden", "unknown"]


@pytest.mark.parametrize("bad", [math.nan, -0.001, 1.001, math.inf])
def test_values_outside_zero_to_one_are_refused_by_name(bad) -> None:
    for call, name in [
        (lambda: johari_knowledge(bad, 0.5), "entropy"),
        (lambda: johari_knowledge(0.5, bad), "coherence"),
        (lambda: johari_system(bad, 0.5), "consciousness"),
        (lambda: johari_system(0.5, bad), "integration"),
    ]:
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == f"{name} must be in [0, 1], got {bad!r}"
