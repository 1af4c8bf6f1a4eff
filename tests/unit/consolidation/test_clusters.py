"""Clusters of memories that share rare words (E13), and the graph of neighbours they are cut from."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from tests.support.topics import TOPICS, node_id, snapshot_of, talk, texts_on

from context_graph.consolidation.finders import clusters
from context_graph.consolidation.finders.clusters import (
    Graph,
    cluster_id,
    communities,
    find,
    nearest,
    rarity_weighted,
)
from context_graph.consolidation.finders.words import RareWords
from context_graph.consolidation.plan import Cluster
from context_graph.consolidation.progress import Cancelled

EACH = 16


def planted() -> tuple[list[str], list[str]]:
    """(texts, their topics), shuffled."""
    pairs = [(text, topic) for topic in TOPICS for text in dict.fromkeys(texts_on(topic, EACH))]
    random.Random(5).shuffle(pairs)
    return [text for text, _ in pairs], [topic for _, topic in pairs]


def row_of(member) -> int:
    return (member.int >> 64) - 1


def purity(found: list[Cluster], topics: list[str]) -> float:
    """Share of clustered memories that are in a cluster of mostly their topic."""
    most = sum(max(Counter(topics[row_of(m)] for m in one.members).values()) for one in found)
    return most / max(1, sum(len(one.members) for one in found))


@pytest.fixture
def in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small store compared as a large one is."""
    monkeypatch.setattr(clusters, "EXACT_ROWS", 0)
    monkeypatch.setattr(clusters, "CELL_ROWS", 8)


def test_memories_of_a_topic_come_together_and_of_two_topics_do_not() -> None:
    """Seed 002: clustering by E13 (Terms)."""
    texts, topics = planted()
    found = find(snapshot_of(texts), range(len(texts)))
    assert purity(found, topics) >= 0.97
    assert sum(len(one.members) for one in found) >= 0.8 * len(texts)
    assert {Counter(topics[row_of(m)] for m in one.members).most_common(1)[0][0] for one in found} == set(
        TOPICS
    )


def test_each_cluster_says_what_it_is_about_and_how_close_it_is() -> None:
    texts, topics = planted()
    for one in find(snapshot_of(texts), range(len(texts))):
        topic = Counter(topics[row_of(m)] for m in one.members).most_common(1)[0][0]
        assert set(one.label.split(", ")) & set(TOPICS[topic].split()), f"{one.label!r} for {topic}"
        assert 0.3 < one.coherence <= 1.0
        assert len(one.members) >= clusters.MIN_MEMBERS
        assert one.id == cluster_id(one.members)


def test_no_memory_is_in_two_clusters_and_the_largest_comes_first() -> None:
    texts, _ = planted()
    found = find(snapshot_of(texts), range(len(texts)))
    members = [member for one in found for member in one.members]
    assert len(members) == len(set(members))
    assert [len(one.members) for one in found] == sorted((len(one.members) for one in found), reverse=True)


def test_unrelated_texts_are_no_cluster() -> None:
    """Words drawn at random link here and there; no such chain is a cluster."""
    vocabulary = [word for words in TOPICS.values() for word in words.split()]
    draw = random.Random(3)
    letters = "bcdfghklmnprstvz"
    texts = [
        " ".join("".join(draw.choice(letters) + draw.choice("aeiou") for _ in range(3)) for _ in range(10))
        for _ in range(300)
    ]
    assert len(vocabulary) > 50
    found = find(snapshot_of(texts), range(len(texts)))
    assert sum(len(one.members) for one in found) <= 0.03 * len(texts)


def test_only_the_rows_asked_for_are_looked_at() -> None:
    texts, topics = planted()
    rows = [row for row, topic in enumerate(topics) if topic != "sailing"]
    found = find(snapshot_of(texts), rows)
    assert {row_of(m) for one in found for m in one.members} <= set(rows)
    assert found


def test_the_same_store_has_the_same_clusters_in_every_run() -> None:
    texts, _ = planted()
    assert find(snapshot_of(texts), range(len(texts))) == find(snapshot_of(texts), range(len(texts)))


@pytest.mark.parametrize(
    "texts", [[], ["one memory alone"], ["one", "two"], ["a" * 5] * 3, ["!!!", "???", "..."]]
)
def test_tiny_and_empty_stores_are_no_error(texts: list[str]) -> None:
    found = find(snapshot_of(texts), range(len(texts)))
    assert all(len(one.members) >= clusters.MIN_MEMBERS for one in found)


