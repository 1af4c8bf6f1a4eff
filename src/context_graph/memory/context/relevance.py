"""Measures how relevant a memory is to a prompt, on a scale that means the same in every store.

A recall only ranks: it has a best memory even for a question that none answers. What enters a context unasked
must reach a floor, fitted by `tools/fit_floor.py` on labelled questions. The share of the prompt's
informative words that the memory has separates well; the cosine of the meanings separates little, and for
long texts not at all.

A store learns from its memories how informative a word is, but with few memories nearly every word is new. So
its estimate is shrunk towards the word's rarity in English, taken from the order of the embedder's
vocabulary. In a small store the floor is lower too: there, a memory that shares an informative word is
probably meant.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.likelihood import rarity, words_in
from context_graph.text.phrases import plain

_TERMS: Final = 0.75
"""Weight of the words; the rest is the cosine's."""
_YOUNG: Final = 50.0
"""Memories at which the store's own estimate counts as much as the vocabulary's."""
_GROWN: Final = 1000
"""From here on only the store's own estimate counts."""
_LOW: Final = 0.625
"""Share of the floor that applies in a store of up to _FEW memories; from _MANY on it applies in full."""
_FEW: Final = 20
_MANY: Final = 200
_FACT_CHARS: Final = 200
_LONG_CHARS: Final = 600
"""The same by the length of a memory."""
_WORKADAY: Final = frozenset(
    """
    add adding again all another any argument arguments ask back better bit call called change changed changes
    check clean code comment count create day delete different do does done edit error errors explain file
    files find first fix fixed function functions get give go good help import imports instead issue it its
    keep last let like line lines list look loop make makes message method methods more move name names need
    new next no not now number numbers one open order other out please print problem project put read remove
    rename run running runs same see set show simple small some something sort split start stop tell test
    tests text thing things three time times try turn two type types update use used uses using value values
    variable variables want way what when where which who why word words work works write yes
    """.split()  # noqa: SIM905 - a list of them would take a hundred lines
)
"""Words of any programming request: sharing them shows little."""
_WORKADAY_WORTH: Final = 0.2
_ENOUGH: Final = 5.0
"""Weight of the informative words that a prompt needs to be answered in full; `run the tests` has less."""
_ASKED_CHARS: Final = 400
_TERM: Final = struct.Struct("<QHH")


class Asked:
    """What a prompt asks for. Cost: in a small store some 6 us a word, then 30 us a memory of 100 words."""

    def __init__(self, prompt: str, provider: EmbeddingProvider, memories: int) -> None:
        """For a store with that number of memories."""
        self.text = asked_in(prompt)
        """The query for the recall."""
        self._provider = provider
        self._own = memories / (memories + _YOUNG) if memories < _GROWN else 1.0
        self._weights: dict[int, float] = {}

    def relevance(self, content: str, parts: Mapping[str, float]) -> float:
        """Relevance in [0, 1] of a memory, from its content and what the recall says of it."""
        if not self._weights:
            for word in words_in(self.text):
                encoded = self._provider.encode(word)
                weight = rarity(encoded.pieces) * (_WORKADAY_WORTH if word.lower() in _WORKADAY else 1.0)
                for term in _terms(encoded.terms):
                    self._weights[term] = max(weight, self._weights.get(term, 0.0))
        whole = sum(self._weights.values())
        share = self._own * _unit(parts["terms"]) * min(1.0, whole / _ENOUGH)
        if self._own < 1.0:
            share += (1.0 - self._own) * self._share(content, max(whole, _ENOUGH))
        return _TERMS * share + (1.0 - _TERMS) * _unit(parts["cosine"])

    def _share(self, content: str, whole: float) -> float:
        """The share of ``whole`` that the informative words in ``content`` have, by the vocabulary."""
        there = _terms(self._provider.encode(content).terms)
        return sum(weight for term, weight in self._weights.items() if term in there) / whole


def floor_of(floor: float, memories: int, content: str) -> float:
    """The relevance floor for a memory of that content in a store of so many; ``floor`` is that of a large
    store.

    Among a few facts, one that shares an informative word is probably meant. Among hundreds some share one by
    chance, and so does a long text. A floor of 1 lets nothing pass.
    """
    if floor >= 1.0:
        return floor
    grown = _between(memories, _FEW, _MANY)
    long = _between(len(content), _FACT_CHARS, _LONG_CHARS)
    return floor * (_LOW + (1.0 - _LOW) * max(grown, long))


def _between(value: float, low: float, high: float) -> float:
    return _unit((value - low) / (high - low))


def asked_in(prompt: str) -> str:
    """The text to search for: the prompt, or the beginning and end of a long one, where the request usually
    is.

    A paste in between would dominate the query, and no memory holds it.
    """
    if len(prompt) <= _ASKED_CHARS:
        return prompt
    text = plain(prompt) or " ".join(prompt.split())
    if len(text) <= _ASKED_CHARS:
        return text
    half = _ASKED_CHARS // 2
    return f"{text[:half].rsplit(' ', 1)[0]} {text[-half:].split(' ', 1)[-1]}"


def _terms(packed: bytes) -> set[int]:
    return {term for term, _, _ in _TERM.iter_unpack(packed)}


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
