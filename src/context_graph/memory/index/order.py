"""Keeps a ranking since its first page: the best by their relevance, the others by their score."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from context_graph.memory.index.blend import NEAR

Judged = tuple[int, float, dict[str, float]]
"""A row, its relevance, and what that is made of."""


@dataclass(frozen=True, slots=True)
class Order:
    """A ranking, kept since its first page."""

    rows: list[int]
    scores: array[float]
    """What they were ranked by, falling."""
    judged: list[float]
    """The relevance of the first rows, falling."""
    likeliest: float
    """The highest relevance among them."""
    signs: dict[int, dict[str, float]]
    """What the relevance of these rows is made of."""
    sweeps: int
    """The index's count when it was made; another one means other row numbers."""
    seconds: int
    """The commit up to which second vectors were used, -1 for none; a first page wants the newest."""
    knows_work: bool
    """The work of the session that asked had a part in it; a first page wants that of its own."""

    def relevance(self, place: int) -> float:
        """Beyond the rows that were judged it falls from the last one's with the score, never below 0."""
        last = len(self.judged) - 1
        if place <= last:
            return self.judged[place]
        return self.judged[last] * min(1.0, _grade(self.scores[place]) / _grade(self.scores[last]))


def end_of_evidence(parts: Sequence[dict[str, float]]) -> int:
    """Return how many of these memories, best first, something speaks for: a word, a meaning, a neighbour."""
    speaks = [
        signs.get("opening", signs["terms"]) > 0.0 or signs["cosine"] >= NEAR or signs["others"] > 0.0
        for signs in parts
    ]
    return len(speaks) - speaks[::-1].index(True) if True in speaks else 0


def _grade(score: float) -> float:
    """Positive, rises with the score, close to it where it is large."""
    return max(score, 0.0) + math.log1p(math.exp(-abs(score)))
