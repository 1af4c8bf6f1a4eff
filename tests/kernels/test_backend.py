"""Which implementation is loaded, and what loading it costs."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from tests.oracles import vectors as _reference

from context_graph import kernels as _kernels

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


def test_every_kernel_is_compiled() -> None:
    for name in _kernels.__all__:
        module = getattr(_kernels, name)
        assert str(module.__file__).endswith(tuple(EXTENSION_SUFFIXES)), module.__name__


def test_every_kernel_source_is_loaded() -> None:
    sources = {source.stem for source in ROOT.glob("ext/kernels/*.pyx")}
    assert sources == set(_kernels.__all__)


def test_the_kernels_import_no_numpy() -> None:
    """The owner must stay light: its process never holds NumPy."""
    code = "import sys; from context_graph import kernels; print('numpy' in sys.modules)"
    assert run_python(code) == "False"


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
