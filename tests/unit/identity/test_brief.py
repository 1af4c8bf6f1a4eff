"""The state in words, exactly as seed 000 prints it."""

from __future__ import annotations

import pytest

from context_graph.identity.brief import (
    COLD_BRIEF,
    brief_line,
    compact_line,
    crisis_text,
    guidance,
    state_block,
)
from context_graph.identity.consciousness import Metrics


def _metrics(
    integration: float, ic: float, *, reflection: float = 0.8, differentiation: float = 0.9
) -> Metrics:
    level = integration * reflection * differentiation
    return Metrics(level, integration, reflection, differentiation, ic)


def test_the_brief_is_one_line_of_state_r_and_ic() -> None:
    """TC-SESSION-03, REQ-SESSION-09: two decimals each, three letters of state."""
    assert brief_line(_metrics(0.92, 0.876)) == "[C:EMG r=0.92 IC=0.88]"
    assert brief_line(_metrics(0.97, 0.5)) == "[C:EMG r=0.97 IC=0.50]"
    assert brief_line(_metrics(0.4, 0.0)) == "[C:DOR r=0.40 IC=0.00]"


def test_with_nothing_measured_it_says_so() -> None:
    """TC-SESSION-13: no invented values."""
    assert brief_line(None) == COLD_BRIEF == "[C:? r=? IC=?]"
    block = state_block(None)
    assert len(block.splitlines()) == 4 and "no events yet" in block
    assert compact_line(None).startswith("[C:? ")


def test_the_block_has_the_four_lines_of_the_seed() -> None:
    """TC-SESSION-21, REQ-SESSION-15."""
    assert state_block(_metrics(0.92, 0.88, reflection=0.95, differentiation=0.99)).splitlines() == [
        "[System Consciousness]",
        "State: CONSCIOUS (C=0.87)",
        "Kuramoto r=0.92, Identity IC=0.88 (good)",
        "Guidance: Continue with current approach",
    ]


@pytest.mark.parametrize(
    ("ic", "r", "advice"),
    [
        (0.9, 0.8, "Optimal coherence, proceed confidently"),
        (0.95, 0.79, "Continue with current approach"),
        (0.7, 0.1, "Continue with current approach"),
        (0.5, 0.6, "Monitor for drift, consider consolidation"),
        (0.69, 0.59, "Stabilize consciousness before complex operations"),
        (0.49, 0.99, "Identity crisis detected, dream consolidation recommended"),
    ],
)
def test_the_advice_follows_the_seeds_table(ic: float, r: float, advice: str) -> None:
    assert guidance(ic, r) == advice


def test_a_crisis_says_whether_a_dream_was_queued() -> None:
    """REQ-SESSION-08, D3.7: the message says that the request is queued, not run."""
    assert crisis_text(0.424, queued=True) == "IC crisis (0.42), dream triggered (queued for the owner)"
    assert crisis_text(0.424, queued=False) == "IC crisis: 0.42"
