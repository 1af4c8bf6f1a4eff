"""Finds ordered runs of symbols that occur in more lists than chance explains.

The unit of evidence is a list: a run counts once in each list that holds it, with at most one foreign symbol
between two of its own. The chance model draws every symbol independently, by its share in all lists; a run is
kept if so many lists are unlikely under it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import I64

MIN_LENGTH: Final = 3
MAX_LENGTH: Final = 8
MIN_SUPPORT: Final = 3
"""Lists that must hold a run; two are a coincidence."""
CHANCE: Final = 0.005
"""How likely any run at all may be to recur so often by chance."""
ORDER_CHANCE: Final = 0.05
"""How likely any order of given symbols may be to recur so often by chance."""
SEEDS: Final = 400
"""Runs of three, the most surprising, that are made longer."""
BRANCHES: Final = 3
"""Ways to make a run longer that are followed: the most frequent that are still less likely by chance."""

Symbols = tuple[int, ...]
Places = dict[int, Symbols]
"""List -> where in it the run's symbols stand."""


class Recurrence(NamedTuple):
    """One recurring run."""

    symbols: Symbols
    places: Places
    expected: float
    """Lists that would hold it by chance."""

    @property
    def surprise(self) -> float:
        """How unlikely so many lists are by chance: -ln of a bound of the probability, at least 0."""
        return surprise(len(self.places), self.expected)


class Search(NamedTuple):
    """What recurs."""

    runs: list[Recurrence]
    least: float
    """The surprise from which a run is no chance, among as many as were looked at."""
    bags: int
    """Sets of symbols that the runs are made of."""


class Order(NamedTuple):
    """How much of a run is its order."""

    lists: int
    """Lists that hold it."""
    together: int
    """Lists that hold its symbols close together, in any order."""
    orders: int
    """In how many orders the symbols may stand."""

    @property
    def certainty(self) -> float:
        """[0, 1]: 1 when all lists have this order, 0 when no more do than if all orders were as frequent."""
        by_chance = self.together / self.orders / self.lists
        return max(0.0, (1.0 - by_chance) / (1.0 - 1.0 / self.orders))

    def is_no_chance(self, bags: int) -> bool:
        """Return whether so many lists have this order although any may, where so many bags were looked
        at."""
        share, chance = self.lists / self.together, 1.0 / self.orders
        if share <= chance:
            return False
        # The tail of the binomial distribution is at most exp of minus this (Chernoff).
        surprise = self.lists * math.log(share / chance)
        if share < 1.0:
            surprise += (self.together - self.lists) * math.log((1.0 - share) / (1.0 - chance))
        return surprise > math.log(self.orders * bags / ORDER_CHANCE)


def find(lists: Sequence[Sequence[int]], *, progress: Progress = silent) -> Search:
    """Runs of 3 to 8 symbols, the most surprising first; many overlap, longer ones include shorter.

    Symbols are numbers from 0; lists of fewer than three are no evidence of anything. Cost: some 10 us a list
    of six symbols.
    """
    chance = _Chance(lists)
    tried, seeds = _seeds(lists, chance, progress)
    recurrences: dict[Symbols, Recurrence] = {}
    for seed in seeds:
        _grow(lists, chance, seed, recurrences)
    least = math.log((tried + len(recurrences)) / CHANCE) if recurrences else 0.0
    beyond = [run for run in recurrences.values() if run.surprise > least]
    bags = len({tuple(sorted(run.symbols)) for run in beyond})
    return Search(sorted(beyond, key=lambda run: (-run.surprise, run.symbols)), least, bags)


def holds(symbols: Sequence[int], run: Symbols) -> Symbols | None:
    """Return where ``run`` first stands in ``symbols``, with at most one foreign symbol between two of its
    own."""
    for start, symbol in enumerate(symbols):
        if symbol == run[0]:
            places = _from(symbols, run, start)
            if places is not None:
                return places
    return None


def _from(symbols: Sequence[int], run: Symbols, start: int) -> Symbols | None:
    ways: list[Symbols] = [(start,)]
    for symbol in run[1:]:
        ways = [
            (*way, at)
            for way in ways
            for at in range(way[-1] + 1, min(way[-1] + 3, len(symbols)))
            if symbols[at] == symbol
        ]
        if not ways:
            return None
    return ways[0]


class Orders:
    """In how many lists symbols stand together, whatever their order."""

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        self._lists = lists
        self._with: dict[int, set[int]] = defaultdict(set)
        for number, symbols in enumerate(lists):
            for symbol in symbols:
                self._with[symbol].add(number)
        self._known: dict[Symbols, int] = {}

    def of(self, recurrence: Recurrence) -> Order:
        """Return how much of a run is its order."""
        bag = tuple(sorted(recurrence.symbols))
        if bag not in self._known:
            self._known[bag] = self._together(Counter(bag), len(bag) + 2)
        orders = math.factorial(len(bag)) // math.prod(map(math.factorial, Counter(bag).values()))
        lists = len(recurrence.places)  # with gaps it may stretch beyond what counts as together
        return Order(lists, max(lists, self._known[bag]), orders)

    def _together(self, wanted: Counter[int], width: int) -> int:
        together = 0
        for number in set.intersection(*(self._with[symbol] for symbol in wanted)):
            symbols = self._lists[number]
            together += any(
                Counter(symbols[at : at + width]) >= wanted for at in range(max(1, len(symbols) - width + 1))
            )
        return together


