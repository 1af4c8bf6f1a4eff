"""Ordered runs of symbols that recur in many lists more often than chance would have them.

The unit of evidence is a list: a run counts once in each that holds it, with at most one foreign symbol
between two of its own. Chance is every symbol drawn by its share in all lists, independently; what recurs by
chance in a large store is told from what is done again and again by how likely so many lists are under it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from context_graph.dream.progress import Progress, silent

__all__ = ["MAX_LENGTH", "MIN_LENGTH", "MIN_SUPPORT", "Found", "Order", "Search", "find", "holds", "order"]

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
_PROGRESS_EVERY: Final = 4096

Symbols = tuple[int, ...]
Places = dict[int, Symbols]
"""List -> where in it the run's symbols stand."""


class Found(NamedTuple):
    """One recurring run."""

    symbols: Symbols
    places: Places
    expected: float
    """Lists that would hold it by chance."""

    @property
    def surprise(self) -> float:
        """How unlikely so many lists are by chance: -ln of a bound of the probability, at least 0."""
        return _surprise(len(self.places), self.expected)


class Search(NamedTuple):
    """What recurs, and by what it was told from chance."""

    runs: list[Found]
    least: float
    """The surprise from which a run is no chance, among as many as were looked at."""
    bags: int
    """Sets of symbols that the runs are made of."""


class Order(NamedTuple):
    """How much of a run is its order."""

    held: int
    """Lists that hold it."""
    together: int
    """Lists that hold its symbols close together, in any order."""
    orders: int
    """In how many they may stand."""

    @property
    def certainty(self) -> float:
        """[0, 1]: 1 when all lists have this order, 0 when no more do than if all orders were as frequent."""
        by_chance = self.together / self.orders / self.held
        return max(0.0, (1.0 - by_chance) / (1.0 - 1.0 / self.orders))

    def is_no_chance(self, bags: int) -> bool:
        """Whether so many lists have this order although any may, where so many bags were looked at."""
        share, chance = self.held / self.together, 1.0 / self.orders
        if share <= chance:
            return False
        # The tail of the binomial distribution is at most exp of minus this (Chernoff).
        surprise = self.held * math.log(share / chance)
        if share < 1.0:
            surprise += (self.together - self.held) * math.log((1.0 - share) / (1.0 - chance))
        return surprise > math.log(self.orders * bags / ORDER_CHANCE)


def find(lists: Sequence[Sequence[int]], *, progress: Progress = silent) -> Search:
    """Runs of 3 to 8 symbols, the most surprising first; many overlap, longer ones include shorter.

    Args:
        lists: Symbols from 0. Lists of fewer than three are no evidence of anything.

    Returns:
        Each with the lists that hold it. None where nothing recurs beyond chance.

    Cost: some 10 us a list of six symbols.
    """
    shares = _shares(lists)
    tried, seeds = _seeds(lists, shares, progress)
    found: dict[Symbols, Found] = {}
    for seed in seeds:
        _grow(lists, shares, seed, found)
    least = math.log((tried + len(found)) / CHANCE) if found else 0.0
    beyond = [one for one in found.values() if one.surprise > least]
    bags = len({tuple(sorted(one.symbols)) for one in beyond})
    return Search(sorted(beyond, key=lambda one: (-one.surprise, one.symbols)), least, bags)


def holds(symbols: Sequence[int], run: Symbols) -> Symbols | None:
    """Where ``run`` first stands in ``symbols``, with at most one foreign symbol between two of its own."""
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


def order(lists: Sequence[Sequence[int]], found: Found) -> Order:
    """In how many lists the symbols of ``found`` stand together, and in how many of them in its order."""
    wanted = Counter(found.symbols)
    width = len(found.symbols) + 2
    together = 0
    for number, symbols in enumerate(lists):
        if number in found.places:
            together += 1
        elif len(symbols) >= len(found.symbols) and wanted.keys() <= set(symbols):
            together += any(
                Counter(symbols[at : at + width]) >= wanted for at in range(max(1, len(symbols) - width + 1))
            )
    orders = math.factorial(len(found.symbols)) / math.prod(map(math.factorial, wanted.values()))
    return Order(len(found.places), together, int(orders))


