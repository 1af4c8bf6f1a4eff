"""Goals of the store in a session's identity: alignment, and adoption without a jump."""

from __future__ import annotations

import copy
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.agent_events import LABELS, SHADER, TARIFF
from tests.support.examples import examples

from context_graph.identity.ego import SPACES
from context_graph.identity.live import LiveSession
from context_graph.model import HookEvent, SessionIdentitySnapshot

TARIFF_GOAL = (
    "ParcelTariff.quote() must add the heavy surcharge in every zone, islands too",
    "harbor/tariff/parcel_tariff.py decides the tariff of parcels above HEAVY_KG, 30 kg",
    "tests/tariff/test_parcel_tariff.py covers the heavy surcharge by zone",
)
SHADER_GOAL = tuple(f"{event.input_text} {event.output_text}" for event in SHADER[1:6])
UNRELATED_GOAL = (
    "Grandmother's apple pie wants cinnamon, butter and an hour in the oven",
    "The oven in the kitchen is too hot on its left side, turn pies around",
)
LARGEST_CHANGE = 0.2
"""Of IC, at any later event: where work turns foreign it falls steeply, and a hair's breadth shows. On 1,500
random mixtures it was 0.1 at most and 0.0002 on average."""


def played(events: list[HookEvent]) -> LiveSession:
    live = LiveSession(SessionIdentitySnapshot(session_id="one", timestamp_ms=0))
    for event in events:
        live.apply(event)
    return live


def twin(live: LiveSession) -> LiveSession:
    return LiveSession.restore(copy.deepcopy(live.snapshot), live.runtime_bytes(), live.goals_bytes())


def test_the_purpose_vector_aligns_with_the_work_at_hand_and_not_with_other_work() -> None:
    live = played(TARIFF)
    at_hand, other = live.alignment(TARIFF_GOAL), live.alignment(SHADER_GOAL)
    assert at_hand is not None and other is not None
    assert at_hand.overall > 0.3 > -0.3 > other.overall
    assert len(at_hand.spaces) == len(SPACES)
    assert all(-1.0 <= value <= 1.0 for value in (*at_hand.spaces, *other.spaces))
    by_name = dict(zip((space.name for space in SPACES), at_hand.spaces, strict=True))
    assert by_name["semantic"] > 0.0


def test_looking_at_alignment_changes_nothing() -> None:
    live = played(TARIFF)
    before = (copy.deepcopy(live.snapshot), live.runtime_bytes(), live.goals_bytes())
    live.alignment((*TARIFF_GOAL, *SHADER_GOAL))
    assert (live.snapshot, live.runtime_bytes(), live.goals_bytes()) == before


def test_without_evidence_there_is_no_alignment_and_nothing_is_adopted() -> None:
    live = played([])
    assert live.alignment(TARIFF_GOAL) is None
    assert live.adopt([TARIFF_GOAL]) == 0
    assert live.alignment(["", "   "]) is None


def test_adopting_changes_no_measure_and_only_the_goals() -> None:
    live = played(TARIFF)
    snapshot, runtime, goals = copy.deepcopy(live.snapshot), live.runtime_bytes(), live.goals_bytes()
    assert live.adopt([TARIFF_GOAL]) == 1
    assert live.snapshot == snapshot
    assert live.runtime_bytes() == runtime
    assert live.goals_bytes() != goals


def test_only_goals_of_the_work_at_hand_are_adopted() -> None:
    """What is foreign must go on looking foreign, or adoption would blind the alarm."""
    live = played(TARIFF)
    goals = live.goals_bytes()
    assert live.adopt([SHADER_GOAL, UNRELATED_GOAL]) == 0
    assert live.goals_bytes() == goals
    assert live.adopt([SHADER_GOAL, TARIFF_GOAL, UNRELATED_GOAL]) == 1


def test_an_adopted_goal_draws_the_session_towards_it() -> None:
    live = played(TARIFF)
    before = live.alignment(TARIFF_GOAL)
    for _ in range(20):
        live.adopt([TARIFF_GOAL])
    after = live.alignment(TARIFF_GOAL)
    assert before is not None and after is not None
    assert sum(after.spaces) > sum(before.spaces)


def test_adopted_goals_survive_a_restart_bit_for_bit() -> None:
    live = played(TARIFF)
    live.adopt([TARIFF_GOAL])
    again = twin(live)
    for event in LABELS[1:5]:
        assert live.apply(event).metrics == again.apply(event).metrics
    assert live.goals_bytes() == again.goals_bytes()


def test_foreign_work_after_an_adoption_is_still_a_crisis_within_six_events() -> None:
    live = played(TARIFF)
    live.adopt([TARIFF_GOAL, SHADER_GOAL])
    assert any(live.apply(event).crisis_entered for event in SHADER[1:7])


def events_to_come() -> st.SearchStrategy[list[HookEvent]]:
    """Work that goes on, work on another task, other work, in any order."""
    return st.lists(st.sampled_from([*TARIFF[1:], *LABELS[1:], *SHADER[1:]]), min_size=1, max_size=12)


@settings(max_examples=examples(40), deadline=None)
@given(
    at=st.integers(4, len(TARIFF)),
    goals=st.lists(
        st.lists(st.sampled_from([*TARIFF_GOAL, *SHADER_GOAL, *UNRELATED_GOAL]), min_size=1, max_size=5),
        min_size=1,
        max_size=6,
    ),
    later=events_to_come(),
)
def test_identity_never_jumps_whatever_is_adopted(
    at: int, goals: list[list[str]], later: list[HookEvent]
) -> None:
    """IC now is not touched, and at every later event it is what it would have been nearly."""
    plain = played(TARIFF[:at])
    adopted = twin(plain)
    before = adopted.metrics
    adopted.adopt(goals)
    assert adopted.metrics == before
    focused = TARIFF[at % len(TARIFF)] if at < len(TARIFF) else TARIFF[-1]
    following = twin(plain).apply(focused).metrics.ic, twin(adopted).apply(focused).metrics.ic
    assert following[1] == pytest.approx(following[0], abs=0.05), "the work at hand goes on"
    for event in later:
        one, other = plain.apply(event).metrics.ic, adopted.apply(event).metrics.ic
        assert math.isfinite(other)
        assert other == pytest.approx(one, abs=LARGEST_CHANGE)
