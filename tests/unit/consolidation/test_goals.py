"""Goals that memories show, how they are kept, and how they move."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import numpy as np
import orjson
import pytest
from tests.support.topics import TOPICS, snapshot_of, talk, texts_on

from context_graph.consolidation import plan
from context_graph.consolidation.finders import goals
from context_graph.consolidation.finders.clusters import find
from context_graph.consolidation.finders.goals import adjusted, discover, profiles
from context_graph.consolidation.plan import Drift, Goal, GoalLevel, decode_goals, encode_goals
from context_graph.consolidation.snapshot import Snapshot
from context_graph.errors import DatabaseCorruptionError
from context_graph.model.spaces import DIM, SLICES, SPACES, WEIGHTS

STILL = Drift(0.9, "none", False, 40)
DRIFTED = Drift(0.5, "high", True, 40)


def planted(counts: dict[str, int]) -> tuple[list[str], list[str]]:
    pairs = [(text, topic) for topic, count in counts.items() for text in texts_on(topic, count)]
    random.Random(2).shuffle(pairs)
    return [text for text, _ in pairs], [topic for _, topic in pairs]


def goals_of(snap: Snapshot, **given: object) -> list[Goal]:
    return discover(snap, find(snap, range(len(snap))), **given)  # type: ignore[arg-type]


def topic_of(goal: Goal, topics: Sequence[str]) -> str:
    return Counter(topics[(member.int >> 64) - 1] for member in goal.members).most_common(1)[0][0]


def goal(
    *members: int, confidence: float = 0.6, goal_id: UUID | None = None, level: GoalLevel = GoalLevel.TACTICAL
) -> Goal:
    centroid = np.zeros(DIM, np.float32)
    centroid[members[0] % 256] = np.sqrt(WEIGHTS[0])
    return Goal(
        goal_id=goal_id or uuid4(),
        description=f"about {members[0]}",
        level=level,
        confidence=confidence,
        coherence=0.7,
        members=tuple(UUID(int=member) for member in members),
        centroid=centroid.tobytes(),
    )


# --- found ---


def test_what_many_memories_are_about_is_a_goal() -> None:
    texts, topics = planted({"billing": 40, "sailing": 24, "parsing": 12})
    found = goals_of(snapshot_of([*texts, *talk(12)]))
    topics += ["talk"] * 12
    assert {topic_of(one, topics) for one in found} >= {"billing", "sailing"}
    assert "talk" not in {topic_of(one, topics) for one in found}
    for one in found:
        words = TOPICS[topic_of(one, topics)].split()
        assert any(word in one.description for word in words)
        assert len(one.members) >= 5
        assert 0.5 <= one.confidence <= 1.0
        assert 0.0 < one.coherence <= 1.0


def test_the_most_certain_goals_come_first_and_no_more_than_asked_for() -> None:
    texts, _ = planted(dict.fromkeys(TOPICS, 12))
    snap = snapshot_of(texts)
    found = goals_of(snap)
    assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)
    best = goals_of(snap, max_goals=2)
    assert [one.confidence for one in best] == [one.confidence for one in found[:2]]
    sure = goals_of(snap, min_confidence=found[0].confidence)
    assert all(one.confidence >= found[0].confidence for one in sure) and sure


def test_a_larger_goal_is_of_a_higher_level() -> None:
    texts, topics = planted({"billing": 60, "sailing": 8})
    by_topic: dict[str, list[Goal]] = {}
    for one in goals_of(snapshot_of(texts), min_confidence=0.0):
        by_topic.setdefault(topic_of(one, topics), []).append(one)
    order = [*GoalLevel]
    highest = {topic: min(order.index(one.level) for one in found) for topic, found in by_topic.items()}
    assert highest["billing"] < highest["sailing"]


def test_a_goals_centre_is_shaped_like_an_embedding() -> None:
    texts, _ = planted({"billing": 30, "sailing": 30})
    for one in goals_of(snapshot_of(texts)):
        values = np.frombuffer(one.centroid, np.float32)
        assert values.shape == (DIM,)
        for space, weight in zip(SPACES, WEIGHTS, strict=True):
            length = float(np.linalg.norm(values[SLICES[space]]))
            assert length == pytest.approx(0.0, abs=1e-6) or length == pytest.approx(weight**0.5, rel=1e-4)


@pytest.mark.parametrize("texts", [[], ["one"], talk(3), talk(60), texts_on("sailing", 3)])
def test_small_stores_and_small_talk_have_no_goals(texts: list[str]) -> None:
    assert goals_of(snapshot_of(texts)) == []


def test_the_same_store_shows_the_same_goals() -> None:
    texts, _ = planted({"billing": 30, "sailing": 30})
    assert goals_of(snapshot_of(texts)) == goals_of(snapshot_of(texts))


def test_a_profile_is_the_mean_cosine_of_pairs() -> None:
    """From sums alone, what comparing every pair of members gives."""
    texts, _ = planted({"billing": 9})
    snap = snapshot_of(texts)
    (one, whole) = profiles(snap, [np.arange(9)])
    assert np.array_equal(one.sums, whole.sums)
    for at, space in enumerate(SPACES):
        rows = snap.space(space).astype(np.float64)
        rows = rows[np.any(rows != 0, axis=1)]
        assert one.filled[at] == len(rows)
        if len(rows) > 1:
            cosines = rows @ rows.T
            mean = (cosines.sum() - np.trace(cosines)) / (len(rows) * (len(rows) - 1))
            assert one.cosines()[at] ** 2 == pytest.approx(max(mean, 0.0), abs=1e-4)


# --- kept ---


def test_goals_come_back_from_their_record_as_they_were() -> None:
    texts, _ = planted({"billing": 30, "sailing": 30, "parsing": 30})
    found = goals_of(snapshot_of(texts), min_confidence=0.0)
    fact = orjson.loads(orjson.dumps(encode_goals(found, 5)))
    assert decode_goals(fact) == found
    assert fact["at_ms"] == 5
    assert decode_goals(None) == []


def test_the_record_is_bounded() -> None:
    many = [replace(goal(*range(at, at + 400)), confidence=at / 100) for at in range(1, 80)]
    kept = decode_goals(encode_goals(many, 0))
    assert len(kept) == plan.MAX_GOALS
    assert min(one.confidence for one in kept) > 0.29
    assert {len(one.members) for one in kept} == {200}


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 2, "goals": []},
        {"version": 1},
        {"version": 1, "goals": [{"goal_id": "x"}]},
        {"version": 1, "goals": [{**encode_goals([goal(1)], 0)["goals"][0], "centroid": "AAAA"}]},
        {"version": 1, "goals": [{**encode_goals([goal(1)], 0)["goals"][0], "level": "Huge"}]},
    ],
)
def test_a_record_that_can_not_be_read_is_an_error(damage: dict[str, object]) -> None:
    with pytest.raises(DatabaseCorruptionError, match="goals"):
        decode_goals(damage)


# --- adjusted ---


def test_a_goal_that_is_found_again_keeps_its_id_and_moves_a_part_of_the_way() -> None:
    known, now = goal(1, 2, 3, 4, confidence=0.5), goal(2, 3, 4, 5, confidence=1.0)
    (kept,) = adjusted([known], [now], STILL)
    assert kept.goal_id == known.goal_id
    assert kept.members == now.members
    assert kept.description == now.description
    assert kept.confidence == pytest.approx(0.5 + goals.STEP * 0.5)
    centre = np.frombuffer(kept.centroid, np.float32)
    assert 0 < centre[2] < centre[1], "the centre moved all the way, or not at all"
    assert float(np.linalg.norm(centre[SLICES["Semantic"]])) == pytest.approx(WEIGHTS[0] ** 0.5, rel=1e-5)


def test_after_a_drift_goals_move_and_fade_faster() -> None:
    known, now, gone = (
        goal(1, 2, 3, 4, confidence=0.5),
        goal(2, 3, 4, 5, confidence=1.0),
        goal(90, confidence=0.6),
    )
    still, drifted = (
        {one.members: one.confidence for one in adjusted([known, gone], [now], drift)}
        for drift in (STILL, DRIFTED)
    )
    assert drifted[now.members] > still[now.members]
    assert drifted[gone.members] < still[gone.members] < 0.6


def test_a_goal_that_is_not_found_any_more_is_dropped_in_the_end() -> None:
    kept: list[Goal] = [goal(1, 2, 3, confidence=0.6)]
    runs = 0
    while kept:
        kept = adjusted(kept, [], STILL)
        runs += 1
        assert runs < 20
    assert runs > 3


def test_a_new_goal_is_kept_as_it_was_found() -> None:
    known, now = goal(1, 2, 3), goal(7, 8, 9)
    assert now in adjusted([known], [now], STILL)


def test_two_found_goals_do_not_take_one_id() -> None:
    known = goal(1, 2, 3, 4)
    halves = [goal(1, 2), goal(3, 4)]
    kept = adjusted([known], halves, None)
    assert len({one.goal_id for one in kept}) == len(kept) == 2
    assert known.goal_id in {one.goal_id for one in kept}


def test_nothing_known_and_nothing_found_is_nothing() -> None:
    assert adjusted([], [], None) == []


def test_found_goals_alone_are_kept_unchanged() -> None:
    texts, _ = planted({"billing": 30, "sailing": 30})
    found = goals_of(snapshot_of(texts))
    assert adjusted([], found, None) == found
    assert adjusted(found, found, STILL) == pytest.approx(found) or {one.goal_id for one in found} == {
        one.goal_id for one in adjusted(found, found, STILL)
    }
