"""Scores how likely each memory is to be needed again, and chooses the trivial ones to forget (D5.3).

There are thirteen scores, one per space, and their weighted mean over the spaces in which the memory says
something. In such a space i

    s_i = 1 - left * (1 - near_i * told)        left = product of (1 + x) ** -power over the evidence

The evidence x, each counted from 0: how much its words say (`informative_words`, times 2 * importance below
0.5), how often a session used it after it was shown, how often it was shown or asked for, its links, for a
session's summary and notes how many others name its busiest file and how many tool calls it stands for.

near_i is closeness, in that space, to what matters: the goals, and where used and important memories lie.
Without goals and uses it is 0, and all thirteen scores of a memory are one number.

docs/dev/consolidation-definitions.md has the constants and what they were measured on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from context_graph import kernels
from context_graph.consolidation.finders.words import informative_words
from context_graph.consolidation.plan import Goal, Prune
from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import F32, F64, Snapshot, space_units
from context_graph.errors import UNREADABLE_RECORD
from context_graph.model.memory import CAPTURED, NOTED, Modality
from context_graph.model.spaces import DIM, SLICES, SPACES, WEIGHTS

BY_WORDS: Final = 0.64
"""Power of the evidence of what it says: three quarters of an informative word are the default threshold,
0.3."""
BY_USES: Final = 0.5
BY_ACCESSES: Final = 0.15
BY_LINKS: Final = 0.3
BY_SHARED: Final = 2.0
BY_WORK: Final = 0.4
"""Powers of the other evidence."""
TELLS: Final = 0.8
"""Informative words at which nearness to what matters counts 1 - 1/e."""
FEW_TERMS: Final = 24
"""Lexical terms up to which a text is read; a longer one's terms are the estimate of its informative
words."""
UNREAD: Final = 0.6
"""Score in every space of a text that has words, but none that the embedder knows: it can't be judged."""
BY_IMPORTANCE: Final = 0.4
BY_RECENCY: Final = 0.15
"""What an importance of 1, and an access just now, add at most, of what is missing to 1."""
HALF_LIFE_MS: Final = 14 * 86_400_000.0
NEAR_GOAL: Final = 0.5
NEAR_USED: Final = 0.6
"""What alignment 1 with a goal, or with where used memories lie, adds of what is missing to 1."""
PRIOR: Final = 16.0
"""Memories of use at which their place counts half."""

ON_PURPOSE: Final = frozenset({"tool", "cli", "library"})
"""Sources of a memory that somebody stored by itself: one that says something is not short by accident."""
BROUGHT: Final = frozenset({"cli", "import"})
"""Sources of a memory that a person decided to have: a run that nobody asked for forgets none of them."""
SAID_ON_PURPOSE: Final = 2.2
"""Informative words that such a memory has at least, if it has LEAST_SAID."""
LEAST_SAID: Final = 0.75
MODALITY_SAYS: Final = 5.0
"""Informative words of what is no text, or can't be read: as a short fact."""

IMPORTANT: Final = 0.8
"""Importance from which a memory is never pruned."""
LINKED: Final = 1
"""Edges, of both directions, from which a memory is never pruned."""
YOUNG_MS: Final = 86_400_000
"""A memory younger than a day is not; one with a time in the future is as young as can be."""

FEW: Final = 2
COMMON: Final = 0.3
"""A file that more summaries name, and more than this share of all, tells nothing of any."""

_WEIGHTS: Final = np.array(WEIGHTS)
_TERMS: Final = SLICES["Terms"]


def score(snap: Snapshot, goals: Sequence[Goal] = (), *, progress: Progress = silent) -> F64:
    """Return the salience of every memory: float64[n] in [0, 1]; 0 for one without any content.

    ``goals`` are what the store's owner is after; their centroids are compared with in every space.

    Cost: two passes over the vectors (one where no memory was used or rated), some 20 us for each text that
    is read. Memory: a block of 4,096 vectors and n x 13 doubles. Source: D5.3; seed 002.
    """
    scores = by_space(snap, goals, progress=progress)
    weight = (scores > 0.0) @ _WEIGHTS
    return np.asarray(np.minimum(scores @ _WEIGHTS / np.where(weight > 0.0, weight, 1.0), 1.0))


def by_space(snap: Snapshot, goals: Sequence[Goal] = (), *, progress: Progress = silent) -> F64:
    """Return the thirteen scores of every memory: float64[n, 13] in [0, 1]."""
    count = len(snap)
    used = use_evidence(snap)
    facts = summary_facts(snap)
    left = (1.0 - used) * (1.0 + facts.shared) ** -BY_SHARED * (1.0 + facts.calls) ** -BY_WORK
    worth = np.clip(2.0 * snap.importance, 0.0, 1.0)
    centres, most = _centres(snap, used, goals)
    scores = np.zeros((count, len(SPACES)))
    kernel = kernels.salience_for(count * len(centres))
    for start, block in snap.blocks():
        rows = slice(start, start + len(block))
        words = _telling(snap, start, block)
        informative = 1.0 - np.exp(-words / TELLS)
        base = (1.0 + words * worth[rows]) ** -BY_WORDS * left[rows]
        kernel.score(np.ascontiguousarray(block), informative, base, centres, most, UNREAD, scores[rows])
        progress(rows.stop, count)
    return scores


