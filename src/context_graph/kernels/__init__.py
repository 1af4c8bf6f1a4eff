"""Loads the kernels, which do the arithmetic, compiled from ext/kernels.

Call through the module, as ``_kernels.vectors.cosine13(a, b)``. Arguments are buffers (array.array, NumPy
arrays) of the element type in the docstring. Each kernel has an oracle in tests/oracles, the same in readable
Python, which its tests hold it to.

A new kernel module takes two places: its line in the import below, and ``__all__``. What only a consolidation
calls is imported on first use (``_BATCH``): the owner never loads it.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from context_graph.kernels import (
    dense,
    features,
    goals,
    lexical,
    oscillators,
    purpose,
    ranking,
    rows,
    sealing,
    tokens,
    topics,
    vectors,
)

if TYPE_CHECKING:
    from context_graph.kernels import hebbian, pairs, salience

__all__ = [
    "dense",
    "features",
    "goals",
    "hebbian",
    "lexical",
    "oscillators",
    "pairs",
    "purpose",
    "ranking",
    "rows",
    "salience",
    "sealing",
    "tokens",
    "topics",
    "vectors",
]

_BATCH: Final = ("hebbian", "pairs", "salience")
"""Kernel modules that a consolidation calls."""


def __getattr__(name: str) -> ModuleType:
    if name not in _BATCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


NUMBA_PAYS: Final = 20_000_000
"""Rows times centres from which loading Numba is paid back (docs/dev/adr/0014-batch-kernels.md)."""


def salience_for(comparisons: int) -> ModuleType:
    """Return the kernel `salience` for a run of so many rows times centres.

    The compiled one; for a large run Numba's, if the extra ``numba`` is installed.
    """
    name = "just_in_time" if comparisons >= NUMBA_PAYS else "salience"
    try:
        return import_module(f"{__name__}.{name}")
    except ImportError:
        return import_module(f"{__name__}.salience")
