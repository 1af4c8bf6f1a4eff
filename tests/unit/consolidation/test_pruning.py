"""What is pruned, and what the guards keep (D5.3)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from benches.consolidation.snapshots import of_memories
from hypothesis import given
from hypothesis import strategies as st

from context_graph.consolidation.finders import salience
from context_graph.consolidation.plan import Prune
from context_graph.consolidation.snapshot import Snapshot
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode

DAY = 86_400_000
NOW = 1_700_000_000_000


def memory(number: int, **fields: Any) -> MemoryNode:
    fields = {"created_at_ms": NOW - 2 * DAY, "last_accessed_ms": NOW - 2 * DAY, **fields}
    return MemoryNode(id=UUID(int=number + 1), content="ok", rationale="kept for a test", **fields)


def chosen(
    snap: Snapshot, *, score: float = 0.1, threshold: float = 0.3, taken: tuple[int, ...] = ()
) -> list[int]:
    found = salience.prunes(snap, np.full(len(snap), score), threshold, set(taken), NOW)
    return [prune.id.int - 1 for prune in found]


def test_what_is_below_the_threshold_goes_and_what_is_at_it_stays() -> None:
    snap = of_memories([memory(0), memory(1), memory(2)])
    scores = np.array([0.29, 0.3, 0.31])
    assert salience.prunes(snap, scores, 0.3, set(), NOW) == [Prune(UUID(int=1), 0.29)]
    assert salience.prunes(snap, scores, 0.0, set(), NOW) == []
    assert len(salience.prunes(snap, scores, 1.0, set(), NOW)) == 3


@pytest.mark.parametrize(
    ("fields", "goes"),
    [
        ({"pinned": True}, False),
        ({"importance": 0.8}, False),
        ({"importance": 0.79}, True),
        ({"created_at_ms": NOW - DAY + 1}, False),
        ({"created_at_ms": NOW - DAY}, True),
        ({"created_at_ms": NOW + DAY}, False),
        ({"source": "capture"}, True),
    ],
)
def test_guards(fields: dict[str, Any], goes: bool) -> None:
    assert chosen(of_memories([memory(0, **fields)])) == [0] * goes


def test_what_a_session_used_stays() -> None:
    nodes = [memory(n) for n in range(3)]
    assert chosen(of_memories(nodes, used={nodes[1].id: 1})) == [0, 2]


@pytest.mark.parametrize(("count", "goes"), [(0, True), (1, False), (2, False)])
def test_an_edge_of_either_direction_keeps_a_memory(count: int, goes: bool) -> None:
    nodes = [memory(n) for n in range(4)]
    ends = [(0, n) if n % 2 else (n, 0) for n in range(1, count + 1)]
    edges = [
        GraphEdge(id=UUID(int=90 + n), source_id=nodes[one].id, target_id=nodes[other].id)
        for n, (one, other) in enumerate(ends)
    ]
    assert (0 in chosen(of_memories(nodes, edges))) is goes


def test_what_a_merge_has_its_hands_on_is_left_alone() -> None:
    snap = of_memories([memory(n) for n in range(4)])
    assert chosen(snap, taken=(1, 3)) == [0, 2]


def test_nothing_is_no_error_and_wrong_input_is() -> None:
    assert chosen(of_memories([])) == []
    snap = of_memories([memory(0)])
    with pytest.raises(ValueError, match="2 scores for 1"):
        salience.prunes(snap, np.zeros(2), 0.3, set(), NOW)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            salience.prunes(snap, np.zeros(1), wrong, set(), NOW)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans(), st.integers(0, 3 * DAY)), max_size=12
    ),
    st.floats(0, 1),
)
def test_nothing_guarded_is_ever_chosen_and_a_higher_threshold_chooses_no_less(
    given: list[tuple[float, float, bool, int]], threshold: float
) -> None:
    snap = of_memories(
        [
            memory(n, importance=importance, pinned=pinned, created_at_ms=NOW - age)
            for n, (_, importance, pinned, age) in enumerate(given)
        ]
    )
    scores = np.array([score for score, *_ in given])
    found = salience.prunes(snap, scores, threshold, set(), NOW)
    for prune in found:
        score, importance, pinned, age = given[prune.id.int - 1]
        assert prune.salience == score < threshold
        assert importance < 0.8 and not pinned and age >= DAY
    assert set(found) <= set(salience.prunes(snap, scores, 1.0, set(), NOW))
