"""Each of the thirteen spaces tells apart texts that differ in its own respect, and only in that."""

from __future__ import annotations

import math
from array import array
from itertools import pairwise

import pytest

from context_graph.memory.embed import default_provider
from context_graph.model.spaces import DIM, EMBEDDING_BYTES, SIZES, SLICES, SPACES, WEIGHTS, space_vector

TEXT = (
    "I am glad we fixed get_user_name() on Monday because it was broken; if it fails again, we want an "
    "honest, elegant solution instead."
)


def cosine(a: str, b: str, space: str) -> float:
    """Of two texts in one space; 0 where one of them says nothing in it."""
    x, y = (space_vector(default_provider().encode(text).embedding, space) for text in (a, b))
    length = math.sqrt(sum(v * v for v in x) * sum(v * v for v in y))
    return sum(v * w for v, w in zip(x, y, strict=True)) / length if length else 0.0


def test_the_layout_is_that_of_the_decisions() -> None:
    """REQ-CORE-001, D4.1, D4.2: names, weights and slices in order; 1536 dimensions."""
    assert SIZES == (256, 32, 128, 96, 64, 64, 192, 128, 96, 128, 32, 192, 128)
    assert sum(SIZES) == DIM == 1536
    assert sum(WEIGHTS) == pytest.approx(1.0)
    assert len(SPACES) == len(WEIGHTS) == 13
    assert all(a.stop == b.start for a, b in pairwise(SLICES.values()))


def test_a_product_of_embeddings_is_the_weighted_mean_of_thirteen_cosines() -> None:
    """D4.2: each slice has length sqrt(weight), so any space can be cut out again."""
    other = (
        "We were sad on Friday since foo_bar failed; I would like a beautiful, fair fix, else run it again."
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
    for space in ("Temporal", "Causal", "Counterfactual", "Moral", "Code", "Teleological"):
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
            "Counterfactual",
            "If we had tested it, it would not have crashed",
            "If they had asked, he would have helped",
            "We tested it and it did not crash",
        ),
        (
            "Counterfactual",
            "Use Postgres instead of SQLite",
            "Take the train rather than the car",
            "Use Postgres with SQLite",
        ),
        (
            "Moral",
            "He lied and stole from the poor",
            "She cheated and betrayed her friends",
            "He was honest and generous to the poor",
        ),
        (
            "Aesthetic",
            "The garden is beautiful and elegant",
            "A lovely, graceful design",
            "The garden is ugly and messy",
        ),
        ("Teleological", "I want to learn the piano", "My goal is to learn the piano", "I learned the piano"),
        ("Teleological", "Fix the login bug", "We need to fix the login bug", "They want to visit Rome"),
        ("Contextual", "the dog bit the man", "a dog bit a man", "the man bit the dog"),
        ("Structural", "- milk\n- eggs\n- bread", "* red\n* green\n* blue", "milk and eggs and bread"),
        (
            "Structural",
            "What is the capital of France?",
            "Who wrote this book?",
            "Paris is the capital of France.",
        ),
        (
            "Structural",
            "```\nx = foo(1)\ny = bar(2)\n```",
            "```\nreturn a[0];\nint b = 3;\n```",
            "We set x to foo of one, and y to bar of two.",
        ),
        (
            "Behavioral",
            "She ran the tests and committed the code",
            "He executes a script and stores it",
            "The code of the tests is long",
        ),
        ("Behavioral", "We hiked and swam", "They went walking and climbing", "We bought and sold stocks"),
        (
            "Emotional",
            "I am so happy and excited today",
            "We were delighted and glad",
            "I am so sad and angry today",
        ),
        ("Emotional", "I was not happy", "I was sad", "I was happy"),
        (
            "Code",
            "call get_user_name(id) first",
            "getUserName returns the name",
            "call the person by name first",
        ),
        ("Code", "edit src/app/main.py", "open app/main.py", "edit the main application"),
        (
            "SPLADE",
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
        ("Counterfactual", "Use Postgres instead of SQLite", "Use Postgres with SQLite"),
        ("Contextual", "the dog bit the man", "the man bit the dog"),
        ("Emotional", "I was not happy", "I was happy"),
    ],
)
def test_a_space_sees_what_the_topic_hides(space: str, text: str, unlike: str) -> None:
    """Same words, near enough: alike in meaning as a whole, unlike in this respect."""
    assert cosine(text, unlike, "Semantic") > 0.8
    assert cosine(text, unlike, space) < 0.5


def test_an_embedding_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="6144 bytes, got 3"):
        space_vector(b"abc", "Semantic")
