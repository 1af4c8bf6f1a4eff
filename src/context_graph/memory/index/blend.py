"""Blends the index's scores of each memory into one, and reads what a query asks for.

BM25 and the vectors count as z-scores over the whole store. The first line of a long query says what it is
about. Names are matched as words, not by meaning; a query without any leans on the meaning more. What follows
a question tends to answer it, and the session of a good hit is likely to have more, in stores whose sessions
are about one thing. `python -m research.fit.spaces DATA` chooses the weights, by cross-validation over talk,
code and the summaries of work together (docs/dev/adr/0023-spaces-in-recall.md).
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING, Final, Literal

from context_graph.kernels import ranking
from context_graph.memory.embed import EmbeddingProvider, dense_part
from context_graph.text.function_words import ENGLISH as FUNCTION_WORDS

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from context_graph.memory.index.index import MemoryIndex

NEAR: Final = 0.25
"""Cosine from which a memory that shares no word with the query may still answer it."""
_LEAST_CHARS: Final = 3
_RUN: Final = re.compile(r"[^\W_]+")


def asks_nothing(query: str) -> bool:
    """Return whether ``query`` has only function words. Cost: a pass, to the first other one."""
    return all(word in FUNCTION_WORDS for word in _words(query))


def has_known_word(query: str, provider: EmbeddingProvider) -> bool:
    """Return whether the embedder knows a word of ``query`` whole; of other scripts it knows all."""
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
    return (match[0] for match in _RUN.finditer(text.lower()))


_WHEN: Final = re.compile(
    r"\W*+(when|how (long|old|many (days|weeks|months|years))"
    r"|(in |on )?(what|which) (date|day|month|year|time))\b",
    re.IGNORECASE,
)
_MOST_NAMES: Final = 8
_LEAST_PLAIN: Final = 5
"""Terms that a query needs to have a meaning besides its words."""
_LEAST_LEAD: Final = 2
"""Terms that a first line needs to say what the query is about."""
_TERM: Final = Struct("<Q4x")


@dataclass(frozen=True, slots=True)
class Blend:
    """The weights, in standard deviations of a score over the store unless said otherwise."""

    k1: float = 0.9
    b: float = 0.4
    """BM25's own."""
    b_plain: float = 0.75
    """BM25's b where the query is plain: long functions would win by their length."""
    lexical: float = 1.0
    dense: float = 0.9
    lexical_plain: float = 0.73
    dense_plain: float = 1.17
    """Both where the query is plain: some words in one line, none of them a name."""
    dense_beside: float = 0.3
    """Weight of the dense score beside second vectors."""
    lead: float = 3.0
    """What a word of the query's first line weighs, where more lines follow; any other weighs 1."""
    lead_dense: float = 0.5
    """Weight of the first line's vector beside that of the whole query."""
    extra: float = 2.0
    """The optional second vector (MiniLM)."""
    extra_from: float = 0.9
    """Share of the memories that must have a second vector: with fewer, the ranking gets worse."""
    extra_like_dense: float = 0.7
    """Correlation of the two scores: what to expect of a memory without a second vector yet."""
    question: float = -0.3
    """A memory that asks says less than one that answers."""
    name: float = 0.8
    """The memory has a name that the query has."""
    time: float = 0.8
    """The query asks when, the memory names a time."""
    after_question: float = 0.5
    """Share of its score that a memory that asks passes to the next of its session; this and the next two
    as far as the store's sessions are about one thing (`MemoryIndex.together`)."""
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
_Part = tuple["array[float]", float, float, float, bool]
"""What `ranking.blend` adds up: scores, their mean and deviation, weight, whether 0 is none."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A query in the form that the index needs."""

    text: str
    terms: array[int]
    """Hashes, uint64, each once."""
    weights: array[float]
    """What each counts, float32."""
    dense: memoryview[float]
    """Its Semantic slice; all zeros when the query has no token."""
    plain: bool = False
    """It is one line of several words, none of them a name."""
    names: array[int] | None = None
    """Hashes of the names in it."""
    extra: bytes | None = None
    times: array[int] | None = None
    """Hashes of words of time, when the query asks for one."""


