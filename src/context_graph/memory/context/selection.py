"""Selects segments of memories: those that say most about a query and repeat least."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from context_graph.memory.embed import EmbeddingProvider
from context_graph.text.sentences import Kind, Segment, content_words, segments

REPETITION: Final = 0.6
"""Share of its worth that a segment loses when it only repeats what is chosen already."""
QUERY_SHARE: Final = 0.7
"""How much of a segment's worth is the query's words in it; the rest is its memory's relevance."""
FIRST_BONUS: Final = 0.1
"""The first segment of a memory usually says what it is about."""
ANSWER_SHARE: Final = 0.6
"""Share of its query words that a question, or a line ending in a colon, passes on to the next."""
LEAST_WORTH: Final = 0.45
"""Share of the best segment's worth at least: less is not worth its tokens."""
MAX_SEGMENTS: Final = 400
"""Segments that are read of one memory."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text to choose from."""

    content: str
    relevance: float
    """[0, 1]."""
    label_tokens: int
    """What it costs to name it, once."""
    with_code: bool = True
    """Whether blocks of code may be chosen; they are anyway if there is nothing else."""


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """A segment of a source, by their numbers."""

    owner: int
    place: int
    segment: Segment
    words: frozenset[str]
    worth: float


def selected(
    query: str, sources: Sequence[Source], budget: int, tokenizer: EmbeddingProvider
) -> list[SourceSegment]:
    """Return the best segments that fit ``budget`` tokens together, in the order of sources and places.

    Greedy by maximal marginal relevance. A segment's value only falls as others are chosen, so a heap finds
    the best, re-evaluating each entry when it comes up.
    """
    pieces = _source_segments(query, sources)
    if not pieces:
        return []
    least = LEAST_WORTH * max(piece.worth for piece in pieces)
    heap = [(-piece.worth, number) for number, piece in enumerate(pieces)]
    heapq.heapify(heap)
    taken: list[SourceSegment] = []
    covered: set[str] = set()
    owners: set[int] = set()
    while heap:
        _, number = heapq.heappop(heap)
        piece = pieces[number]
        repeated = len(piece.words & covered) / len(piece.words) if piece.words else 1.0
        worth = piece.worth * (1.0 - REPETITION * repeated * repeated)
        if heap and -worth > heap[0][0]:
            heapq.heappush(heap, (-worth, number))
            continue
        if worth < least:
            break
        cost = tokenizer.count_tokens(piece.segment.text)
        cost += 0 if piece.owner in owners else sources[piece.owner].label_tokens
        if cost <= budget:
            budget -= cost
            taken.append(piece)
            owners.add(piece.owner)
            covered |= piece.words
    return sorted(taken, key=lambda piece: (piece.owner, piece.place))


def _source_segments(query: str, sources: Sequence[Source]) -> list[SourceSegment]:
    texts = [[(segment, content_words(segment.text)) for segment in _told(source)] for source in sources]
    word_sets = [words for parts in texts for _, words in parts]
    spread = Counter(word for words in word_sets for word in words)
    wanted = {
        word: math.log(1.0 + len(word_sets) / spread[word]) for word in content_words(query) & spread.keys()
    }
    pieces = []
    for owner, parts in enumerate(texts):
        for place, share in enumerate(_shares(parts, wanted)):
            first = FIRST_BONUS if place == 0 else 0.0
            worth = sources[owner].relevance * (1.0 - QUERY_SHARE + QUERY_SHARE * share + first)
            pieces.append(SourceSegment(owner, place, *parts[place], worth))
    return pieces


def _told(source: Source) -> Sequence[Segment]:
    parts = segments(source.content)[:MAX_SEGMENTS]
    prose = [segment for segment in parts if source.with_code or segment.kind is not Kind.CODE]
    return prose or parts


def _shares(parts: Sequence[tuple[Segment, frozenset[str]]], wanted: Mapping[str, float]) -> list[float]:
    """Return the share of the query's words that each segment of a source has, or gets from the one
    before."""
    whole = math.fsum(wanted.values())
    shares: list[float] = []
    passed_on = 0.0
    for segment, words in parts:
        own = math.fsum(wanted[word] for word in words & wanted.keys()) / whole if whole else 0.0
        shares.append(max(own, passed_on))
        passed_on = ANSWER_SHARE * own if segment.text.endswith(("?", ":")) else 0.0
    return shares
