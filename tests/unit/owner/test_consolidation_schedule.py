"""When the owner consolidates by itself: urgency, quiet, cool-down, giving way, failing, lasting entropy."""

from __future__ import annotations

from pathlib import Path

from context_graph.consolidation.plan import Mode
from context_graph.owner.consolidations.schedule import ENTROPY_HIGH, QUIET_S, EntropyWatch, ScheduledRuns
from context_graph.owner.jobs import Place, ScheduledRun, Trigger

HERE, THERE = Place(Path("/stores/here"), None), Place(Path("/stores/there"), None)
BUSY = 1000.0


def _scheduled(trigger: Trigger, place: Place = HERE, mode: Mode = Mode.LIGHT) -> ScheduledRun:
    return ScheduledRun(place, trigger, mode)


def test_of_what_is_due_a_crisis_goes_first_and_idleness_last() -> None:
    runs = ScheduledRuns()
    for trigger in (Trigger.IDLE, Trigger.SESSION_END, Trigger.ENTROPY, Trigger.CRISIS):
        runs.add(_scheduled(trigger))
    found = []
    while (following := runs.next(BUSY, BUSY + 60.0)) is not None:
        assert following[0] == BUSY + 60.0
        runs.begun(following[1])
        found.append(following[1].trigger)
    assert found == [Trigger.CRISIS, Trigger.ENTROPY, Trigger.SESSION_END, Trigger.IDLE]


def test_no_wish_is_due_before_it_has_been_quiet() -> None:
    runs = ScheduledRuns()
    runs.add(_scheduled(Trigger.CRISIS))
    following = runs.next(BUSY, BUSY)
    assert following is not None and following[0] == BUSY + QUIET_S


def test_wishes_for_one_reason_are_one_and_the_last_session_counts() -> None:
    runs = ScheduledRuns()
    for session_id in ("a", "b"):
        scheduled = _scheduled(Trigger.SESSION_END)
        scheduled.session_id = session_id
        runs.add(scheduled)
    (only,) = runs.of()
    assert only.session_id == "b"


def test_a_run_that_gave_way_comes_back_later_each_time() -> None:
    runs, delays = ScheduledRuns(), []
    scheduled = runs.add(_scheduled(Trigger.IDLE))
    for _ in range(8):
        runs.begun(scheduled)
        assert not runs.of()
        runs.aborted(scheduled, BUSY)
        assert runs.of() == [scheduled]
        delays.append(scheduled.not_before - BUSY)
    assert delays[0] == QUIET_S and delays == sorted(delays) and delays[-1] == 60.0
    assert scheduled.aborts == 8


def test_a_run_stands_for_every_wish_of_its_store_that_is_not_deeper() -> None:
    runs = ScheduledRuns()
    runs.add(_scheduled(Trigger.CRISIS, mode=Mode.LIGHT))
    runs.add(_scheduled(Trigger.SESSION_END, mode=Mode.DEEP))
    runs.add(_scheduled(Trigger.IDLE, mode=Mode.REM))
    runs.add(_scheduled(Trigger.CRISIS, THERE))
    runs.done(HERE.store, Mode.DEEP, BUSY + 60.0)
    assert {(scheduled.place, scheduled.trigger) for scheduled in runs.of()} == {
        (HERE, Trigger.IDLE),
        (THERE, Trigger.CRISIS),
    }
    (left,) = runs.of(HERE.store)
    assert runs.due_at(left, BUSY) == BUSY + 60.0, "and the store has its cool-down"
    (other,) = runs.of(THERE.store)
    assert runs.due_at(other, BUSY) == BUSY + QUIET_S, "of which another knows nothing"


def test_a_store_whose_runs_keep_failing_is_left_alone() -> None:
    runs = ScheduledRuns()
    scheduled = runs.add(_scheduled(Trigger.IDLE))
    again = [runs.failed(HERE.store, BUSY + 60.0) for _ in range(3)]
    assert again == [True, True, False]
    assert runs.next(BUSY, BUSY) is None
    runs.done(HERE.store, Mode.LIGHT, BUSY)  # one that was asked for and went through
    runs.add(scheduled)
    assert runs.next(BUSY, BUSY) is not None


def test_entropy_asks_once_for_each_time_that_it_stays_high() -> None:
    watch = EntropyWatch(300.0)
    watch.sample(ENTROPY_HIGH, 0.0)
    assert watch.due_at is None, "above is above"
    watch.sample(0.71, 10.0)
    watch.sample(0.9, 200.0)
    assert watch.due_at == 310.0
    watch.sample(0.69, 250.0)
    assert watch.due_at is None, "a dip begins it anew"
    watch.sample(0.8, 260.0)
    assert watch.due_at == 560.0
    watch.asked()
    watch.sample(0.8, 600.0)
    assert watch.due_at is None
    watch.sample(0.5, 700.0)
    watch.sample(0.8, 800.0)
    assert watch.due_at == 1100.0
