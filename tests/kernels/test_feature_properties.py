"""Compiled and reference features and goals agree within 1e-5 on whatever hypothesis can think of."""

from __future__ import annotations

import math
from array import array
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import (
    features as _reference_features,
)
from tests.oracles import (
    goals as _reference_goals,
)
from tests.oracles import (
    purpose as _reference_purpose,
)
from tests.support.agent_events import LABELS, SHADER, TARIFF
from tests.support.examples import examples

from context_graph.identity.ego import _CODING, SPACES
from context_graph.text.english import HEADS, WORK_WORDS

features = import_module("context_graph.kernels.features")
goals = import_module("context_graph.kernels.goals")
purpose = import_module("context_graph.kernels.purpose")

TOLERANCE = 1e-5

# Pieces that meet every branch of the scanner, between text of any kind.
PIECES = st.sampled_from(
    [
        b"def ",
        b"import\t",
        b"class\n",
        b"fooBar",
        b"HTTPServer",
        b"snake_case",
        b"__init__",
        b"a/b/c.py",
        b"../x",
        b"//",
        b".gitignore",
        b"self.mask.data",
        b"the ",
        b" ",
        b"\n",
        b".",
        b"3rd",
        "é".encode(),
        "—".encode(),
        "税率。".encode(),
        "🙂".encode(),
        b"\xff",
        b"\xe2\x80",
        b"A",
        b"~@+-",
        b"a" * 70,
    ]
)
texts = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(PIECES, max_size=60).map(b"".join),
)


@pytest.fixture(scope="module")
def pair() -> tuple[Any, Any]:
    """(compiled, reference) features of the same vocabulary; scanned over and over."""
    return (
        features.EventFeatures(WORK_WORDS, HEADS),
        _reference_features.EventFeatures(WORK_WORDS, HEADS),
    )


def goal_pair() -> tuple[Any, Any]:
    rows = bytes(features.BAGS.index(space.bag) for space in SPACES)
    kinds = bytes(space.kind for space in SPACES)
    shares = array("d", [space.share for space in SPACES])
    return goals.GoalVectors(rows, kinds, shares), _reference_goals.GoalVectors(rows, kinds, shares)


def assert_same_bags(mine: Any, twin: Any) -> None:
    assert list(mine.counts) == list(twin.counts)
    for row, count in enumerate(mine.counts):
        start, end = row * features.BUCKETS, row * features.BUCKETS + count
        assert mine.buckets[start:end] == twin.buckets[start:end], features.BAGS[row]
        for a, b in zip(mine.values[start:end], twin.values[start:end], strict=True):
            assert math.isclose(a, b, abs_tol=TOLERANCE), features.BAGS[row]


@given(given_text=texts, output=texts)
@settings(max_examples=examples(500), deadline=None)
def test_any_bytes_give_the_same_bags(pair, given_text: bytes, output: bytes) -> None:
    mine, twin = pair
    mine.scan(given_text, output)
    twin.scan(given_text, output)
    assert_same_bags(mine, twin)
    for row, count in enumerate(mine.counts):
        values = mine.values[row * features.BUCKETS :][:count]
        assert all(0.0 < value <= 1.0 + TOLERANCE for value in values)
        assert count == 0 or math.isclose(math.hypot(*values), 1.0, abs_tol=TOLERANCE)


