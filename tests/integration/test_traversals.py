"""Answers count the edges that they were found along, and the paths, on a real store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from tests.memory_support import WHY, open_memex

from context_graph.memory.memex import Memex
from context_graph.store.path_table import MAX_PATHS

CHAIN = (
    "The gateway parses the deploy manifest first",
    "A parsed deploy manifest is checked against the schema",
    "Manifests that pass the schema are signed with the release key",
    "A signed manifest starts the rollout of the gateway",
)


@pytest.fixture
def memex(tmp_path: Path) -> Iterator[Memex]:
    with open_memex(tmp_path / "store") as opened:
        yield opened


def stored(memex: Memex, *contents: str) -> list[UUID]:
    return [memex.store(content, rationale=WHY).id for content in contents]


def chain(memex: Memex, nodes: list[UUID], **given: float) -> list[UUID]:
    return [memex.link(one, other, "leads_to", **given).id for one, other in pairwise(nodes)]


def ask(memex: Memex, query: str = "deploy manifest of the gateway", **given: int) -> None:
    found = memex.recall(query, **given)
    memex.touch([one.node.id for one in found.nodes], found.followed)


def paths(memex: Memex) -> dict[tuple[UUID, ...], tuple[int, float]]:
    with memex._core.turn("get") as core:
        return {path.nodes: (path.traversals, path.confidence) for path in core.store.paths.all()}


def test_an_answer_counts_the_edges_between_its_memories_and_the_path_they_make(memex: Memex) -> None:
    nodes = stored(memex, *CHAIN)
    stored(memex, "Lunch is at noon", "The cat sleeps on the printer")
    edges = chain(memex, nodes)
    log_before = memex._core.store.counters.seq
    for _ in range(3):
        ask(memex)
    assert [edge.traversal_count for edge in memex.all_edges()] == [3, 3, 3]
    assert paths(memex) == {tuple(nodes): (3, 1.0)}
    assert {edge.id for edge in memex.all_edges()} == set(edges)
    assert all(edge.last_traversed_ms > edge.created_at_ms - 1 for edge in memex.all_edges())
    assert memex._core.store.counters.seq == log_before  # a use is no change of what is known


def test_it_survives_closing_and_the_least_confidence_stays(tmp_path: Path) -> None:
    with open_memex(tmp_path / "store") as memex:
        nodes = stored(memex, *CHAIN)
        chain(memex, nodes)
        memex.link(nodes[1], nodes[2], "leads_to", confidence=0.4)
        ask(memex)
        memex.link(nodes[1], nodes[2], "leads_to", confidence=0.9)
    with open_memex(tmp_path / "store") as memex:
        ask(memex)
        assert paths(memex) == {tuple(nodes): (2, 0.4)}


def test_what_is_not_in_the_answer_was_not_traversed(memex: Memex) -> None:
    nodes = stored(memex, *CHAIN)
    chain(memex, nodes)
    ask(memex, top_k=1)
    assert [edge.traversal_count for edge in memex.all_edges()] == [0, 0, 0]
    ask(memex, top_k=3)
    assert sum(edge.traversal_count for edge in memex.all_edges()) <= 2
    assert paths(memex) == {}


def test_a_traversal_that_nobody_judged_leaves_the_reward_alone(memex: Memex) -> None:
    nodes = stored(memex, *CHAIN[:2])
    edge = memex.link(nodes[0], nodes[1])
    memex.traverse([edge.id], 0.5)
    ask(memex)
    (after,) = memex.edges(nodes[0])
    assert (after.traversal_count, after.steering_reward) == (2, pytest.approx(0.45))


def test_an_injection_counts_what_it_shows(memex: Memex) -> None:
    nodes = stored(memex, *CHAIN)
    chain(memex, nodes)
    found = memex.inject("deploy manifest of the gateway", priority="critical")
    memex.touch(found.node_ids, found.followed)
    assert set(nodes) == set(found.node_ids)
    assert paths(memex) == {tuple(nodes): (1, 1.0)}


def test_an_edge_that_was_taken_out_meanwhile_is_passed_over(memex: Memex) -> None:
    nodes = stored(memex, *CHAIN)
    edges = chain(memex, nodes)
    found = memex.recall("deploy manifest of the gateway")
    memex.unlink(edges[1])
    memex.touch([one.node.id for one in found.nodes], found.followed)
    assert sorted(edge.traversal_count for edge in memex.all_edges()) == [1, 1]
    assert paths(memex) == {}


def test_paths_are_bounded_and_those_taken_least_go_first(memex: Memex) -> None:
    nodes = stored(memex, *CHAIN)
    chain(memex, nodes)
    for _ in range(2):
        ask(memex)
    store = memex._core.store
    batch = store._engine.batch()
    for number in range(MAX_PATHS + 100):
        store.paths.note(batch, [UUID(int=4 * number + i) for i in range(4)], 1.0, number)
        store._engine.write(batch)
        batch = store._engine.batch()
    kept = paths(memex)
    assert MAX_PATHS // 2 <= len(kept) <= MAX_PATHS
    assert kept[tuple(nodes)][0] == 2
