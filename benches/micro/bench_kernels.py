"""Each identity kernel beside its twin: one group a workload, within it the rows differ only in backend.

`make bench` runs these; compare medians within a group, never across machines.
"""

from __future__ import annotations

from array import array
from importlib import import_module
from types import ModuleType

import pytest
from tests.oracles import vectors as _reference

OMEGA = array("d", [hz / 25.3 for hz in (40, 8, 8, 8, 25, 4, 25, 12, 80, 40, 15, 60, 4)])
PHASES = array("d", [0.48 * i for i in range(13)])
FOCUSED = array("d", [0.9, 0.4, 0.1, 0.0, 0.5, 1.1, 0.7, 0.8, 1.0, 1.0, 0.8, 0.9, 1.3])
FOREIGN = array("d", [-0.8, 0.1, 0.1, 0.0, -0.3, -0.9, -0.4, -0.5, 0.2, -0.7, -0.5, 0.3, -1.0])
STEPS_PER_EVENT = 50  # 2 s of network time in steps of 0.04 s (D3.1)


@pytest.fixture(params=["compiled", "reference"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def module(name: str, backend: str) -> ModuleType:
    """Loaded by name: a fallback would compare the twin with itself."""
    return import_module(f"context_graph.kernels.{name}") if backend == "compiled" else _reference


def test_oscillators_over_one_event(benchmark, backend) -> None:
    benchmark.group = "kuramoto_steps: 50 steps, one event"
    phases = array("d", PHASES)
    steps = module("oscillators", backend).kuramoto_steps
    assert 0.9 < benchmark(steps, phases, OMEGA, 4.0, 0.04, STEPS_PER_EVENT) < 1.0


def test_order_of_a_snapshot(benchmark, backend) -> None:
    benchmark.group = "kuramoto_order: one snapshot"
    assert benchmark(module("oscillators", backend).kuramoto_order, PHASES)[0] <= 1.0


def test_phase_drift_of_two_snapshots(benchmark, backend) -> None:
    benchmark.group = "phase_drift: two snapshots"
    assert benchmark(module("oscillators", backend).phase_drift, PHASES, OMEGA) > 0.0


def test_continuity_of_a_foreign_event(benchmark, backend) -> None:
    benchmark.group = "identity_continuity: foreign event"
    assert benchmark(module("vectors", backend).identity_continuity, FOREIGN, FOCUSED, 0.97) == 0.0


def test_cosine_of_two_purpose_vectors(benchmark, backend) -> None:
    benchmark.group = "cosine13: two purpose vectors"
    assert benchmark(module("vectors", backend).cosine13, FOREIGN, FOCUSED) < 0.0


def test_entropy_of_a_purpose_vector(benchmark, backend) -> None:
    benchmark.group = "purpose_entropy: one vector"
    assert 0.8 < benchmark(module("vectors", backend).purpose_entropy, FOCUSED) < 1.0


def test_reflection_of_an_accuracy(benchmark, backend) -> None:
    benchmark.group = "logistic_reflection: one number"
    assert benchmark(module("vectors", backend).logistic_reflection, 0.9) > 0.8


def test_classes_of_one_event(benchmark, backend) -> None:
    benchmark.group = "ic_index and state_index: one event"
    vectors = module("vectors", backend)

    def classify() -> tuple[int, int]:
        return vectors.ic_index(0.88), vectors.state_index(0.62)

    assert benchmark(classify) == (1, 2)
