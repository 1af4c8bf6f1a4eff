"""The embedder: compiled against its readable twin, texts of 60 and 300 tokens, warm and with unknown words.

.venv/bin/python -m pytest benches/micro/bench_embedding.py --benchmark-only -n 0
"""

from __future__ import annotations

import itertools
from array import array
from importlib import import_module
from typing import Any

import pytest
from tests.kernels.encoders import MODULES, make

SHORT = (
    "Caroline: I went to the support group yesterday and it was so powerful because the stories were "
    "inspiring; I was happy and thankful for all the support. It made me want to keep going and plan my "
    "career, so I'll research some programs tomorrow at 7:30 pm if get_user_name() works."
)
LONG = "\n".join(f"{i}. {SHORT}" for i in range(5))
TEXTS = {"60 tokens": SHORT, "300 tokens": LONG}


@pytest.fixture(params=MODULES, scope="module")
def encoder(request: pytest.FixtureRequest) -> Any:
    return make(import_module(MODULES[request.param]))


@pytest.mark.parametrize("size", TEXTS)
def test_encode(benchmark, encoder, size: str) -> None:
    """All thirteen spaces, terms and pieces of a text whose words are known."""
    benchmark.extra_info["tokens"] = encoder.encode(TEXTS[size]).tokens
    benchmark(encoder.encode, TEXTS[size])


def test_encode_of_unknown_words(benchmark) -> None:
    """As many words, each new: cut and stemmed, not remembered."""
    encoder = make(import_module(MODULES["compiled"]))
    fresh = (" ".join(f"{word}{n}x" for word in SHORT.split()) for n in itertools.count())
    benchmark(lambda: encoder.encode(next(fresh)))


def test_query(benchmark, encoder) -> None:
    counts = array("I", [7] * encoder.vocabulary_size)
    benchmark(
        encoder.query, "When did Caroline go to the support group?", counts, 7 * encoder.vocabulary_size
    )


@pytest.mark.parametrize("size", TEXTS)
def test_count_tokens(benchmark, encoder, size: str) -> None:
    benchmark(encoder.count, TEXTS[size])


def test_cut_tokens(benchmark, encoder) -> None:
    benchmark(encoder.cut, LONG, 200)


def test_load(benchmark) -> None:
    """From the file to the first embedding; the file is in the page cache."""
    from context_graph.memory.embed import StaticProvider

    benchmark(lambda: StaticProvider().encode(SHORT))
