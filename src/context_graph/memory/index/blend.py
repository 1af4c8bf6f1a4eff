"""Blends the index's scores of each memory into one, and reads what a query asks for.

The weights were measured on LoCoMo and CoSQA, by cross-validation over conversations
(docs/adr/0010-recall-index.md): BM25 and the vectors as z-scores over the whole store. What follows a
question tends to answer it, the session of a good hit is likely to have more, and a person named in the query
is likely the speaker.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Final

from context_graph.kernels import ranking
from context_graph.memory.embed import EmbeddingProvider
from context_graph.text.english import STOP_WORDS

if TYPE_CHECKING:
    from context_graph.memory.index.index import MemoryIndex

NEAR: Final = 0.25
"""Cosine from which a memory that shares no word with the query may still answer it."""
FUNCTION_WORDS: Final = frozenset(word.decode() for word in STOP_WORDS) | frozenset(
    """
    about above after again all also am any around because before below between both but can could down each
    either else ever few he here hers if into just let may me might more most must neither no nor not off once
    only onto other out over own please same shall should since some such than then there these those though
    through too under until up upon very via whether whom whose within without yes yet
    """.split()  # noqa: SIM905 - a list of them would take a page
)
_LEAST_CHARS: Final = 3


def asks_nothing(query: str) -> bool:
    """Whether ``query`` has only function words. Cost: one pass over it."""
    return all(word in FUNCTION_WORDS for word in _words(query))


def has_known_word(query: str, provider: EmbeddingProvider) -> bool:
    """Whether the embedder knows some word of ``query`` whole. Words in other scripts count as known."""
    return any(
        not word.isascii()
        or (
            len(word) >= _LEAST_CHARS
            and word.isalpha()
            and word not in FUNCTION_WORDS
            and len(memoryview(provider.encode(word).pieces).cast("H")) == 1
        )
        for word in _words(query)
    )


def _words(text: str) -> Iterator[str]:
    """Runs of letters and digits, in lower case."""
    return iter("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


_WHEN: Final = re.compile(
    r"\W*+(when|how (long|old|many (days|weeks|months|years))"
    r"|(in |on )?(what|which) (date|day|month|year|time))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+")
_SHORTEST_NAME: Final = 2
_TERM: Final = Struct("<Q4x")


@dataclass(frozen=True, slots=True)
class Blend:
    """The weights, in standard deviations of a score over the store unless said otherwise."""

    k1: float = 0.9
    b: float = 0.4
    """BM25's own."""
    lexical: float = 1.0
    dense: float = 0.9
    dense_beside: float = 0.3
    """The same beside second vectors."""
    extra: float = 2.0
    """The optional second vector (MiniLM)."""
    extra_from: float = 0.9
    """Share of the memories that must have a second vector: with fewer, the ranking gets worse."""
    extra_like_dense: float = 0.7
    """Correlation of the two scores: what to expect of a memory without a second vector yet."""
    question: float = -0.3
    """A memory that asks says less than one that answers."""
    speaker: float = 0.7
    """The query names who said it."""
    time: float = 0.8
    """The query asks when, the memory names a time."""
    after_question: float = 0.5
    """Share of its score that a memory with a question mark passes to the next of its session."""
    forward: float = 0.1
    """The same without a question mark."""
    back: float = 0.1
    """Share that a memory passes to the one before it."""
    session: float = 0.5
    """Share of the best score in its session that each memory gets."""
    recency: float = 3.0
    """What the newest gets with recency 1; half of it after a half-life, a third after two."""
    half_life_ms: float = 14 * 86_400_000.0
    edge: float = 0.5
    """Share of its score that a good hit passes along an edge of effective weight 1."""


