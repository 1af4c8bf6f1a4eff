"""Vectors of bytes and their scan, on both implementations."""

from __future__ import annotations

import math
from array import array
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import dense as _reference_dense
from tests.support.examples import examples

compiled = import_module("context_graph.kernels.dense")


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    return compiled if request.param == "compiled" else _reference_dense


def filled(module, *vectors):
    held = module.Vectors(len(vectors[0]))
    for row, vector in enumerate(vectors):
        assert held.append(array("f", vector)) == row
    return held


def scanned(held, query, live=None):
    live = bytearray([1] * len(held)) if live is None else live
    out = array("f", [9.0] * len(held))
    return held.scan(array("f", query), live, out), list(out)


VECTORS = ([1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-1.0, 0.5, 0.25], [0.0, 0.0, 0.0])


def test_scores_are_products_within_the_steps_of_the_bytes(module) -> None:
    (count, mean, deviation), scores = scanned(filled(module, *VECTORS), [0.5, 1.0, -0.25])
    exact = [0.5, 1.1, -0.0625]
    assert scores[:3] == pytest.approx(exact, abs=0.01)
    assert scores[3] == 0.0
    assert count == 3
    assert mean == pytest.approx(sum(scores) / 3, rel=1e-6)
    assert deviation == pytest.approx(math.sqrt(sum((s - mean) ** 2 for s in scores[:3]) / 3), rel=1e-5)


def test_dead_rows_neither_score_nor_count(module) -> None:
    held = filled(module, *VECTORS)
    (count, mean, deviation), scores = scanned(held, [1.0, 0.0, 0.0], bytearray([0, 1, 0, 1]))
    assert (count, deviation) == (1, 0.0)
    assert scores == [0.0, pytest.approx(mean), 0.0, 0.0]
    assert scanned(held, [1.0, 0.0, 0.0], bytearray(4)) == ((0, 0.0, 0.0), [0.0] * 4)


def test_put_writes_rows_in_any_order_and_fills_the_gap_with_empty_ones(module) -> None:
    held = module.Vectors(2)
    held.put(2, array("f", [0.0, 1.0]))
    held.put(0, array("f", [1.0, 0.0]))
    assert scanned(held, [1.0, 2.0])[1] == pytest.approx([1.0, 0.0, 2.0], abs=0.01)
    assert [len(held), held.filled] == [3, 2]
    held.put(2, None)
    assert [len(held), held.filled] == [3, 1]
    assert held.append(None) == 3
    with pytest.raises(IndexError, match="must not be negative"):
        held.put(-1, None)


def test_what_is_kept_is_renumbered(module) -> None:
    kept = filled(module, *VECTORS).kept(bytearray([0, 1, 0, 1]))
    assert kept.to_bytes() == filled(module, VECTORS[1], VECTORS[3]).to_bytes()
    assert len(filled(module, VECTORS[0]).kept(b"\0")) == 0


def test_bytes_of_either_twin_load_in_either(module) -> None:
    for other in (compiled, _reference_dense):
        loaded = other.Vectors(3)
        loaded.load_bytes(filled(module, *VECTORS).to_bytes())
        assert scanned(loaded, [0.2, 0.3, 0.4]) == scanned(filled(other, *VECTORS), [0.2, 0.3, 0.4])
        assert loaded.append(array("f", [1.0, 2.0, 3.0])) == 4


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b[:-1], "don't take"),
        (lambda b: b + b"\0", "don't take"),
        (lambda b: b"nope" + b[4:], "not vectors"),
        (lambda b: b[:4] + b"\4\0\0\0" + b[8:], "of 4 numbers, not 3"),
        (lambda b: b[:8] + b"\xff" * 8 + b[16:], "don't take"),
        (lambda b: b[:16] + array("f", [math.nan]).tobytes() + b[20:], "scale of vector 0"),
        (lambda b: b[:16] + array("f", [-1.0]).tobytes() + b[20:], "scale of vector 0"),
        (lambda b: b"", "not vectors"),
    ],
)
def test_bytes_that_are_no_vectors_change_nothing(module, damage, message) -> None:
    held = filled(module, *VECTORS)
    before = held.to_bytes()
    with pytest.raises(ValueError, match=message):
        held.load_bytes(damage(filled(module, VECTORS[0]).to_bytes()))
    assert held.to_bytes() == before


