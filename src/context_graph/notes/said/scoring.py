"""Weighs evidence: one linear model for what holds further, one for what was chosen.

`weights.json` is made by `research/said/train.py` from cases written for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from context_graph.notes.said.evidence import Evidence, Reading
from context_graph.notes.said.statement import Kind


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each kind of evidence for one kind of statement, and from what sum on it is one."""

    single: dict[str, float]
    pairs: dict[str, tuple[tuple[str, float], ...]]
    """Weights of pairs of names, by the first of the two."""
    floor: float

    def score(self, evidence: Evidence) -> float:
        """Return the sum of the weights: the logarithm of the odds, above the floor."""
        single, paired = self.single, evidence.paired
        total = sum([single[name] for name in evidence.single if name in single]) - self.floor
        for name in paired:
            for other, weight in self.pairs.get(name, ()):
                if other in paired:
                    total += weight
        return total


def weights_of(weights: dict[str, float], floor: float) -> Weights:
    """Weights from those of names, of which a pair's is `one+two`."""
    pairs: dict[str, list[tuple[str, float]]] = {}
    for name, weight in weights.items():
        first, pair, other = name.partition("+")
        if pair:
            pairs.setdefault(first, []).append((other, weight))
    single = {name: weight for name, weight in weights.items() if "+" not in name}
    return Weights(single, {first: tuple(rest) for first, rest in pairs.items()}, floor)


@cache
def weights(kind: Kind) -> Weights:
    """Return the weights that ship. Reads their file the first time, in some ms."""
    content = json.loads((Path(__file__).parent / "weights.json").read_text("utf-8"))
    return weights_of(content[kind], content[f"{kind}_floor"])


JOINS: Final = 1.5
BESIDE: Final = -2.5
"""A clause that scores above this by itself is part of what is said beside it, unless that costs `JOINS`."""


@dataclass(frozen=True, slots=True)
class Span:
    """Some clauses of a sentence and how much speaks for them."""

    start: int
    end: int
    score: float


def best_span(reading: Reading, at: int, by: Weights) -> Span:
    """Return the clauses of sentence ``at`` for which most speaks: the best, and those beside it that belong
    to it.

    Scores at most some three spans for each clause.
    """
    count = len(reading.clauses[at])
    known: dict[tuple[int, int], float] = {}

    def score(start: int, end: int) -> float:
        if (start, end) not in known:
            known[start, end] = by.score(reading.evidence(at, start, end))
        return known[start, end]

    own = [score(number, number + 1) for number in range(count)]
    start = max(range(count), key=own.__getitem__)
    end = start + 1
    while True:
        now = score(start, end)
        near = [(own[start - 1], start - 1, end)] if start else []
        near += [(own[end], start, end + 1)] if end < count else []
        grown = [
            (score(first, last) - now + (JOINS if alone > BESIDE else 0.0), first, last)
            for alone, first, last in near
        ]
        gain, first, last = max(grown, default=(0.0, start, end))
        if gain <= 0:
            return Span(start, end, max(score(start, end), *own))
        start, end = first, last
