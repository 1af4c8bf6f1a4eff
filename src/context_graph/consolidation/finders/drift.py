"""Measures drift in what is named (E13): do recent memories still serve what the store is about?

Raw cosines are much the same for any work, so no fixed limit on them helps. Recent memories are
compared with the goals' memories as the sessions among those compare with each other: the mean cosine of each
memory to the nearest one of another session, without the common component. Drift is how far the recent mean
is below that of past sessions, in their standard deviations; the similarity is 1 - drift / 4, for the limits
of research 9.8 (0.85, 0.70, 0.55, 0.40). docs/dev/consolidation-definitions.md says what it was measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from context_graph.consolidation.plan import Drift, Goal
from context_graph.consolidation.snapshot import F32, F64, I64, Snapshot, unit_rows
from context_graph.model.memory import CAPTURED

LEVELS: Final = ((0.85, "none"), (0.70, "low"), (0.55, "medium"), (0.40, "high"), (0.0, "critical"))
"""Least similarity of each level."""
SCALE: Final = 0.25
"""Similarity that one standard deviation costs."""
LEAST_RECENT: Final = 8
"""Memories with a goal in them that a judgement needs, and those it is made against."""
LEAST_OLDER: Final = 24
MOST_RECENT: Final = 64
MOST_OLDER: Final = 2048
SHRINK: Final = 10.0
"""How far directions of great variance are weighed down: each is divided by sqrt(variance + 10 * mean)."""
PRIOR_SESSIONS: Final = 4.0
"""How many sessions' worth of knowledge the guess is that sessions differ half as much as memories do."""


def detect(snap: Snapshot, goals: Sequence[Goal] = ()) -> Drift:
    """Return how far the newest memories are from the goals' memories; without goals, from all older ones.

    Recent is the newest session, and those before it until 8 memories are found that have a goal in them; 64
    at most. Sessions' summaries, all alike in form, are left out. With too few memories, or goals, to compare
    with, there is no drift and a similarity of 1.

    Cost: 2,048 x 2,048 x 128 multiplications. Source: research 9.8; seed 002 (by another space).
    """
    space = snap.space("Terms")
    stored = np.fromiter((source != CAPTURED for source in snap.source), np.bool_, len(snap))
    with_aim = np.flatnonzero(stored & np.any(space != 0.0, axis=1))
    recent = _recent(snap, with_aim)
    older, groups = _older(snap, with_aim, recent, goals)
    if len(recent) < LEAST_RECENT or len(older) < LEAST_OLDER:
        return Drift(1.0, "none", False, 0.0, 0)
    old, new = _whitened(space[older], space[recent])
    middle, spread = _usual(_nearest_of_others(old, groups), groups)
    places = (_nearest(new, old, groups) - middle) / spread
    return _drift(float(-places.mean()), SCALE * _slope(places), len(recent))


def _drift(deviations: float, trend: float, recent: int) -> Drift:
    similarity = min(1.0, max(0.0, 1.0 - SCALE * deviations))
    level = next(name for least, name in LEVELS if similarity >= least)
    return Drift(similarity, level, level not in ("none", "low"), trend, recent)


def _recent(snap: Snapshot, with_aim: I64) -> I64:
    """Return the newest memories: whole sessions from the newest back; without sessions, a tenth of the
    store."""
    if not len(with_aim):
        return with_aim
    newest = with_aim[::-1][:MOST_RECENT]
    sessions = snap.session[newest]
    if not sessions.any():
        return np.sort(newest[: max(LEAST_RECENT, min(MOST_RECENT, len(with_aim) // 10))])
    taken = np.zeros(len(newest), np.bool_)
    for session in dict.fromkeys(sessions.tolist()):
        taken |= sessions == session
        if taken.sum() >= LEAST_RECENT:
            break
    return np.sort(newest[taken])


def _older(snap: Snapshot, with_aim: I64, recent: I64, goals: Sequence[Goal]) -> tuple[I64, I64]:
    """Return the goals' memories, or all that are not recent if those are too few; the newest of them.

    With them their groups: memories of one group are not compared, since those of a session are similar
    anyway.
    """
    others = np.setdiff1d(with_aim, recent)
    if len(recent):  # what was stored beside them, by another session, says nothing about before
        others = others[others < recent[-1]]
    of_goals = np.intersect1d(others, snap.rows_of(member for goal in goals for member in goal.members))
    rows = (of_goals if len(of_goals) >= LEAST_OLDER else others)[-MOST_OLDER:]
    groups = snap.session[rows].astype(np.int64)
    blocks = -1 - np.arange(len(rows)) // max(LEAST_RECENT, len(rows) // 16)
    few = len(np.unique(groups[groups > 0])) < 3
    return rows, blocks if few else np.where(groups > 0, groups, blocks)


def _whitened(older: F32, recent: F32) -> tuple[F32, F32]:
    """Subtract the older rows' mean from both, weaken its directions of high variance, and normalise."""
    mean = older.mean(axis=0)
    centred = older - mean
    values, vectors = np.linalg.eigh((centred.T @ centred / len(older)).astype(np.float64))
    values = np.maximum(values, 0.0)
    scale = 1.0 / np.sqrt(values + SHRINK * max(float(values.mean()), 1e-12))
    change = ((vectors * scale) @ vectors.T).astype(np.float32)
    return unit_rows(centred @ change), unit_rows((recent - mean) @ change)


def _nearest_of_others(rows: F32, groups: I64) -> F64:
    """Return each row's cosine to the nearest row of another group."""
    cosines = rows @ rows.T
    cosines[groups[:, None] == groups[None, :]] = -1.0
    return np.asarray(cosines.max(axis=1), dtype=np.float64)


def _nearest(rows: F32, others: F32, groups: I64) -> F64:
    """Return each row's cosine to the nearest of ``others``, on average over leaving one of their groups out.

    So that it is comparable with what the others have among themselves, each without its own group.
    """
    order = np.argsort(groups, kind="stable")
    starts = np.unique(groups[order], return_index=True)[1]
    best = np.maximum.reduceat(rows @ others[order].T, starts, axis=1)
    first, second = np.sort(best, axis=1)[:, ::-1][:, :2].T
    return np.asarray(first - (first - second) / len(starts), dtype=np.float64)


def _usual(nearest: F64, groups: I64) -> tuple[float, float]:
    """Mean and standard deviation of the groups' averages."""
    means = np.array([nearest[groups == group].mean() for group in np.unique(groups)])
    guess = PRIOR_SESSIONS * float(nearest.var()) / 4.0
    variance = (float(((means - means.mean()) ** 2).sum()) + guess) / (len(means) - 1 + PRIOR_SESSIONS)
    return float(means.mean()), float(np.sqrt(variance)) or 1.0


def _slope(values: F64) -> float:
    steps = np.arange(len(values)) - (len(values) - 1) / 2.0
    return float(steps @ values) / float(steps @ steps) if len(values) > 1 else 0.0
