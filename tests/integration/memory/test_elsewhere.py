"""Memories of other places are ranked for a question by the measure of this store's own."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.memories import WHY, open_memex
from tests.support.topics import TOPICS, texts_on

from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode

ALL = RecallFilters()


def mixed(each: int, seed: int = 0) -> list[str]:
    """Texts on all topics, by turns."""
    return list(chain.from_iterable(zip(*(texts_on(one, each, seed=seed) for one in TOPICS), strict=True)))


@pytest.fixture
def whole(tmp_path: Path) -> Memex:
    """A store of everything."""
    made = open_memex(tmp_path / "whole")
    made.store_many([{"content": text, "rationale": WHY} for text in mixed(24)])
    return made


def part_of(whole: Memex, folder: Path, without: set[UUID]) -> Memex:
    made = open_memex(folder)
    nodes = [node for node in whole.list(limit=1000).nodes if node.id not in without]
    made.store_many([{"content": node.content, "rationale": WHY} for node in reversed(nodes)])
    return made


def test_what_is_elsewhere_has_nearly_the_relevance_that_it_would_have_here(
    whole: Memex, tmp_path: Path
) -> None:
    """Of the best five for each of twelve questions; and the best of them comes first."""
    asked = [f"which of these: {text}" for text in islice(mixed(1, seed=5), 12)]
    best = {query: whole.recall(query, top_k=5).nodes for query in asked}
    gone = {one.node.id: one.node for found in best.values() for one in found}
    differ = []
    with part_of(whole, tmp_path / "part", set(gone)) as part:
        for query, found in best.items():
            again = part.ranked(query, list(gone.values()), ALL)
            scores = {one.node.id: one.score for one in again}
            differ += [abs(scores[one.node.id] - one.score) for one in found]
            assert again[0].node.id in {one.node.id for one in found[:2]}, query
            assert [one.score for one in again] == sorted(scores.values(), reverse=True)
    assert max(differ) < 0.25 and sorted(differ)[len(differ) // 2] < 0.08, sorted(differ)[-5:]
    whole.close()


def test_what_is_here_or_does_not_pass_the_filters_is_left_out(whole: Memex) -> None:
    here = whole.list(limit=1).nodes[0]
    tagged = MemoryNode(
        id=UUID(int=7),
        content=here.content,
        rationale=WHY,
        created_at_ms=1,
        last_accessed_ms=1,
        tags=("ops",),
    )
    found = whole.ranked(here.content, [here, tagged], ALL)
    assert [one.node.id for one in found] == [tagged.id]
    assert whole.ranked(here.content, [tagged], RecallFilters(tags=("other",))) == []
    assert whole.ranked(here.content, [tagged], RecallFilters(tags=("ops",)))[0].score > 0.5
    whole.close()


def test_an_empty_store_ranks_by_what_it_is_given(tmp_path: Path) -> None:
    """Somebody who has just joined; words of the question still tell."""
    nodes = [
        MemoryNode(id=UUID(int=n + 1), content=text, rationale=WHY, created_at_ms=1, last_accessed_ms=1)
        for n, text in enumerate([*mixed(6), "the capybara keeps the keys of the harbour"])
    ]
    with open_memex(tmp_path / "empty") as empty:
        found = empty.ranked("who keeps the keys of the harbour", nodes, ALL)
        assert found[0].node.content.startswith("the capybara") and len(found) == len(nodes)
        assert empty.ranked("who keeps the keys of the harbour", [], ALL) == []
        sought = empty.sought("capybara harbour")
        assert len(sought.terms) == len(sought.weights) >= 2 and any(sought.vector)
        assert sorted(sought.weights, reverse=True) == sought.weights
