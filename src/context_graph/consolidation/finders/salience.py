"""Scores how much each memory matters, and chooses the trivial ones that are forgotten (D5.3).

There are thirteen scores, one per space, and their weighted mean. In space i a memory without content scores
0; any other scores

    s_i = 1 - (1 - 0.9 * told * worth) * (1 - use) * (1 - near_i * told)

told   how much its words say, [0, 1] (`telling`)
worth  the factor for its importance: 0.3 at 0, 0.64 at 0.1, 0.96 at 0.3, 1 from 0.5 on
use    evidence of use: importance above 0.5, number and age of accesses, links
near_i closeness, in that space, to what matters: the goals, and the centres of important and used memories

docs/consolidation-definitions.md has the constants and what they were measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from context_graph.consolidation.finders.words import telling
from context_graph.consolidation.plan import Goal, Prune
from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import F32, F64, Snapshot
from context_graph.errors import UNREADABLE_RECORD
from context_graph.kernels import salience as kernel
from context_graph.model.memory import Modality
from context_graph.model.spaces import DIM, SIZES, SLICES, SPACES, WEIGHTS

TELLS: Final = 0.8
"""Telling words at which a text tells 1 - 1/e of what a text can tell."""
BY_WORDS: Final = 0.9
"""What a text that tells much scores by that alone; the rest is for use and for what it is near to."""
FEW_TERMS: Final = 10
"""Lexical terms up to which a text is read: with more it is neither a greeting nor a stub."""
UNREAD: Final = 0.6
"""Score in every space of a text that has words, but none that the embedder knows: it can't be judged."""
LEAST_WORTH: Final = 0.3
"""What importance 0 leaves."""
BY_IMPORTANCE: Final = 0.4
BY_ACCESSES: Final = 0.4
BY_LINKS: Final = 0.3
BY_RECENCY: Final = 0.15
"""What each evidence of use can add at most, of what is missing to 1."""
HALF_ACCESSES: Final = 2.0
HALF_LINKS: Final = 1.0
HALF_LIFE_MS: Final = 14 * 86_400_000.0
NEAR_GOAL: Final = 0.5
NEAR_USED: Final = 0.6
"""What alignment 1 with a goal, or with where used memories lie, adds of what is missing to 1."""
PRIOR: Final = 16.0
"""Memories of use at which their place counts half."""

ON_PURPOSE: Final = frozenset({"tool", "cli", "library"})
"""Sources of a memory that somebody stored by itself: one that says something is not short by accident."""
SAID_ON_PURPOSE: Final = 2.2
"""Telling words that such a memory has at least, if it has LEAST_SAID."""
LEAST_SAID: Final = 0.75

IMPORTANT: Final = 0.8
"""Importance from which a memory is never pruned."""
LINKED: Final = 3
"""Edges, of both directions, from which it is not."""
YOUNG_MS: Final = 86_400_000
"""A memory younger than a day is not; one with a time in the future is as young as can be."""

_STARTS: Final = np.array([SLICES[name].start for name in SPACES])
_WEIGHTS: Final = np.array(WEIGHTS)
_TERMS: Final = SLICES["SPLADE"]


def score(snap: Snapshot, goals: Sequence[Goal] = (), *, progress: Progress = silent) -> F64:
    """The salience of every memory: float64[n] in [0, 1].

    ``goals`` are what the store's owner is after; their centroids are compared with in every space.

    Cost: two passes over the vectors (one where no memory was used or rated), some 5 us for each memory of
    few words. Memory: a block of 4,096 vectors and n x 13 doubles. Source: D5.3; seed 002.
    """
    return np.asarray(np.minimum(by_space(snap, goals, progress=progress) @ _WEIGHTS, 1.0))


def by_space(snap: Snapshot, goals: Sequence[Goal] = (), *, progress: Progress = silent) -> F64:
    """The thirteen scores of every memory: float64[n, 13] in [0, 1]."""
    count = len(snap)
    used = use_evidence(snap)
    worth = 1.0 - (1.0 - LEAST_WORTH) * np.clip(1.0 - 2.0 * snap.importance, 0.0, 1.0) ** 3
    centres, most = _centres(snap, used, goals)
    scores = np.zeros((count, len(SPACES)))
    for start, block in snap.blocks():
        rows = slice(start, start + len(block))
        told = _told(snap, start, block)
        base = (1.0 - BY_WORDS * told * worth[rows]) * (1.0 - used[rows])
        kernel.score(np.ascontiguousarray(block), told, base, centres, most, UNREAD, scores[rows])
        progress(rows.stop, count)
    return scores