DEFAULT: Final = Blend()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A query in the form that the index needs."""

    text: str
    terms: array[int]
    """Hashes, uint64, each once."""
    dense: memoryview[float]
    """Its Semantic slice; all zeros when the query has no token."""
    extra: bytes | None = None
    times: array[int] | None = None
    """Hashes of words of time, when the query asks for one."""


class Scores:
    """Buffers for the scores of one search, reused by the next; floats, at least one a row."""

    __slots__ = ("base", "dense", "extra", "lexical", "scratch", "total")

    def __init__(self) -> None:
        self._make(0)

    def _make(self, rows: int) -> None:
        for name in self.__slots__:
            setattr(self, name, array("f", bytes(4 * rows)))

    def fit(self, rows: int) -> None:
        """Make room for that many rows; all scores are 0 afterwards."""
        if len(self.total) < rows or len(self.total) > 2 * rows + 4096:
            self._make(rows + rows // 8)
        else:
            for name in ("base", "lexical"):
                ranking.clear(getattr(self, name))

    base: array[float]
    """Own score of each row."""
    dense: array[float]
    extra: array[float]
    lexical: array[float]
    scratch: array[float]
    total: array[float]
    """Own score and what others pass on."""


def hashes(terms: bytes) -> array[int]:
    """The term hashes of packed terms (lexical.TERM)."""
    return array("Q", [term for (term,) in _TERM.iter_unpack(terms)])


def asks_when(text: str) -> bool:
    """Whether the query asks for a time."""
    return _WHEN.match(text) is not None


def rank(index: MemoryIndex, wanted: Wanted, live: bytearray, blend: Blend, scores: Scores) -> None:
    """Fill ``scores`` for the live rows, with the index's lock held. Cost: some passes over all rows."""
    scores.fit(len(live))
    _lexical(index, wanted, live, blend, scores)
    _dense(index, wanted, live, blend, scores)
    _hints(index, wanted, blend, scores)
    rows = index.rows
    ranking.spread(
        scores.base,
        live,
        rows.before,
        rows.flags,
        blend.after_question,
        blend.forward,
        blend.back,
        scores.total,
    )
    ranking.lift_groups(scores.total, live, rows.session, blend.session)


def _lexical(index: MemoryIndex, wanted: Wanted, live: bytearray, blend: Blend, scores: Scores) -> None:
    postings = index.postings
    count, length = postings.totals(live)
    if not count or not wanted.terms:
        return
    weights = array("f", [1.0]) * len(wanted.terms)
    mean = length / count
    if postings.score(wanted.terms, weights, live, count, mean, blend.k1, blend.b, scores.lexical):
        _, mean, deviation = ranking.moments(scores.lexical, live)
        ranking.add_standardised(scores.lexical, mean, deviation, blend.lexical, False, scores.base)


def _dense(index: MemoryIndex, wanted: Wanted, live: bytearray, blend: Blend, scores: Scores) -> None:
    count, mean, deviation = index.vectors.scan(wanted.dense, live, scores.dense)
    weight = blend.dense
    if wanted.extra is not None and index.extra is not None and count:
        ranking.clear(scores.extra)
        query = memoryview(wanted.extra).cast("f")
        second, its_mean, its_deviation = index.extra.scan(query, live, scores.extra)
        if second >= blend.extra_from * count:
            slope = blend.extra_like_dense * its_deviation
            ranking.expect(scores.dense, mean, deviation, its_mean, slope, scores.extra)
            ranking.add_standardised(scores.extra, its_mean, its_deviation, blend.extra, True, scores.base)
            weight = blend.dense_beside
    ranking.add_standardised(scores.dense, mean, deviation, weight, True, scores.base)


def _hints(index: MemoryIndex, wanted: Wanted, blend: Blend, scores: Scores) -> None:
    rows = index.rows
    ranking.add_by_class(rows.flags, array("f", [0.0, blend.question]), scores.base)
    named = named_speakers(index, wanted.text)
    if named:
        weights = array("f", bytes(4 * len(rows.names["speaker"])))
        for ordinal in named:
            weights[ordinal] = blend.speaker
        ranking.add_by_class(rows.speaker, weights, scores.base)
    if wanted.times:
        ranking.clear(scores.scratch)
        index.postings.mark(wanted.times, blend.time, scores.scratch)
        ranking.add_standardised(scores.scratch, 0.0, 1.0, 1.0, True, scores.base)


def named_speakers(index: MemoryIndex, text: str) -> list[int]:
    """Ordinals of the speakers that a query names, by first name or in full."""
    names = index.rows.names["speaker"]
    if len(names) == 1:
        return []
    words = set(_WORD.findall(text.casefold()))
    named = []
    for ordinal, name in enumerate(names, 1):
        parts = _WORD.findall(name.casefold())
        if parts and len(parts[0]) > _SHORTEST_NAME and parts[0] in words:
            named.append(ordinal)
    return named
