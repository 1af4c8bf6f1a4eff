"""Which implementation is loaded, and what loading it costs."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from context_graph import kernels as _kernels
from context_graph.kernels.reference import vectors as _reference

ROOT = Path(__file__).parents[2]


def run_python(code: str, **env: str) -> str:
    """Standard output of ``code`` in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.skipif(bool(_kernels.FALLBACKS) and "CONTEXT_GRAPH_PURE" in os.environ, reason="twins asked for")
def test_the_compiled_kernels_are_the_ones_that_are_loaded() -> None:
    assert _kernels.FALLBACKS == {}
    assert _kernels.BACKEND == "compiled"
    modules = [getattr(_kernels, name) for name in _kernels.__all__ if name.islower()]
    assert _kernels.oscillators in modules
    for module in modules:
        assert str(module.__file__).endswith(tuple(EXTENSION_SUFFIXES)), module.__name__


def test_every_kernel_source_is_loaded_by_the_chooser() -> None:
    sources = {source.stem for source in ROOT.glob("ext/kernels/*.pyx")}
    assert sources == {name for name in _kernels.__all__ if name.islower()}


def test_the_switch_loads_the_twins_and_says_so() -> None:
    code = (
        "from context_graph import kernels as k;"
        "print(k.BACKEND, k.vectors.__name__, k.FALLBACKS['vectors'], sep='|')"
    )
    assert run_python(code, CONTEXT_GRAPH_PURE="1") == (
        "reference|context_graph.kernels.reference.vectors|CONTEXT_GRAPH_PURE is set"
    )


def test_a_switch_set_to_zero_keeps_the_compiled_kernels() -> None:
    code = "from context_graph import kernels as k; print(k.BACKEND)"
    assert run_python(code, CONTEXT_GRAPH_PURE="0") == "compiled"


def test_a_kernel_that_is_not_built_falls_back_alone_and_says_why() -> None:
    code = (
        "import sys; sys.modules['context_graph.kernels.vectors'] = None\n"
        "from context_graph import kernels as k\n"
        "print(k.BACKEND, k.vectors.__name__, k.oscillators.__name__, list(k.FALLBACKS), sep='|')"
    )
    assert run_python(code, CONTEXT_GRAPH_PURE="") == (
        "reference|context_graph.kernels.reference.vectors|context_graph.kernels.oscillators|['vectors']"
    )


@pytest.mark.parametrize("pure", ["", "1"], ids=["compiled", "reference"])
def test_neither_backend_imports_numpy(pure: str) -> None:
    """The owner must stay light: its process never holds NumPy."""
    code = "import sys; from context_graph import kernels; print('numpy' in sys.modules)"
    assert run_python(code, CONTEXT_GRAPH_PURE=pure) == "False"


def test_compiled_kernels_and_twins_have_the_same_functions_and_arguments(compiled) -> None:
    assert set(vars(compiled)) == set(_reference.__all__)
    for name in _reference.__all__:
        twin = inspect.signature(getattr(_reference, name))
        assert list(inspect.signature(getattr(compiled, name)).parameters) == list(twin.parameters), name


def test_no_kernel_source_reaches_numpy_or_the_package() -> None:
    """Import contracts read only .py files; this holds the same line for the Cython sources."""
    sources = [*ROOT.glob("ext/kernels/*.pyx"), *ROOT.glob("ext/kernels/*.pxd")]
    assert len(sources) >= 3
    for source in sources:
        for line in source.read_text(encoding="utf-8").splitlines():
            found = re.match(r"\s*(?:from\s+([\w.]+)\s+c?import|c?import\s+([\w.]+))", line)
            if found:
                module = (found[1] or found[2]).split(".")[0]
                assert module not in {"numpy", "context_graph"}, f"{source.name}: {line.strip()}"
