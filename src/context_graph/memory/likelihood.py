"""How likely it is that a recall's best memories hold what was asked for.

A ranking always has a best memory, also for a question about something else. What tells the two apart is how
much of the question's informative words the best memories have. A word's weight is its rarity in English, so
it means the same in every store; a word that none of them has is evidence against. The cosine of the meanings
adds a little. `tools/fit_floor.py --fit DATA` fits the constants.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Sequence
from typing import Final

from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.index.blend import FUNCTION_WORDS, hashes

_WORDS: Final = 32
"""Informative words of a query that are looked at, the rarest."""
_WORD: Final = re.compile(r"[^\W_][\w./:\-]*")
_SIGNS: Final = "./:-"
"""Inside a word they are part of it, at its end they are not."""
_FIRST_WORD: Final = 1996
"""The vocabulary's first whole word, `the`; from there on words stand in order of their frequency."""
_RARE: Final = 8.0
_DATES: Final = frozenset(
    """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """.split()  # noqa: SIM905 - a list of them would take a page
)
_NUMBER: Final = re.compile(r"(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)?")
NAMES: Final = ("one", "together", "weight", "cosine", "size", "one_by_size", "cosine_by_size")
_CONSTANT: Final = -4.723
_WEIGHTS: Final = (2.216, 1.297, 1.42, 3.865, -2.423, 0.596, 2.057)
"""Of NAMES; made by `tools/fit_floor.py --fit DATA`."""

Held = Callable[["array[int]"], Sequence[float]]
"""For each of the best memories, the share of these terms that it has."""


def rarity(packed: bytes) -> float:
    """How informative a word is, by its pieces: up to 8 for rare words and for words that are not English.

    By Zipf's law the word of rank k has a share of about 1 / (10 k); the value is the logarithm of its
    inverse, less 5.
    """
    pieces = memoryview(packed).cast("H")
    if len(pieces) != 1:
        return _RARE
    rank = pieces[0] - _FIRST_WORD + 1
    return min(_RARE, max(1.0, math.log(10.0 * rank) - 5.0)) if rank > 0 else 1.0


def words_in(text: str) -> list[str]:
    """The words of ``text``, each once, in order."""
    return list(dict.fromkeys(found.rstrip(_SIGNS) for found in _WORD.findall(text)))


def informative(query: str, provider: EmbeddingProvider) -> list[tuple[float, array[int]]]:
    """(rarity, term hashes) of the informative words of ``query``, the rarest first, at most 32.

    Dates count only where there is nothing else: a memory's time is seldom in its text. Cost: 6 us a word.
    """
    words = [word for word in words_in(query) if word.lower() not in FUNCTION_WORDS]
    words = [word for word in words if word.lower() not in _DATES and not _NUMBER.fullmatch(word)] or words
    found = []
    for word in words:
        encoded = provider.encode(word)
        terms = hashes(encoded.terms)
        if terms:
            found.append((rarity(encoded.pieces), terms))
    return sorted(found, key=lambda one: -one[0])[:_WORDS]


def evidence(
    words: Sequence[tuple[float, array[int]]], held: Held, cosine: float, memories: int
) -> tuple[float, ...]:
    """The values of NAMES for a query's `informative` words and the best cosine in a store of so many.

    one: the share of the words' weight that one memory has; together: that the best have among them; weight:
    ln(1 + weight that one memory has); size: ln(memories) / 5.
    """
    whole = sum(weight for weight, _ in words)
    single: list[float] = []
    together = 0.0
    for weight, terms in words:
        shares = held(terms)
        single = [a + weight * b for a, b in zip(single or [0.0] * len(shares), shares, strict=True)]
        together += weight * max(shares, default=0.0)
    most = max(single, default=0.0)
    one = most / whole if whole else 0.0
    size = math.log(max(1, memories)) / 5.0
    cosine = min(1.0, max(0.0, cosine))
    return (
        one,
        together / whole if whole else 0.0,
        math.log1p(most),
        cosine,
        size,
        one * size,
        cosine * size,
    )


def probability(found: Sequence[float]) -> float:
    """That the best ten hold an answer, (0, 1), at even odds between such questions and foreign ones."""
    score = _CONSTANT + sum(weight * value for weight, value in zip(_WEIGHTS, found, strict=True))
    return 1.0 / (1.0 + math.exp(-min(30.0, max(-30.0, score))))
