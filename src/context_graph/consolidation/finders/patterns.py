"""Finds patterns: actions that recur in memories' texts (E10).

Each memory's text is read as a list of actions, of the kinds of words that E10 is made of; memories with one
or two actions are joined by session, and sessions' own summaries are left out. Runs that recur beyond chance
are patterns. Their memories must be alike in E10, which separates memories about these actions from those
that only mention them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from context_graph.consolidation.finders import sequences
from context_graph.consolidation.finders.actions import Action, actions
from context_graph.consolidation.finders.sequences import MIN_LENGTH, MIN_SUPPORT, Orders, Recurrence, Search
from context_graph.consolidation.plan import Pattern
from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import F32, I64, Snapshot
from context_graph.model.memory import CAPTURED

MAX_PATTERNS: Final = 10
MIN_CONFIDENCE: Final = 0.5
ALIKE: Final = 0.5
"""E10 cosine of a member to the others' mean, at least."""
LENIENT_LENGTH: Final = 5
"""A run this long has as members also those in which one of its actions is missing."""
VARIANT_SHARE: Final = 0.9
"""Share of a run's occurrences that its variants by tool must cover to be told apart."""
MAX_VARIANTS: Final = 4
"""More ways than that are one work with tools that stand for each other."""
_PROGRESS_EVERY: Final = 512


Places = Mapping[int, tuple[int, ...]]
"""List -> where in it a run's actions stand."""


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

    A pattern has 3 to 8 actions that at least 3 memories (or sessions, of memories that tell one or two
    actions) have in one order, more often than chance would have it.

    ``confidence`` in [0.5, 1): how far the order is no chance, times how alike the members are in E10, times
    n / (n + 1/2) for n occurrences. The same actions in the same order have one id in every run.

    Cost: some 100 us a memory, which is read whole.
    """
    lists = [entry for entry in _lists(snap, rows, progress) if len(entry.actions) >= MIN_LENGTH]
    if len(lists) < MIN_SUPPORT:
        return []
    made: list[Pattern] = []
    selection = _Selection(snap, lists)
    for run, reading in _runs(lists):
        if len(made) < max_patterns:
            made += selection.take(run, reading)
    return made[:max_patterns]


def _pattern_id(names: Sequence[str]) -> str:
    return f"pattern-{hashlib.blake2b(chr(0).join(names).encode(), digest_size=8).hexdigest()}"


def _runs(lists: Sequence[_Actions]) -> list[tuple[Recurrence, _Reading]]:
    """Find runs that recur by kind of action, and those only by tool name; most surprising first."""
    kinds = _read(lists, by_tools=False)
    tools = _read(lists, by_tools=True)
    known = {run.symbols for run in kinds.search.runs}
    runs = [(run, kinds) for run in kinds.search.runs]
    for run in tools.search.runs:
        number, places = next(iter(run.places.items()))
        if tuple(kinds.symbols[number][at] for at in places) not in known:
            runs.append((run, tools))
    return sorted(runs, key=lambda pair: -pair[0].surprise)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Holds all lists as symbols, and the runs that recur in them."""

    by_tools: bool
    """Whether tools of one kind are different symbols."""
    symbols: list[list[int]]
    orders: Orders
    search: Search


def _read(lists: Sequence[_Actions], *, by_tools: bool) -> _Reading:
    """Return the lists, an action's kind as its symbol, or its name if it is a tool's or command's."""
    numbers: dict[str, int] = {}
    symbols = [
        [
            numbers.setdefault(action.word if by_tools and action.exact else action.kind, len(numbers))
            for action in item.actions
        ]
        for item in lists
    ]
    return _Reading(by_tools, symbols, Orders(symbols), sequences.find(symbols))


