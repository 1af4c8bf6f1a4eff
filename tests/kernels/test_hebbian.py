"""Hebb's rule with decay, on both implementations."""

from __future__ import annotations

from array import array
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import hebbian as _reference_hebbian

RATE, DECAY, FLOOR = 0.01, 0.001, 0.05
COMPILED = import_module("context_graph.kernels.hebbian")


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    return COMPILED if request.param == "compiled" else _reference_hebbian


def updated(module: ModuleType, edges: list[tuple[int, int, float]], activity: list[float]) -> list[float]:
    after = array("d", [0.0] * len(edges))
    module.update(
        array("i", [source for source, _, _ in edges]),
        array("i", [target for _, target, _ in edges]),
        array("d", activity),
        array("d", [weight for _, _, weight in edges]),
        after,
        RATE,
        DECAY,
        FLOOR,
    )
    return list(after)


def test_both_ends_active_strengthen_and_an_inactive_end_only_lets_it_decay(module: ModuleType) -> None:
    after = updated(module, [(0, 1, 0.5), (0, 2, 0.5)], [1.0, 0.8, 0.0])
    assert after == [0.5 * 0.999 + 0.01 * 0.8, 0.5 * 0.999]


def test_a_weight_stays_between_floor_and_one(module: ModuleType) -> None:
    after = updated(
        module, [(0, 0, 1.0), (1, 1, FLOOR), (1, 1, 0.0500001), (1, 1, 0.02), (0, 0, 0.02)], [1.0, 0.0]
    )
    assert after[:4] == [1.0, FLOOR, FLOOR, 0.02]
    assert after[4] == pytest.approx(0.02 * 0.999 + 0.01)


def test_no_edges_are_no_work(module: ModuleType) -> None:
    assert updated(module, [], [0.5]) == []


def test_what_does_not_fit_is_refused(module: ModuleType) -> None:
    for edges in ([(0, 2, 0.5)], [(-1, 0, 0.5)], [(0, 1, 0.5), (2, 0, 0.5)]):
        with pytest.raises(ValueError, match="has an end outside activity"):
            updated(module, edges, [0.5, 0.5])
    one = array("i", [0])
    with pytest.raises(ValueError, match="one length"):
        module.update(
            one,
            array("i", [0, 0]),
            array("d", [1.0]),
            array("d", [0.5]),
            array("d", [0.0]),
            RATE,
            DECAY,
            FLOOR,
        )


unit = st.floats(0.0, 1.0)


@given(
    st.lists(unit, min_size=1, max_size=9).flatmap(
        lambda activity: st.tuples(
            st.just(activity),
            st.lists(
                st.tuples(st.integers(0, len(activity) - 1), st.integers(0, len(activity) - 1), unit),
                max_size=40,
            ),
        )
    )
)
def test_the_twins_agree_to_the_last_bit(case: tuple[list[float], list[tuple[int, int, float]]]) -> None:
    activity, edges = case
    assert updated(COMPILED, edges, activity) == updated(_reference_hebbian, edges, activity)
