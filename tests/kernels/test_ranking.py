"""Scores into one ranking, on both implementations."""

from __future__ import annotations

import math
import random
from array import array
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import ranking as _reference_ranking
from tests.support.examples import examples

compiled = import_module("context_graph.kernels.ranking")
NONE = _reference_ranking.NONE


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    return compiled if request.param == "compiled" else _reference_ranking


def floats(*values: float) -> array:
    return array("f", values)


def ordinals(*values: int) -> array:
    return array("I", values)


def test_moments_are_those_of_the_live_rows(module) -> None:
    assert module.moments(floats(1, 100, 3), b"\1\0\1") == (2, 2.0, 1.0)
    assert module.moments(floats(1), b"\0") == (0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(8))
def test_dead_rows_change_no_bit_of_the_moments(module, seed: int) -> None:
    """Sums of floats depend on their order: the same live rows, with dead ones anywhere among them."""
    chance = random.Random(seed)
    live = [chance.uniform(-1.0, 1.0) * 10.0 ** chance.randrange(-6, 6) for _ in range(200)]
    rows = [(value, 1) for value in live]
    for _ in range(chance.randrange(1, 60)):
        rows.insert(chance.randrange(len(rows)), (chance.uniform(-1e6, 1e6), 0))
    alone = module.moments(floats(*live), bytes([1]) * len(live))
    assert module.moments(floats(*[value for value, _ in rows]), bytes(alive for _, alive in rows)) == alone


def test_standardised_scores_are_added(module) -> None:
    out = floats(1, 1, 1, 7)
    module.add_standardised(floats(0, 2, 4), 2.0, 2.0, 0.5, False, out)
    assert list(out) == [0.5, 1.0, 1.5, 7.0]
    out = floats(0, 0)
    module.add_standardised(floats(0, 2), 1.0, 1.0, 1.0, True, out)
    assert list(out) == [0.0, 1.0]
    module.add_standardised(floats(5, 5), 5.0, 0.0, 1.0, False, out)
    assert list(out) == [0.0, 1.0]


def test_rows_without_a_score_get_what_a_like_one_lets_expect(module) -> None:
    out = floats(9, 0, 0, 0, 5)
    module.expect(floats(1, 3, 0, 5), 3.0, 2.0, 0.5, 0.25, out)
    assert list(out) == [9.0, 0.5, 0.0, 0.75, 5.0]
    module.expect(floats(1, 1, 1), 1.0, 0.0, 0.5, 0.25, out)
    assert list(out) == [9.0, 0.5, 0.0, 0.75, 5.0]


def test_clear_leaves_zeros(module) -> None:
    out = floats(1, 2)
    module.clear(out)
    assert list(out) == [0.0, 0.0]
    module.clear(floats())


def test_a_blend_is_the_sum_of_what_is_standardised_and_of_the_classes_weights(module) -> None:
    out = floats(9, 9, 9, 7)
    module.blend([], ordinals(0, 2, 9), floats(0, 1, 0.5), out)
    assert list(out) == [0.0, 0.5, 0.0, 7.0]
    parts = [
        (floats(0, 2, 4), 2.0, 2.0, 0.5, False),
        (floats(0, 0, 5), 1.0, 2.0, 1.0, True),
        (floats(5, 5, 5), 5.0, 0.0, 1.0, False),
    ]
    module.blend(parts, ordinals(0, 0, 1), floats(0, -0.25), out)
    assert list(out) == [-0.5, 0.0, 2.25, 7.0]
    module.blend([(floats(), 0.0, 1.0, 1.0, False)], ordinals(), floats(), floats())
    with pytest.raises(ValueError, match="parts must be at most 4, got 5"):
        module.blend([parts[0]] * 5, ordinals(0), floats(), out)


def test_a_blend_of_many_rows_is_that_of_single_steps(module) -> None:
    """The compiled one goes by stretches of rows: no row is left out at their ends."""
    n = 5000
    one, other = floats(*[i % 7 - 3 for i in range(n)]), floats(*[i % 3 for i in range(n)])
    kinds, weights, out = ordinals(*[i % 4 for i in range(n)]), floats(0.0, -0.3), floats(*[1.0] * n)
    module.blend([(one, 0.5, 2.0, 0.9, False), (other, 1.0, 1.5, 1.1, True)], kinds, weights, out)
    wanted = floats(*[0.0] * n)
    module.add_standardised(one, 0.5, 2.0, 0.9, False, wanted)
    module.add_standardised(other, 1.0, 1.5, 1.1, True, wanted)
    for row in range(n):
        wanted[row] += weights[kinds[row]] if kinds[row] < 2 else 0.0
    assert out == wanted


