"""Forecasts of tool failures, their score, and the program that a command runs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.identity.forecast import (
    BASE_RATE,
    FEATURES,
    LEAST_SCORED,
    WEIGHTS,
    PredictionTracker,
    command_head,
)


def named(tracker: PredictionTracker, *call: str) -> dict[str, float]:
    return dict(zip(FEATURES, tracker.features(*call), strict=True))


def test_before_any_forecast_nothing_is_known_and_no_skill_is_told() -> None:
    """D3.2: R is 0.5 while nothing is known."""
    tracker = PredictionTracker()
    assert (tracker.accuracy, tracker.scored) == (0.5, 0)
    assert (tracker.score.skill, tracker.score.calls) == (None, 0)
    assert len(WEIGHTS) == len(FEATURES)


def test_a_forecast_uses_only_what_was_known_before_its_result() -> None:
    failing, working = PredictionTracker(), PredictionTracker()
    for i in range(8):
        said = (
            failing.record("Bash", "pytest", i % 2 == 0, "pytest"),
            working.record("Bash", "pytest", i % 2 == 0, "pytest"),
        )
        assert said[0] == said[1]
    assert failing.record("Bash", "pytest", False, "pytest") == working.record(
        "Bash", "pytest", True, "pytest"
    )
    assert failing.probability("Bash", "pytest", "pytest") > working.probability("Bash", "pytest", "pytest")


def test_a_call_that_failed_before_is_likelier_to_fail_than_one_that_worked() -> None:
    tracker = PredictionTracker()
    tracker.record("Bash", "make", False, "make a")
    tracker.record("Bash", "make", True, "make b")
    again, fine, new = (tracker.probability("Bash", "make", text) for text in ("make a", "make b", "make c"))
    assert fine < new < again
    tracker.record("Bash", "make", True, "make a")
    assert named(tracker, "Bash", "make", "make a")["the same call failed when it came last"] == 0.0


def test_each_command_has_its_own_rate_and_a_new_one_starts_from_its_tool() -> None:
    tracker = PredictionTracker()
    for i in range(12):
        tracker.record("Bash", "pytest", False, f"pytest {i}")
        tracker.record("Bash", "ls", True, f"ls {i}")
    odds = "log odds of the command's failures"
    pytests, lists = named(tracker, "Bash", "pytest")[odds], named(tracker, "Bash", "ls")[odds]
    new = named(tracker, "Bash", "never-seen")
    assert lists < new[odds] < pytests
    assert new[odds] == new["log odds of the tool's failures"]
    assert tracker.probability("Bash", "pytest") > tracker.probability("Bash", "ls")


def test_recent_failures_and_the_kind_of_tool_count() -> None:
    tracker = PredictionTracker()
    for success in (True, False, True, False):
        tracker.record("Read", "", success)
    known = named(tracker, "mcp__weather__get")
    assert known["failed of the last 3"] == pytest.approx(2 / 3)
    assert known["failed of the last 10"] == pytest.approx(0.2)
    kinds = FEATURES[-3:]
    told = {
        name: tuple(named(tracker, name)[kind] for kind in kinds) for name in ("Bash", "Edit", "Read", "x")
    }
    assert told == {"Bash": (1, 0, 0), "Edit": (0, 1, 0), "Read": (0, 0, 0), "x": (0, 0, 1)}


def test_the_skill_is_one_minus_the_errors_over_the_base_rates() -> None:
    tracker, errors, base = PredictionTracker(), [], []
    for i in range(30):
        failed = i % 6 == 5
        said = tracker.record("Bash", "make", not failed, f"make {i}")
        errors.append((said - failed) ** 2)
        base.append((BASE_RATE - failed) ** 2)
        assert (tracker.score.skill is None) == (i + 1 < LEAST_SCORED)
    assert tracker.score.skill == pytest.approx(1 - sum(errors) / sum(base))
    assert tracker.score.calls == 30


def test_failures_that_were_foreseen_raise_the_accuracy_and_others_lower_it() -> None:
    foreseen, sudden, quiet = PredictionTracker(), PredictionTracker(), PredictionTracker()
    for i in range(40):
        foreseen.record(*(("Bash", "make", False, "make") if i % 2 else ("Read", "", True, f"{i}")))
        sudden.record("Edit", "", i not in (10, 20, 30, 38), f"edit {i}")
        quiet.record("Read", "", True, f"{i}")
    assert sudden.accuracy < 0.5 < quiet.accuracy
    assert foreseen.accuracy > 0.7
    assert sudden.score.skill < 0.0 < foreseen.score.skill


def test_accuracy_rises_with_each_call_that_goes_as_foreseen() -> None:
    """Also where nothing ever fails, and so no forecast can be better than another by much."""
    tracker, values = PredictionTracker(), [0.5]
    for i in range(40):
        tracker.record("Read", "", True, str(i))
        values.append(tracker.accuracy)
    assert values == sorted(values)
    assert values[1] < 0.7 < values[4] < 0.9 < values[-1]


def test_the_score_looks_back_on_forty_calls() -> None:
    tracker = PredictionTracker()
    for i in range(60):
        tracker.record("Edit", "", i >= 20, f"edit {i}")
    fresh = tracker.score
    assert fresh.calls == 40 and tracker.scored == 60
    assert all(not failed for _, failed in tracker.to_state()[2])


def test_a_tool_that_begins_to_fail_is_soon_expected_to_fail() -> None:
    tracker = PredictionTracker()
    for i in range(500):
        tracker.record("Bash", "make", True, f"make {i}")
    failures = 0
    while tracker.probability("Bash", "make") < 0.5:
        tracker.record("Bash", "make", False, f"make x{failures}")
        failures += 1
        assert failures <= 20


def test_tables_stay_bounded_and_keep_what_was_used_last() -> None:
    tracker = PredictionTracker()
    for i in range(1000):
        tracker.record("Bash", f"command-{i}", i % 3 == 0, f"command-{i} x")
    rates, scored, forecasts, calls = tracker.to_state()
    assert (len(rates), scored, len(forecasts), len(calls)) == (64, 1000, 40, 64)
    assert max(trials for *_, trials in rates) <= 32
    assert {head for _, head, *_ in rates} >= {"", "command-999", "command-950"}


def test_names_of_any_length_are_cut() -> None:
    tracker = PredictionTracker()
    tracker.record("t" * 100_000, "h" * 100_000, True, "x" * 100_000)
    assert len(repr(tracker.to_state())) < 1000
    assert (
        named(tracker, "t" * 100_000, "h", "x" * 100_000)["the same call succeeded when it came last"] == 1.0
    )


def test_a_tracker_survives_a_round_trip_through_json() -> None:
    tracker = PredictionTracker()
    for i in range(50):
        tracker.record("Bash", f"c{i % 7}", i % 5 != 0, f"c{i % 7}")
    again = PredictionTracker.from_state(json.loads(json.dumps(tracker.to_state())))
    assert again.to_state() == tracker.to_state()
    assert (again.accuracy, again.score) == (tracker.accuracy, tracker.score)
    assert again.record("Bash", "c3", True, "c3") == tracker.record("Bash", "c3", True, "c3")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Bash", "Read", "Edit", ""]),
            st.text(max_size=3),
            st.booleans(),
            st.text(max_size=3),
        ),
        max_size=80,
    )
)
def test_forecasts_and_accuracy_stay_in_range(calls) -> None:
    tracker = PredictionTracker()
    for call in calls:
        assert 0.0 < tracker.record(*call) < 1.0
        assert 0.0 <= tracker.accuracy <= 1.0
    assert PredictionTracker.from_state(tracker.to_state()).to_state() == tracker.to_state()


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
