"""The arithmetic: compiled kernels where they are built, else their readable twins. Decides nothing else.

Call through the module, as ``_kernels.vectors.cosine13(a, b)``. Arguments are buffers (array.array, NumPy
arrays) of the element type in the docstring; the full docstrings are on the twins. ``BACKEND`` says what is
loaded, ``FALLBACKS`` why a twin is. Read ``_reference.py`` first.

A new kernel module takes three places: its name under TYPE_CHECKING, one ``_choose`` line, and ``__all__``.
What only a consolidation calls is chosen when it is first asked for (``_BATCH``): the owner never loads it.
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
    "salience",
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
    return import_module(f"{__name__}.{twin}")


if TYPE_CHECKING:  # one set of types, the stubs', whatever is loaded
    from context_graph._kernels import (
        dense,
        features,
        goals,
        hebbian,
        lexical,
        oscillators,
        pairs,
        purpose,
        ranking,
        salience,
        tokens,
        topics,
        vectors,
    )
else:
    dense = _choose("dense", "_reference_dense")
    features = _choose("features", "_reference_features")
    goals = _choose("goals", "_reference_goals")
    lexical = _choose("lexical", "_reference_lexical")
    oscillators = _choose("oscillators", "_reference")
    purpose = _choose("purpose", "_reference_purpose")
    ranking = _choose("ranking", "_reference_ranking")
    tokens = _choose("tokens", "_reference_tokens")
    topics = _choose("topics", "_reference_topics")
    vectors = _choose("vectors", "_reference")

_BATCH: Final = {
    "hebbian": "_reference_hebbian",
    "pairs": "_reference_pairs",
    "salience": "_reference_salience",
}
"""Kernel module -> its twin, of those that a consolidation calls."""


def __getattr__(name: str) -> ModuleType:
    if name not in _BATCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = globals()[name] = _choose(name, _BATCH[name])
    return module


BACKEND: Final = "reference" if FALLBACKS else "compiled"
"""``compiled`` only when every kernel module that is loaded at once is."""
