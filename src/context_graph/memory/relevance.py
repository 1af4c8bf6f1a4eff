"""How relevant a recalled memory is to a prompt, on a scale that means the same in every store.

A recall ranks; it always has a best memory, also for a question that no memory answers. What goes into a
context unasked must clear a floor that rank cannot give. `tools/fit_floor.py` measures it on labelled
questions: the share of the prompt's telling words that the memory holds separates well, the cosine of the
meanings little, and for a long text not at all, since long texts resemble each other.

How telling a word is, a store knows from its memories, but not while it has few: then nearly every word is
new to it. So the store's own word is shrunk towards how rare the word is in English, which the order of the
embedder's vocabulary tells.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from typing import Final

from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.phrases import plain

__all__ = ["Asked"]

_TERMS: Final = 0.75
"""Weight of the words; the rest is the cosine's."""
_YOUNG: Final = 50.0
"""Memories at which the store's own judgement of words counts as much as the vocabulary's."""
_GROWN: Final = 1000
"""From here on the store's own judgement holds alone."""
_ASKED_CHARS: Final = 400
_FIRST_WORD: Final = 1996
"""The vocabulary's first whole word, `the`; from there on words stand in order of their frequency."""
_RARE: Final = 8.0
_WORD: Final = re.compile(r"[^\W_][\w./:\-]*")
_SIGNS: Final = "./:-"
"""Inside a word they are part of it, at its end they are not."""
_TERM: Final = struct.Struct("<QHH")


class Asked:
    """What a prompt asks for. Cost: in a young store some 6 us a word, then 30 us a memory of 100 words."""

    def __init__(self, prompt: str, provider: EmbeddingProvider, memories: int) -> None:
        """For a store with that number of memories."""
        self.text = asked_in(prompt)
        """The query for the recall."""
        self._provider = provider
        self._own = memories / (memories + _YOUNG) if memories < _GROWN else 1.0
        self._weights: dict[int, float] = {}

    def relevance(self, content: str, parts: Mapping[str, float]) -> float:
        """Relevance in [0, 1] of a memory, from its content and what the recall says of it."""
        share = self._own * _unit(parts["terms"])
        if self._own < 1.0:
            share += (1.0 - self._own) * self._share(content)
        return _TERMS * share + (1.0 - _TERMS) * _unit(parts["cosine"])

    def _weigh(self) -> None:
        for word in dict.fromkeys(found.rstrip(_SIGNS) for found in _WORD.findall(self.text)):
            encoded = self._provider.encode(word)
            weight = _rarity(encoded.pieces)
            for term in _terms(encoded.terms):
                self._weights[term] = max(weight, self._weights.get(term, 0.0))

    def _share(self, content: str) -> float:
        """The share of the telling words that ``content`` holds, as the vocabulary weighs them."""
        if not self._weights:
            self._weigh()
        whole = sum(self._weights.values())
        if not whole:
            return 0.0
        there = _terms(self._provider.encode(content).terms)
        return sum(weight for term, weight in self._weights.items() if term in there) / whole


def asked_in(prompt: str) -> str:
    """What to look for: the prompt, or of a long one its beginning and end, where the request stands.

    What is pasted in between would be nearly all of the question, and no memory holds that.
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


def _rarity(packed: bytes) -> float:
    """How telling a word is, from its pieces: up to 8 for rare ones and for what is no English word.

    By Zipf's law the word of rank k has a share of 1 / (10 k) or so; the logarithm of its inverse, less 5.
    """
    pieces = memoryview(packed).cast("H")
    if len(pieces) != 1:
        return _RARE
    rank = pieces[0] - _FIRST_WORD + 1
    return min(_RARE, max(1.0, math.log(10.0 * rank) - 5.0)) if rank > 0 else 1.0


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
