"""Goals, comparisons and the purpose vector."""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.agent_events import SHADER, TARIFF

from context_graph.identity.consciousness import coupling_for
from context_graph.identity.ego import (
    CALIBRATION,
    KEPT,
    SPACES,
    Comparison,
    EventReader,
    Goals,
    Purpose,
)
from context_graph.kernels import features
from context_graph.text.english import HEADS, WORK_WORDS

N = 13


def comparison_of(likeness: Iterable[float], confidence: Iterable[float]) -> Comparison:
    return Comparison(array("d", likeness), array("d", confidence))


ON = comparison_of(CALIBRATION.on, [0.9] * N)
_MIDDLES = zip(CALIBRATION.on, CALIBRATION.middle, strict=True)
OFF = comparison_of([0.2 * middle * on for on, middle in _MIDDLES], [0.9] * N)
NOTHING = comparison_of([math.nan] * N, [0.0] * N)


@pytest.fixture(scope="module")
def reader() -> EventReader:
    return EventReader()


def read(reader: EventReader, event) -> EventReader:
    reader.read(event.input_text, event.output_text)
    return reader


def test_there_are_thirteen_spaces_and_each_looks_at_a_bag_of_the_kernel() -> None:
    """AP-25."""
    assert len(SPACES) == N
    assert len({space.name for space in SPACES}) == N
    assert {space.bag for space in SPACES} <= set(features.BAGS)


def test_the_calibration_is_whole() -> None:
    for name, most in (("on", 1.0), ("middle", 1.0), ("weight", 9.0)):
        values = getattr(CALIBRATION, name)
        assert len(values) == N
        assert all(0.0 < value < most for value in values)
    assert 0.0 < CALIBRATION.offset < sum(CALIBRATION.weight)


def test_no_stop_word_is_one_that_the_scanner_can_never_meet() -> None:
    assert all(word == word.lower() and len(word) >= 2 for word in WORK_WORDS)
    assert all(word == word.lower() for word in HEADS)


def test_events_of_the_work_are_more_like_its_goal_than_foreign_ones(reader) -> None:
    goals = Goals()
    for event in TARIFF[:8]:
        goals.absorb(read(reader, event), prompt=event.tool_name == "")
    own = [goals.compare(read(reader, event)).likeness for event in TARIFF[8:]]
    foreign = [goals.compare(read(reader, event)).likeness for event in SHADER[1:]]
    for k, space in enumerate(SPACES):
        mine = statistics.fmean([row[k] for row in own if not math.isnan(row[k])] or [0.0])
        other = statistics.fmean([row[k] for row in foreign if not math.isnan(row[k])] or [0.0])
        assert mine > other, space.name


def test_the_first_event_has_nothing_to_be_compared_with(reader) -> None:
    comparison = Goals().compare(read(reader, TARIFF[1]))
    assert comparison.is_empty
    assert list(comparison.confidence) == [0.0] * N


def test_confidence_grows_with_the_goals_events_and_the_events_tokens(reader) -> None:
    goals = Goals()
    goals.absorb(read(reader, TARIFF[1]))
    young = goals.compare(read(reader, TARIFF[2])).confidence
    for event in TARIFF[2:8]:
        goals.absorb(read(reader, event))
    old = goals.compare(read(reader, TARIFF[2])).confidence
    assert all(a <= b < 1.0 for a, b in zip(young, old, strict=True))
    assert sum(young) < 0.7 * sum(old)
    reader.read("parcel", "")
    assert sum(goals.compare(reader).confidence) < 0.5 * sum(old)


def test_goals_survive_their_bytes_and_a_prior_forgets_sooner(reader) -> None:
    goals = Goals()
    for event in TARIFF:
        goals.absorb(read(reader, event))
    again = Goals.from_bytes(goals.to_bytes())
    assert again.to_bytes() == goals.to_bytes()
    prior = goals.as_prior(2)
    for event in SHADER[1:4]:
        goals.absorb(read(reader, event))
        prior.absorb(reader)
    read(reader, SHADER[4])
    slow, quick = (side.compare(reader).likeness for side in (goals, prior))
    semantic = [space.name for space in SPACES].index("semantic")
    assert quick[semantic] > slow[semantic] + 0.1
    with pytest.raises(ValueError, match="not goals"):
        Goals.from_bytes(b"something else")


def test_a_new_purpose_is_whole_and_compared_with_itself() -> None:
    purpose = Purpose()
    vector = purpose.vector
    assert len(set(vector)) == 1 and 0.99 < vector[0] < 1.0
    assert math.hypot(*purpose.identity) == pytest.approx(1.0)
    assert coupling_for(purpose.observe(NOTHING).coherence) > 3.5


