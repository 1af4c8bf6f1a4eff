"""Makes goals of areas: what captured sessions worked on, told by its path and its words.

Their summaries are too alike in form for clusters of words to say what a session was for; the files it
changed do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from context_graph.consolidation.finders.areas import Area
from context_graph.consolidation.finders.clusters import cluster_id
from context_graph.consolidation.finders.goals import MIN_MEMBERS, Profile, as_centroid, by_nearness, level_of
from context_graph.consolidation.plan import Goal
from context_graph.consolidation.snapshot import Snapshot
from context_graph.model.spaces import DIM, SLICES, SPACES

PRIOR: Final = 2.0
"""Sessions that an area needs to be half certain."""


def discover(snap: Snapshot, areas: Sequence[Area], *, min_confidence: float, max_goals: int) -> list[Goal]:
    """The goals that ``areas`` of at least 5 sessions show, most certain first.

    Confidence is n / (n + 2) * (1 - n / N) for n of N memories: more sessions, and a smaller part of the
    store, make an area more of a goal of its own.

    Cost: one pass over the store.
    """
    chosen = [area for area in areas if len(area.rows) >= MIN_MEMBERS]
    sure = [len(area.rows) / (len(area.rows) + PRIOR) * (1 - len(area.rows) / len(snap)) for area in chosen]
    order = sorted(range(len(chosen)), key=lambda at: (-sure[at], chosen[at].path))
    kept = [at for at in order if sure[at] >= min_confidence][:max_goals]
    profiles = _profiles(snap, [chosen[at] for at in kept])
    return [_goal(snap, chosen[at], profile, sure[at]) for at, profile in zip(kept, profiles, strict=True)]


def _profiles(snap: Snapshot, areas: Sequence[Area]) -> list[Profile]:
    """A profile of each area; a memory may be in several."""
    sums, filled = np.zeros((len(areas), DIM)), np.zeros((len(areas), len(SPACES)))
    for start, block in snap.blocks() if areas else ():
        for at, area in enumerate(areas):
            rows = area.rows[(area.rows >= start) & (area.rows < start + len(block))] - start
            sums[at] += block[rows].sum(axis=0, dtype=np.float64)
            filled[at] += [np.any(block[rows, SLICES[name]], axis=1).sum() for name in SPACES]
    return [Profile(len(area.rows), sums[at], filled[at]) for at, area in enumerate(areas)]


def _goal(snap: Snapshot, area: Area, profile: Profile, confidence: float) -> Goal:
    centroid, coherence = as_centroid(profile.sums), profile.coherence()
    rows = area.rows[by_nearness(snap, area.rows, centroid)]
    members = tuple(snap.ids[row] for row in rows.tolist())
    return Goal(
        goal_id=cluster_id(members),
        description=": ".join((area.path, *([", ".join(area.words)] if area.words else []))),
        level=level_of(len(members), coherence),
        confidence=confidence,
        coherence=coherence,
        parent=None,
        members=members,
        centroid=centroid,
    )
