"""Goals: what many memories are about. Found in the store, not set by anybody.

A cluster of at least five memories that say something is a candidate; so is an area, clusters that lie near
each other by words and meaning. A goal's level follows from its size and coherence, its parent is the area
that it lies in. Definitions: docs/consolidation-definitions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph.dream.clusters import chance, cluster_id, communities, rarity_weighted
from context_graph.dream.goal_adjustment import adjusted
from context_graph.dream.labels import RareWords
from context_graph.dream.neighbours import nearest
from context_graph.dream.plan import Cluster, Goal, GoalLevel
from context_graph.dream.profiles import Profile, join, profiles
from context_graph.dream.progress import Progress, silent
from context_graph.dream.snapshot import Snapshot, unit_rows
from context_graph.dream.telling import telling
from context_graph.memory.likeness import short_name
from context_graph.memory.phrases import sentences
from context_graph.model.spaces import SLICES

__all__ = ["MAX_GOALS", "MIN_CONFIDENCE", "MIN_MEMBERS", "adjusted", "discover"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

MIN_MEMBERS: Final = 5
MIN_CONFIDENCE: Final = 0.3
MAX_GOALS: Final = 10
COHERENT: Final = 0.75
LIFT: Final = 0.1
"""What is less coherent than 0.75 must exceed the store as a whole by so much."""
UNRELATED: Final = 0.5
"""The store's coherence counts as this at most: it may itself be about one thing."""
DOMINANT_LIFT: Final = 0.2
"""By which the members' cosine in a space that makes the goal exceeds the store's."""
DOMINANT: Final = 3
LEAST_TOLD: Final = 4.0
"""Words that tell something (`telling`) of a goal's middle member: small talk recurs, and is no goal."""
READ: Final = 5
"""Members that are read of each candidate: those nearest to the centre."""
AREA_NEIGHBOURS: Final = 5
AREA_RESOLUTION: Final = 0.05
DESCRIPTION_CHARS: Final = 80
SENTENCES: Final = 8
"""Of a member that are looked at for the description."""
TOLD: Final = 12.0
"""Telling words beyond which a sentence is no better for being longer."""

_LEVELS: Final = (
    (GoalLevel.NORTH_STAR, 50, 0.70),
    (GoalLevel.STRATEGIC, 20, 0.65),
    (GoalLevel.TACTICAL, 10, 0.60),
    (GoalLevel.OPERATIONAL, 0, 0.0),
)
"""Least members and coherence of each level."""
_ORDER: Final = [level for level, _, _ in _LEVELS]


@dataclass(slots=True)
class _Candidate:
    rows: I64
    profile: Profile
    area: int = -1
    """Of a cluster: the candidate that is the area it lies in."""


def discover(
    snap: Snapshot,
    clusters: Sequence[Cluster],
    *,
    min_confidence: float = MIN_CONFIDENCE,
    max_goals: int = MAX_GOALS,
    progress: Progress = silent,
) -> list[Goal]:
    """The goals that ``snap`` shows, most certain first.

    Confidence is 0.4 coherence + 0.3 min(members / 50, 1) + 0.3 (spaces that make it, of 3, / 3).

    Args:
        snap: The store.
        clusters: What `clusters.find` found in it.
        min_confidence: [0, 1].
        max_goals: At least 1.

    Returns:
        Goals of at least 5 members; their members nearest to the centre first. No goals in a store that is
        too small or about nothing in particular.

    Cost: one pass over the store, some 3 s at 100,000 memories.
    """
    candidates = _candidates(snap, clusters, progress)
    if not candidates:
        return []
    whole = candidates.pop()
    found = _confident(candidates, whole.profile, min_confidence)
    words = RareWords(snap) if found else None
    goals: dict[int, Goal] = {}
    for at, confidence in found:
        assert words is not None
        goal = _goal(snap, candidates[at], confidence, words)
        if goal is not None:
            goals[at] = goal
        if len(goals) == max_goals:
            break
    return _placed(candidates, goals)


def _candidates(snap: Snapshot, clusters: Sequence[Cluster], progress: Progress) -> list[_Candidate]:
    """Clusters, areas, and last the store; nothing where no cluster has five members."""
    groups = [
        np.array([row for row in map(snap.row_of, cluster.members) if row is not None], np.int64)
        for cluster in clusters
    ]
    groups = [rows for rows in groups if len(rows) >= MIN_MEMBERS]
    if not groups:
        return []
    *made, whole = profiles(snap, groups, progress=progress)
    candidates = [_Candidate(rows, profile) for rows, profile in zip(groups, made, strict=True)]
    for parts in _areas(made):
        area = join([made[part] for part in parts])
        for part in parts:
            candidates[part].area = len(candidates)
        candidates.append(_Candidate(np.concatenate([groups[part] for part in parts]), area))
    return [*candidates, _Candidate(np.zeros(0, np.int64), whole)]