def test_three_of_a_kind_are_a_cluster_in_a_store_of_ten() -> None:
    texts = [*texts_on("sailing", 1), *talk(6)]
    kind = [
        "The mainsail of the boat was torn at the spinnaker pole",
        "A torn mainsail: the spinnaker pole had chafed it",
        "Spinnaker pole padded, so that the mainsail is not torn again",
    ]
    found = find(snapshot_of(kind + texts), range(len(kind + texts)))
    assert any({node_id(0), node_id(1), node_id(2)} <= set(one.members) for one in found)


def test_cells_find_what_comparing_all_finds(in_cells: None) -> None:
    texts, topics = planted()
    found = find(snapshot_of(texts), range(len(texts)))
    assert purity(found, topics) >= 0.95
    assert sum(len(one.members) for one in found) >= 0.7 * len(texts)


def unit_rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@pytest.mark.parametrize("block", [50, 4_000_000])
@pytest.mark.parametrize(("count", "least"), [(3, 0.0001), (3, 0.4), (40, 0.3), (1, 0.9)])
def test_nearest_is_what_sorting_all_cosines_gives(
    monkeypatch: pytest.MonkeyPatch, block: int, count: int, least: float
) -> None:
    monkeypatch.setattr(clusters, "BLOCK_VALUES", block)
    unit = unit_rows(60, 8)
    cosines = unit.astype(np.float64) @ unit.T.astype(np.float64)
    np.fill_diagonal(cosines, -1.0)
    wanted = set()
    for row in range(60):
        for other in np.argsort(-cosines[row])[:count]:
            if cosines[row, other] >= least:
                wanted.add((min(row, int(other)), max(row, int(other))))
    graph = nearest(unit, count, least)
    assert set(zip(graph.source.tolist(), graph.target.tolist(), strict=True)) == wanted
    assert np.allclose(graph.weight, cosines[graph.source, graph.target], atol=1e-5)


def test_rows_of_zeros_have_no_neighbours() -> None:
    unit = unit_rows(20, 4)
    unit[::2] = 0.0
    graph = nearest(unit, 5, 0.1)
    assert not {row for row in (*graph.source.tolist(), *graph.target.tolist()) if row % 2 == 0}


def test_most_neighbours_are_found_in_cells(in_cells: None) -> None:
    unit = unit_rows(400, 6)
    found = nearest(unit, 5, 0.5)
    pairs = set(zip(found.source.tolist(), found.target.tolist(), strict=True))
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -1.0)
    best = {(min(row, int(o)), max(row, int(o))) for row, o in enumerate(np.argmax(cosines, axis=1))}
    assert len(best & pairs) >= 0.8 * len(best)


def test_the_graph_of_neighbours_is_symmetric_as_rows() -> None:
    starts, targets, weights = nearest(unit_rows(50, 5), 4, 0.2).csr()
    edges = {
        (row, int(targets[at])): float(weights[at])
        for row in range(50)
        for at in range(int(starts[row]), int(starts[row + 1]))
    }
    assert all(edges[other, one] == weight for (one, other), weight in edges.items())


def test_a_chain_is_no_community_and_a_triangle_is() -> None:
    chain = Graph(
        8,
        np.array([0, 1, 2, 4, 4, 5], np.int32),
        np.array([1, 2, 3, 5, 6, 6], np.int32),
        np.array([0.5] * 6, np.float32),
    )
    assert [part.tolist() for part in communities(chain, 0.05)] == [[4, 5, 6]]


def test_words_that_all_texts_share_weigh_less() -> None:
    texts = [f"status report of the build: {text}" for text in planted()[0]]
    space = snapshot_of(texts).space("Terms")
    weighted = rarity_weighted(space)
    assert np.median(weighted @ weighted.T) < 0.7 * np.median(space @ space.T)
    assert np.allclose(np.linalg.norm(weighted, axis=1), 1.0, atol=1e-4)


def test_a_cancelled_run_ends_in_the_middle(in_cells: None) -> None:
    texts, _ = planted()

    def stop(done: int, total: int) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        find(snapshot_of(texts), range(len(texts)), progress=stop)


def test_a_label_has_the_words_that_are_rare_elsewhere() -> None:
    snap = snapshot_of(
        [f"the project needs a {word}" for word in ("keel", "keel", "hull", "mast", "rope", "oar")]
    )
    words = RareWords(snap)
    assert words.terms(["the project needs a keel", "this project needs its keels"])[0] in ("keel", "keels")
    assert words.label([]) == ""
