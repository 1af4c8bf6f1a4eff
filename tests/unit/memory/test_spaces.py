"""Each of the thirteen spaces tells apart texts that differ in its own respect, and only in that."""

from __future__ import annotations

import math
from array import array
from itertools import pairwise

import pytest

from context_graph.memory.embed import default_provider
from context_graph.model.spaces import DIM, EMBEDDING_BYTES, SIZES, SLICES, SPACES, WEIGHTS, space_vector

TEXT = (
    "We fixed a KeyError in src/app/names.py on Monday because os.path.join was wrong: "
    "def get_user_name calls read_all()."
)


def cosine(a: str, b: str, space: str) -> float:
    """Of two texts in one space; 0 where one of them says nothing in it."""
    x, y = (space_vector(default_provider().encode(text).embedding, space) for text in (a, b))
    length = math.sqrt(sum(v * v for v in x) * sum(v * v for v in y))
    return sum(v * w for v, w in zip(x, y, strict=True)) / length if length else 0.0


def test_the_layout_is_that_of_the_decisions() -> None:
    """REQ-CORE-001, D4.1, D4.2: names, weights and slices in order; 1536 dimensions."""
    assert SIZES == (256, 32, 128, 128, 96, 96, 96, 128, 96, 128, 96, 128, 128)
    assert sum(SIZES) == DIM == 1536
    assert sum(WEIGHTS) == pytest.approx(1.0)
    assert len(SPACES) == len(WEIGHTS) == 13
    assert all(a.stop == b.start for a, b in pairwise(SLICES.values()))


def test_a_product_of_embeddings_is_the_weighted_mean_of_thirteen_cosines() -> None:
    """D4.2: each slice has length sqrt(weight), so any space can be cut out again."""
    other = (
        "On Friday foo_bar in src/app/main.py failed since sys.path was short; class Names raised a KeyError."
    )
    a, b = (array("f", default_provider().encode(text).embedding) for text in (TEXT, other))
    product = sum(x * y for x, y in zip(a, b, strict=True))
    cosines = [cosine(TEXT, other, space) for space in SPACES]
    assert product == pytest.approx(sum(w * c for w, c in zip(WEIGHTS, cosines, strict=True)), abs=1e-6)


def test_a_text_with_something_of_everything_fills_all_thirteen_spaces() -> None:
    embedding = default_provider().encode(TEXT).embedding
    for space, weight in zip(SPACES, WEIGHTS, strict=True):
        assert sum(v * v for v in space_vector(embedding, space)) == pytest.approx(weight, abs=1e-6), space


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00\u200b"])
def test_a_text_without_tokens_is_all_zeros(text: str) -> None:
    encoded = default_provider().encode(text)
    assert encoded.tokens == 0
    assert encoded.embedding == bytes(EMBEDDING_BYTES)


def test_what_says_nothing_in_a_space_is_zero_there() -> None:
    embedding = default_provider().encode("the green bottle of water").embedding
    for space in ("Temporal", "Causal", "Paths", "Structure", "Files", "Edited", "Seen", "Dotted", "Errors"):
        assert not any(space_vector(embedding, space)), space


@pytest.mark.parametrize(
    ("space", "text", "like", "unlike"),
    [
        # As far as can be the unlike text has the words of the first: what tells them apart is not the topic.
        (
            "Semantic",
            "The cat slept on the sofa",
            "A kitten napped on the couch",
            "Revenue rose by ten percent",
        ),
        (
            "Temporal",
            "We met on a Monday in March",
            "The invoice came in March, on Monday",
            "We met on a Friday in June",
        ),
        ("Temporal", "We meet tomorrow", "The invoice will come soon", "We met yesterday"),
        ("Temporal", "It is due 2024-05-12", "In May 2024 the garden blooms", "It is due 2021-11-12"),
        ("Temporal", "Call me at 7:30 pm", "The bus leaves at 19:00", "Call me at 8:15 am"),
        (
            "Causal",
            "The flood was caused by heavy rain",
            "Heavy rain led to the flood",
            "Heavy rain was caused by the flood",
        ),
        (
            "Causal",
            "It failed because the disk was full",
            "The disk was full, therefore it failed",
            "The disk was full because it failed",
        ),
        (
            "Paths",
            "edit src/app/main.py and its test",
            "the fix is in src/app/main.py",
            "edit src/web/page.py and its test",
        ),
        ("Structure", "billing/tax/rates.py fails", "see billing/tax/vat.py", "garden/plants/rates.py fails"),
        ("Files", "src/zones.py was wrong", "test zones.json", "src/lakes.py was wrong"),
        (
            "Edited",
            "def parse_date(text): pass",
            "from x import y; def parse_date",
            "def parse_name(text): pass",
        ),
        ("Seen", "call get_user_name first", "get_user_name and readAll", "call get_user_age first"),
        ("Dotted", "os.path.join is slow", "use os.path.join", "os.path.split is slow"),
        ("Errors", "it ends in a KeyError", "KeyError: 'name'", "it ends in a ValueError"),
        ("Trigrams", "the tokenizer breaks", "tokenizers break", "a parser of dates fails"),
        (
            "Steps",
            "She ran the tests and committed the code",
            "He executes a script and stores it",
            "The code of the tests is long",
        ),
        ("Steps", "We hiked and swam", "They went walking and climbing", "We bought and sold stocks"),
        (
            "Terms",
            "connection timeout in the gateway",
            "gateway connections: timeouts",
            "the portal lost its link",
        ),
    ],
)
def test_a_space_tells_apart_what_differs_in_its_respect(
    space: str, text: str, like: str, unlike: str
) -> None:
    assert cosine(text, like, space) > cosine(text, unlike, space) + 0.09
    assert cosine(text, like, space) > 0.25


@pytest.mark.parametrize(
    ("space", "text", "unlike"),
    [
        ("Temporal", "We met on a Monday in March", "We met on a Friday in June"),
        ("Causal", "It failed because the disk was full", "The disk was full because it failed"),
        (
            "Errors",
            "The import of the names ends in a KeyError",
            "The import of the names ends in a ValueError",
        ),
    ],
)
def test_a_space_sees_what_the_topic_hides(space: str, text: str, unlike: str) -> None:
    """Same words, near enough: alike in meaning as a whole, unlike in this respect."""
    assert cosine(text, unlike, "Semantic") > 0.8
    assert cosine(text, unlike, space) < 0.5


def test_an_embedding_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="6144 bytes, got 3"):
        space_vector(b"abc", "Semantic")
