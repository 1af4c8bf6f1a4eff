"""Finds patterns: actions that recur in one order in memories' texts (E10).

Each memory's text is read as a list of actions; memories with one or two are joined by session, and
sessions' own summaries are left out. A run of actions that recurs beyond chance is a pattern. Its memories
must be alike in E10, which separates memories about these actions from those that only mention them.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from context_graph.consolidation.finders.actions import Action, actions
from context_graph.consolidation.plan import Pattern
from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import F32, I64, Snapshot, unit_rows
from context_graph.model.memory import CAPTURED

MAX_PATTERNS: Final = 10
MIN_CONFIDENCE: Final = 0.5
MIN_LENGTH: Final = 3
MAX_LENGTH: Final = 5
LENGTHS: Final = range(MIN_LENGTH, MAX_LENGTH + 1)
MIN_SUPPORT: Final = 3
"""Lists that must hold a run; two are a coincidence."""
CHANCE: Final = 0.005
"""How likely any run at all may be to recur so often by chance."""
CANDIDATES: Final = 200
"""Runs, the most surprising, that patterns are made of."""
ORDER_CHANCE: Final = 0.05
"""How likely any order of given actions may be to recur so often by chance."""
LENIENT_LENGTH: Final = 5
"""A run this long has as members also those in which one of its actions is missing."""
ALIKE: Final = 0.5
"""E10 cosine of a member to the others' mean, at least."""
_PROGRESS_EVERY: Final = 512

Run = tuple[str, ...]
Places = dict[int, tuple[int, ...]]
"""List -> where in it a run's actions first stand."""


@dataclass(slots=True)
class _Actions:
    """One list of actions, and the memory of each."""

    actions: list[Action]
    rows: list[int]


def find(
    snap: Snapshot,
    rows: Sequence[int] | I64,
    *,
    max_patterns: int = MAX_PATTERNS,
    progress: Progress = silent,
) -> list[Pattern]:
    """Return the action sequences that recur in ``rows``, the most certain evidence first.

    A pattern has 3 to 5 kinds of action that at least 3 memories (or sessions, of memories that tell one or
    two actions) have in one order, with at most one other action among them, more often than chance would
    have it. Each occurrence of actions belongs to one pattern.

    ``confidence`` in [0.5, 1): how far the order is no chance, times how alike the members are in E10, times
    n / (n + 1/2) for n occurrences. The same actions in the same order have one id in every run.

    Cost: some 100 us a memory, which is read whole.
    """
    lists = [entry for entry in _lists(snap, rows, progress) if len(entry.actions) >= MIN_LENGTH]
    vectors = _vectors(snap.space("Steps"), lists)
    claimed: dict[int, set[int]] = defaultdict(set)
    made: list[Pattern] = []
    likely, least = _likely(lists)
    places = _places(lists, {part for run, _, _ in likely for part in (run, *_shorter(run))})
    for run, expected, order in likely:
        if len(made) == max_patterns:
            break
        free = {number: at for number, at in places[run].items() if claimed[number].isdisjoint(at)}
        members, coherence = _alike(vectors, free)
        if len(members) < MIN_SUPPORT or surprise(len(free), expected) <= least:
            continue
        for part in _shorter(run):
            more = {number: at for number, at in places[part].items() if claimed[number].isdisjoint(at)}
            some, coherence = _alike(vectors, {**more, **members})
            members = {**some, **members}
        confidence = order * (0.5 + 0.5 * coherence) * len(members) / (len(members) + 0.5)
        if confidence < MIN_CONFIDENCE:
            continue
        for number, at in members.items():
            claimed[number].update(range(at[0], at[-1] + 1))
        made.append(_pattern(snap, lists, run, members, confidence))
    return made


def _likely(lists: Sequence[_Actions]) -> tuple[list[tuple[Run, float, float]], float]:
    """Return (run, lists expected by chance, certainty of its order) of what recurs, and the least surprise.

    The most surprising first, at most CANDIDATES. By chance every kind is drawn by its share in all lists.
    """
    counts: Counter[Run] = Counter()
    bags: Counter[Run] = Counter()
    for entry in lists:
        runs = _runs(entry)
        counts.update(runs.keys())
        bags.update({tuple(sorted(run)) for run in runs})
    shares = Counter(action.kind for entry in lists for action in entry.actions)
    total = shares.total()
    ways = {length: sum(_ways(len(entry.actions), length) for entry in lists) for length in LENGTHS}
    least = math.log(max(1, len(counts)) / CHANCE)
    likely = []
    for run, count in counts.items():
        expected = ways[len(run)] * math.prod(shares[kind] / total for kind in run)
        surprising = surprise(count, expected)
        if count >= MIN_SUPPORT and len(set(run)) > 1 and surprising > least:
            order = _certainty(count, bags[tuple(sorted(run))], run, len(bags))
            likely.append((surprising, len(run), run, expected, order))
    likely.sort(reverse=True)
    certain = [(run, expected, order) for _, _, run, expected, order in likely if order > 0.0]
    return certain[:CANDIDATES], least


def _places(lists: Sequence[_Actions], wanted: set[Run]) -> dict[Run, Places]:
    """Return in which lists each run that is wanted stands, and where."""
    places: dict[Run, Places] = {run: {} for run in wanted}
    for number, entry in enumerate(lists):
        for run, at in _runs(entry).items():
            if run in wanted:
                places[run][number] = at
    return places


