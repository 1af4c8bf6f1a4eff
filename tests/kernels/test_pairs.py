"""Close rows among all pairs, and disjoint sets, on both implementations and in every inner loop."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import pairs as _reference_pairs

from context_graph.consolidation.finders import closeness
from context_graph.consolidation.finders.closeness import Bound

compiled = import_module("context_graph.kernels.pairs")
WAYS = [(_reference_pairs, "plain"), *((compiled, kind) for kind in compiled.KINDS)]
MODULES = [compiled, _reference_pairs]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0].__name__.rsplit('.', 1)[1]}-{way[1]}")
def way(request: pytest.FixtureRequest) -> tuple[ModuleType, str]:
    chosen: tuple[ModuleType, str] = request.param
    return chosen


@pytest.fixture(params=MODULES, ids=["compiled", "reference"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    chosen: ModuleType = request.param
    return chosen


def unit(values: np.ndarray) -> np.ndarray:
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def some_rows(n: int, dim: int = 128, seed: int = 0, copies: int = 0) -> np.ndarray:
    """Rows of falling energy, the last ``copies`` near the first ones."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, dim)) * np.linspace(1.5, 0.1, dim)
    rows[n - copies :] = rows[:copies] + 0.05 * rng.standard_normal((copies, dim))
    return unit(rows)


def all_close(rows: np.ndarray, threshold: float) -> set[tuple[int, int]]:
    product = rows.astype(np.float64) @ rows.T.astype(np.float64)
    return {(int(i), int(j)) for i, j in np.argwhere(np.triu(product >= threshold, 1))}


def block(way: tuple[ModuleType, str], rows: np.ndarray, codes: np.ndarray, slack: np.ndarray):
    return way[0].Block(rows, codes, slack, way[1])


def pairs_of(way, a, b, limit: int, threshold: float, *, forest: bool = False, room: int = 4096):
    found: list[tuple[int, int, float]] = []
    start = 0
    while start >= 0:
        i, j = np.zeros(room, np.int32), np.zeros(room, np.int32)
        cosine = np.zeros(room)
        count, start = way[0].close_pairs(a, b, limit, threshold, i, j, cosine, forest=forest, start=start)
        found += zip(i[:count].tolist(), j[:count].tolist(), cosine[:count].tolist(), strict=True)
    return found


def whole(way, rows: np.ndarray, threshold: float, **options):
    bound = Bound.of(rows)
    one = block(way, rows, *bound.codes(rows))
    return pairs_of(way, one, one, bound.limit(threshold), threshold, **options)


@pytest.mark.parametrize("threshold", [0.3, 0.9, 0.95])
def test_exactly_the_pairs_of_the_full_product_are_found(way, threshold) -> None:
    rows = some_rows(75, copies=9)
    found = whole(way, rows, threshold)
    assert {(i, j) for i, j, _ in found} == all_close(rows, threshold)
    assert len(found) == len(all_close(rows, threshold)) > 0


def test_all_ways_give_the_same_pairs_in_the_same_order_and_to_the_last_bit() -> None:
    rows = some_rows(60, copies=12, seed=4)
    results = [whole(way, rows, 0.4) for way in WAYS]
    assert results[0]
    assert all(result == results[0] for result in results)


def test_two_blocks_are_compared_row_by_row_of_each(way) -> None:
    rows = some_rows(50, copies=20, seed=2)
    bound = Bound.of(rows)
    codes, slack = bound.codes(rows)
    one = block(way, rows[:27], codes[:27], slack[:27])
    other = block(way, rows[27:], codes[27:], slack[27:])
    found = {(i, 27 + j) for i, j, _ in pairs_of(way, one, other, bound.limit(0.8), 0.8)}
    assert found == {(i, j) for i, j in all_close(rows, 0.8) if i < 27 <= j} != set()


def test_what_has_no_room_comes_with_the_next_call(way) -> None:
    rows = unit(np.ones((40, 16)) + 1e-3 * np.arange(40)[:, None])
    assert len(whole(way, rows, 0.9, room=way[0].GROUP_PAIRS)) == 40 * 39 // 2


def test_a_forest_joins_the_same_rows_by_fewer_pairs(way) -> None:
    rows = some_rows(60, copies=25, seed=7)
    pairs = whole(way, rows, 0.3)
    forest = whole(way, rows, 0.3, forest=True)
    labels = []
    for edges in (pairs, forest):
        sets = way[0].Sets(60)
        sets.join(np.array([i for i, _, _ in edges], np.int32), np.array([j for _, j, _ in edges], np.int32))
        label = np.empty(60, np.int32)
        sets.labels(label)
        labels.append(label.tolist())
    assert labels[0] == labels[1]
    assert len(forest) == 60 - len(set(labels[0])) < len(pairs)


def test_rows_of_zeros_are_close_to_nothing(way) -> None:
    rows = np.vstack([np.zeros((9, 32), np.float32), some_rows(8, 32)])
    assert all(i >= 9 for i, _, _ in whole(way, rows, 0.01))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r, c, s: (r[:, :30].copy(), c, s), "multiple of 8"),
        (lambda r, c, s: (r, c[:, :60].copy(), s), "codes must be 4 rows of 64"),
        (lambda r, c, s: (r, c, s[:3]), "slack must have 4 values, got 3"),
        (lambda r, c, s: (r, c, s - 2**20), r"slack\[0\] must be in \[0, "),
        (lambda r, c, s: (r * np.float32(np.nan), c, s), r"rows\[0, 0\] must be finite, got nan"),
    ],
)
def test_buffers_that_do_not_fit_are_refused(way, change, message) -> None:
    rows, codes, slack = some_rows(4, 32), np.zeros((4, 64), np.int8), np.zeros(4, np.int32)
    with pytest.raises(ValueError, match=message):
        block(way, *change(rows, codes, slack))