def _areas(parts: Sequence[Profile]) -> Iterator[list[int]]:
    """Clusters that lie near each other by words (E13) and meaning (E1), three at least."""
    if len(parts) < 3:
        return
    centres = np.stack([np.frombuffer(part.centroid(), np.float32) for part in parts])
    words, meaning = (
        rarity_weighted(unit_rows(centres[:, SLICES[name]].copy())) for name in ("SPLADE", "Semantic")
    )
    both = unit_rows(np.concatenate((words, meaning), axis=1))
    for group in communities(nearest(both, AREA_NEIGHBOURS, chance(both)), AREA_RESOLUTION):
        yield group.tolist()


def _confident(
    candidates: Sequence[_Candidate], whole: Profile, min_confidence: float
) -> list[tuple[int, float]]:
    """(candidate, confidence) of those that hold together well enough, most certain first."""
    usual, coherence = whole.cosines(), whole.coherence()
    found = []
    for at, candidate in enumerate(candidates):
        profile = candidate.profile
        own = profile.coherence()
        if own < COHERENT and own - min(coherence, UNRELATED) < LIFT:
            continue
        makes = (profile.cosines() - usual >= DOMINANT_LIFT) & (2 * profile.filled >= profile.members)
        dominant = min(int(np.count_nonzero(makes)), DOMINANT) / DOMINANT
        confidence = 0.4 * own + 0.3 * min(profile.members / 50, 1.0) + 0.3 * dominant
        if confidence >= min_confidence:
            found.append((at, confidence))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _goal(snap: Snapshot, candidate: _Candidate, confidence: float, words: RareWords) -> Goal | None:
    """None where its members tell too little."""
    rows, profile = candidate.rows, candidate.profile
    centroid = profile.centroid()
    rows = rows[_by_nearness(snap, rows, centroid)]
    texts = [snap.text(row) for row in rows[:READ].tolist()]
    if sorted(map(telling, texts))[len(texts) // 2] < LEAST_TOLD:
        return None
    terms = words.terms(texts)
    label, said = ", ".join(terms), _said(snap, rows[:READ], texts, terms)
    members = tuple(snap.ids[row] for row in rows.tolist())
    coherence = profile.coherence()
    return Goal(
        goal_id=cluster_id(members),
        description=f"{label}: {said}" if label else said,
        level=_level(len(members), coherence),
        confidence=min(1.0, confidence),
        coherence=coherence,
        parent=None,
        members=members,
        centroid=centroid,
    )


def _by_nearness(snap: Snapshot, rows: I64, centroid: bytes) -> I64:
    """Order of ``rows``, those nearest to the centre by words and purpose first."""
    centre = np.frombuffer(centroid, np.float32)
    near = np.zeros(len(rows), np.float32)
    for name in ("SPLADE", "Teleological"):
        near += snap.space(name)[rows] @ unit_rows(centre[None, SLICES[name]].copy())[0]
    return np.lexsort((rows, -near))


def _said(snap: Snapshot, rows: I64, texts: Sequence[str], terms: Sequence[str]) -> str:
    """The sentence that says most of what the goal is about; one of a text with an aim (E7) counts more."""
    aims = [bool(space.any()) for space in snap.space("Teleological")[rows]]
    best, worth = texts[0], 0.0
    for text, aim in zip(texts, aims, strict=True):
        for sentence in islice(sentences(text), SENTENCES):
            lower = sentence.lower()
            about = 1.0 + sum(term in lower for term in terms) + (0.5 if aim else 0.0)
            told = min(telling(sentence), TOLD) * about
            if told > worth:
                best, worth = sentence, told
    return short_name(best, DESCRIPTION_CHARS)


def _level(members: int, coherence: float) -> GoalLevel:
    return next(level for level, least, enough in _LEVELS if members >= least and coherence >= enough)


def _placed(candidates: Sequence[_Candidate], goals: dict[int, Goal]) -> list[Goal]:
    """With parents: the area that a goal lies in, where that is found too; it is of a higher level then."""
    placed = []
    for at, goal in goals.items():
        parent = goals.get(candidates[at].area)
        if parent is not None and parent.level is not GoalLevel.OPERATIONAL:
            least = _ORDER[min(_ORDER.index(parent.level) + 1, len(_ORDER) - 1)]
            level = max(goal.level, least, key=_ORDER.index)
            goal = replace(goal, level=level, parent=parent.goal_id)
        placed.append(goal)
    return sorted(placed, key=lambda goal: (-goal.confidence, goal.goal_id))
