"""How a session's purpose vector aligns with what is no event of it, such as a goal of the store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from context_graph.identity.ego import SPACES, Comparison, Purpose

__all__ = ["Alignment", "align"]


class Alignment(NamedTuple):
    """Texts beside what a session has been about."""

    overall: float
    """Cosine of the purpose vector and the one that the texts would make, [-1, 1]."""
    spaces: tuple[float, ...]
    """By space (`ego.SPACES`): 1 as near as the session's own work usually is, -1 as far as other work, 0
    where the texts or the session say nothing."""


def align(purpose: Purpose, comparisons: Sequence[Comparison]) -> Alignment | None:
    """The mean over texts, each counting by how far its comparison can be trusted.

    Returns:
        None where no text and goal had anything to compare.
    """
    sums, weights = [0.0] * len(SPACES), [0.0] * len(SPACES)
    for comparison in comparisons:
        coded = purpose.coded(comparison)
        for k, likeness in enumerate(comparison.likeness):
            if not math.isnan(likeness):
                sums[k] += comparison.confidence[k] * coded[k]
                weights[k] += comparison.confidence[k]
    if not any(weights):
        return None
    spaces = [total / weight if weight else 0.0 for total, weight in zip(sums, weights, strict=True)]
    return Alignment(_cosine(purpose.vector, purpose.weighted(spaces)), tuple(spaces))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    if lengths < 1e-12:
        return 0.0
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return max(-1.0, min(1.0, product / lengths))