def test_on_goal_work_keeps_the_vector_up_and_foreign_work_turns_it_round() -> None:
    purpose = Purpose()
    for _ in range(20):
        reading = purpose.observe(ON)
    assert min(reading.purpose_vector) > 0.8
    assert coupling_for(reading.coherence) > 3.3
    foreign = [purpose.observe(OFF) for _ in range(6)][-1]
    assert all(now < then for now, then in zip(foreign.purpose_vector, reading.purpose_vector, strict=True))
    assert coupling_for(foreign.coherence) < 1.0


def test_one_foreign_event_is_no_drift() -> None:
    purpose = Purpose()
    for _ in range(20):
        purpose.observe(ON)
    one = purpose.observe(OFF)
    many = [purpose.observe(OFF) for _ in range(5)][-1]
    assert coupling_for(one.coherence) > 1.0 > coupling_for(many.coherence) + 0.2


def test_the_identity_is_the_one_before_the_event_and_moves_slowly() -> None:
    purpose = Purpose()
    before = list(purpose.identity)
    reading = purpose.observe(ON)
    assert list(reading.identity) == before
    assert list(purpose.identity) != before
    assert math.dist(purpose.identity, before) < 0.05


def test_an_event_without_evidence_changes_no_alignment() -> None:
    purpose = Purpose()
    purpose.observe(OFF)
    before = list(purpose.alignment)
    purpose.observe(NOTHING)
    assert list(purpose.alignment) == before


def test_a_prompt_leaves_a_third_of_what_was_foreign_and_warms_up_again() -> None:
    purpose = Purpose()
    for _ in range(12):
        purpose.observe(OFF)
    low = list(purpose.alignment)
    purpose.prompt()
    assert list(purpose.alignment) == pytest.approx([1.0 + KEPT * (m - 1.0) for m in low])
    assert purpose.events == 0
    after = list(purpose.alignment)
    purpose.observe(OFF)
    fresh = [a - b for a, b in zip(after, purpose.alignment, strict=True)]
    for _ in range(12):
        purpose.observe(ON)
    settled = list(purpose.alignment)
    purpose.observe(OFF)
    assert sum(fresh) < 0.5 * sum(a - b for a, b in zip(settled, purpose.alignment, strict=True))


def test_a_session_of_varied_work_learns_its_own_level() -> None:
    """A likeness well below the usual one reads as closer to the work once it has gone on for long."""
    half = comparison_of([0.6 * on for on in CALIBRATION.on], [0.9] * N)
    purpose = Purpose()
    early = [purpose.observe(half) for _ in range(12)][-1]
    late = [purpose.observe(half) for _ in range(60)][-1]
    assert late.coherence > early.coherence + 0.05


def test_a_continued_purpose_is_its_own() -> None:
    purpose = Purpose()
    purpose.observe(OFF)
    copy = purpose.continued()
    assert copy.vector == purpose.vector
    assert copy.events == 0
    copy.observe(OFF)
    assert copy.vector != purpose.vector


def test_alignments_can_be_taken_from_a_vector() -> None:
    purpose, other = Purpose(), Purpose()
    for _ in range(3):
        purpose.observe(OFF)
    other.assume(purpose.vector)
    assert max(other.alignment) == pytest.approx(1.0)
    order = sorted(range(N), key=purpose.alignment.__getitem__)
    assert [other.alignment[k] for k in order] == sorted(other.alignment)
    with pytest.raises(ValueError, match="13 components"):
        other.assume([1.0] * 12)


likenesses = st.lists(st.floats(0, 1) | st.just(math.nan), min_size=N, max_size=N)
confidences = st.lists(st.floats(0, 1, exclude_max=True), min_size=N, max_size=N)


@given(events=st.lists(st.tuples(likenesses, confidences, st.booleans()), max_size=30))
def test_whatever_comes_alignments_stay_in_range_and_vectors_finite(events) -> None:
    purpose = Purpose()
    for likeness, confidence, prompt in events:
        if prompt:
            purpose.prompt()
        reading = purpose.observe(comparison_of(likeness, confidence))
        assert all(-1.0 <= m <= 1.0 for m in purpose.alignment)
        assert all(map(math.isfinite, reading.purpose_vector))
        assert all(map(math.isfinite, purpose.identity))
        assert 0.5 <= coupling_for(reading.coherence) <= 4.0
