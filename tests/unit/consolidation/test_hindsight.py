"""By which floor sessions are told of earlier ones: chosen by the older half of them, kept by the newer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.consolidation.finders.hindsight import FLOORS, LEAST, Best, judged
from context_graph.consolidation.plan import floor_of

FLOOR = 0.33
RIGHT, WRONG = (Best(0.28, True),), (Best(0.28, False),)
NOTHING: tuple[Best, ...] = ()


def test_too_few_sessions_say_nothing() -> None:
    assert judged([RIGHT] * (LEAST - 1), FLOOR) is None


def test_a_floor_that_hides_what_is_right_falls() -> None:
    result = judged([RIGHT] * 20, FLOOR)
    assert result is not None and result.is_moved
    assert (result.shown, result.right) == (20, 20) and (result.shown_before, result.right_before) == (0, 0)
    assert result.floor <= 0.28 < result.floor_before
    assert result.text() == (
        "Of the last 20 sessions 20 would have been told of an earlier one, the right one in 20 (was 0 of 0)."
    )


def test_a_floor_that_lets_wrong_ones_through_rises() -> None:
    noisy = [(Best(0.35, False),), (Best(0.55, True),)] * 12
    result = judged(noisy, FLOOR)
    assert result is not None and 0.35 < result.floor <= 0.55
    assert (result.shown, result.right, result.shown_before, result.right_before) == (12, 12, 24, 12)


def test_what_the_newer_half_does_not_bear_out_is_not_kept() -> None:
    result = judged([*[RIGHT] * 12, *[WRONG] * 12], FLOOR)
    assert result is not None and not result.is_moved and result.floor == FLOOR
    assert "was" not in result.text()


def test_a_session_is_told_once_by_the_first_that_is_alike_enough() -> None:
    result = judged([(Best(0.4, False), Best(0.9, True))] * 20, 0.3)
    assert result is not None and (result.shown_before, result.right_before) == (20, 0)
    assert result.floor > 0.4 and result.right == 20


bests = st.builds(Best, st.floats(0.0, 1.0), st.booleans())


@settings(max_examples=examples(100))
@given(st.lists(st.lists(bests, max_size=3).map(tuple), min_size=LEAST, max_size=60), st.sampled_from(FLOORS))
def test_a_moved_floor_is_always_the_better_one_of_the_newer_half(
    sessions: list[tuple[Best, ...]], floor: float
) -> None:
    result = judged(sessions, floor)
    assert result is not None and 0 <= result.right <= result.shown <= len(sessions)
    newer = judged(sessions[len(sessions) // 2 :] * 2, result.floor)
    before = judged(sessions[len(sessions) // 2 :] * 2, floor)
    assert newer is not None and before is not None
    worth = 2 * newer.right_before - newer.shown_before
    worth_before = 2 * before.right_before - before.shown_before
    assert worth > worth_before if result.is_moved else result.floor == floor


def test_a_fact_that_says_no_floor_leaves_the_one_that_ships() -> None:
    for fact in (
        None,
        {},
        {"version": 2, "floor": 0.5},
        {"version": 1, "floor": "x"},
        {"version": 1, "floor": 7.0},
    ):
        assert floor_of(fact, FLOOR) == FLOOR
    assert floor_of({"version": 1, "floor": 0.5}, FLOOR) == 0.5