def test_what_does_not_fit_is_refused(module) -> None:
    held, live, out = filled(module, *VECTORS), bytearray(4), array("f", bytes(16))
    good = array("f", [1.0, 0.0, 0.0])
    for dim in (0, 4097):
        with pytest.raises(ValueError, match=r"dim must be in \[1, 4096\]"):
            module.Vectors(dim)
    for call, message in [
        (lambda: held.append(array("f", [1.0])), "vector must have 3 values, got 1"),
        (lambda: held.append(array("f", [0.0, math.nan, 0.0])), r"vector\[1\] must be finite, got nan"),
        (lambda: held.scan(array("f", [1.0]), live, out), "query must have 3 values, got 1"),
        (lambda: held.scan(array("f", [0.0, 0.0, math.inf]), live, out), r"query\[2\] must be finite"),
        (lambda: held.scan(good, bytearray(3), out), "live and scores must have 4 values, got 3 and 4"),
        (lambda: held.scan(good, live, array("f")), "live and scores must have 4 values, got 4 and 0"),
        (lambda: held.kept(bytearray(3)), "live must have 4 values, got 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    assert len(held) == 4


def test_an_empty_query_scores_nothing(module) -> None:
    assert scanned(filled(module, *VECTORS), [0.0] * 3)[1] == [0.0] * 4


@pytest.mark.parametrize("dim", [1, 31, 64, 65, 256, 300])
def test_whole_numbers_of_the_largest_size_are_exact(dim) -> None:
    """Every processor's way of it, at the ends of their strides, with the largest steps."""
    ends = [1.0 if i % 3 else -1.0 for i in range(dim)]
    vectors = [[sign * one for one in ends] if row % 2 else ends for row, sign in enumerate([1.0, -1.0] * 65)]
    for count in (1, 3, 4, 5, 63, 64, 66, 130):
        scores = [scanned(filled(m, *vectors[:count]), ends)[1] for m in (compiled, _reference_dense)]
        assert scores[0] == scores[1]


rows = st.integers(1, 70).flatmap(
    lambda dim: st.lists(
        st.lists(st.floats(-100, 100, width=32), min_size=dim, max_size=dim), min_size=2, max_size=8
    )
)


@given(rows=rows)
@settings(max_examples=examples(200), deadline=None)
def test_the_twins_agree_to_the_bit(rows) -> None:
    query, *vectors = rows
    mine, twin = filled(compiled, *vectors), filled(_reference_dense, *vectors)
    assert mine.to_bytes() == twin.to_bytes()
    (count, mean, deviation), scores = scanned(mine, query)
    (twin_count, twin_mean, twin_deviation), twin_scores = scanned(twin, query)
    assert (count, scores) == (twin_count, twin_scores)
    assert mean == pytest.approx(twin_mean, abs=1e-9)
    assert deviation == pytest.approx(twin_deviation, abs=1e-6)


def test_every_length_of_vector_is_added_up_to_its_end() -> None:
    """The wide instructions take 16 at a time; the rest must not be lost."""
    for dim in range(1, 80):
        held = filled(compiled, [1.0] * dim)
        assert scanned(held, [1.0] * dim)[1][0] == pytest.approx(dim, rel=1e-6)


def test_the_longest_vector_of_the_largest_numbers_does_not_overflow() -> None:
    held = filled(compiled, [3.0] * compiled.MAX_DIM)
    assert scanned(held, [-5.0] * compiled.MAX_DIM)[1][0] == pytest.approx(-15.0 * compiled.MAX_DIM)


def test_likeness_is_the_mean_cosine_of_pairs_and_leaves_empty_rows_out(module) -> None:
    held = filled(module, *VECTORS)
    rows = lambda *numbers: array("I", numbers)  # noqa: E731
    assert held.likeness(rows(0, 0), rows(1, 0)) == (2, pytest.approx(0.8, abs=0.01))
    assert held.likeness(rows(0, 0, 3), rows(2, 3, 3)) == (1, pytest.approx(-0.873, abs=0.01))
    assert held.likeness(rows(3), rows(0)) == (0, 0.0)
    assert held.likeness(rows(), rows()) == (0, 0.0)
    with pytest.raises(ValueError, match="right must have 1 values, got 2"):
        held.likeness(rows(0), rows(0, 1))
    with pytest.raises(ValueError, match="rows must be below 4, got 0 and 4"):
        held.likeness(rows(0), rows(4))


@given(
    numbers=st.lists(st.lists(st.floats(-9, 9, width=32), min_size=5, max_size=5), min_size=1, max_size=9),
    data=st.data(),
)
@settings(max_examples=examples(100), deadline=None)
def test_both_twins_find_the_same_likeness(numbers, data) -> None:
    row = st.integers(0, len(numbers) - 1)
    pairs = data.draw(st.lists(st.tuples(row, row), max_size=12))
    left, right = array("I", [a for a, _ in pairs]), array("I", [b for _, b in pairs])
    assert filled(compiled, *numbers).likeness(left, right) == filled(_reference_dense, *numbers).likeness(
        left, right
    )
