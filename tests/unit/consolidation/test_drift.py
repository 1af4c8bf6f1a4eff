"""Drift, on real embeddings of sessions that work on one thing, and of one that works on another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest
from benches.consolidation.snapshots import of_memories

from context_graph.consolidation.finders import goals
from context_graph.consolidation.plan import Goal, GoalLevel
from context_graph.consolidation.snapshot import Snapshot
from context_graph.memory.embed import default_provider
from context_graph.model.memory import MemoryNode

VERBS = ("fix", "rename", "test", "move", "document", "speed up", "split", "rewrite", "review", "remove")
OPENINGS = ("We need to", "The plan is to", "We must", "Next we want to", "TODO:", "The goal is to", "Please")
BILLING = (
    "the invoice table|the payment retry job|tax rounding in the ledger|the refund webhook|dunning letters|"
    "the currency converter|the subscription upgrade path|the receipt template|bank reconciliation|"
    "the credit note export|the price list import|the chargeback report"
)
GARDEN = (
    "the tomato bed|the drip irrigation hose|the compost heap|the apple tree pruning|the greenhouse door|"
    "the rose border|the lawn edges|the herb spiral|the rain barrel|the beehive stand|the fence paint|"
    "the strawberry nets"
)


def session(things: str, seed: int, count: int = 16) -> list[str]:
    chance = random.Random(seed)
    return [
        f"{chance.choice(OPENINGS)} {chance.choice(VERBS)} {one} and {chance.choice(VERBS)} {other}."
        for one, other in (chance.sample(things.split("|"), 2) for _ in range(count))
    ]


def snapshot(sessions: Sequence[Sequence[str]], *, named: bool = True) -> Snapshot:
    nodes: list[MemoryNode] = []
    for number, texts in enumerate(sessions):
        for text in texts:
            nodes.append(
                MemoryNode(
                    id=UUID(int=len(nodes) + 1),
                    content=text,
                    rationale="kept for a test",
                    created_at_ms=len(nodes),
                    last_accessed_ms=len(nodes),
                    session_id=f"session {number}" if named else None,
                    embedding=default_provider().encode(text).embedding,
                )
            )
    return of_memories(nodes)


@pytest.mark.parametrize("named", [True, False])
def test_a_session_on_something_else_is_drift(named: bool) -> None:
    past = [session(BILLING, seed) for seed in range(10)]
    found = goals.detect_drift(snapshot([*past, session(GARDEN, 50)], named=named))
    assert found.significant
    assert found.level in ("medium", "high", "critical")
    assert found.similarity < 0.7
    assert found.recent >= 8


@pytest.mark.parametrize("seed", range(50, 56))
def test_more_of_the_same_is_none(seed: int) -> None:
    past = [session(BILLING, number) for number in range(10)]
    found = goals.detect_drift(snapshot([*past, session(BILLING, seed)]))
    assert not found.significant
    assert found.similarity >= 0.7


def test_the_goals_memories_are_the_measure_where_there_are_goals() -> None:
    past = [session(BILLING if number % 2 else GARDEN, number) for number in range(12)]
    snap = snapshot([*past, session(GARDEN, 70)])
    billing = [row for row in range(12 * 16) if (row // 16) % 2]
    goal = Goal(UUID(int=7), "", GoalLevel.TACTICAL, 0.9, 0.9, tuple(snap.ids[row] for row in billing))
    assert not goals.detect_drift(snap).significant
    assert goals.detect_drift(snap, [goal]).significant


def test_too_little_to_compare_is_no_drift() -> None:
    for sessions in ([], [session(BILLING, 1)], [session(BILLING, 1, 5), session(GARDEN, 2, 5)]):
        found = goals.detect_drift(snapshot(sessions))
        assert (found.similarity, found.level, found.significant) == (1.0, "none", False)


def test_memories_without_a_goal_in_them_are_not_judged() -> None:
    silent = ["Rain in Oslo", "A grey stone", "Seven birds"] * 12
    assert goals.detect_drift(snapshot([silent[:18], silent[18:]])).recent == 0


def test_levels_cover_every_similarity() -> None:
    limits = [least for least, _ in goals.DRIFT_LEVELS]
    assert limits == sorted(limits, reverse=True) and limits[-1] == 0.0


def test_it_is_the_same_every_time() -> None:
    snap = snapshot([session(BILLING, number) for number in range(6)] + [session(GARDEN, 9)])
    one, other = goals.detect_drift(snap), goals.detect_drift(snap)
    assert one == other
    assert np.isfinite(one.similarity)
