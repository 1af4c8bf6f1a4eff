"""Compiled and reference agree, and stay in range, on whatever hypothesis can think of."""

from __future__ import annotations

import math
from array import array

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

any_double = st.floats(allow_nan=True, allow_infinity=True)
finite = st.floats(allow_nan=False, allow_infinity=False)
vector13 = st.lists(finite, min_size=13, max_size=13)
ordinary13 = st.lists(st.floats(-2, 2), min_size=13, max_size=13)
phases13 = st.lists(st.floats(0, math.tau, exclude_max=True), min_size=13, max_size=13)
unit = st.floats(0, 1)


def outcome(call, *arguments):
    """The result, or the class and the text of what was raised."""
    try:
        return call(*arguments)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def alike(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    return a == b


@given(a=st.lists(any_double, max_size=15), b=st.lists(any_double, max_size=15), r=any_double)
@settings(max_examples=examples(300), deadline=None)
def test_any_buffers_give_the_same_value_or_the_same_error(compiled, reference, a, b, r) -> None:
    x, y = array("d", a), array("d", b)
    for name, arguments in [
        ("cosine13", (x, y)),
        ("purpose_entropy", (x,)),
        ("identity_continuity", (x, y, r)),
        ("phase_drift", (x, y)),
    ]:
        mine, twin = (outcome(getattr(side, name), *arguments) for side in (compiled, reference))
        assert alike(mine, twin), (name, mine, twin)


@given(a=vector13, b=vector13)
@example(a=[5e-324] * 13, b=[1.7976931348623157e308] * 13)
@example(a=[1e-8, *[0.0] * 12], b=[1.0, *[0.0] * 12])
@settings(max_examples=examples(500), deadline=None)
def test_finite_vectors_of_any_size_agree_and_stay_in_range(compiled, reference, a, b) -> None:
    x, y = array("d", a), array("d", b)
    for name, low, high in [("cosine13", -1.0, 1.0), ("phase_drift", 0.0, math.pi)]:
        mine = getattr(compiled, name)(x, y)
        assert alike(mine, getattr(reference, name)(x, y)), name
        assert low <= mine <= high
    entropy = compiled.purpose_entropy(x)
    assert 0.0 <= entropy <= 1.0
    assert alike(entropy, reference.purpose_entropy(x))


@given(a=ordinary13, b=ordinary13, scale=st.floats(0.01, 100))
def test_the_cosine_is_symmetric_and_blind_to_length(kernels, a, b, scale) -> None:
    x, y = array("d", a), array("d", b)
    if math.hypot(*a) < 1e-5 or math.hypot(*b) < 1e-5:
        return
    value = kernels.cosine13(x, y)
    assert kernels.cosine13(y, x) == value
    assert math.isclose(kernels.cosine13(array("d", [v * scale for v in a]), y), value, abs_tol=1e-9)


@given(phases=phases13, coupling=st.floats(0, 10), steps=st.integers(1, 60))
@settings(deadline=None)
def test_the_network_agrees_and_stays_on_its_circle(compiled, reference, phases, coupling, steps) -> None:
    omega = array("d", [hz / 25.3 for hz in (40, 8, 8, 8, 25, 4, 25, 12, 80, 40, 15, 60, 4)])
    mine, twin = array("d", phases), array("d", phases)
    r = compiled.kuramoto_steps(mine, omega, coupling, 0.04, steps)
    assert math.isclose(r, reference.kuramoto_steps(twin, omega, coupling, 0.04, steps), abs_tol=1e-9)
    assert 0.0 <= r <= 1.0
    assert all(0.0 <= phase < math.tau for phase in mine)
    assert compiled.phase_drift(mine, twin) < 1e-9
    order, psi = compiled.kuramoto_order(mine)
    assert 0.0 <= order <= 1.0 and 0.0 <= psi < math.tau
    assert math.isclose(order, reference.kuramoto_order(mine)[0], abs_tol=1e-12)


@given(a=any_double, b=any_double)
@example(a=0.8999999761581421, b=0.9)
@example(a=1e39, b=3.5e38)
def test_any_numbers_are_classified_alike_or_refused_alike(compiled, reference, a, b) -> None:
    for name, arguments in [
        ("ic_index", (a,)),
        ("below32", (a, b)),
        ("state_index", (a,)),
        ("logistic_reflection", (a,)),
    ]:
        mine, twin = (outcome(getattr(side, name), *arguments) for side in (compiled, reference))
        assert alike(mine, twin), (name, mine, twin)


@given(low=unit, high=unit)
def test_more_consciousness_never_means_a_lower_state(kernels, low, high) -> None:
    low, high = min(low, high), max(low, high)
    assert kernels.state_index(low) <= kernels.state_index(high)
    assert kernels.ic_index(low) >= kernels.ic_index(high)
    assert kernels.logistic_reflection(low) <= kernels.logistic_reflection(high)
