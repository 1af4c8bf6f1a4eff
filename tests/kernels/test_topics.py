"""Topics of a store, on both implementations; and that the two agree to the last bit."""

from __future__ import annotations

import math
import random
from array import array
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import topics as _reference_topics
from tests.support.examples import examples

COMPILED = import_module("context_graph.kernels.topics")
JOIN = 0.45
SLOTS = 6


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    return COMPILED if request.param == "compiled" else _reference_topics


def embedding(*at: int, noise: float = 0.0, seed: int = 0, splade: int | None = None) -> bytes:
    """An embedding whose Semantic space lies along the given dimensions, with some noise."""
    source = random.Random(seed)
    values = array("f", [noise * source.gauss(0, 1) if i < 256 else 0.0 for i in range(1536)])
    for dimension in at:
        values[dimension] += 1.0
    if splade is not None:
        values[1408 + splade] = 1.0
    return values.tobytes()


def vector(*at: int, **how) -> bytes | None:
    """The same as a topic counts it."""
    return COMPILED.pack(embedding(*at, **how), b"")


NOTHING = None


def node(number: int) -> bytes:
    return number.to_bytes(16, "big")


def add(topics, number: int, what: bytes | None) -> int:
    slot = -1 if what is None else topics.place(what)[0]
    return topics.add(node(number), slot, what)


def filled(module: ModuleType, vectors: list[bytes | None], capacity: int = 16):
    topics = module.Topics(capacity, JOIN)
    for number, what in enumerate(vectors):
        add(topics, number, what)
    return topics


def sizes(topics, capacity: int = 16) -> dict[int, int]:
    """Members of each topic in use, by its slot."""
    return {slot: topics.members(slot) for slot in range(capacity) if topics.members(slot)}


def test_nothing_stored_is_like_nothing(module) -> None:
    topics = module.Topics(16, JOIN)
    assert sizes(topics) == {}
    assert topics.place(vector(1)) == (-1, 0.0, 0, None, 0.0)


def test_a_memory_joins_the_topic_it_is_like_and_starts_one_else(module) -> None:
    topics = filled(module, [vector(1), vector(1, 2)])
    slot, cosine, members, *_ = topics.place(vector(1))
    assert (slot, members) == (0, 2)
    assert cosine == pytest.approx(math.cos(math.pi / 8), abs=1e-3)
    assert topics.place(vector(9))[:3] == (-1, 0.0, 0)
    assert add(topics, 7, vector(9)) == 1


def test_with_every_slot_taken_a_memory_joins_the_nearest(module) -> None:
    topics = filled(module, [vector(1), vector(2)], capacity=2)
    assert topics.place(vector(3, 3, 2))[0] == 1


def test_the_same_text_again_is_found_whatever_lies_between(module) -> None:
    others = [vector(10 + i, noise=0.02, seed=i) for i in range(20)]
    topics = filled(module, [vector(1, noise=0.02, seed=99), *others], capacity=64)
    near, alike = topics.place(vector(1, noise=0.02, seed=99))[3:5]
    assert (near, alike) == (node(0), 1.0)
    assert topics.place(vector(200, noise=0.02, seed=5))[3] is None


def test_a_forgotten_memory_is_no_longer_near_and_counts_nowhere(module) -> None:
    topics = filled(module, [vector(1), vector(2)])
    before = sizes(topics)
    packed = vector(3)
    topics.add(node(9), -1, packed)
    assert node(9) in topics
    assert topics.remove(node(9), packed)
    assert not topics.remove(node(9), packed)
    assert sizes(topics) == before
    assert topics.place(vector(3))[3] is None
    assert node(9) not in topics
    assert topics.slot(node(9)) == -1


def test_what_comes_back_is_as_if_it_had_stayed(module) -> None:
    vectors = [vector(1), vector(1, 2), vector(5)]
    topics = filled(module, vectors)
    before = sizes(topics)
    packed = vectors[1]
    topics.remove(node(1), packed)
    topics.add(node(1), 0, packed)
    assert sizes(topics) == before


@pytest.mark.parametrize("count", [2, 5, 12])
def test_copies_are_one_topic_and_strangers_have_one_each(module, count) -> None:
    assert sizes(filled(module, [vector(1)] * count)) == {0: count}
    assert sizes(filled(module, [vector(i) for i in range(count)])) == dict.fromkeys(range(count), 1)


def test_lone_is_who_has_no_topic_mate(module) -> None:
    topics = filled(module, [vector(1), vector(1), vector(2), vector(3), NOTHING])
    assert topics.lone() == [node(2), node(3)]


def test_a_memory_without_a_vector_has_no_topic(module) -> None:
    topics = filled(module, [NOTHING, vector(1)])
    assert node(0) in topics
    assert topics.slot(node(0)) == -1
    assert sizes(topics) == {0: 1}
    assert topics.remove(node(0), None)
    assert node(0) not in topics