def test_what_is_out_of_range_is_refused(way) -> None:
    rows, codes, slack = some_rows(4, 32), np.zeros((4, 64), np.int8), np.zeros(4, np.int32)
    one = block(way, rows, codes, slack)
    with pytest.raises(ValueError, match="kind must be one of"):
        way[0].Block(rows, codes, slack, "none")
    for limit, threshold, room, options, message in [
        (2**30, 0.5, 200, {}, "limit must be in"),
        (5, float("nan"), 200, {}, "threshold must be finite"),
        (5, 0.5, 7, {}, "room for 128 pairs, have 7"),
        (5, 0.5, 7, {"forest": True}, "room for 8 pairs, have 7"),
        (5, 0.5, 200, {"forest": True, "start": 1}, "start must not be negative, and 0 for a forest"),
    ]:
        i, j, cosine = np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room)
        with pytest.raises(ValueError, match=message):
            way[0].close_pairs(one, one, limit, threshold, i, j, cosine, **options)


def test_sets_are_labelled_by_their_least_number(module) -> None:
    sets, label = module.Sets(7), np.empty(7, np.int32)
    assert sets.join(np.array([5, 3, 6], np.int32), np.array([3, 1, 6], np.int32)) == 2
    sets.labels(label)
    assert label.tolist() == [0, 1, 2, 1, 4, 1, 6]
    assert len(sets) == 7
    with pytest.raises(IndexError, match=r"pair 1 must be of numbers in \[0, 7\), is 2, 7"):
        sets.join(np.array([0, 2], np.int32), np.array([2, 7], np.int32))
    sets.labels(label)
    assert label.tolist() == [0, 1, 2, 1, 4, 1, 6]
    for wrong in (
        lambda: sets.join(label[:2], label[:1]),
        lambda: sets.labels(label[:3]),
        lambda: module.Sets(-1),
    ):
        with pytest.raises(ValueError, match="must"):
            wrong()


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=40))
def test_sets_of_both_twins_are_the_components(edges) -> None:
    expected = list(range(21))
    for one, other in edges * 21:
        low = min(expected[one], expected[other])
        expected[one] = expected[other] = low
    for module in MODULES:
        sets, label = module.Sets(21), np.empty(21, np.int32)
        sets.join(np.array([a for a, _ in edges], np.int32), np.array([b for _, b in edges], np.int32))
        sets.labels(label)
        assert label.tolist() == expected


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 70), dim=st.sampled_from([8, 64, 256]), seed=st.integers(0, 1000),
    threshold=st.floats(0.05, 1.0), spread=st.floats(0.01, 3.0),
)  # fmt: skip
def test_the_bound_never_loses_a_pair(n, dim, seed, threshold, spread) -> None:
    """Whatever the rows are like: near each other, far apart, of few or many directions."""
    rng = np.random.default_rng(seed)
    rows = unit(rng.standard_normal(dim) + spread * rng.standard_normal((n, dim)) ** 3)
    product = rows.astype(np.float64) @ rows.T.astype(np.float64)
    sure = {(i, j) for i, j in combinations(range(n), 2) if abs(product[i, j] - threshold) > 1e-9}
    for kind in compiled.KINDS:
        found = {(i, j) for i, j, _ in whole((compiled, kind), rows, threshold)}
        assert found & sure == all_close(rows, threshold) & sure


def test_blocks_and_threads_change_nothing(monkeypatch) -> None:
    """`groups` and `close_pairs` over many blocks are those of all rows at once."""
    rows = some_rows(300, 64, seed=3, copies=120)
    monkeypatch.setattr(closeness, "BLOCK_ROWS", 37)
    told: list[tuple[int, int]] = []
    close = list(closeness.close_pairs(rows, 0.9, progress=lambda *at: told.append(at), threads=3))
    found = {pair for part in close for pair in zip(part.i.tolist(), part.j.tolist(), strict=True)}
    assert found == all_close(rows, 0.9)
    assert told == [(done, 45) for done in range(1, 46)]
    sets, label = compiled.Sets(300), np.empty(300, np.int32)
    sets.join(np.array([i for i, _ in found], np.int32), np.array([j for _, j in found], np.int32))
    sets.labels(label)
    assert closeness.groups(rows, 0.9, threads=2).tolist() == label.tolist()


def test_what_progress_raises_ends_the_search(monkeypatch) -> None:
    monkeypatch.setattr(closeness, "BLOCK_ROWS", 8)

    def stop(done: int, total: int) -> None:
        raise InterruptedError(f"{done}/{total}")

    with pytest.raises(InterruptedError, match="1/10"):
        closeness.groups(some_rows(32, 64), 0.9, progress=stop)


def test_no_rows_and_wrong_thresholds() -> None:
    assert closeness.groups(np.zeros((0, 64), np.float32), 0.9).tolist() == []
    for threshold in (0.0, 1.01, float("nan")):
        with pytest.raises(ValueError, match=r"threshold must be in \(0, 1\]"):
            closeness.groups(some_rows(4, 64), threshold)
