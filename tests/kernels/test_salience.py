"""Salience space by space: the twin, the compiled kernel in each kind, and Numba's where installed."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.oracles import salience as _reference_salience

from context_graph import kernels
from context_graph.model.spaces import DIM, SLICES, SPACES

COMPILED = import_module("context_graph.kernels.salience")
UNREAD = 0.6


@pytest.fixture(params=["reference", "compiled", "numba"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    if request.param == "numba":
        return numba_kernel()
    return COMPILED if request.param == "compiled" else _reference_salience


def numba_kernel() -> ModuleType:
    """Numba's, or the test is skipped."""
    pytest.importorskip("numba", reason="the extra `numba` is not installed")
    return import_module("context_graph.kernels.just_in_time")


def rows(count: int, seed: int, *, empty: float = 0.0) -> NDArray[np.float32]:
    """Random embeddings, each space of length 1 or, with that probability, empty."""
    chance = np.random.default_rng(seed)
    made = chance.standard_normal((count, DIM), dtype=np.float32)
    for part in SLICES.values():
        made[:, part] /= np.linalg.norm(made[:, part], axis=1, keepdims=True)
        made[chance.random(count) < empty, part] = 0.0
    return made


def scored(
    module: ModuleType,
    block: NDArray[np.float32],
    told: list[float],
    base: list[float],
    centres: NDArray[np.float32] | None = None,
    most: list[float] | None = None,
) -> NDArray[np.float64]:
    out = np.full((len(block), len(SPACES)), np.nan)
    found = np.zeros((0, DIM), np.float32) if centres is None else centres
    module.score(block, np.array(told), np.array(base), found, np.array(most or [], np.float64), UNREAD, out)
    return out


def test_without_centres_every_space_that_says_something_scores_what_the_base_leaves(
    module: ModuleType,
) -> None:
    block = rows(3, 1)
    block[1, SLICES["Seen"]] = 0.0
    found = scored(module, block, [1.0, 1.0, 0.5], [0.25, 0.5, 1.0])
    code = SPACES.index("Seen")
    assert found[0].tolist() == [0.75] * 13
    assert found[1, code] == 0.0
    assert np.delete(found[1], code).tolist() == [0.5] * 12
    assert found[2].tolist() == [0.0] * 13


def test_nearness_lifts_by_its_weight_and_the_nearest_centre_counts(module: ModuleType) -> None:
    block = rows(1, 2)
    away = -block
    found = scored(module, block, [1.0], [0.5], np.concatenate([away, block, block]), [1.0, 0.2, 0.4])
    assert found[0] == pytest.approx([1.0 - 0.5 * 0.6] * 13, abs=1e-6)
    assert scored(module, block, [1.0], [0.5], away, [1.0])[0].tolist() == [0.5] * 13
    assert scored(module, block, [0.0], [0.5], block, [1.0])[0].tolist() == [0.5] * 13


def test_what_the_embedder_cannot_read_scores_alike_everywhere(module: ModuleType) -> None:
    block = rows(2, 3)
    block[:, SLICES["Semantic"]] = 0.0
    found = scored(module, block, [0.9, 0.0], [0.5, 0.5])
    assert found[0].tolist() == [UNREAD * 0.5] * 13
    assert found[1].tolist() == [0.0] + [0.5] * 12


def test_rows_add_up_by_weight(module: ModuleType) -> None:
    block, total = rows(5, 4), np.arange(DIM, dtype=np.float64)
    weights = np.array([1.0, -2.0, 0.0, 0.5, 3.0])
    module.add_weighted(block, weights, total)
    assert total == pytest.approx(np.arange(DIM) + weights @ block.astype(np.float64), abs=1e-9)


def test_an_empty_block_is_no_error(module: ModuleType) -> None:
    assert scored(module, rows(0, 1), [], []).shape == (0, 13)
    module.add_weighted(rows(0, 1), np.zeros(0), np.zeros(DIM))


@pytest.mark.parametrize("change", ["block", "told", "base", "centres", "most", "out"])
def test_wrong_sizes_are_refused(module: ModuleType, change: str) -> None:
    given = {
        "block": rows(2, 1),
        "told": np.zeros(2),
        "base": np.zeros(2),
        "centres": rows(1, 2),
        "most": np.zeros(1),
        "out": np.zeros((2, 13)),
    }
    wider = {"block": np.zeros((2, 10), np.float32), "centres": np.zeros((1, 10), np.float32)}
    given[change] = wider.get(change, np.zeros(3) if change != "out" else np.zeros((2, 12)))
    with pytest.raises(ValueError):
        module.score(
            *[given[name] for name in ("block", "told", "base", "centres", "most")], UNREAD, given["out"]
        )
    with pytest.raises(ValueError):
        module.add_weighted(rows(2, 1), np.zeros(3), np.zeros(DIM))


@given(st.integers(0, 9), st.integers(0, 4), st.integers(0, 1 << 30), st.floats(0, 1), st.floats(0, 1))
def test_twins_agree_to_the_last_bit(
    count: int, centres: int, seed: int, empty: float, unread: float
) -> None:
    chance = np.random.default_rng(seed)
    block = rows(count, seed, empty=empty)
    told, base, most = chance.random(count), chance.random(count), chance.random(centres)
    near = rows(centres, seed + 1, empty=empty)
    expected, totals = np.empty((count, 13)), [np.zeros(DIM), np.zeros(DIM)]
    _reference_salience.score(block, told, base, near, most, unread, expected)
    for kind in (None, *COMPILED.KINDS):
        found = np.empty((count, 13))
        COMPILED.score(block, told, base, near, most, unread, found, kind)
        assert np.array_equal(found, expected), kind
    for module, total in zip((_reference_salience, COMPILED), totals, strict=True):
        module.add_weighted(block, told, total)
    assert np.array_equal(*totals)
    assert ((expected >= 0.0) & (expected <= 1.0)).all()


@pytest.mark.parametrize("centres", [0, 1, 3, 9])
def test_numba_agrees_within_single_precision(centres: int) -> None:
    numba, chance = numba_kernel(), np.random.default_rng(centres)
    block, near = rows(64, 5, empty=0.3), rows(centres, 6)
    given = (block, chance.random(64), chance.random(64), near, chance.random(centres), UNREAD)
    found, expected = np.empty((64, 13)), np.empty((64, 13))
    numba.score(*given, found)
    _reference_salience.score(*given, expected)
    assert np.abs(found - expected).max() < 1e-6


def test_an_unknown_kind_is_refused(module: ModuleType) -> None:
    with pytest.raises(ValueError, match="kind must be one of"):
        block = rows(1, 1)
        module.score(
            block, np.zeros(1), np.zeros(1), rows(0, 1), np.zeros(0), UNREAD, np.zeros((1, 13)), "none"
        )


def test_numba_is_taken_for_a_run_that_pays_and_only_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "context_graph.kernels.just_in_time"
    monkeypatch.setitem(sys.modules, name, _reference_salience)
    plain = kernels.salience_for(0)
    assert kernels.salience_for(kernels.NUMBA_PAYS - 1) is plain is kernels.salience
    assert kernels.salience_for(kernels.NUMBA_PAYS) is _reference_salience
    monkeypatch.setitem(sys.modules, name, None)
    assert kernels.salience_for(10 * kernels.NUMBA_PAYS) is plain
