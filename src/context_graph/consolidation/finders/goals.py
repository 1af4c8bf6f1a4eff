"""Finds goals: what many memories are about. They are found in the store; nobody sets them.

A cluster of at least five informative memories is a candidate. A goal's level follows from its size and
coherence. See docs/dev/consolidation-definitions.md.

A goal that is found again keeps its id and moves part of the way towards what was found, more if recent
memories have drifted from the goals. A goal that is no longer found fades, and is dropped at low confidence.

Drift (E13): do recent memories still serve what the store is about? Raw cosines are much the same for any
work, so no fixed limit on them helps. Recent memories are compared with the goals' memories as the sessions
among those compare with each other: the mean cosine of each memory to the nearest one of another session,
without the common component. Drift is how far the recent mean is below that of past sessions, in their
standard deviations; the similarity is 1 - drift / 4, for the limits of research 9.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import numpy as np

from context_graph.consolidation.finders.clusters import cluster_id
from context_graph.consolidation.finders.words import RareWords, informative_words
from context_graph.consolidation.plan import MAX_GOALS as MOST_KEPT
from context_graph.consolidation.plan import Cluster, Drift, Goal, GoalLevel
from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import F32, F64, I64, STARTS, Snapshot, space_units, unit_rows
from context_graph.model.memory import CAPTURED
from context_graph.model.spaces import DIM, SIZES, SLICES, SPACES, WEIGHTS
from context_graph.text.phrases import sentences
from context_graph.text.sentences import short_name

MIN_MEMBERS: Final = 5
MIN_CONFIDENCE: Final = 0.3
MAX_GOALS: Final = 10
COHERENT: Final = 0.75
LIFT: Final = 0.1
"""How far a group that is less coherent than 0.75 must exceed the store as a whole."""
UNRELATED: Final = 0.5
"""The store's coherence counts as this at most: it may itself be about one thing."""
DOMINANT_LIFT: Final = 0.2
"""How far the members' cosine must exceed the store's in a space that makes the goal."""
DOMINANT: Final = 3
LEAST_TOLD: Final = 4.0
"""Informative words of a goal's middle member: small talk recurs, and is no goal."""
READ: Final = 5
"""Members that are read of each candidate: those nearest to the centre."""
DESCRIPTION_CHARS: Final = 80
SENTENCES: Final = 8
"""Sentences of each member that are looked at for the description."""
TOLD: Final = 12.0
"""Informative words beyond which a sentence is no better for being longer."""

STEP: Final = 0.4
"""Share of what was found now in a goal that was known."""
STEP_DRIFTED: Final = 0.8
FADE: Final = 0.8
"""What is left of the confidence of a goal that was not found."""
FADE_DRIFTED: Final = 0.5
FORGOTTEN: Final = 0.2
"""Confidence below which a goal is dropped: some five runs without it, or two after a drift."""
OVERLAP: Final = 0.5
"""Share of the smaller one's members that two goals must share to be one."""

DRIFT_LEVELS: Final = ((0.85, "none"), (0.70, "low"), (0.55, "medium"), (0.40, "high"), (0.0, "critical"))
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

_LEVELS: Final = (
    (GoalLevel.NORTH_STAR, 50, 0.70),
    (GoalLevel.STRATEGIC, 20, 0.65),
    (GoalLevel.TACTICAL, 10, 0.60),
    (GoalLevel.OPERATIONAL, 0, 0.0),
)
"""Least members and coherence of each level."""
_WEIGHTS: Final = np.array(WEIGHTS)


@dataclass(frozen=True, slots=True)
class Profile:
    """Holds the sum of some embeddings, and how many have a vector in each space."""

    members: int
    sums: F64
    """float64[1536]."""
    filled: F64
    """float64[13]."""

    def cosines(self) -> F64:
        """float64[13]: mean cosine of a member to the others' centre, [0, 1]; 0 where fewer than two speak.

        Of pairs of different members, so that three that are unlike do not look more alike than thirty.
        """
        squares = np.add.reduceat(self.sums * self.sums, STARTS) / _WEIGHTS
        pairs = self.filled * (self.filled - 1)
        mean = np.divide(squares - self.filled, pairs, out=np.zeros(len(SPACES)), where=pairs > 0)
        return np.asarray(np.sqrt(np.clip(mean, 0.0, 1.0)))

    def coherence(self) -> float:
        """Return the cosines' mean by weight, over the spaces in which two members or more speak; [0, 1]."""
        weight = _WEIGHTS * self.filled * (self.filled > 1)
        return float(self.cosines() @ weight / weight.sum()) if weight.any() else 0.0


