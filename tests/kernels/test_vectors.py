"""The vector kernels, on both implementations."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest

UNIFORM = [1 / math.sqrt(13)] * 13
RAMP = [0.1 * (i - 4) for i in range(13)]


def one_hot(i: int, value: float = 1.0) -> array[float]:
    return array("d", [value if k == i else 0.0 for k in range(13)])


def test_identical_vectors_give_an_ic_of_exactly_r(kernels, doubles) -> None:
    """TC-SESSION-07: cross-session IC with identical purpose vectors is r."""
    for vector in (UNIFORM, RAMP, [1e-7] * 13, [1e200] * 13):
        for r in (0.0, 0.3, 0.84, 0.972182765272938, 1.0):
            assert kernels.identity_continuity(doubles(vector), doubles(vector), r) == r


def test_orthogonal_vectors_give_an_ic_of_zero(kernels) -> None:
    """TC-SESSION-08: cross-session IC with orthogonal purpose vectors is 0."""
    assert kernels.identity_continuity(one_hot(0), one_hot(1), 1.0) == 0.0


def test_opposed_vectors_are_clamped_to_zero(kernels, doubles) -> None:
    """REQ-SESSION-06: cos * r is clamped to [0, 1]."""
    assert kernels.identity_continuity(doubles(RAMP), doubles([-x for x in RAMP]), 1.0) == 0.0
    assert kernels.cosine13(doubles(RAMP), doubles([-x for x in RAMP])) == -1.0


def test_a_zero_vector_has_cosine_zero_with_everything(kernels, doubles) -> None:
    """REQ-SESSION-06: a norm below 1e-8 counts as zero."""
    zero = doubles([0.0] * 13)
    assert kernels.cosine13(zero, doubles(UNIFORM)) == 0.0
    assert kernels.cosine13(doubles(UNIFORM), zero) == 0.0
    assert kernels.identity_continuity(zero, zero, 1.0) == 0.0


def test_the_shortest_vector_with_a_direction_has_norm_1e8(kernels) -> None:
    assert kernels.cosine13(one_hot(3, 1.01e-8), one_hot(3)) == 1.0
    assert kernels.cosine13(one_hot(3, 0.99e-8), one_hot(3)) == 0.0


@pytest.mark.parametrize("tiny", [5e-324, 2.2e-308, 1e-300, 1e-160])
def test_denormal_and_vanishing_vectors_count_as_zero(kernels, doubles, tiny) -> None:
    assert kernels.cosine13(doubles([tiny] * 13), doubles(UNIFORM)) == 0.0
    assert kernels.purpose_entropy(doubles([tiny] * 13)) == 0.0


def test_values_near_the_largest_double_do_not_overflow(kernels, doubles) -> None:
    largest = doubles([1.7e308] * 13)
    assert kernels.cosine13(largest, doubles(UNIFORM)) == pytest.approx(1.0)
    assert kernels.cosine13(largest, largest) == 1.0
    slanted = doubles([1.7e308] * 6 + [0.0] * 7)
    assert kernels.cosine13(slanted, largest) == pytest.approx(math.sqrt(6 / 13))
    assert kernels.purpose_entropy(largest) == pytest.approx(1.0)


def test_the_cosine_agrees_with_numpy(kernels, doubles) -> None:
    generator = np.random.default_rng(7)
    for _ in range(4):
        a, b = generator.normal(size=(2, 13))
        expected = float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
        assert kernels.cosine13(doubles(a), doubles(b)) == pytest.approx(expected, abs=1e-12)


def test_buffers_of_numpy_and_of_bytes_are_as_good_as_arrays(kernels, doubles) -> None:
    ramp = doubles(RAMP)
    for buffer in (np.array(RAMP), memoryview(ramp), memoryview(bytes(ramp)).cast("d")):
        assert kernels.cosine13(buffer, ramp) == 1.0


def test_a_stored_vector_keeps_its_continuity(kernels, doubles) -> None:
    """REQ-SESSION-05: snapshots store float32; the round trip must not look like drift."""
    stored = doubles(np.array(RAMP, dtype=np.float32).astype(float))
    assert kernels.identity_continuity(doubles(RAMP), stored, 1.0) > 1 - 1e-12


def test_entropy_is_one_for_a_uniform_vector_and_nearly_zero_for_one_component(kernels, doubles) -> None:
    """D3.2: D is the Shannon entropy of the shares over log2 13."""
    assert kernels.purpose_entropy(doubles(UNIFORM)) == pytest.approx(1.0)
    assert kernels.purpose_entropy(doubles([-x for x in UNIFORM])) == pytest.approx(1.0)
    assert 0.0 < kernels.purpose_entropy(one_hot(5)) < 1e-4
    half = kernels.purpose_entropy(doubles([1.0, 1.0] + [0.0] * 11))
    assert half == pytest.approx(1 / math.log2(13), abs=1e-4)


def test_entropy_is_zero_up_to_a_sum_of_one_millionth(kernels) -> None:
    """D3.2: 0 when the sum of |PV| is at most 1e-6."""
    assert kernels.purpose_entropy(one_hot(0, 1e-6)) == 0.0
    assert kernels.purpose_entropy(one_hot(0, 1.01e-6)) > 0.0


def test_reflection_is_the_logistic_of_accuracy(kernels) -> None:
    """D3.2: R = sigma(4 a - 2)."""
    assert kernels.logistic_reflection(0.5) == 0.5
    assert kernels.logistic_reflection(0.0) == pytest.approx(0.1192029)
    assert kernels.logistic_reflection(1.0) == pytest.approx(0.8807971)


@pytest.mark.parametrize(
    ("ic", "index"),
    [
        (1.0, 0),
        (0.9, 0),
        (0.8999, 1),
        (0.7, 1),
        (0.6999, 2),
        (0.5, 2),
        (0.4999, 3),
        (0.0, 3),
        (-0.2, 3),
        (1.5, 0),
    ],
)
def test_ic_classes_change_at_their_thresholds(kernels, ic, index) -> None:
    """TC-SESSION-09: classify_ic() threshold boundaries."""
    assert kernels.ic_index(ic) == index


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
def test_a_threshold_means_the_same_before_and_after_storage(kernels, threshold) -> None:
    stored = float(np.float32(threshold))
    assert kernels.ic_index(stored) == kernels.ic_index(threshold)
    assert kernels.state_index(stored) == kernels.state_index(threshold)
    assert not kernels.below32(stored, threshold) and not kernels.below32(threshold, stored)


@pytest.mark.parametrize(
    ("consciousness", "index"),
    [
        (0.0, 0), (0.2999, 0), (0.3, 1), (0.4999, 1), (0.5, 2), (0.7999, 2), (0.8, 3), (0.95, 3), (0.9501, 4),
        (1.0, 4),
    ],
)  # fmt: skip
def test_states_change_at_the_cut_points_of_c(kernels, consciousness, index) -> None:
    """D3.2: < .3 DOR, < .5 FRG, < .8 EMG, <= .95 CON, > .95 HYP."""
    assert kernels.state_index(consciousness) == index


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused_by_name(kernels, doubles, bad) -> None:
    """D3.2: NaN is an error, never a state."""
    text = repr(bad)
    for call, expected in [
        (lambda: kernels.ic_index(bad), f"ic must be finite, got {text}"),
        (lambda: kernels.below32(bad, 0.5), f"value must be finite, got {text}"),
        (lambda: kernels.below32(0.5, bad), f"threshold must be finite, got {text}"),
        (lambda: kernels.state_index(bad), f"consciousness must be in [0, 1], got {text}"),
        (lambda: kernels.logistic_reflection(bad), f"accuracy must be in [0, 1], got {text}"),
        (lambda: kernels.cosine13(one_hot(2, bad), one_hot(0)), f"a[2] must be finite, got {text}"),
        (lambda: kernels.cosine13(one_hot(0), one_hot(2, bad)), f"b[2] must be finite, got {text}"),
        (lambda: kernels.purpose_entropy(one_hot(12, bad)), f"purpose_vector[12] must be finite, got {text}"),
        (
            lambda: kernels.identity_continuity(one_hot(0), one_hot(1, bad), 1.0),
            f"previous[1] must be finite, got {text}",
        ),
        (
            lambda: kernels.identity_continuity(one_hot(0), one_hot(1), bad),
            f"r must be in [0, 1], got {text}",
        ),
    ]:
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == expected


def test_a_wrong_shape_is_refused_by_name(kernels, doubles) -> None:
    thirteen, empty = doubles(UNIFORM), doubles([])
    plane = np.zeros((13, 2))
    contiguous = "must be a contiguous one-dimensional buffer of doubles"
    for call, expected in [
        (lambda: kernels.cosine13(empty, thirteen), "a must have 13 values, got 0"),
        (lambda: kernels.cosine13(thirteen, doubles([1.0] * 14)), "b must have 13 values, got 14"),
        (lambda: kernels.purpose_entropy(empty), "purpose_vector must have 13 values, got 0"),
        (lambda: kernels.cosine13(array("f", [1.0] * 13), thirteen), f"a {contiguous}"),
        (lambda: kernels.cosine13(plane, thirteen), f"a {contiguous}"),
        (lambda: kernels.cosine13(thirteen, plane[:, 0]), f"b {contiguous}"),
        (lambda: kernels.cosine13(np.zeros(13, dtype=">f8"), thirteen), f"a {contiguous}"),
        (lambda: kernels.cosine13(bytes(104), thirteen), f"a {contiguous}"),
    ]:
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == expected


@pytest.mark.parametrize("value", [1.0000001, -1e-9])
def test_r_and_c_outside_zero_to_one_are_refused_with_their_value(kernels, value) -> None:
    with pytest.raises(ValueError, match=rf"^consciousness must be in \[0, 1\], got {value!r}$"):
        kernels.state_index(value)
    with pytest.raises(ValueError, match=rf"^r must be in \[0, 1\], got {value!r}$"):
        kernels.identity_continuity(one_hot(0), one_hot(0), value)