def prunes(snap: Snapshot, scores: F64, threshold: float, taken: set[int], now_ms: int) -> list[Prune]:
    """The memories to forget: salience below ``threshold`` and no guard; in order of commit.

    Never: pinned, importance >= 0.8, created less than a day before ``now_ms``, 3 or more edges, and rows
    that a merge has ``taken``. ``scores`` is `score` of the snapshot; a ``threshold`` of 0 prunes nothing.

    Raises ValueError for a wrong number of scores or a threshold outside [0, 1].
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


def use_evidence(snap: Snapshot) -> F64:
    """The evidence that each memory was of use, from its record alone: float64[n] in [0, 1)."""
    rated = BY_IMPORTANCE * np.clip(2.0 * snap.importance - 1.0, 0.0, 1.0)
    asked = BY_ACCESSES * (1.0 - np.exp2(-snap.accesses / HALF_ACCESSES))
    linked = BY_LINKS * (1.0 - np.exp2(-snap.degree / HALF_LINKS))
    since = np.maximum(0, snap.taken_ms - snap.accessed_ms)
    recent = np.where(snap.accesses > 0, BY_RECENCY * np.exp2(-since / HALF_LIFE_MS), 0.0)
    return np.asarray(1.0 - (1.0 - rated) * (1.0 - asked) * (1.0 - linked) * (1.0 - recent))


def _told(snap: Snapshot, start: int, block: F32) -> F64:
    """How much each memory of a block says, [0, 1]; those of few terms are read."""
    terms = np.count_nonzero(block[:, _TERMS], axis=1).astype(np.float64)
    for row in np.flatnonzero(terms <= FEW_TERMS):
        terms[row] = _read(snap, start + int(row), float(terms[row]))
    return np.asarray(1.0 - np.exp(-terms / TELLS))


def _read(snap: Snapshot, row: int, terms: float) -> float:
    """Informative words of one memory; a damaged one, and one that is no text, never counts as empty."""
    if snap.modality[row] != Modality.TEXT:
        return max(terms, FEW_TERMS / 2)
    try:
        said = telling(snap.text(row))
    except UNREADABLE_RECORD:
        return float(FEW_TERMS)
    return max(said, SAID_ON_PURPOSE) if said >= LEAST_SAID and snap.source[row] in ON_PURPOSE else said


def _centres(snap: Snapshot, used: F64, goals: Sequence[Goal]) -> tuple[F32, F64]:
    """The centres to compare with, float32[m, 1536], and the value of being near to each, float64[m]."""
    found = [
        _by_space_units(np.frombuffer(goal.centroid, np.float32))
        for goal in goals
        if len(goal.centroid) == 4 * DIM
    ]
    most = [NEAR_GOAL] * len(found)
    direction, certainty = _used_direction(snap, used)
    if certainty > 0.0:
        found.append(_by_space_units(direction))
        most.append(NEAR_USED * certainty)
    return np.array(found, np.float32).reshape(-1, DIM), np.array(most, np.float64)


def _used_direction(snap: Snapshot, used: F64) -> tuple[F64, float]:
    """How important and used memories differ from the mean, and how sure that is, [0, 1)."""
    total = np.zeros(DIM)
    value = used + snap.importance
    if not len(value) or np.ptp(value) < 1e-9:
        return total, 0.0
    value -= value.mean()
    for start, block in snap.blocks():
        kernel.add_weighted(np.ascontiguousarray(block), value[start : start + len(block)], total)
    evidence = float(np.abs(value).sum()) ** 2 / float(value @ value)
    return total, evidence / (evidence + PRIOR)


def _by_space_units(vector: NDArray[Any]) -> F32:
    whole = vector.astype(np.float64)
    lengths = np.sqrt(np.add.reduceat(whole * whole, _STARTS))
    return np.asarray(whole / np.repeat(np.where(lengths > 0.0, lengths, 1.0), SIZES), dtype=np.float32)