def discover(
    snap: Snapshot,
    clusters: Sequence[Cluster],
    *,
    min_confidence: float = MIN_CONFIDENCE,
    max_goals: int = MAX_GOALS,
    progress: Progress = silent,
) -> list[Goal]:
    """Return the goals found in ``snap``, most certain first.

    Confidence is 0.4 coherence + 0.3 min(members / 50, 1) + 0.3 (spaces that make it, of 3, / 3).

    Goals have at least 5 members, those nearest to the centre first. There are none in a store that is too
    small or has no subject.

    Cost: one pass over the store, some 3 s at 100,000 memories.
    """
    groups = [snap.rows_of(cluster.members) for cluster in clusters]
    groups = [rows for rows in groups if len(rows) >= MIN_MEMBERS and not _are_summaries(snap, rows)]
    if not groups:
        return []
    *made, whole = profiles(snap, groups, progress=progress)
    words, confident = RareWords(snap), _confident(made, whole, min_confidence)
    goals = (_goal(snap, groups[at], made[at], confidence, words) for at, confidence in confident)
    most_certain = islice((goal for goal in goals if goal is not None), max_goals)
    return sorted(most_certain, key=lambda goal: (-goal.confidence, goal.goal_id))


def _are_summaries(snap: Snapshot, rows: I64) -> bool:
    """Return whether most are summaries of sessions, which are alike in form whatever they are about."""
    return 2 * sum(1 for row in rows.tolist() if snap.source[row] == CAPTURED) > len(rows)


def _confident(made: Sequence[Profile], whole: Profile, min_confidence: float) -> list[tuple[int, float]]:
    """Return (number, confidence) of the groups that hold together well enough, most certain first."""
    usual, coherence = whole.cosines(), whole.coherence()
    confident = []
    for at, profile in enumerate(made):
        own = profile.coherence()
        if own < COHERENT and own - min(coherence, UNRELATED) < LIFT:
            continue
        makes = (profile.cosines() - usual >= DOMINANT_LIFT) & (2 * profile.filled >= profile.members)
        dominant = min(int(np.count_nonzero(makes)), DOMINANT) / DOMINANT
        confidence = 0.4 * own + 0.3 * min(profile.members / 50, 1.0) + 0.3 * dominant
        if confidence >= min_confidence:
            confident.append((at, confidence))
    return sorted(confident, key=lambda pair: (-pair[1], pair[0]))