def test_rows_of_a_mask_are_counted(module) -> None:
    assert module.count(b"") == 0
    assert module.count(b"\0\1\2\377" * 300) == 900


def test_what_is_a_half_life_old_gets_half(module) -> None:
    out = floats(0, 0, 0)
    module.add_by_age(array("q", [100, 0, 999]), 100, 100.0, 2.0, out)
    assert list(out) == pytest.approx([2.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="half_life must be positive"):
        module.add_by_age(array("q", [1]), 1, 0.0, 1.0, out)


def spread(module, scores, live, before, asks):
    out = floats(*[0.0] * len(scores))
    module.spread(floats(*scores), bytes(live), ordinals(*before), ordinals(*asks), 0.5, 0.125, out)
    return list(out)


def test_neighbours_pass_on_what_is_positive(module) -> None:
    before = [NONE, 0, 1, NONE]
    assert spread(module, [8, 0, -8, 4], [1] * 4, before, [0] * 4) == [8.0, 0.0, -8.0, 4.0]
    assert spread(module, [8, 0, -8, 4], [1] * 4, before, [1, 0, 0, 0]) == [8.0, 4.0, -8.0, 4.0]
    assert spread(module, [0, 8, 0, 0], [1] * 4, before, [2] * 4) == [1.0, 8.0, 0.0, 0.0]


def test_dead_neighbours_are_skipped_and_get_nothing(module) -> None:
    assert spread(module, [8, 100, 0], [1, 0, 1], [NONE, 0, 1], [1] * 3) == [8.0, 100.0, 4.0]
    assert spread(module, [8, 0], [0, 1], [NONE, 0], [0] * 2) == [8.0, 0.0]


def test_a_predecessor_that_is_no_older_row_ends_the_search(module) -> None:
    """A damaged column must not make a search endless or read beyond the rows."""
    assert spread(module, [1, 1, 1], [0, 0, 1], [1, 1, 1], [0] * 3) == [1.0, 1.0, 1.0]
    assert spread(module, [1, 1], [1, 1], [77, 77], [0] * 2) == [1.0, 1.0]


def test_groups_are_lifted_by_their_best(module) -> None:
    scores = floats(4, 0, -1, 8, 2)
    module.lift_groups(scores, b"\1\1\1\1\0", ordinals(1, 1, 2, 0, 1), 0.5)
    assert list(scores) == [6.0, 2.0, -1.0, 8.0, 2.0]
    module.lift_groups(scores, b"\1" * 5, ordinals(0, 0, 0, 0, 0), 0.5)
    assert list(scores) == [6.0, 2.0, -1.0, 8.0, 2.0]


def test_spaced_rows_depend_on_the_live_ones_alone(module) -> None:
    assert module.spaced(b"\1" * 8, 4) == [0, 2, 4, 6]
    assert module.spaced(b"\0\1\0\1\1\0\1", 2) == [1, 4]
    assert module.spaced(b"\1\0\1", 9) == [0, 2]
    assert module.spaced(b"\1\1", 0) == module.spaced(b"", 3) == module.spaced(bytes(4), 3) == []


@given(live=st.binary(max_size=60), most=st.integers(0, 20))
@settings(max_examples=examples(100), deadline=None)
def test_both_twins_space_the_same_rows(live, most) -> None:
    assert compiled.spaced(live, most) == _reference_ranking.spaced(live, most)


def test_masks_keep_what_is_allowed(module) -> None:
    mask = bytearray(b"\1\1\1\0")
    module.keep_classes(mask, ordinals(0, 1, 5, 1), b"\0\1")
    assert mask == b"\0\1\0\0"
    mask = bytearray(b"\1\1\1\1")
    module.keep_numbers(mask, array("d", [0.5, 0.6, math.nan, 2.0]), 0.6, 1.0)
    assert mask == b"\0\1\0\0"
    mask = bytearray(b"\1\1\1")
    module.keep_times(mask, array("q", [1, 5, 9]), 5, 8)
    assert mask == b"\0\1\0"
    mask = bytearray(b"\1\0\1\1\1")
    module.keep_rows(mask, ordinals(1, 2, 4))
    assert mask == b"\0\0\1\0\1"
    module.keep_rows(mask, ordinals())
    assert mask == bytes(5)


def test_the_best_come_first_and_newer_ones_before_older_equals(module) -> None:
    scores = floats(1, 3, 3, 2, 9)
    assert module.top(scores, b"\1\1\1\1\0", 3) == [2, 1, 3]
    assert module.top(scores, b"\1" * 5, 99) == [4, 2, 1, 3, 0]
    assert module.top(scores, b"\1" * 5, 0) == []
    assert module.top(scores, bytes(5), 3) == []
    assert module.top(floats(), b"", 3) == []


def test_columns_that_dont_fit_are_refused(module) -> None:
    two, mask = floats(0, 0), bytearray(2)
    one = ordinals(0)
    for call, message in [
        (lambda: module.moments(floats(0), b"\1\1"), "scores must have 2 values, got 1"),
        (lambda: module.add_standardised(two, 0, 1, 1, False, floats(0)), "out must have 2 values, got 1"),
        (lambda: module.expect(two, 0, 1, 0, 1, floats(0)), "out must have 2 values, got 1"),
        (lambda: module.blend([], ordinals(0, 0), floats(0), floats(0)), "out must have 2 values"),
        (
            lambda: module.blend([(floats(0), 0, 1, 1, False)], ordinals(0, 0), two, two),
            "scores must have 2 values, got 1",
        ),
        (lambda: module.add_by_age(array("q", [0, 0]), 0, 1, 1, floats(0)), "out must have 2 values"),
        (lambda: module.spread(two, mask, one, one, 0, 0, two), "before must have 2 values, got 1"),
        (lambda: module.lift_groups(two, mask, one, 1.0), "groups must have 2 values, got 1"),
        (lambda: module.keep_classes(mask, one, b"\1"), "classes must have 2 values, got 1"),
        (lambda: module.keep_numbers(mask, array("d"), 0, 1), "numbers must have 2 values, got 0"),
        (lambda: module.keep_times(mask, array("q"), 0, 1), "times must have 2 values, got 0"),
        (lambda: module.keep_rows(mask, ordinals(1, 1)), "rows must grow and be below 2, got 1"),
        (lambda: module.keep_rows(mask, ordinals(2)), "rows must grow and be below 2, got 2"),
        (lambda: module.top(floats(0), mask, 1), "scores must have 2 values, got 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


score = st.floats(-50, 50, width=32)


@given(data=st.data(), n=st.integers(0, 40))
@settings(max_examples=examples(200), deadline=None)
def test_the_twins_agree_to_the_bit(data, n) -> None:
    def column(values):
        return data.draw(st.lists(values, min_size=n, max_size=n))

    scores, live = floats(*column(score)), bytes(column(st.integers(0, 1)))
    before = ordinals(*[data.draw(st.sampled_from([NONE, *range(row)])) for row in range(n)])
    flags, groups = ordinals(*column(st.integers(0, 3))), ordinals(*column(st.integers(0, 4)))
    times = array("q", column(st.integers(-(10**15), 10**15)))
    likes = floats(*column(score))
    outs = []
    for module in (compiled, _reference_ranking):
        count, mean, deviation = module.moments(scores, live)
        out, mixed = floats(*[0.0] * n), floats(*[0.0] * n)
        module.add_standardised(scores, 0.5, 1.75, 0.7, True, out)
        module.expect(likes, 0.25, 1.5, 0.5, 0.7, out)
        module.blend(
            [(out, 0.1, 1.25, 0.8, False), (likes, 0.5, 2.0, 1.2, True)], flags, floats(0.0, -0.3), mixed
        )
        out = mixed
        module.add_by_age(times, 5 * 10**14, 1e12, 3.0, out)
        total = floats(*[0.0] * n)
        module.spread(out, live, before, flags, 0.5, 0.1, total)
        module.lift_groups(total, live, groups, 0.4)
        outs.append((count, pytest.approx(mean), pytest.approx(deviation, abs=1e-4), list(total)))
        outs[-1] += (module.top(total, live, 7),)
    assert outs[0][0] == outs[1][0]
    assert outs[0][3:] == outs[1][3:]


@given(
    scores=st.lists(st.sampled_from([-0.0, 0.0, 1.5, -2.0, 3.0]) | score, max_size=300),
    seed=st.randoms(use_true_random=False),
    k=st.integers(0, 40),
)
@settings(max_examples=examples(200), deadline=None)
def test_both_twins_choose_the_same_best(scores, seed, k) -> None:
    """With more blocks than rows asked for, and fewer; with equal scores, both zeros and rows left out."""
    mask = bytes(seed.choice((0, 1, 1)) for _ in scores)
    assert compiled.top(floats(*scores), mask, k) == _reference_ranking.top(floats(*scores), mask, k)
