"""Whether a query asks for anything that the store could know: a ranking has a best memory for any query.

Three things speak for an answer: a word of the query in some memory; or, where none is, a word that the
embedder knows, and a memory near to it in meaning. Punctuation and function words alone ask for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.words import STOP_WORDS

__all__ = ["NEAR", "asks_nothing", "has_known_word"]

NEAR: Final = 0.25
"""Cosine from which a memory that shares no word with the query may still answer it."""
_FUNCTION_WORDS: Final = frozenset(word.decode() for word in STOP_WORDS) | frozenset(
    """
    about above after again all also am any around because before below between both but can could down each
    either else ever few he here hers if into just let may me might more most must neither no nor not off once
    only onto other out over own please same shall should since some such than then there these those though
    through too under until up upon very via whether whom whose within without yes yet
    """.split()  # noqa: SIM905 - a list of them would take a page
)
_LEAST_CHARS: Final = 3


def asks_nothing(query: str) -> bool:
    """Whether ``query`` has no word but function words. Cost: one pass over it."""
    return all(word in _FUNCTION_WORDS for word in _words(query))


def has_known_word(query: str, provider: EmbeddingProvider) -> bool:
    """Whether some word of ``query`` means something to the embedder: one that its vocabulary has whole.

    Of a word in no English letters nothing can be said; it counts as known.
    """
    return any(not word.isascii() or _is_known(word, provider) for word in _words(query))


def _is_known(word: str, provider: EmbeddingProvider) -> bool:
    if len(word) < _LEAST_CHARS or not word.isalpha() or word in _FUNCTION_WORDS:
        return False
    return len(memoryview(provider.encode(word).pieces).cast("H")) == 1


def _words(text: str) -> Iterator[str]:
    """Runs of letters and digits, in lower case."""
    return iter("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())
