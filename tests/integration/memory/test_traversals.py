"""Answers count the edges that they were found along, and the paths, on a real store."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected
from tests.support.memories import WHY, open_memex
from tests.support.sessions import context_of, hook, remember

from context_graph.consolidation.consolidate import consolidate
from context_graph.consolidation.plan import Mode
from context_graph.memory.memex import Memex
from context_graph.store.graph.tables import MAX_PATHS

CHAIN = (
    "The gateway parses the deploy manifest first",
    "A parsed deploy manifest is checked against the schema",
    "Manifests that pass the schema are signed with the release key",
    "A signed manifest starts the rollout of the gateway",
)


def stored(memex: Memex, *contents: str) -> list[UUID]:
    return [memex.store(content, rationale=WHY).id for content in contents]


def chain(memex: Memex, nodes: list[UUID], **given: float) -> list[UUID]:
    return [memex.link(one, other, "leads_to", **given).id for one, other in pairwise(nodes)]


def ask(memex: Memex, query: str = "deploy manifest of the gateway", **given: int) -> None:
    found = memex.recall(query, **given)
    memex.touch([one.node.id for one in found.nodes], found.followed)


def paths(memex: Memex) -> dict[tuple[UUID, ...], tuple[int, float]]:
    with memex._core.operation("get") as core:
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


def test_an_edge_passes_on_its_share_of_relevance_and_no_more(memex: Memex) -> None:
    """The end that shares no word with the query is led to: half of the near end's by an edge of weight 1."""
    near, sure, weak = stored(
        memex,
        "The deploy manifest of the gateway is parsed first",
        "Lunch is at noon",
        "The cat sleeps on the printer",
    )
    edges = [memex.link(near, end, "leads_to", weight=weight) for end, weight in ((sure, 1.0), (weak, 0.4))]
    score = {one.node.id: one.score for one in memex.recall("deploy manifest of the gateway").nodes}
    assert score[near] > 0.9
    for end, edge in zip((sure, weak), edges, strict=True):
        assert score[end] == pytest.approx(0.5 * edge.effective_weight() * score[near], rel=1e-3)
    assert 0.0 < score[weak] < 0.5 * score[sure]


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


# In production: what an owner answers to a client


def test_recalls_and_injections_over_mcp_leave_a_path_that_a_dream_shortens(cli: Cli) -> None:
    with connected(cli) as peer:
        nodes = [UUID(peer.store(content, importance=0.7)) for content in CHAIN]
        for source, target in pairwise(nodes):
            peer.ask("link_memories", source_id=str(source), target_id=str(target), weight=0.9)
        for _ in range(4):
            peer.ask("recall_memory", query="deploy manifest of the gateway")
        peer.ask("inject_context", query="deploy manifest of the gateway", priority="critical")
        for node in nodes:
            peer.ask("get_memory", node_id=str(node))  # reaches nothing over an edge
    assert cli.run("owner", "stop").returncode == 0
    (store,) = (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "stores").iterdir()
    with open_memex(store) as memex:
        assert [edge.traversal_count for edge in memex.all_edges()] == [5, 5, 5]
        assert paths(memex) == {tuple(nodes): (5, 1.0)}
        before = {edge.id: edge.weight for edge in memex.all_edges()}
        consolidate(memex, mode=Mode.REM)
        after = {edge.id: edge for edge in memex.all_edges()}
        (shortcut,) = [edge for edge in after.values() if edge.is_amortized_shortcut]
        assert (shortcut.source_id, shortcut.target_id) == (nodes[0], nodes[-1])
        assert shortcut.weight == pytest.approx(0.9**3)
        assert shortcut.metadata["path"] == [str(node) for node in nodes]
        assert all(after[edge].weight > weight for edge, weight in before.items())  # used, so strengthened
        assert all(after[edge].traversal_count == 5 for edge in before)
        consolidate(memex, mode=Mode.REM)
        assert sum(edge.is_amortized_shortcut for edge in memex.all_edges()) == 1


def test_a_prompt_that_shows_both_ends_of_an_edge_traverses_it(cli: Cli) -> None:
    facts = ("Staging listens on port 8443 behind the proxy", "The staging port is opened by the proxy role")
    nodes = [remember(cli, fact) for fact in facts]
    with connected(cli) as peer:
        peer.ask("link_memories", source_id=nodes[0], target_id=nodes[1])
    shown = context_of(
        hook(cli, "prompt-submit", "s-1", prompt="which port does staging listen on behind the proxy?")
    )
    assert all(fact in shown for fact in facts)
    assert cli.run("owner", "stop").returncode == 0
    (store,) = (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "stores").iterdir()
    with open_memex(store) as memex:
        assert [edge.traversal_count for edge in memex.all_edges()] == [1]