class _Selection:
    """Makes patterns of runs, one after another; each occurrence of actions belongs to one pattern."""

    def __init__(self, snap: Snapshot, lists: Sequence[_Actions]) -> None:
        self._ids, self._lists = snap.ids, lists
        self._vectors = _vectors(snap.space("Steps"), lists)
        self._claimed: dict[int, set[int]] = defaultdict(set)
        """List -> places in it that belong to a pattern."""

    def take(self, recurrence: Recurrence, reading: _Reading) -> Iterator[Pattern]:
        """Make a pattern of it, or one for each choice of tools; none if too little is left."""
        unclaimed = {n: at for n, at in recurrence.places.items() if self._claimed[n].isdisjoint(at)}
        free = recurrence._replace(places=unclaimed)
        if len(free.places) < MIN_SUPPORT or free.surprise <= reading.search.least:
            return
        alike = self._alike(free.places)
        if len(alike) < MIN_SUPPORT:
            return
        order = reading.orders.of(recurrence)
        if not order.is_no_chance(reading.search.bags):
            return
        members = {**self._missing_one(recurrence, reading, alike), **alike}
        variants = self._variants(recurrence, members)
        for variant in variants:
            pattern = self._pattern(variant, order.certainty, by_tools=reading.by_tools or len(variants) > 1)
            if pattern is not None:
                for number, places in variant.items():
                    self._claimed[number].update(range(places[0], places[-1] + 1))
                yield pattern

    def _alike(self, places: Places) -> dict[int, tuple[int, ...]]:
        """Select the occurrences whose memories are close to the others in E10."""
        numbers = np.fromiter(places, np.int64, len(places))
        vectors = self._vectors[numbers]
        cosines = vectors @ _unit(vectors.sum(axis=0))
        silent_ones = ~vectors.any(axis=1)  # bare names of tools, which are no words of that lexicon
        kept = numbers[silent_ones | (cosines >= ALIKE)]
        return {number: places[number] for number in kept.tolist()}

    def _missing_one(
        self, recurrence: Recurrence, reading: _Reading, members: Places
    ) -> dict[int, tuple[int, ...]]:
        """Occurrences of a long run without one of its actions, as like the members as they are."""
        run = recurrence.symbols
        if len(run) < LENIENT_LENGTH:
            return {}
        centre = _unit(self._vectors[list(members)].sum(axis=0))
        near = np.flatnonzero(self._vectors @ centre >= ALIKE)
        shorter = sorted({run[:at] + run[at + 1 :] for at in range(len(run))})
        wanted = set(run)
        missing: dict[int, tuple[int, ...]] = {}
        for number in near.tolist():
            symbols = reading.symbols[number]
            if number in members or len(wanted & set(symbols)) < len(wanted) - 1:
                continue
            occurrences = (sequences.holds(symbols, shorter_run) for shorter_run in shorter)
            places = next((occurrence for occurrence in occurrences if occurrence is not None), None)
            if places is not None and self._claimed[number].isdisjoint(places):
                missing[number] = places
        return missing

    def _variants(
        self, recurrence: Recurrence, members: dict[int, tuple[int, ...]]
    ) -> list[dict[int, tuple[int, ...]]]:
        """Return the occurrences by the tools that they name, where nearly all name some and several ways
        recur."""
        by_tools: dict[tuple[str, ...], dict[int, tuple[int, ...]]] = defaultdict(dict)
        for number, places in members.items():
            steps = [self._lists[number].actions[at] for at in places]
            by_tools[tuple(action.tool for action in steps)][number] = places
        named = [
            places_of for tools, places_of in by_tools.items() if any(tools) and len(places_of) >= MIN_SUPPORT
        ]
        covered = sum(map(len, named))
        if not 2 <= len(named) <= MAX_VARIANTS or covered < VARIANT_SHARE * len(members):
            return [members]
        named.sort(key=len, reverse=True)
        rest = members.keys() - {number for places_of in named for number in places_of}
        named[0] |= {
            number: members[number] for number in rest if len(members[number]) == len(recurrence.symbols)
        }
        return named

    def _pattern(self, members: Places, order: float, *, by_tools: bool) -> Pattern | None:
        vectors = self._vectors[list(members)]
        cosines = (vectors @ _unit(vectors.sum(axis=0)))[vectors.any(axis=1)]
        coherence = float(np.clip(cosines, 0.0, 1.0).mean()) if len(cosines) else 1.0
        count = len(members)
        confidence = order * (0.5 + 0.5 * coherence) * count / (count + 0.5)
        if confidence < MIN_CONFIDENCE:
            return None
        rows = sorted({self._lists[number].rows[at] for number, places in members.items() for at in places})
        occurrences = self._told(members)
        words = [
            Counter(action.word for action in column).most_common(1)[0][0]
            for column in zip(*occurrences, strict=True)
        ]
        names = [(action.tool if by_tools else "") or action.kind for action in occurrences[0]]
        return Pattern(
            pattern_id=_pattern_id(names),
            description=" → ".join(words),
            memory_count=len(rows),
            confidence=confidence,
            members=tuple(self._ids[row] for row in rows),
        )

    def _told(self, members: Places) -> list[list[Action]]:
        """Return the actions of each occurrence of which none is missing."""
        length = max(map(len, members.values()))
        return [
            [self._lists[number].actions[at] for at in places]
            for number, places in members.items()
            if len(places) == length
        ]


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
    for number, item in enumerate(lists):
        vectors[number] = space[item.rows[0]] if len(set(item.rows)) == 1 else space[item.rows].sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors


def _unit(vector: F32) -> F32:
    length = np.float32(np.linalg.norm(vector))
    unit: F32 = vector / length if length > 0 else vector
    return unit
