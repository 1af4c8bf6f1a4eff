"""A query that asks for nothing the store could know finds nothing; a paraphrase is found all the same."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest
from tests.support.memories import open_memex

from context_graph import Memex
from context_graph.memory.index.blend import asks_nothing

FACTS = (
    "Staging listens on 8443",
    "The car was repaired on Monday",
    "The office is in Berlin",
    "Kids play soccer on Sunday",
    "The vendor was paid in euros",
    "The database is Postgres",
    "Backups go to the bucket acme-backups every night",
    "Line length is 110 characters",
    "Anna owns the billing service",
    "東京のサーバーは金曜日に更新されます",
)
PARAPHRASES = (
    ("when did the automobile get fixed", 1),
    ("city of our workplace", 2),
    ("children sport weekend football", 3),
    ("which currency did the supplier get", 4),
    ("what sql storage engine do we have", 5),
)


@pytest.fixture(scope="module")
def memex(tmp_path_factory: pytest.TempPathFactory) -> Memex:
    made = open_memex(tmp_path_factory.mktemp("facts"))
    made.store_many([{"content": text, "rationale": "kept for a test"} for text in FACTS])
    return made


def gibberish(rng: random.Random) -> str:
    words = (
        "".join(rng.choices(string.ascii_lowercase, k=rng.randint(4, 9))) for _ in range(rng.randint(1, 4))
    )
    return " ".join(words)


@pytest.mark.parametrize(
    "query",
    [
        *("!!!", "?", "... --- ...", "()[]{}", "“”", "👍", "🎉 🚀", " "),
        *("the of and", "what is it", "to be or not to be", "and then", "WHO ARE YOU", "from by with"),
        *("asdf qwer zxcv", "hjkl", "sdfsdf sdfsdf", "flibbertigibbet wumpus", "frobnitz", "snorkack blarf"),
        *(gibberish(random.Random(seed)) for seed in range(30)),
    ],
)
def test_nonsense_finds_nothing(memex: Memex, query: str) -> None:
    assert memex.recall(query).nodes == []


@pytest.mark.parametrize(("query", "row"), PARAPHRASES)
def test_a_paraphrase_without_a_shared_word_is_found(memex: Memex, query: str, row: int) -> None:
    assert memex.recall(query).nodes[0].node.content == FACTS[row]


@pytest.mark.parametrize(
    "query",
    [
        "8443",
        "staging?",
        "acme-backups",
        "asdf staging qwer",
        "who owns it: anna",
        "東京のサーバー",
        "金曜日",
    ],
)
def test_one_shared_word_is_enough(memex: Memex, query: str) -> None:
    assert memex.recall(query).nodes


def test_a_query_of_function_words_asks_nothing() -> None:
    assert asks_nothing("") and asks_nothing("is it the other?") and not asks_nothing("is it red?")


def test_a_page_goes_on_after_one_that_had_evidence(memex: Memex, tmp_path: Path) -> None:
    with open_memex(tmp_path) as many:
        many.store_many([{"content": f"shelf {n}", "rationale": "kept for a test"} for n in range(9)])
        first = many.recall("shelf", top_k=5)
        assert len(first.nodes) == 5
        assert len(many.recall("shelf", top_k=5, cursor=first.next_cursor).nodes) == 4