def _shares(lists: Iterable[Sequence[int]]) -> dict[int, float]:
    """Each symbol's share in the lists that are long enough."""
    counts = Counter(symbol for symbols in lists if len(symbols) >= MIN_LENGTH for symbol in symbols)
    total = sum(counts.values())
    return {symbol: count / total for symbol, count in counts.items()}


def _expected(lengths: Counter[int], shares: dict[int, float], run: Symbols) -> float:
    """Lists that would hold ``run`` by chance."""
    likely = math.prod(shares[symbol] for symbol in run)
    return sum(count * -math.expm1(-_ways(length, len(run)) * likely) for length, count in lengths.items())


@lru_cache(maxsize=4096)
def _ways(length: int, run: int) -> int:
    """How many places there are for a run in a list."""
    ways = [1] * length
    for _ in range(run - 1):
        ways = [sum(ways[at + 1 : at + 3]) for at in range(length)]
    return sum(ways)


def _triples(symbols: Sequence[int]) -> Iterator[Symbols]:
    """Every run of three in a list, each as often as it stands there."""
    count = len(symbols)
    for i in range(count - 2):
        for j in range(i + 1, min(i + 3, count - 1)):
            for k in range(j + 1, min(j + 3, count)):
                yield symbols[i], symbols[j], symbols[k]


def _seeds(
    lists: Sequence[Sequence[int]], shares: dict[int, float], progress: Progress
) -> tuple[int, list[Found]]:
    """(how many runs of three there are, those that recur, the most surprising first)"""
    counts: Counter[Symbols] = Counter()
    for number, symbols in enumerate(lists):
        counts.update(set(_triples(symbols)))
        if number % _PROGRESS_EVERY == 0:
            progress(number, len(lists))
    lengths = Counter(len(symbols) for symbols in lists if len(symbols) >= MIN_LENGTH)
    likely = []
    for run, count in counts.items():
        if count < MIN_SUPPORT or len(set(run)) < 2:
            continue
        expected = _expected(lengths, shares, run)
        if count > expected:
            likely.append((_surprise(count, expected), run, expected))
    chosen = {run: expected for _, run, expected in sorted(likely, reverse=True)[:SEEDS]}
    places: dict[Symbols, Places] = defaultdict(dict)
    for number, symbols in enumerate(lists):
        for run in chosen.keys() & set(_triples(symbols)):
            at = holds(symbols, run)
            if at is not None:
                places[run][number] = at
    return len(counts), [Found(run, places[run], expected) for run, expected in chosen.items()]


def _surprise(count: int, expected: float) -> float:
    # The tail of Poisson's distribution is at most exp of minus this (Chernoff).
    return count * math.log(count / expected) - (count - expected) if count > expected else 0.0


def _grow(
    lists: Sequence[Sequence[int]], shares: dict[int, float], found: Found, known: dict[Symbols, Found]
) -> None:
    """Add ``found`` and what it can be made into by further symbols at its end."""
    if found.symbols in known:
        return
    known[found.symbols] = found
    if len(found.symbols) == MAX_LENGTH:
        return
    following: dict[int, Places] = defaultdict(dict)
    for number, at in found.places.items():
        symbols = lists[number]
        for place in range(at[-1] + 1, min(at[-1] + 3, len(symbols))):
            following[symbols[place]].setdefault(number, (*at, place))
    often = sorted(
        ((len(places), symbol) for symbol, places in following.items() if len(places) >= MIN_SUPPORT),
        reverse=True,
    )
    lengths = Counter(len(symbols) for symbols in lists if len(symbols) >= MIN_LENGTH) if often else Counter()
    for _, symbol in often[:BRANCHES]:
        run = (*found.symbols, symbol)
        longer = Found(run, following[symbol], _expected(lengths, shares, run))
        if longer.surprise > found.surprise:
            _grow(lists, shares, longer, known)
