"""Which memories say too little to be kept, and which are kept all the same (D5.3)."""

from __future__ import annotations

from typing import Final

import numpy as np

from context_graph.dream.plan import Prune
from context_graph.dream.snapshot import F64, Snapshot

__all__ = ["IMPORTANT", "LINKED", "YOUNG_MS", "choose"]

IMPORTANT: Final = 0.8
"""Importance from which a memory is never pruned."""
LINKED: Final = 3
"""Edges, of both directions, from which it is not."""
YOUNG_MS: Final = 86_400_000
"""A memory younger than a day is not; one with a time in the future is as young as can be."""


def choose(snap: Snapshot, scores: F64, threshold: float, taken: set[int], now_ms: int) -> list[Prune]:
    """The memories to forget: salience below ``threshold`` and no guard; in order of commit.

    Never: pinned, importance >= 0.8, created less than a day before ``now_ms``, 3 or more edges.

    Args:
        scores: float64[n], `salience.score` of the snapshot.
        threshold: [0, 1]; 0 prunes nothing.
        taken: Rows that a merge has its hands on, as survivor or loser: left alone.

    Raises:
        ValueError: As many scores as memories are needed; the threshold must be in [0, 1].
    """
    if len(scores) != len(snap):
        raise ValueError(f"{len(scores)} scores for {len(snap)} memories")
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold is {threshold!r}, must be between 0 and 1")
    wanted = (
        (scores < threshold)
        & ~snap.pinned
        & (snap.importance < IMPORTANT)
        & (snap.degree < LINKED)
        & (now_ms - snap.created_ms >= YOUNG_MS)
    )
    if taken:
        wanted[np.fromiter(taken, np.int64, len(taken))] = False
    return [Prune(snap.ids[row], float(scores[row])) for row in map(int, np.flatnonzero(wanted))]
