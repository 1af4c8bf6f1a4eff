"""Every kernel test runs on both implementations; the ids say which."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from importlib import import_module
from types import SimpleNamespace

import pytest
from tests.oracles import vectors as _reference

COMPILED = ("oscillators", "vectors")
"""Compiled modules whose twin is _reference."""


@pytest.fixture(scope="session")
def reference() -> SimpleNamespace:
    return SimpleNamespace(**{name: getattr(_reference, name) for name in _reference.__all__})


@pytest.fixture(scope="session")
def compiled() -> SimpleNamespace:
    modules = [import_module(f"context_graph.kernels.{name}") for name in COMPILED]
    return SimpleNamespace(**{name: getattr(module, name) for module in modules for name in module.__all__})


@pytest.fixture(params=["reference", "compiled"], scope="session")
def kernels(request: pytest.FixtureRequest) -> SimpleNamespace:
    backend: SimpleNamespace = request.getfixturevalue(request.param)
    return backend


@pytest.fixture(scope="session")
def doubles():
    def build(values: Iterable[float]) -> array[float]:
        return array("d", values)

    return build