def prunes(snap: Snapshot, scores: F64, threshold: float, taken: set[int], now_ms: int) -> list[Prune]:
    """Return the memories to forget: salience below ``threshold`` and no guard; in order of commit.

    Never: pinned, importance >= 0.8, created less than a day before ``now_ms``, used by a session, linked,
    and rows that a merge has ``taken``. ``scores`` is `score` of the snapshot; a ``threshold`` of 0 prunes
    nothing.

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
        & (snap.used == 0)
        & (now_ms - snap.created_ms >= YOUNG_MS)
    )
    if taken:
        wanted[np.fromiter(taken, np.int64, len(taken))] = False
    return [Prune(snap.ids[row], float(scores[row])) for row in map(int, np.flatnonzero(wanted))]


def brought(snap: Snapshot) -> set[int]:
    """Return the rows that a person stored by hand, or an import brought."""
    return {row for row, source in enumerate(snap.source) if source in BROUGHT}


def use_evidence(snap: Snapshot) -> F64:
    """Return the evidence that each memory was of use, from its record alone: float64[n] in [0, 1)."""
    rated = BY_IMPORTANCE * np.clip(2.0 * snap.importance - 1.0, 0.0, 1.0)
    left = (1.0 + snap.used) ** -BY_USES * (1.0 + snap.accesses) ** -BY_ACCESSES
    left *= (1.0 + snap.degree) ** -BY_LINKS
    since = np.maximum(0, snap.taken_ms - snap.accessed_ms)
    recent = np.where(snap.accesses > 0, BY_RECENCY * np.exp2(-since / HALF_LIFE_MS), 0.0)
    return np.asarray(1.0 - (1.0 - rated) * left * (1.0 - recent))


def _telling(snap: Snapshot, start: int, block: F32) -> F64:
    """Return how much each memory of a block says, in telling words; those of few terms are read."""
    terms = np.count_nonzero(block[:, _TERMS], axis=1).astype(np.float64)
    for row in np.flatnonzero(terms <= FEW_TERMS):
        terms[row] = _read(snap, start + int(row), float(terms[row]))
    return np.asarray(terms)


def _read(snap: Snapshot, row: int, terms: float) -> float:
    """Informative words of one memory; a damaged one, and one that is no text, never counts as empty."""
    if snap.modality[row] != Modality.TEXT:
        return max(terms, MODALITY_SAYS)
    try:
        words = informative_words(snap.text(row))
    except UNREADABLE_RECORD:
        return MODALITY_SAYS
    return max(words, SAID_ON_PURPOSE) if words >= LEAST_SAID and snap.source[row] in ON_PURPOSE else words


def _centres(snap: Snapshot, used: F64, goals: Sequence[Goal]) -> tuple[F32, F64]:
    """Return the centres to compare with, and the value of being near to each."""
    centres = [
        space_units(np.frombuffer(goal.centroid, np.float32).astype(np.float64))
        for goal in goals
        if len(goal.centroid) == 4 * DIM
    ]
    most = [NEAR_GOAL] * len(centres)
    direction, certainty = _used_direction(snap, used)
    if certainty > 0.0:
        centres.append(space_units(direction))
        most.append(NEAR_USED * certainty)
    return np.array(centres, np.float32).reshape(-1, DIM), np.array(most, np.float64)


def _used_direction(snap: Snapshot, used: F64) -> tuple[F64, float]:
    """Return how important and used memories differ from the mean, and how sure that is, [0, 1)."""
    total = np.zeros(DIM)
    value = used + snap.importance
    if not len(value) or np.ptp(value) < 1e-9:
        return total, 0.0
    value -= value.mean()
    for start, block in snap.blocks():
        kernels.salience_for(0).add_weighted(
            np.ascontiguousarray(block), value[start : start + len(block)], total
        )
    evidence = float(np.abs(value).sum()) ** 2 / float(value @ value)
    return total, evidence / (evidence + PRIOR)


class SummaryFacts(NamedTuple):
    """Columns over the rows of a snapshot; a session's notes have what its summary has, other memories 0."""

    shared: F64
    """Other summaries that name the file which most of them name."""
    calls: F64
    """Tool calls of the session."""


def summary_facts(snap: Snapshot) -> SummaryFacts:
    """Read what summaries recorded beside their text. Cost: some 25 us a summary, 0.1 us a note."""
    facts = SummaryFacts(np.zeros(len(snap)), np.zeros(len(snap)))
    named: dict[int, set[str]] = {}
    for row in range(len(snap)):
        state = recorded_work(snap, row)
        calls = state.get("tool_calls")
        facts.calls[row] = max(0, calls) if isinstance(calls, int) else 0
        if state:
            named[row] = _files(state)
    holders = Counter(path for files in named.values() for path in files)
    most = max(FEW, COMMON * len(named))
    for row, files in named.items():
        facts.shared[row] = max((holders[path] - 1 for path in files if holders[path] <= most), default=0)
    summary_of = {int(snap.session[row]): row for row in named if snap.session[row]}
    for row, source in enumerate(snap.source):
        if source == NOTED and int(snap.session[row]) in summary_of:
            summary = summary_of[int(snap.session[row])]
            facts.shared[row], facts.calls[row] = facts.shared[summary], facts.calls[summary]
    return facts


def recorded_work(snap: Snapshot, row: int) -> dict[str, Any]:
    """Return what a session's summary recorded beside its text (`SessionWork`); {} for what is none."""
    if snap.source[row] != CAPTURED:
        return {}
    try:
        state = snap.node(row).metadata.get("capture")
    except UNREADABLE_RECORD:
        return {}
    return state if isinstance(state, dict) else {}


def _files(state: dict[str, Any]) -> set[str]:
    """Files in folders that the session changed or read: a bare name is most often a scratch file."""
    files: set[str] = set()
    for name in ("changed", "read"):
        entries = state.get(name)
        if isinstance(entries, dict):
            files.update(path for path in entries if "/" in path)
    return files
