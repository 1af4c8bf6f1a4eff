"""A recall with a floor finds nothing where nothing fits, and keeps what does, in stores of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from context_graph import Memex
from context_graph.errors import InvalidParamsError
from context_graph.model.memory import MIN_RELEVANCE

WANTED = "The invoice exporter writes its CSV to /srv/billing/out.csv, and Zubrowska reviews it"
TOPICS = ("scheduler", "login form", "search index", "mail template", "upload worker", "cache layer")
ASKED = [
    "where does the invoice exporter write its CSV?",
    "Zubrowska",
    "/srv/billing/out.csv",
    "who reviews the invoice exporter?",
]
FOREIGN = [
    "!!!",
    "?? -- ;;",
    "xqzvk wpfjt",
    "hgfdsa",
    "Kq7ZbT9wXe",
    "snorbal grivvet plimmoth",
    "How do alpacas keep warm on a glacier?",
    "Which violinist premiered the Sibelius concerto?",
    "Wie lange muss ein Hefezopf im Ofen bleiben?",
]


@pytest.fixture(scope="module", params=[1, 3, 20, 500])
def memex(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memex]:
    folder: Path = tmp_path_factory.mktemp("store")
    others = [
        f"The {TOPICS[n % 6]} was changed in release {n}: it retries {n % 7} times" for n in range(1, 500)
    ]
    texts = [WANTED, *others][: request.param]
    with Memex.open(folder) as opened:
        opened.store_many([{"content": one, "rationale": "kept to be asked for"} for one in texts])
        yield opened


@pytest.mark.parametrize("query", ASKED)
def test_what_the_store_holds_is_found(memex: Memex, query: str) -> None:
    found = memex.recall(query, floor=MIN_RELEVANCE).nodes
    assert found and found[0].node.content == WANTED and found[0].score >= MIN_RELEVANCE


@pytest.mark.parametrize("query", FOREIGN)
def test_what_no_memory_answers_finds_nothing(memex: Memex, query: str) -> None:
    assert memex.recall(query, floor=MIN_RELEVANCE).nodes == []
    assert memex.inject(query).nodes == ()


def test_a_floor_of_0_shows_the_best_in_any_case(memex: Memex) -> None:
    query = "Which exporter premiered the Sibelius concerto?"
    shown = memex.recall(query, floor=0.0).nodes
    assert shown and shown[0].node.content == WANTED
    assert memex.recall(query, floor=min(1.0, shown[0].score + 0.01)).nodes == []


def test_a_floor_beyond_1_is_refused(memex: Memex) -> None:
    with pytest.raises(InvalidParamsError, match="min_relevance"):
        memex.recall("exporter", floor=1.5)
