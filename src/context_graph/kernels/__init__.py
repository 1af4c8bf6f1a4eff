"""Loads the kernels, which do the arithmetic: the compiled ones if they are built, else their Python twins.

Call through the module, as ``_kernels.vectors.cosine13(a, b)``. Arguments are buffers (array.array, NumPy
arrays) of the element type in the docstring; the full docstrings are on the twins. ``BACKEND`` says what is
loaded, ``FALLBACKS`` why a twin is. Start reading at ``reference/vectors.py``.

A new kernel module takes three places: its name under TYPE_CHECKING, one ``_choose`` line, and ``__all__``.
What only a consolidation calls is chosen on first use (``_BATCH``): the owner never loads it.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

__all__ = [
    "BACKEND",
    "FALLBACKS",
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

FALLBACKS: Final[dict[str, str]] = {}
"""Kernel module -> why its twin is used; empty when every kernel is compiled."""


def _choose(name: str, twin: str) -> ModuleType:
    """The compiled module ``name``; ``twin`` where it is not built or CONTEXT_GRAPH_PURE asks for it."""
    # Read here and not in config: a switch for developers, which has to act while this package is imported.
    if os.environ.get("CONTEXT_GRAPH_PURE", "") not in ("", "0"):
        FALLBACKS[name] = "CONTEXT_GRAPH_PURE is set"
    else:
        try:
            return import_module(f"{__name__}.{name}")
        except ImportError as error:
            FALLBACKS[name] = str(error)
    return import_module(f"{__name__}.reference.{twin}")


if TYPE_CHECKING:  # one set of types, the stubs', whatever is loaded
    from context_graph.kernels import (
        dense,
        features,
        goals,
        hebbian,
        lexical,
        oscillators,
        pairs,
        purpose,
        ranking,
        rows,
        salience,
        sealing,
        tokens,
        topics,
        vectors,
    )
else:
    dense = _choose("dense", "dense")
    features = _choose("features", "features")
    goals = _choose("goals", "goals")
    lexical = _choose("lexical", "lexical")
    oscillators = _choose("oscillators", "vectors")
    purpose = _choose("purpose", "purpose")
    ranking = _choose("ranking", "ranking")
    rows = _choose("rows", "rows")
    sealing = _choose("sealing", "sealing")
    tokens = _choose("tokens", "tokens")
    topics = _choose("topics", "topics")
    vectors = _choose("vectors", "vectors")

_BATCH: Final = {
    "hebbian": "hebbian",
    "pairs": "pairs",
    "salience": "salience",
}
"""Kernel module -> its twin, of those that a consolidation calls."""


def __getattr__(name: str) -> ModuleType:
    if name not in _BATCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = globals()[name] = _choose(name, _BATCH[name])
    return module


NUMBA_PAYS: Final = 20_000_000
NUMBA_PAYS_TWIN: Final = 2_000_000
"""Rows times centres from which loading Numba is paid back, against the compiled kernel and against the twin
(docs/adr/0014-batch-kernels.md)."""


def salience_for(comparisons: int) -> ModuleType:
    """The kernel `salience` for a run of so many rows times centres.

    The compiled one or its twin; for a large run Numba's, if the extra ``numba`` is installed.
    """
    chosen: ModuleType = globals().get("salience") or __getattr__("salience")
    if comparisons < (NUMBA_PAYS_TWIN if "salience" in FALLBACKS else NUMBA_PAYS):
        return chosen
    try:
        return import_module(f"{__name__}.just_in_time")
    except ImportError:
        return chosen


BACKEND: Final = "reference" if FALLBACKS else "compiled"
"""``compiled`` only when every kernel module that is loaded at once is."""
