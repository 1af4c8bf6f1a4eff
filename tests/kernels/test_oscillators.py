"""The oscillator kernels, on both implementations."""

from __future__ import annotations

import cmath
import math
from array import array

import pytest

OMEGA = [hz / 25.3 for hz in (40, 8, 8, 8, 25, 4, 25, 12, 80, 40, 15, 60, 4)]
SPREAD = [math.tau * i / 13 for i in range(13)]


def pairwise_steps(phases: list[float], coupling: float, dt: float, steps: int) -> tuple[list[float], float]:
    """The equation as D3.1 writes it, with its double sum: neither kernel is built this way."""
    levels = []
    for _ in range(steps):
        levels.append(abs(sum(cmath.exp(1j * a) for a in phases)) / 13)
        phases = [
            a + dt * (w + coupling / 13 * sum(math.sin(b - a) for b in phases))
            for a, w in zip(phases, OMEGA, strict=True)
        ]
    tail = levels[steps // 2 :]
    return phases, sum(tail) / len(tail)


def test_thirteen_equal_phases_have_order_one(kernels, doubles) -> None:
    """REQ-SESSION-09: r of a snapshot's phases, 13 zeros in a new one."""
    assert kernels.kuramoto_order(doubles([0.0] * 13)) == (1.0, 0.0)
    r, psi = kernels.kuramoto_order(doubles([5.0] * 13))
    assert r == pytest.approx(1.0, abs=1e-15) and r <= 1.0
    assert psi == pytest.approx(5.0)


def test_evenly_spread_phases_have_order_zero(kernels, doubles) -> None:
    assert kernels.kuramoto_order(doubles(SPREAD))[0] == pytest.approx(0.0, abs=1e-15)


def test_mean_phase_is_wrapped_to_the_positive_circle(kernels, doubles) -> None:
    assert kernels.kuramoto_order(doubles([-0.5] * 13))[1] == pytest.approx(math.tau - 0.5)
    assert kernels.kuramoto_order(doubles([-1e-300] * 13))[1] == 0.0


def test_the_mean_field_form_follows_the_equation_with_its_double_sum(kernels, doubles) -> None:
    start = [0.3 * i * i % math.tau for i in range(13)]
    expected, mean_r = pairwise_steps(start, 2.0, 0.04, 50)
    phases = doubles(start)
    assert kernels.kuramoto_steps(phases, doubles(OMEGA), 2.0, 0.04, 50) == pytest.approx(mean_r, abs=1e-12)
    assert kernels.phase_drift(phases, doubles(expected)) < 1e-11


def test_phases_come_back_in_place_and_on_the_positive_circle(kernels, doubles) -> None:
    phases = doubles([-7.0, 100.0, *SPREAD[2:]])
    kernels.kuramoto_steps(phases, doubles(OMEGA), 0.5, 0.04, 7)
    assert all(0.0 <= phase < math.tau for phase in phases)


@pytest.mark.parametrize(
    ("coupling", "low", "high"), [(0.5, 0.3, 0.5), (1.0, 0.5, 0.68), (2.0, 0.8, 0.88), (4.0, 0.96, 0.98)]
)
def test_each_coupling_settles_at_its_known_order(kernels, doubles, coupling, low, high) -> None:
    """D3.1: with f / 25.3 as rad/s, K in 0.5..4 spans r 0.41..0.97."""
    phases, omega = doubles(SPREAD), doubles(OMEGA)
    kernels.kuramoto_steps(phases, omega, coupling, 0.04, 500)
    assert low < kernels.kuramoto_steps(phases, omega, coupling, 0.04, 3000) < high


def test_without_coupling_each_phase_follows_its_own_frequency(kernels, doubles) -> None:
    phases = doubles([0.0] * 13)
    kernels.kuramoto_steps(phases, doubles(OMEGA), 0.0, 0.5, 2)
    assert list(phases) == pytest.approx(OMEGA)


def test_equal_frequencies_keep_a_synchronised_network_at_order_one(kernels, doubles) -> None:
    phases = doubles([1.0] * 13)
    assert kernels.kuramoto_steps(phases, doubles([2.0] * 13), 4.0, 0.04, 50) == pytest.approx(1.0)


def test_the_same_input_gives_the_same_bits(kernels, doubles) -> None:
    first, second = doubles(SPREAD), doubles(SPREAD)
    r = kernels.kuramoto_steps(first, doubles(OMEGA), 1.5, 0.04, 50)
    assert kernels.kuramoto_steps(second, doubles(OMEGA), 1.5, 0.04, 50) == r
    assert first.tobytes() == second.tobytes()


def test_one_step_reports_the_order_before_it(kernels, doubles) -> None:
    assert kernels.kuramoto_steps(doubles([0.0] * 13), doubles(OMEGA), 1.0, 1.0, 1) == 1.0


def test_phase_drift_takes_the_short_way_round(kernels, doubles) -> None:
    near_zero, near_tau = doubles([0.1] * 13), doubles([math.tau - 0.1] * 13)
    assert kernels.phase_drift(near_zero, near_tau) == pytest.approx(0.2)
    assert kernels.phase_drift(near_zero, near_zero) == 0.0
    assert kernels.phase_drift(doubles([math.pi] * 13), doubles([0.0] * 13)) == pytest.approx(math.pi)
    assert kernels.phase_drift(doubles([1.3] + [0.0] * 12), doubles([0.0] * 13)) == pytest.approx(0.1)


def test_huge_phases_neither_overflow_nor_leave_the_range(kernels, doubles) -> None:
    huge, opposed = doubles([1e308] * 13), doubles([-1e308] * 13)
    assert 0.0 <= kernels.phase_drift(huge, opposed) <= math.pi
    assert 0.0 <= kernels.kuramoto_order(huge)[0] <= 1.0
    assert 0.0 <= kernels.kuramoto_steps(huge, doubles(OMEGA), 10.0, 1.0, 100) <= 1.0
    assert all(0.0 <= phase < math.tau for phase in huge)


def test_phases_are_untouched_when_a_call_is_refused(kernels, doubles) -> None:
    phases = doubles([9.0] * 13)
    with pytest.raises(ValueError, match=r"^coupling must be in \[0, 10\], got 11\.0$"):
        kernels.kuramoto_steps(phases, doubles(OMEGA), 11.0, 0.04, 50)
    with pytest.raises(ValueError, match=r"^omega\[12\] must be finite, got nan$"):
        kernels.kuramoto_steps(phases, doubles([*OMEGA[:12], math.nan]), 1.0, 0.04, 50)
    assert list(phases) == [9.0] * 13


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"coupling": math.nan}, r"coupling must be in \[0, 10\], got nan"),
        ({"coupling": -0.1}, r"coupling must be in \[0, 10\], got -0.1"),
        ({"dt": math.inf}, r"dt must be in \[0, 1\], got inf"),
        ({"dt": -1.0}, r"dt must be in \[0, 1\], got -1.0"),
        ({"steps": 0}, r"steps must be in \[1, 100000\], got 0"),
        ({"steps": 10**30}, r"steps must be in \[1, 100000\], got 1000000000000000000000000000000"),
        ({"phases": array("d")}, "phases must have 13 values, got 0"),
        ({"phases": array("d", [0.0] * 12)}, "phases must have 13 values, got 12"),
        ({"phases": array("d", [0.0] * 3 + [math.inf] * 10)}, r"phases\[3\] must be finite, got inf"),
        ({"phases": array("f", [0.0] * 13)}, "phases must be a contiguous one-dimensional buffer of doubles"),
        ({"phases": memoryview(array("d", [0.0] * 13)).toreadonly()}, "phases must be writable"),
        ({"omega": array("d", [1e7] + [0.0] * 12)}, r"omega must be in \[-1e\+06, 1e\+06\], got 10000000.0"),
    ],
)
def test_a_bad_argument_is_refused_by_name_and_value(kernels, doubles, change, text) -> None:
    arguments = {"phases": doubles(SPREAD), "omega": doubles(OMEGA), "coupling": 1.0, "dt": 0.04, "steps": 5}
    with pytest.raises(ValueError, match=f"^{text}$"):
        kernels.kuramoto_steps(**{**arguments, **change})


@pytest.mark.parametrize("source", [None, [0.0] * 13, "0" * 13, 1.0], ids=repr)
def test_an_object_without_buffer_is_a_type_error_that_names_the_argument(kernels, source) -> None:
    with pytest.raises(TypeError, match=f"^phases must be a buffer of doubles, not {type(source).__name__}$"):
        kernels.kuramoto_order(source)


def test_steps_must_be_a_whole_number(kernels, doubles) -> None:
    with pytest.raises(TypeError):
        kernels.kuramoto_steps(doubles(SPREAD), doubles(OMEGA), 1.0, 0.04, 2.5)
