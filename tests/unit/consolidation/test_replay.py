"""Replay and amortised shortcuts: pure functions of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from uuid import UUID

import numpy as np
import pytest
from benches.consolidation.snapshots import of_memories

from context_graph.consolidation.finders import replay
from context_graph.consolidation.snapshot import Snapshot
from context_graph.memory.embed import default_provider
from context_graph.model.edge import GraphEdge, TraversedPath
from context_graph.model.memory import MemoryNode

NOW = 1_800_000_000_000
DAY = 86_400_000


def memory(number: int, text: str = "", **given: float) -> MemoryNode:
    content = text or f"memory number {number}"
    fields = {"created_at_ms": NOW, "last_accessed_ms": NOW, **given}
    return MemoryNode(
        id=UUID(int=number),
        content=content,
        rationale="kept because a test needs it",
        embedding=default_provider().encode(content).embedding,
        **fields,  # type: ignore[arg-type]
    )


def edge(source: int, target: int, kind: str = "related_to", **given: float) -> GraphEdge:
    return GraphEdge(
        id=UUID(int=1000 * source + target),
        source_id=UUID(int=source),
        target_id=UUID(int=target),
        relationship_type=kind,
        **given,  # type: ignore[arg-type]
    )


# Replay


def test_edges_between_used_memories_grow_and_others_decay() -> None:
    used, idle = [memory(n, access_count=9, importance=1.0) for n in (1, 2)], [memory(3), memory(4)]
    edges = [edge(1, 2), edge(3, 4), edge(1, 3)]
    found = {change.edge: change for change in replay.reweigh(of_memories([*used, *idle], edges))}
    phi = 9 / 12
    assert found[edges[0].id].after == pytest.approx(0.5 * 0.999 + 0.01 * phi * phi)
    assert found[edges[0].id].after > 0.5
    for quiet in edges[1:]:
        assert (found[quiet.id].before, found[quiet.id].after) == (0.5, pytest.approx(0.4995))


def test_activity_of_a_tenth_fires_not_at_all() -> None:
    # 3 uses at half importance are 0.375, halved each week: after two weeks 0.094.
    def phi(weeks: float) -> float:
        nodes = [memory(1), memory(2, access_count=3, last_accessed_ms=int(NOW - weeks * 7 * DAY))]
        return float(replay.activity(of_memories(nodes))[1])

    assert phi(0) == pytest.approx(0.375)
    assert phi(1) == pytest.approx(0.1875)
    assert phi(2) < replay.ACTIVE < phi(1.8)


def test_only_the_hundred_most_recently_used_are_replayed() -> None:
    nodes = [memory(n + 1, last_accessed_ms=NOW - n * DAY, access_count=5) for n in range(150)]
    edges = [edge(n, n + 1) for n in range(1, 150)]
    changed = {change.edge for change in replay.reweigh(of_memories(nodes, edges))}
    assert changed == {one.id for one in edges[:99]}


def test_a_weight_at_the_floor_stays_there_and_what_did_not_change_is_not_told() -> None:
    snap = of_memories([memory(1), memory(2)], [edge(1, 2, weight=0.05)])
    assert replay.reweigh(snap) == []
    assert replay.reweigh(of_memories([memory(1)])) == []
    assert replay.reweigh(of_memories([])) == []


def test_edges_of_memories_that_do_not_remain_are_left_alone() -> None:
    snap = of_memories([memory(n) for n in (1, 2, 3)], [edge(1, 2), edge(2, 3)])
    assert [change.edge for change in replay.reweigh(snap, rows=[1, 2])] == [edge(2, 3).id]


# Shortcuts


def chain(count: int = 4, weight: float = 0.8, **given: float) -> tuple[list[MemoryNode], list[GraphEdge]]:
    numbers = range(1, count + 1)
    edges = [edge(one, other, "leads_to", weight=weight, **given) for one, other in pairwise(numbers)]
    return [memory(n) for n in numbers], edges


def path(*numbers: int, traversals: int = 5, confidence: float = 1.0) -> TraversedPath:
    return TraversedPath(tuple(UUID(int=n) for n in numbers), traversals, confidence, NOW)


def made(paths: Sequence[TraversedPath], **given: float) -> list[tuple[int, int, float, float]]:
    found = replay.shortcuts(of_memories(*chain(**given), paths=paths))
    assert all(link.shortcut and link.why == "shortcut" for link in found)
    return [(link.source.int, link.target.int, link.weight, link.confidence) for link in found]


def test_three_hops_taken_five_times_become_one_of_the_product_of_weights() -> None:
    assert made([path(1, 2, 3, 4)]) == [(1, 4, pytest.approx(0.8**3), 1.0)]
    assert made([path(1, 2, 3, 4, confidence=0.7)]) == [(1, 4, pytest.approx(0.8**3), 0.7)]
    snap = of_memories(*chain(), paths=[path(1, 2, 3, 4)])
    assert replay.shortcuts(snap)[0].path == tuple(UUID(int=n) for n in (1, 2, 3, 4))


def test_fewer_hops_or_times_or_less_confidence_make_none() -> None:
    assert made([path(1, 2, 3)]) == []
    assert made([path(1, 2, 3, 4, traversals=4)]) == []
    assert made([path(1, 2, 3, 4, confidence=0.69)]) == []
    assert made([path(1, 2, 3, 4)], confidence=0.69) == []


def test_whoever_went_on_went_the_shorter_way_too() -> None:
    paths = [path(1, 2, 3, 4, traversals=3), path(1, 2, 3, 4, 5, traversals=2)]
    assert made(paths, count=5) == [(1, 4, pytest.approx(0.8**3), 1.0)]


def test_no_shortcut_beside_an_edge_or_along_one_that_is_gone() -> None:
    nodes, edges = chain()
    taken = [path(1, 2, 3, 4)]
    assert replay.shortcuts(of_memories(nodes, [*edges, edge(1, 4)], paths=taken)) == []
    assert replay.shortcuts(of_memories(nodes, edges[:2], paths=taken)) == []
    assert replay.shortcuts(of_memories(nodes[:3], edges, paths=taken)) == []
    assert replay.shortcuts(of_memories(nodes, edges, paths=taken), rows=[0, 1, 3]) == []
    assert len(replay.shortcuts(of_memories(nodes, [*edges, edge(4, 1)], paths=taken))) == 1


def test_the_snapshot_is_not_changed() -> None:
    snap: Snapshot = of_memories(*chain(), paths=[path(1, 2, 3, 4)])
    before = snap.links.weight.copy()
    replay.reweigh(snap)
    replay.shortcuts(snap)
    assert np.array_equal(before, snap.links.weight)