class Scores:
    """Buffers for the scores of one search, reused by the next; floats, at least one a row."""

    __slots__ = ("base", "dense", "extra", "lexical", "scratch", "total")

    def __init__(self) -> None:
        self._make(0)
        self.extra = self.scratch = array("f")

    def _make(self, rows: int) -> None:
        for name in ("base", "dense", "lexical", "total"):
            setattr(self, name, array("f", bytes(4 * rows)))

    def fit(self, rows: int) -> None:
        """Make room for that many rows; what is in them is left from the last search."""
        if len(self.total) < rows or len(self.total) > 2 * rows + 4096:
            self._make(rows + rows // 8)
            self.extra = self.scratch = array("f")

    def zeros(self, name: Literal["extra", "lexical", "scratch"]) -> array[float]:
        """Return the buffer of that name, all 0; most searches need no ``extra`` and no ``scratch``."""
        buffer: array[float] = getattr(self, name)
        if len(buffer) < len(self.total):
            buffer = array("f", bytes(4 * len(self.total)))
            setattr(self, name, buffer)
        else:
            ranking.clear(buffer)
        return buffer

    base: array[float]
    """Own score of each row."""
    dense: array[float]
    extra: array[float]
    lexical: array[float]
    scratch: array[float]
    total: array[float]
    """Own score and what others pass on."""


def hashes(terms: bytes) -> array[int]:
    """Return the term hashes of packed terms (lexical.TERM)."""
    return array("Q", [term for (term,) in _TERM.iter_unpack(terms)])


def asks_when(text: str) -> bool:
    """Return whether the query asks for a time."""
    return _WHEN.match(text) is not None


def lead_of(text: str) -> str:
    """Return the first line of a text that has more: what it is about. "" where it is one line."""
    first, _, more = text.strip().partition("\n")
    return first if more else ""


def names_in(text: str) -> list[str]:
    """Words that are written like names, each once, at most 8: capitalised, not at a sentence's beginning."""
    words = text.split()
    names = dict[str, None]()
    for before, word in pairwise(words):
        if word.islower():
            continue
        name = word.strip("\"'“”‘’(),;:.!?").partition("'")[0].partition("’")[0]
        begins = before[-1] in ".!?"
        if name.isalpha() and name[0].isupper() and name[1:].islower() and not begins:
            names[name] = None
    return [name for name in names if name.lower() not in FUNCTION_WORDS][:_MOST_NAMES]


def read(text: str, provider: EmbeddingProvider, counts: Buffer, total: int, blend: Blend) -> Wanted:
    """Return a query as `rank` takes it, without second vector and times.

    Args:
        counts: How often each piece is in the store, `total` their sum: rare ones say more.
    """
    encoded = provider.query(text, counts, total)
    terms, dense = hashes(encoded.terms), dense_part(encoded.embedding)
    weights = array("f", [1.0]) * len(terms)
    lead = lead_of(text)
    leading = provider.query(lead, counts, total) if lead else None
    first = set(hashes(leading.terms)) if leading is not None else set[int]()
    if leading is None or len(first) < _LEAST_LEAD:
        lead = ""
    else:
        weights = array("f", [blend.lead if term in first else 1.0 for term in terms])
        dense = _beside(dense, dense_part(leading.embedding), blend.lead_dense)
    names = names_in(lead or text)
    named = hashes(provider.encode(" ".join(names)).terms) if names else None
    plain = not names and not lead and text.isascii() and len(terms) >= _LEAST_PLAIN
    return Wanted(text, terms, weights, dense, plain=plain, names=named)


def _beside(whole: memoryview[float], part: memoryview[float], weight: float) -> memoryview[float]:
    """Return the sum of two vectors, the second with a weight, as long as the first."""
    mixed = [a + weight * b for a, b in zip(whole, part, strict=True)]
    length = math.hypot(*mixed)
    factor = math.hypot(*whole) / length if length > 0.0 else 0.0
    return memoryview(array("f", [factor * value for value in mixed]))


def rank(index: MemoryIndex, wanted: Wanted, live: bytearray, blend: Blend, scores: Scores) -> None:
    """Fill ``scores`` for the live rows, with the index's lock held. Cost: some passes over all rows."""
    score_each(index, wanted, live, blend, scores)
    pass_on(index, live, blend, scores)


def score_each(index: MemoryIndex, wanted: Wanted, live: bytearray, blend: Blend, scores: Scores) -> None:
    """Fill ``scores.base``: what each memory has of its own."""
    scores.fit(len(live))
    parts = [*_lexical(index, wanted, live, blend, scores), *_dense(index, wanted, live, blend, scores)]
    ranking.blend(parts, index.rows.flags, array("f", [0.0, blend.question]), scores.base)
    _named(index, wanted, blend, scores)


def pass_on(index: MemoryIndex, live: bytearray, blend: Blend, scores: Scores) -> None:
    """Fill ``scores.total``: ``scores.base`` and what neighbours and sessions add."""
    rows, share = index.rows, index.together()
    after, back = share * blend.after_question, share * blend.back
    ranking.spread(scores.base, live, rows.before, rows.flags, after, back, scores.total)
    ranking.lift_groups(scores.total, live, rows.group, share * blend.session)


def _lexical(
    index: MemoryIndex, wanted: Wanted, live: bytearray, blend: Blend, scores: Scores
) -> Iterator[_Part]:
    postings, buffer = index.postings, scores.zeros("lexical")
    count, length = postings.totals(live)
    if not count or not wanted.terms:
        return
    mean, b = length / count, blend.b_plain if wanted.plain else blend.b
    if postings.score(wanted.terms, wanted.weights, live, count, mean, blend.k1, b, buffer):
        _, mean, deviation = ranking.moments(buffer, live)
        yield buffer, mean, deviation, blend.lexical_plain if wanted.plain else blend.lexical, False


def _dense(
    index: MemoryIndex, wanted: Wanted, live: bytearray, blend: Blend, scores: Scores
) -> Iterator[_Part]:
    count, mean, deviation = index.vectors.scan(wanted.dense, live, scores.dense)
    weight = blend.dense_plain if wanted.plain else blend.dense
    if wanted.extra is not None and index.extra is not None and count:
        query, out = memoryview(wanted.extra).cast("f"), scores.zeros("extra")
        second, its_mean, its_deviation = index.extra.scan(query, live, out)
        if second >= blend.extra_from * count:
            slope = blend.extra_like_dense * its_deviation
            ranking.expect(scores.dense, mean, deviation, its_mean, slope, out)
            yield out, its_mean, its_deviation, blend.extra, True
            weight = blend.dense_beside
    yield scores.dense, mean, deviation, weight, True


def _named(index: MemoryIndex, wanted: Wanted, blend: Blend, scores: Scores) -> None:
    """Add what a memory has for a name, or a time, that the query has or asks for."""
    for terms, weight in ((wanted.names, blend.name), (wanted.times, blend.time)):
        if terms and weight:
            marked = scores.zeros("scratch")
            index.postings.mark(terms, weight, marked)
            ranking.add_standardised(marked, 0.0, 1.0, 1.0, True, scores.base)