def test_what_can_not_be_counted_is_refused(module) -> None:
    topics = filled(module, [vector(1)])
    packed = vector(2)
    with pytest.raises(ValueError, match="counted already"):
        topics.add(node(0), 0, packed)
    with pytest.raises(ValueError, match="16 bytes"):
        topics.add(b"short", 0, packed)
    with pytest.raises(ValueError, match="slot must be in"):
        topics.add(node(2), 16, packed)
    with pytest.raises(ValueError, match="packed must have"):
        topics.add(node(2), 0, b"short")
    with pytest.raises(ValueError, match="what the node was added with"):
        topics.remove(node(0), None)
    with pytest.raises(ValueError, match="packed must have"):
        topics.place(b"short")
    with pytest.raises(ValueError, match="packed must have"):
        module.mean_cosine([packed, b"short"])
    for capacity, join in ((0, 0.5), (5000, 0.5), (4, 1.5), (4, math.nan)):
        with pytest.raises(ValueError, match="must be in"):
            module.Topics(capacity, join)


def test_what_was_written_reads_back_equal_and_damage_changes_nothing(module) -> None:
    topics = filled(module, [vector(i % 3, noise=0.02, seed=i) for i in range(9)] + [NOTHING])
    packed = topics.to_bytes()
    again = module.Topics(16, JOIN)
    again.load_bytes(packed)
    assert sizes(again) == sizes(topics)
    assert again.to_bytes() == packed
    assert again.place(vector(1)) == topics.place(vector(1))
    for damaged in (b"", packed[:-1], b"XXXX" + packed[4:], packed + b"\0"):
        with pytest.raises(ValueError, match="not the bytes of topics"):
            again.load_bytes(damaged)
    assert again.to_bytes() == packed
    with pytest.raises(ValueError, match="not the bytes of topics"):
        module.Topics(1, JOIN).load_bytes(packed)


def test_mean_cosine_of_copies_strangers_and_too_few(module) -> None:
    assert module.mean_cosine([vector(1)] * 4) == pytest.approx(1.0)
    assert module.mean_cosine([vector(i) for i in range(4)]) == 0.0
    assert module.mean_cosine([vector(1), vector(1, 2)]) == pytest.approx(math.sqrt(0.5), abs=1e-3)
    assert module.mean_cosine([vector(1)]) == module.mean_cosine([]) == 0.0


def test_likeness_begins_where_unrelated_texts_end(module) -> None:
    assert [module.likeness(cosine) for cosine in (-1.0, 0.1, 1.0)] == [0.0, 0.0, 1.0]
    assert 0.0 < module.likeness(0.3) < module.likeness(0.5) < 0.5


def test_what_all_texts_share_is_taken_away_before_they_are_compared(module) -> None:
    shared = array("f", [1.0 if i == 7 else 0.0 for i in range(256)]).tobytes()
    one, other = embedding(7, 7, 1), embedding(7, 7, 2)
    assert module.mean_cosine([module.pack(one, b""), module.pack(other, b"")]) == pytest.approx(
        0.8, abs=1e-3
    )
    assert module.mean_cosine([module.pack(one, shared), module.pack(other, shared)]) == 0.0
    assert module.pack(embedding(7), shared) is None


def test_meaning_and_terms_count_alike(module) -> None:
    packed = [module.pack(embedding(1, splade=3), b""), module.pack(embedding(2, 2, 2, splade=3), b"")]
    assert module.mean_cosine(packed) == pytest.approx(0.5, abs=1e-3)
    assert module.pack(embedding(splade=3), b"") is not None


@pytest.mark.parametrize(
    ("vector", "common"),
    [
        (bytes(100), b""),
        (array("f", [math.nan] * 1536).tobytes(), b""),
        (array("f", [math.inf] * 1536).tobytes(), b""),
        (bytes(6144), bytes(100)),
    ],
)
def test_what_is_no_embedding_is_refused(module, vector, common) -> None:
    with pytest.raises(ValueError, match=r"embedding must|common must"):
        module.pack(vector, common)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=40), st.integers(0, 40))
def test_twins_pack_to_the_same_bytes(values, shift) -> None:
    spread = array("f", [values[(i * 7 + shift) % len(values)] if i % 3 else 0.0 for i in range(1536)])
    common = array("f", [1 / 16.0] * 256).tobytes()
    assert COMPILED.pack(spread, common) == _reference_topics.pack(spread, common)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "restore"]),
        st.integers(0, 11),
    ),
    max_size=60,
)


@settings(max_examples=examples(40), deadline=None)
@given(STEPS)
def test_twins_agree_to_the_last_bit_on_any_history_and_read_each_other(steps) -> None:
    twins = [COMPILED.Topics(SLOTS, JOIN), _reference_topics.Topics(SLOTS, JOIN)]
    vectors = [vector(i % 4, noise=0.05 * (i % 3), seed=i) if i else NOTHING for i in range(12)]
    for what, a in steps:
        answers = [_apply(topics, what, a, vectors) for topics in twins]
        assert answers[0] == answers[1]
        assert sizes(twins[0], SLOTS) == sizes(twins[1], SLOTS)
        assert twins[0].lone() == twins[1].lone()
    assert twins[0].to_bytes() == twins[1].to_bytes()
    loaded = _reference_topics.Topics(SLOTS, JOIN)
    loaded.load_bytes(twins[0].to_bytes())
    assert sizes(loaded, SLOTS) == sizes(twins[1], SLOTS)


def _apply(topics, what: str, a: int, vectors: list[bytes]) -> object:
    if what in ("add", "restore"):
        if node(a) in topics:
            return None
        return add(topics, a, vectors[a]), vectors[a] and topics.place(vectors[a])
    return topics.remove(node(a), vectors[a])
