"""Salience of blocks of memories: the kernel, its twin, Numba's, and plain NumPy on the same work.

| workload | what |
|---|---|
| score | 4,096 rows, 0, 1, 20 centres: ``compiled``, ``reference`` (the twin), ``numba`` if installed, |
| | ``numpy`` (whole matrices) |
| gathered | the weighted sum of 4,096 rows |
| telling | the words of 1,000 short texts |
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from benches.scale import scaled
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture
from tests.oracles import salience as _reference_salience

from context_graph.consolidation.finders.words import informative_words
from context_graph.model.spaces import DIM, SLICES

ROWS = scaled(4096, 256)
COMPILED = import_module("context_graph.kernels.salience")
_STARTS = np.array([part.start for part in SLICES.values()])


def embeddings(count: int, seed: int) -> NDArray[np.float32]:
    made = np.random.default_rng(seed).standard_normal((count, DIM), dtype=np.float32)
    for part in SLICES.values():
        made[:, part] /= np.linalg.norm(made[:, part], axis=1, keepdims=True)
    return made


def by_numpy(
    block: NDArray[np.float32],
    told: NDArray[np.float64],
    base: NDArray[np.float64],
    centres: NDArray[np.float32],
    most: NDArray[np.float64],
    unread: float,
    out: NDArray[np.float64],
) -> None:
    """The same with whole matrices; ``unread`` is left out."""
    squares = np.add.reduceat(block * block, _STARTS, axis=1, dtype=np.float64)
    lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    near = np.zeros_like(squares)
    for space, part in enumerate(SLICES.values()):
        if len(centres):
            cosines = np.minimum(block[:, part] @ centres[:, part].T / lengths[:, space, None], 1.0)
            near[:, space] = np.maximum(cosines * most, 0.0).max(axis=1)
    out[:] = np.where(squares > 0.0, 1.0 - base[:, None] * (1.0 - near * told[:, None]), 0.0)


SCORERS: dict[str, Callable[..., None]] = {
    "compiled": COMPILED.score,
    "reference": _reference_salience.score,
    "numpy": by_numpy,
}
if find_spec("numba") is not None:
    SCORERS["numba"] = import_module("context_graph.kernels.just_in_time").score


@pytest.mark.parametrize("centres", [0, 1, 20])
@pytest.mark.parametrize("scorer", SCORERS)
def test_score(benchmark: BenchmarkFixture, scorer: str, centres: int) -> None:
    benchmark.group = f"salience: {ROWS:,} rows, {centres} centres"
    chance = np.random.default_rng(2)
    given = (embeddings(ROWS, 1), chance.random(ROWS), chance.random(ROWS), embeddings(centres, 3))
    out = np.empty((ROWS, 13))
    benchmark.pedantic(SCORERS[scorer], (*given, np.full(centres, 0.5), 0.6, out), rounds=9, warmup_rounds=1)
    check = np.empty((ROWS, 13))
    COMPILED.score(*given, np.full(centres, 0.5), 0.6, check)
    assert np.allclose(out, check, atol=1e-5)


@pytest.mark.parametrize("how", ["compiled", "reference", "numpy"])
def test_gathered(benchmark: BenchmarkFixture, how: str) -> None:
    benchmark.group = f"salience: weighted sum of {ROWS:,} rows"
    block, weights, total = embeddings(ROWS, 1), np.random.default_rng(2).random(ROWS), np.zeros(DIM)
    if how == "numpy":
        benchmark.pedantic(lambda: weights @ block, rounds=9, warmup_rounds=1)
        return
    module = COMPILED if how == "compiled" else _reference_salience
    benchmark.pedantic(module.add_weighted, (block, weights, total), rounds=9, warmup_rounds=1)


def test_telling(benchmark: BenchmarkFixture) -> None:
    benchmark.group = "telling words: 1,000 texts of some ten words"
    texts = [f"Note {n}: the parser of module {n % 40} moved to Rust, ask Ann why!" for n in range(1000)]
    benchmark.pedantic(lambda: [informative_words(text) for text in texts], rounds=9, warmup_rounds=1)
