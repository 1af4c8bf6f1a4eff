"""How relevant a recalled memory is, on a scale that means the same in every store.

A recall ranks; it always has a best memory, also for a question that no memory answers. What goes into a
context unasked must clear a floor that rank cannot give: the share of the prompt's telling words that the
memory holds, and the likeness of meaning, each judged by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["relevance"]


def relevance(parts: Mapping[str, float]) -> float:
    """Relevance in [0, 1] from a recall's parts: ``terms`` in [0, 1] and ``cosine`` in [-1, 1].

    1 - (1 - terms) * (1 - cosine): either alone can carry it, both together do more.
    """
    terms = min(1.0, max(0.0, parts["terms"]))
    cosine = min(1.0, max(0.0, parts["cosine"]))
    return 1.0 - (1.0 - terms) * (1.0 - cosine)
