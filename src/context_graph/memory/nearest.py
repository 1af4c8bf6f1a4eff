"""Tells how near the nearest sentence of a memory comes to what is asked.

A list of ten points answers a question by one of them, in other words often: its mean says little of any.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Final, cast

from context_graph.kernels.dense import Vectors
from context_graph.memory.embed import EmbeddingProvider, meaning_of
from context_graph.model.spaces import SPACES, WEIGHTS
from context_graph.text.phrases import sentences

SEMANTIC: Final = WEIGHTS[SPACES.index("Semantic")]
"""Product of two Semantic slices of one direction."""
_CHARS: Final = 8000
"""Characters that are read of a memory's text."""
_SENTENCES: Final = 64
_KEPT: Final = 512
"""Memories whose sentences are remembered: some 3 KB each."""


def nearest(provider: EmbeddingProvider, content: str, dense: memoryview[float]) -> float:
    """Return the cosine of a question's meaning and that of the sentence of ``content`` that is nearest, [-1,
    1].

    Args:
        dense: The question's Semantic slice.

    Cost: 3 us; the first time some 5 us a sentence.
    """
    return max(_cosines(_read(cast(Hashable, provider), content), dense))


def closeness(provider: EmbeddingProvider, dense: memoryview[float]) -> Callable[[str], float]:
    """Tells of a text, as a whole, the cosine of its meaning and a question's. Cost: some 4 us a text."""
    return lambda text: _cosines(_encoded(provider, [text]), dense)[0]


@lru_cache(maxsize=_KEPT)
def _read(provider: Hashable, content: str) -> Vectors:
    begin = content[:_CHARS]
    texts = list(sentences(begin))[:_SENTENCES] or [begin]
    return _encoded(cast(EmbeddingProvider, provider), texts)


def _encoded(provider: EmbeddingProvider, texts: Iterable[str]) -> Vectors:
    parts = [meaning_of(provider, text) for text in texts]
    vectors = Vectors(len(parts[0]))
    for part in parts:
        vectors.append(part)
    return vectors


def _cosines(vectors: Vectors, dense: memoryview[float]) -> list[float]:
    scores = array("f", bytes(4 * len(vectors)))
    vectors.scan(dense, b"\1" * len(vectors), scores)
    return [max(-1.0, min(1.0, score / SEMANTIC)) for score in scores]
