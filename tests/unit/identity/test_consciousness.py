"""C = I * R * D, the five states, and the predictions behind R."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.identity.consciousness import (
    ConsciousnessState,
    Metrics,
    PredictionTracker,
    command_head,
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


# --- predictions ---


def test_before_any_prediction_the_accuracy_is_one_half_and_says_it_is_no_measurement() -> None:
    """D3.2: a is the running accuracy of our own predictions."""
    tracker = PredictionTracker()
    assert (tracker.accuracy, tracker.scored) == (0.5, 0)
    assert tracker.probability("Bash", "pytest") == 0.5


def test_a_prediction_uses_only_what_was_known_before_its_result() -> None:
    tracker = PredictionTracker()
    hits = [tracker.record("Bash", "pytest", success=False) for _ in range(4)]
    assert hits == [False, True, True, True]
    assert tracker.record("Bash", "pytest", success=True) is False


def test_each_command_has_its_own_rate_and_a_new_one_starts_from_its_tool() -> None:
    tracker = PredictionTracker()
    for _ in range(6):
        tracker.record("Bash", "pytest", success=False)
        tracker.record("Bash", "ls", success=True)
        tracker.record("Bash", "cat", success=True)
    assert tracker.probability("Bash", "pytest") < 0.3 < 0.8 < tracker.probability("Bash", "ls")
    assert tracker.probability("Bash", "never-seen") == pytest.approx(tracker.probability("Bash"))
    assert tracker.probability("Bash") == pytest.approx(13 / 20)
    assert tracker.probability("Read") == 0.5


def test_accuracy_is_the_share_of_hits_among_the_last_twenty() -> None:
    tracker = PredictionTracker()
    for _ in range(30):
        tracker.record("Read", "", success=True)
    assert tracker.accuracy == 1.0
    for _ in range(5):
        tracker.record("Read", "", success=False)
    assert tracker.accuracy == 0.75
    assert tracker.scored == 35


def test_a_tool_that_begins_to_fail_is_soon_predicted_to_fail() -> None:
    tracker = PredictionTracker()
    for _ in range(500):
        tracker.record("Bash", "make", success=True)
    failures = 0
    while tracker.probability("Bash", "make") >= 0.5:
        tracker.record("Bash", "make", success=False)
        failures += 1
    assert failures <= 32


def test_tables_stay_bounded_and_keep_what_was_used_last() -> None:
    tracker = PredictionTracker()
    for i in range(1000):
        tracker.record("Bash", f"command-{i}", success=i % 3 == 0)
    rates, hits, scored = tracker.to_state()
    assert (len(rates), len(hits), scored) == (64, 20, 1000)
    assert max(trials for *_, trials in rates) <= 32
    assert {head for _, head, *_ in rates} >= {"", "command-999", "command-950"}


def test_names_of_any_length_are_cut() -> None:
    tracker = PredictionTracker()
    tracker.record("t" * 100_000, "h" * 100_000, success=True)
    assert len(repr(tracker.to_state())) < 1000
    assert tracker.probability("t" * 100_000, "h" * 100_000) > 0.5


def test_a_tracker_survives_a_round_trip_through_json() -> None:
    tracker = PredictionTracker()
    for i in range(50):
        tracker.record("Bash", f"c{i % 7}", success=i % 5 != 0)
    again = PredictionTracker.from_state(json.loads(json.dumps(tracker.to_state())))
    assert again.to_state() == tracker.to_state()
    assert again.accuracy == tracker.accuracy
    assert again.record("Bash", "c3", success=True) == tracker.record("Bash", "c3", success=True)


@pytest.mark.parametrize(
    "state",
    [
        (),
        None,
        ((), ()),
        ((("Bash", "x", 3, 2),), (), 3),
        ((("Bash", 1, 1, 2),), (), 3),
        ((("Bash", "x", "1", 2),), (), 3),
        ((("Bash", "x", 1, 10**9),), (), 3),
        ((("Bash", "x", 1),), (), 3),
        ((), (1, 1), 0),
        (tuple(("Bash", str(i), 1, 1) for i in range(65)), (), 65),
    ],
)
def test_a_damaged_state_is_refused(state) -> None:
    with pytest.raises(ValueError, match=r"^not a prediction state"):
        PredictionTracker.from_state(state)


@pytest.mark.parametrize(
    ("command", "head"),
    [
        ("pytest -q tests", "pytest"),
        ("cd /repo && A=1 B=2 /usr/bin/pytest -q", "pytest"),
        ("cd /repo; git commit -m 'x && y'", "git commit"),
        ("git -C /repo status", "git"),
        ("sudo -n timeout 30 make check", "make check"),
        ("env FOO=bar npm run build", "npm run"),
        ("python -m pytest -x", "python -m pytest"),
        ("python3 script.py", "python3"),
        ("export X=1\nls -la | head", "ls"),
        ("cd /somewhere", "cd"),
        ("\"my tool\" --flag", "my"),
        ("", ""),
        ("   ", ""),
        ("&& ; ||", ""),
        ("X=1", ""),
        ("sudo", ""),
    ],
)  # fmt: skip
def test_the_head_of_a_command_is_the_program_it_runs(command, head) -> None:
    assert command_head(command) == head


@given(st.text(max_size=600))
def test_any_text_has_a_short_head(command) -> None:
    assert len(command_head(command)) <= 70


@given(
    st.lists(
        st.tuples(st.sampled_from(["Bash", "Read", ""]), st.text(max_size=3), st.booleans()), max_size=80
    )
)
def test_probabilities_and_accuracy_stay_in_range(calls) -> None:
    tracker = PredictionTracker()
    for tool, head, success in calls:
        assert 0.0 < tracker.probability(tool, head) < 1.0
        tracker.record(tool, head, success)
        assert 0.0 <= tracker.accuracy <= 1.0
    assert PredictionTracker.from_state(tracker.to_state()).to_state() == tracker.to_state()
