"""Which memories become one, and which of them stays: with real embeddings, on texts whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest
from benches.consolidation.planted import TRAPS, judged, planted
from benches.consolidation.snapshots import of_memories

from context_graph.consolidation.finders import duplicates
from context_graph.consolidation.progress import Cancelled, silent
from context_graph.consolidation.snapshot import Snapshot
from context_graph.memory.embed import default_provider
from context_graph.model.memory import MemoryNode, Modality

DEPLOY = "The deploy of billing-api runs on Jenkins in Frankfurt every night"
SAME = "billing-api's deploy runs on Jenkins in Frankfurt every night."
OTHER = "The deploy of billing-ui runs on Jenkins in Frankfurt every night"


def memory(at: int, text: str, **fields) -> MemoryNode:
    fields = {"created_at_ms": 1000 + at, "last_accessed_ms": 1000 + at, **fields}
    embedding = bytes(default_provider().encode(text).embedding)
    return MemoryNode(
        id=UUID(int=at + 1), content=text, rationale="For a test.", embedding=embedding, **fields
    )


def found(nodes: Sequence[MemoryNode], threshold: float = duplicates.LIGHT):
    merges = duplicates.find(of_memories(nodes), threshold, progress=silent)
    return [(m.survivor.int - 1, [loser.int - 1 for loser in m.losers]) for m in merges]


def test_what_says_the_same_becomes_one() -> None:
    assert found([memory(0, DEPLOY), memory(1, OTHER), memory(2, SAME), memory(3, f"  {DEPLOY}!")]) == [
        (0, [2, 3])
    ]


@pytest.mark.parametrize(
    "better",
    [
        {"pinned": True, "importance": 0.1},
        {"importance": 0.9},
        {"access_count": 5},
        {"created_at_ms": 7},
    ],
)
def test_the_more_important_then_the_more_used_then_the_older_one_stays(better) -> None:
    """D5.2; a pinned memory is never the one that goes."""
    assert found([memory(0, DEPLOY), memory(1, SAME, **better)]) == [(1, [0])]
    assert found([memory(0, DEPLOY, **better), memory(1, SAME)]) == [(0, [1])]


def test_of_two_pinned_memories_none_goes() -> None:
    pinned = [memory(at, DEPLOY, pinned=True) for at in range(2)]
    assert found(pinned) == []
    assert found([*pinned, memory(2, SAME)]) == [(0, [2])]


def test_importance_comes_before_use_and_use_before_age() -> None:
    least = memory(0, DEPLOY, importance=0.4, access_count=9, created_at_ms=1)
    used = memory(1, SAME, access_count=2)
    old = memory(2, SAME, access_count=1, created_at_ms=2)
    assert found([least, used, old]) == [(1, [0, 2])]


@pytest.mark.parametrize(
    "fields", [{"source": "capture"}, {"project": "elsewhere"}, {"modality": Modality.IMAGE}]
)
def test_summaries_and_memories_of_other_projects_and_modalities_are_left_alone(fields) -> None:
    assert found([memory(0, DEPLOY), memory(1, SAME, **fields)]) == []
    assert found([memory(0, DEPLOY, project="one"), memory(1, SAME, project="one")]) == [(0, [1])]


def test_both_the_words_and_the_embeddings_must_agree() -> None:
    """The same words whose vectors are apart, and near vectors of other words."""
    far = memory(1, SAME)
    turned = np.frombuffer(far.embedding or b"", np.float32).copy()
    turned[:256] = np.roll(turned[:256], 1)
    apart = MemoryNode(
        id=far.id, content=SAME, rationale="For a test.", embedding=turned.tobytes(), created_at_ms=1,
        last_accessed_ms=1,
    )  # fmt: skip
    assert found([memory(0, DEPLOY), apart]) == []
    assert found([memory(0, DEPLOY), memory(1, OTHER)], 0.5) == []


def test_a_chain_of_near_memories_ends_where_the_first_is_too_far() -> None:
    """0 and 1 are near, 1 and 2 are near, 0 and 2 are not: 2 is not merged into 0."""
    axis, angle = np.zeros((3, 256), np.float32), 0.25
    for row in range(3):
        axis[row, :2] = np.cos(row * angle), np.sin(row * angle)
    nodes = []
    for row in range(3):
        embedding = np.zeros(1536, np.float32)
        embedding[:256] = axis[row]
        nodes.append(
            MemoryNode(
                id=UUID(int=row + 1),
                content=DEPLOY,
                rationale="For a test.",
                created_at_ms=row,
                last_accessed_ms=row,
                embedding=embedding.tobytes(),
            )
        )
    assert found(nodes, 0.95) == [(0, [1])]
    assert found(nodes, 0.85) == [(0, [1, 2])]


def test_the_similarity_is_that_of_the_least_alike() -> None:
    (merge,) = duplicates.find(
        of_memories([memory(0, DEPLOY), memory(1, DEPLOY), memory(2, SAME)]), 0.9, progress=silent
    )
    one, other = (
        np.frombuffer(memory(0, text).embedding or b"", np.float32)[:256] for text in (DEPLOY, SAME)
    )
    cosine = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    assert merge.similarity == pytest.approx(cosine, abs=1e-6)
    assert merge.similarity < 1.0


def test_empty_stores_and_texts_without_meaning_have_no_duplicates() -> None:
    assert found([]) == []
    assert found([memory(0, DEPLOY)]) == []
    assert found([memory(0, "..."), memory(1, "!!!"), memory(2, "—")]) == []


def test_many_lines_that_differ_in_a_number_alone_are_told_apart_in_one_pass() -> None:
    """All are near each other; each text is read once, not once a pair."""
    nodes = [memory(at, f"build {4000 + at} done") for at in range(400)]
    nodes += [memory(400 + at, "build 4711 done") for at in range(30)]
    snap = of_memories(nodes)
    reads = []
    original = snap.text
    snap.text = lambda row: (reads.append(row), original(row))[1]
    (merge,) = duplicates.find(snap, 0.9, progress=silent)
    assert len(merge.losers) == 29
    assert len(reads) <= len(nodes) + 30


@pytest.fixture(scope="module")
def mixed() -> tuple[list, Snapshot]:
    memories = planted(2500, share=0.1, seed=3)
    return memories, of_memories([memory(at, one.text) for at, one in enumerate(memories)])


@pytest.mark.parametrize("threshold", [duplicates.LIGHT, duplicates.DEEP])
def test_planted_duplicates_are_found_and_traps_are_not(mixed, threshold) -> None:
    memories, snap = mixed
    assert {one.kind for one in memories} >= {f"trap:{kind}" for kind in TRAPS}
    merges = duplicates.find(snap, threshold, progress=silent)
    figures = judged(memories, [(m.survivor.int - 1, [one.int - 1 for one in m.losers]) for m in merges])
    assert figures["traps_merged"] == 0
    assert figures["precision"] == 1.0
    assert figures["recall"] >= 0.95


def test_no_memory_is_in_two_merges(mixed) -> None:
    merges = duplicates.find(mixed[1], duplicates.DEEP, progress=silent)
    ids = [one for merge in merges for one in (merge.survivor, *merge.losers)]
    assert len(ids) == len(set(ids)) > 100


def test_progress_goes_up_to_the_end_and_can_end_the_search(mixed) -> None:
    told: list[float] = []
    duplicates.find(mixed[1], 0.9, progress=lambda done, total: told.append(done / total))
    assert told == sorted(told)
    assert 0.0 < told[0] <= told[-1] <= 1.0

    def stop(done: int, total: int) -> None:
        raise Cancelled("ended")

    with pytest.raises(Cancelled):
        duplicates.find(mixed[1], 0.9, progress=stop)
