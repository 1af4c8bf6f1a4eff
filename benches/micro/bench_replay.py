"""Hebb's update of many edges: the kernel, the same in NumPy, and the twin on a hundredth of them."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from tests.oracles import hebbian as _reference_hebbian

EDGES, MEMORIES = 1_000_000, 100_000
RATES = (0.01, 0.001, 0.05)
GROUP = "Hebbian update: a million edges among 100,000 memories"


def _edges(count: int):
    draw = np.random.default_rng(7)
    source, target = draw.integers(0, MEMORIES, (2, count), dtype=np.int32)
    return source, target, draw.random(MEMORIES), draw.random(count)


def _numpy(source, target, activity, before, after, learning, decay, floor) -> None:
    new = before * (1.0 - decay) + learning * activity[source] * activity[target]
    np.clip(new, np.minimum(floor, before), 1.0, out=after)


def test_kernel(benchmark) -> None:
    benchmark.group = GROUP
    given = _edges(EDGES)
    after, same = np.empty(EDGES), np.empty(EDGES)
    benchmark(import_module("context_graph.kernels.hebbian").update, *given, after, *RATES)
    _numpy(*given, same, *RATES)
    assert np.array_equal(after, same)


def test_numpy(benchmark) -> None:
    benchmark.group = GROUP
    benchmark(_numpy, *_edges(EDGES), np.empty(EDGES), *RATES)


def test_twin_on_a_hundredth(benchmark) -> None:
    benchmark.group = "Hebbian update: the twin, 10,000 edges"
    source, target, activity, before = _edges(EDGES // 100)
    given = source.tolist(), target.tolist(), activity.tolist(), before.tolist()
    benchmark(_reference_hebbian.update, *given, [0.0] * len(given[0]), *RATES)