@given(events=st.lists(st.tuples(texts, texts, st.booleans()), min_size=1, max_size=12), again=st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_any_events_give_the_same_likeness_in_range(pair, events, again: bool) -> None:
    mine, twin = pair
    ours, theirs = goal_pair()
    left, right, sure, too = (array("d", [0.0] * 13) for _ in range(4))
    for given_text, output, prompt in events * (1 + again):
        mine.scan(given_text, output)
        twin.scan(given_text, output)
        ours.measure(mine, left, sure)
        theirs.measure(twin, right, too)
        for a, b in zip(left, right, strict=True):
            assert math.isnan(a) == math.isnan(b)
            assert math.isnan(a) or (math.isclose(a, b, abs_tol=TOLERANCE) and 0.0 <= a <= 1.0)
        assert sure == too
        assert all(0.0 <= value < 1.0 for value in sure)
        ours.absorb(mine, prompt)
        theirs.absorb(twin, prompt)
    assert ours.counts() == theirs.counts()


def test_agent_sessions_give_the_same_bags_likeness_and_bytes(pair) -> None:
    mine, twin = pair
    ours, theirs = goal_pair()
    left, right, sure, too = (array("d", [0.0] * 13) for _ in range(4))
    for event in (TARIFF + LABELS + SHADER) * 3:
        for side in pair:
            side.scan(event.input_text.encode(), event.output_text.encode())
        assert_same_bags(mine, twin)
        ours.measure(mine, left, sure)
        theirs.measure(twin, right, too)
        for a, b in zip(left, right, strict=True):
            assert math.isclose(a, b, abs_tol=TOLERANCE) or (math.isnan(a) and math.isnan(b))
        ours.absorb(mine, event.tool_name == "")
        theirs.absorb(twin, event.tool_name == "")
    exchanged, _ = goal_pair()
    exchanged.load_bytes(theirs.to_bytes())
    assert exchanged.to_bytes() == theirs.to_bytes()


thirteen = st.lists(st.floats(0, 1), min_size=13, max_size=13)
positive = st.lists(st.floats(0.01, 3), min_size=13, max_size=13)
signed = st.lists(st.floats(-1, 1), min_size=13, max_size=13)


@given(
    like=st.lists(st.floats(0, 1) | st.just(math.nan), min_size=13, max_size=13),
    sure=thirteen,
    on=positive,
    middle=thirteen,
    weight=positive,
    m=signed,
    level=thirteen,
    ego=signed,
    share=st.floats(0, 1),
)
@settings(max_examples=examples(300), deadline=None)
def test_any_comparison_gives_the_same_purpose_in_range(
    like, sure, on, middle, weight, m, level, ego, share
) -> None:
    results = []
    for observe in (purpose.observe, _reference_purpose.observe):
        given_ = [array("d", values) for values in (like, sure, on, middle, weight, _CODING)]
        moved = [array("d", values) for values in (m, level, ego, [0.0] * 13)]
        aligned = observe(*given_, share, *moved)
        assert abs(aligned) <= sum(weight) + 1e-9
        assert all(-1.0 <= value <= 1.0 for value in moved[0])
        results.append([aligned, *(value for values in moved for value in values)])
    assert results[0] == pytest.approx(results[1], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("side", [purpose, _reference_purpose], ids=["compiled", "reference"])
def test_a_purpose_of_another_length_is_refused(side) -> None:
    right = [array("d", [0.5] * 13) for _ in range(5)] + [array("d", _CODING)]
    moved = [array("d", [0.5] * 13) for _ in range(4)]
    names = (
        "likeness",
        "confidence",
        "on",
        "middle",
        "weight",
        "coding",
        "alignment",
        "level",
        "identity",
        "vector",
    )
    for i, name in enumerate(names):
        arguments = [*right, *moved]
        arguments[i] = array("d", [0.5] * 5)
        with pytest.raises(ValueError, match=name):
            side.observe(*arguments[:6], 0.5, *arguments[6:])


@given(spoilt=st.binary(max_size=300), cut=st.integers(0, 3000))
@settings(max_examples=examples(200), deadline=None)
def test_bytes_that_are_no_goals_are_refused_by_both_or_by_neither(pair, spoilt: bytes, cut: int) -> None:
    mine, _ = pair
    ours, theirs = goal_pair()
    mine.scan(b"fix harbor/tariff/parcel_tariff.py", b"class ParcelTariff: quote")
    ours.absorb(mine, True)
    whole = ours.to_bytes()
    for packed in (spoilt, whole[:cut] + spoilt, whole[:cut] + spoilt + whole[cut + len(spoilt) :]):
        outcomes = []
        for side in (ours, theirs):
            try:
                side.load_bytes(packed)
                outcomes.append(side.to_bytes())
            except ValueError:
                outcomes.append(b"refused")
        assert outcomes[0] == outcomes[1]
