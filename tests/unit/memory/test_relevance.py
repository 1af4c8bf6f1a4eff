"""How relevant a memory must be to be brought unasked: in young stores, in grown ones, for long memories."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.memories import open_memex

from context_graph import Memex
from context_graph.memory.context.relevance import Asked, floor_of
from context_graph.memory.embed import default_provider

FACT = "Staging listens on 8443"


def relevance(memex: Memex, prompt: str) -> dict[str, float]:
    asked = Asked(prompt, default_provider(), memex.count())
    found = memex.recall(asked.text, top_k=12).nodes
    return {one.node.content: asked.relevance(one.node.content, one.parts) for one in found}


def test_the_floor_falls_in_a_young_store_and_for_short_memories_alone() -> None:
    floors = [floor_of(0.4, memories, FACT) for memories in (1, 20, 60, 200, 5000)]
    assert floors == sorted(floors) and floors[0] == floors[1] < 0.3 and floors[-2] == floors[-1] == 0.4
    assert floor_of(0.4, 2, FACT * 40) == 0.4 > floor_of(0.4, 2, FACT * 15) > floor_of(0.4, 2, FACT)
    assert floor_of(0.0, 2, FACT) == 0.0 and floor_of(1.0, 1000, FACT) == 1.0


@pytest.mark.parametrize("others", [1, 30, 300])
def test_a_request_of_workaday_words_is_no_reason_to_bring_what_shares_them(
    tmp_path: Path, others: int
) -> None:
    """`run the tests` asks for nothing that a memory knows, in a store of any size."""
    with open_memex(tmp_path) as memex:
        texts = [
            FACT,
            "What time works",
            *(f"Shelf {number} holds the red folders" for number in range(others)),
        ]
        memex.store_many([{"content": text, "rationale": "kept for a test"} for text in texts])
        for prompt in ("what time is it", "run the tests", "use a shorter name", "fix the typo in README"):
            for text, score in relevance(memex, prompt).items():
                assert score < floor_of(0.4, memex.count(), text), (prompt, text)
        assert relevance(memex, "is staging up?")[FACT] >= floor_of(0.4, memex.count(), FACT)


def test_relevance_stays_between_0_and_1(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        memex.store_many([{"content": FACT, "rationale": "kept for a test"}])
        for prompt in (FACT, FACT.upper(), "staging " * 80, "8443", "?"):
            assert all(0.0 <= score <= 1.0 for score in relevance(memex, prompt).values())