class _Chance:
    """How many lists would hold a run if every symbol were drawn by its share in all of them."""

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        long = [symbols for symbols in lists if len(symbols) >= MIN_LENGTH]
        counts = Counter(symbol for symbols in long for symbol in symbols)
        total = sum(counts.values())
        self._shares = {symbol: count / total for symbol, count in counts.items()}
        self._lengths = Counter(map(len, long))

    def lists_with(self, run: Symbols) -> float:
        likely = math.prod(self._shares[symbol] for symbol in run)
        return sum(
            count * -math.expm1(-_ways(length, len(run)) * likely) for length, count in self._lengths.items()
        )


@lru_cache(maxsize=4096)
def _ways(length: int, run: int) -> int:
    """Count the places where a run fits in a list."""
    ways = [1] * length
    for _ in range(run - 1):
        ways = [sum(ways[at + 1 : at + 3]) for at in range(length)]
    return sum(ways)


def _triples(lists: Sequence[Sequence[int]]) -> tuple[I64, I64, int]:
    """Return (list, key) of every run of three in every list, each once a list, in order of key; and the
    key's base.

    A run (a, b, c) has the key (a * base + b) * base + c.
    """
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    symbols = np.fromiter((symbol for sequence in lists for symbol in sequence), np.int64, int(lengths.sum()))
    of = np.repeat(np.arange(len(lists)), lengths)
    base = int(symbols.max()) + 1 if len(symbols) else 1
    parts = []
    for first, second in ((1, 2), (1, 3), (2, 3), (2, 4)):
        count = max(0, len(symbols) - second)
        inside = of[:count] == of[second:]
        keys = (symbols[:count] * base + symbols[first : first + count]) * base + symbols[second:]
        parts.append(np.stack([of[:count][inside], keys[inside]]))
    pairs = np.concatenate(parts, axis=1)
    pairs = pairs[:, np.lexsort(pairs)]
    new = np.ones(pairs.shape[1], np.bool_)
    new[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    return pairs[0, new], pairs[1, new], base


def _seeds(
    lists: Sequence[Sequence[int]], chance: _Chance, progress: Progress
) -> tuple[int, list[Recurrence]]:
    """Return (how many runs of three there are, those that recur, the most surprising first)"""
    of, keys, base = _triples(lists)
    distinct, starts, counts = np.unique(keys, return_index=True, return_counts=True)
    progress(1, 3)
    likely = []
    for at in np.flatnonzero(counts >= MIN_SUPPORT).tolist():
        key, count = int(distinct[at]), int(counts[at])
        run = key // base**2, key // base % base, key % base
        expected = chance.lists_with(run) if len(set(run)) > 1 else math.inf
        if count > expected:
            likely.append((surprise(count, expected), run, expected, at))
    progress(2, 3)
    seeds = []
    for _, run, expected, at in sorted(likely, reverse=True)[:SEEDS]:
        holding = of[starts[at] : starts[at] + counts[at]].tolist()
        places = {number: holds(lists[number], run) for number in holding}
        seeds.append(Recurrence(run, {number: at for number, at in places.items() if at}, expected))
    return len(distinct), seeds


def surprise(count: int, expected: float) -> float:
    """Return how unlikely so many are by chance where so many are expected: -ln of a bound, at least 0."""
    # The tail of Poisson's distribution is at most exp of minus this (Chernoff).
    return count * math.log(count / expected) - (count - expected) if count > expected else 0.0


def _grow(
    lists: Sequence[Sequence[int]], chance: _Chance, recurrence: Recurrence, known: dict[Symbols, Recurrence]
) -> None:
    """Add ``recurrence`` and what it can be made into by further symbols at its end."""
    if recurrence.symbols in known:
        return
    known[recurrence.symbols] = recurrence
    if len(recurrence.symbols) == MAX_LENGTH:
        return
    following: dict[int, Places] = defaultdict(dict)
    for number, at in recurrence.places.items():
        symbols = lists[number]
        for place in range(at[-1] + 1, min(at[-1] + 3, len(symbols))):
            following[symbols[place]].setdefault(number, (*at, place))
    often = sorted(
        ((len(places), symbol) for symbol, places in following.items() if len(places) >= MIN_SUPPORT),
        reverse=True,
    )
    for _, symbol in often[:BRANCHES]:
        run = (*recurrence.symbols, symbol)
        longer = Recurrence(run, following[symbol], chance.lists_with(run))
        if longer.surprise > recurrence.surprise:
            _grow(lists, chance, longer, known)