def _goal(snap: Snapshot, rows: I64, profile: Profile, confidence: float, words: RareWords) -> Goal | None:
    """None where its members tell too little."""
    centroid = as_centroid(profile.sums)
    rows = rows[by_nearness(snap, rows, centroid)]
    texts = [snap.text(row) for row in rows[:READ].tolist()]
    if sorted(map(informative_words, texts))[len(texts) // 2] < LEAST_TOLD:
        return None
    terms = words.terms(texts)
    label, sentence = ", ".join(terms), _said(texts, terms)
    members = tuple(snap.ids[row] for row in rows.tolist())
    coherence = profile.coherence()
    return Goal(
        goal_id=cluster_id(members),
        description=f"{label}: {sentence}" if label else sentence,
        level=level_of(len(members), coherence),
        confidence=min(1.0, confidence),
        coherence=coherence,
        members=members,
        centroid=centroid,
    )


def level_of(members: int, coherence: float) -> GoalLevel:
    """Return the level of a goal with so many members that are so coherent."""
    return next(level for level, least, enough in _LEVELS if members >= least and coherence >= enough)


def by_nearness(snap: Snapshot, rows: I64, centroid: bytes) -> I64:
    """Order of ``rows``, those nearest to the centre by words and meaning first."""
    centre = np.frombuffer(centroid, np.float32)
    near = np.zeros(len(rows), np.float32)
    for name in ("Terms", "Semantic"):
        near += snap.space(name)[rows] @ unit_rows(centre[None, SLICES[name]].copy())[0]
    return np.lexsort((rows, -near))


def _said(texts: Sequence[str], terms: Sequence[str]) -> str:
    """Return the sentence that says most about the goal."""
    best, worth = texts[0], 0.0
    for text in texts:
        for sentence in islice(sentences(text), SENTENCES):
            lower = sentence.lower()
            about = 1.0 + sum(term in lower for term in terms)
            score = min(informative_words(sentence), TOLD) * about
            if score > worth:
                best, worth = sentence, score
    return short_name(best, DESCRIPTION_CHARS)


def as_centroid(values: F64) -> bytes:
    """1536 float32 as an embedding's: each space of ``values`` with length sqrt(weight), or zero."""
    scale = np.repeat(np.sqrt(_WEIGHTS), SIZES)
    return bytes((space_units(values) * scale).astype(np.float32).data)


def profiles(snap: Snapshot, groups: Sequence[I64], *, progress: Progress = silent) -> list[Profile]:
    """Return a profile of each group of rows (no row in two), and as the last one that of all rows.

    Cost: one pass over the store, 100,000 memories some 2 s; memory of 12 KB a group.
    """
    group_of = np.full(len(snap), len(groups), np.int64)
    for number, rows in enumerate(groups):
        group_of[rows] = number
    sums = np.zeros((len(groups) + 1, DIM))
    filled = np.zeros((len(groups) + 1, len(SPACES)))
    for start, block in snap.blocks():
        here = group_of[start : start + len(block)]
        order = np.argsort(here, kind="stable")
        numbers, firsts = np.unique(here[order], return_index=True)
        ordered = block[order]
        speaks = np.add.reduceat(ordered * ordered, STARTS, axis=1) > 0
        sums[numbers] += np.add.reduceat(ordered, firsts, axis=0, dtype=np.float64)
        filled[numbers] += np.add.reduceat(speaks.astype(np.float64), firsts, axis=0)
        progress(start + len(block), len(snap))
    made = [Profile(len(rows), sums[at], filled[at]) for at, rows in enumerate(groups)]
    return [*made, Profile(len(snap), sums.sum(axis=0), filled.sum(axis=0))]


def adjusted(stored: Sequence[Goal], discovered: Sequence[Goal], drift: Drift | None = None) -> list[Goal]:
    """Return the goals to keep from now on, most certain first, at most 50.

    ``stored`` were kept until now (`plan.decode_goals`), ``discovered`` is what `discover` returned now,
    ``drift`` tells how far recent memories are from the goals.
    """
    drifted = drift is not None and drift.significant
    matched = _matched(stored, discovered)
    step, fade = (STEP_DRIFTED, FADE_DRIFTED) if drifted else (STEP, FADE)
    kept = [
        goal if at not in matched else _moved(matched[at], goal, step) for at, goal in enumerate(discovered)
    ]
    again = {goal.goal_id for goal in matched.values()} | {goal.goal_id for goal in kept}
    kept += [
        replace(goal, confidence=goal.confidence * fade)
        for goal in stored
        if goal.goal_id not in again and goal.confidence * fade >= FORGOTTEN
    ]
    return sorted(kept, key=lambda goal: (-goal.confidence, goal.goal_id))[:MOST_KEPT]


def _matched(stored: Sequence[Goal], discovered: Sequence[Goal]) -> dict[int, Goal]:
    """Number in ``discovered`` -> the stored goal that it is, by members in common; each at most once."""
    members = [set(goal.members) for goal in stored]
    pairs = []
    for at, goal in enumerate(discovered):
        new_members = set(goal.members)
        for other, old_members in enumerate(members):
            shared = len(new_members & old_members)
            if shared and shared >= OVERLAP * min(len(new_members), len(old_members)):
                pairs.append((-shared / len(new_members | old_members), at, other))
    taken: set[int] = set()
    matched: dict[int, Goal] = {}
    for _, at, other in sorted(pairs):
        if at not in matched and other not in taken:
            taken.add(other)
            matched[at] = stored[other]
    return matched


def _moved(known: Goal, now: Goal, step: float) -> Goal:
    """Return ``known`` as it was found now, its certainty and centre on the way there."""
    centroid = now.centroid
    if known.centroid and now.centroid:
        before, after = (np.frombuffer(goal.centroid, np.float32) for goal in (known, now))
        centroid = as_centroid((1 - step) * before.astype(np.float64) + step * after)
    return replace(
        now,
        goal_id=known.goal_id,
        confidence=(1 - step) * known.confidence + step * now.confidence,
        centroid=centroid,
    )


def detect_drift(snap: Snapshot, goals: Sequence[Goal] = ()) -> Drift:
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
        return Drift(1.0, "none", False, 0)
    old, new = _whitened(space[older], space[recent])
    middle, spread = _usual(_nearest_of_others(old, groups), groups)
    places = (_nearest(new, old, groups) - middle) / spread
    similarity = min(1.0, max(0.0, 1.0 + SCALE * float(places.mean())))
    level = next(name for least, name in DRIFT_LEVELS if similarity >= least)
    return Drift(similarity, level, level not in ("none", "low"), len(recent))


def _recent(snap: Snapshot, with_aim: I64) -> I64:
    """Return the newest memories: whole sessions, newest first; without sessions, a tenth of the store."""
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
    """Return the goals' memories, or all older ones if those are too few, and their groups (sessions)."""
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