def _shorter(run: Run) -> list[Run]:
    """Return a long run without each of its actions; nothing of a short one."""
    if len(run) < LENIENT_LENGTH:
        return []
    return [run[:at] + run[at + 1 :] for at in range(len(run))]


def _runs(entry: _Actions) -> dict[Run, tuple[int, ...]]:
    """Return every run of kinds in a list, with at most one other action among its own, and where it is
    first."""
    kinds = [action.kind for action in entry.actions]
    runs: dict[Run, tuple[int, ...]] = {}
    for length in LENGTHS:
        for start in range(len(kinds) - length + 1):
            at = tuple(range(start, start + length))
            runs.setdefault(tuple(kinds[start : start + length]), at)
            if start + length < len(kinds):
                for left_out in range(1, length):
                    apart = (*at[:left_out], *range(start + left_out + 1, start + length + 1))
                    runs.setdefault(tuple(kinds[place] for place in apart), apart)
    return runs


def _ways(actions: int, length: int) -> int:
    """Count the places of a list where a run of this length can stand."""
    return max(0, actions - length + 1) + max(0, actions - length) * (length - 1)


def surprise(count: int, expected: float) -> float:
    """Return how unlikely so many are by chance where so many are expected: -ln of a bound, at least 0."""
    # The tail of Poisson's distribution is at most exp of minus this (Chernoff).
    return count * math.log(count / expected) - (count - expected) if count > expected else 0.0


def _certainty(count: int, together: int, run: Run, bags: int) -> float:
    """Return how far a run's order is no chance.

    [0, 1]: 1 when all lists with its actions have this order; 0 when so many may have it although any order
    is as likely, where so many ``bags`` of actions were looked at.
    """
    orders = math.factorial(len(run)) // math.prod(map(math.factorial, Counter(run).values()))
    share, chance = count / together, 1.0 / orders
    if share <= chance:
        return 0.0
    # The tail of the binomial distribution is at most exp of minus this (Chernoff).
    unlikely = count * math.log(share / chance)
    if share < 1.0:
        unlikely += (together - count) * math.log((1.0 - share) / (1.0 - chance))
    if unlikely <= math.log(orders * bags / ORDER_CHANCE):
        return 0.0
    return max(0.0, (1.0 - together / orders / count) / (1.0 - chance))


def _alike(vectors: F32, places: Places) -> tuple[Places, float]:
    """Return the occurrences whose memories are close to the others in E10, and their mean cosine."""
    numbers = np.fromiter(places, np.int64, len(places))
    some = vectors[numbers]
    spoken = some.any(axis=1)  # bare names of tools are no words of that lexicon
    cosines = np.where(spoken, some @ _unit(some.sum(axis=0)), 1.0)
    kept = cosines >= ALIKE
    coherence = float(cosines[kept].mean()) if kept.any() else 0.0
    return {number: places[number] for number in numbers[kept].tolist()}, coherence


def _pattern(
    snap: Snapshot, lists: Sequence[_Actions], run: Run, members: Places, confidence: float
) -> Pattern:
    rows = sorted({lists[number].rows[at] for number, places in members.items() for at in places})
    listed = [[lists[n].actions[at].word for at in at_all] for n, at_all in members.items()]
    columns = zip(*(words for words in listed if len(words) == len(run)), strict=True)  # with none missing
    words = [Counter(column).most_common(1)[0][0] for column in columns]
    digest = hashlib.blake2b("\0".join(run).encode(), digest_size=8).hexdigest()
    return Pattern(
        pattern_id=f"pattern-{digest}",
        description=" → ".join(words),
        memory_count=len(rows),
        confidence=min(confidence, 1.0),
        members=tuple(snap.ids[row] for row in rows),
    )


def _lists(snap: Snapshot, rows: Sequence[int] | I64, progress: Progress) -> Iterator[_Actions]:
    """Yield the actions of each memory that tells three or more, and of a session's others in order of
    time."""
    short: dict[int, list[tuple[int, int, list[Action]]]] = defaultdict(list)
    chosen = np.asarray(rows, np.int64).tolist()
    for done, row in enumerate(chosen):
        if done % _PROGRESS_EVERY == 0:
            progress(done, len(chosen))
        steps = [] if snap.source[row] == CAPTURED else actions(snap.text(row))
        if len(steps) >= MIN_LENGTH:
            yield _Actions(steps, [row] * len(steps))
        elif steps and snap.session[row]:
            short[int(snap.session[row])].append((int(snap.created_ms[row]), row, steps))
    for parts in short.values():
        strung = _Actions([], [])
        for _, row, steps in sorted(parts, key=lambda part: part[:2]):
            for action in steps:
                if not strung.actions or strung.actions[-1] != action:
                    strung.actions.append(action)
                    strung.rows.append(row)
        yield strung


def _vectors(space: F32, lists: Sequence[_Actions]) -> F32:
    """float32[k, 128] of unit rows: E10 of each list's memories together."""
    vectors = np.zeros((len(lists), space.shape[1]), np.float32)
    for number, entry in enumerate(lists):
        vectors[number] = space[sorted(set(entry.rows))].sum(axis=0)
    return unit_rows(vectors)


def _unit(vector: F32) -> F32:
    length = np.float32(np.linalg.norm(vector))
    unit: F32 = vector / length if length > 0 else vector
    return unit
