"""Condenses many memories into few tokens: the sentences that answer the query, unchanged (REQ-CORE-016).

Extractive: nothing is rephrased, so nothing is made up. Memories that mean the same are combined; of the
others it takes the sentences that say most about the query and repeat least. Each line begins with its
memory's id. The budget is counted with the embedder's tokenizer and never exceeded.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from context_graph.memory.embed import EmbeddingProvider
from context_graph.model.memory import MemoryNode, iso_time
from context_graph.text.paraphrase import same_meaning
from context_graph.text.sentences import Kind, Segment, content_words, segments, short_name

SAME_WORDS: Final = 0.85
MIN_CUT: Final = 8
"""Tokens of room below which nothing is cut to fit."""
CODE_SHARE: Final = 0.5
"""Share of the characters in code from which a result is shown by its code."""
GROUPED: Final = 6
"""Memories from which a result of several topics is shown as lists."""
HEADINGS_SHARE: Final = 0.15
"""Share of the budget that is kept for headings."""
LEAD: Final = "Based on your query, here are the relevant findings:"
ELLIPSIS: Final = "…"


class Mode(StrEnum):
    """The form in which memories are shown."""

    AUTO = "auto"
    RAW = "raw"
    NARRATIVE = "narrative"
    STRUCTURED = "structured"
    CODE_FOCUSED = "code_focused"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be shown."""

    node: MemoryNode
    relevance: float
    """[0, 1]."""
    alike: tuple[UUID, ...] = ()
    """Memories that mean the same and are not shown themselves."""
    evidence: str = ""
    """How what it rests on is today; "" if it rests on nothing."""


@dataclass(frozen=True, slots=True)
class Distilled:
    """A text and the memories quoted in it, in order of first mention."""

    text: str
    mode: Mode
    node_ids: tuple[UUID, ...]


def short_id(node_id: UUID) -> str:
    """Return the first 8 hex digits, which start a line; `get_memory` accepts them if unambiguous."""
    return f"node_{node_id.hex[:8]}"


def fold(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return ``candidates`` without those that mean the same as an earlier one, which lists their ids.

    Texts that differ in a number, path, id, quotation or negation are never folded.
    """
    kept: list[Candidate] = []
    words: list[frozenset[str]] = []
    for candidate in candidates:
        own = content_words(candidate.node.content)
        for i, (other, other_words) in enumerate(zip(kept, words, strict=True)):
            if _alike(own, other_words) and same_meaning(candidate.node.content, other.node.content):
                kept[i] = replace(other, alike=(*other.alike, candidate.node.id))
                break
        else:
            kept.append(candidate)
            words.append(own)
    return kept


def _alike(words: frozenset[str], other: frozenset[str]) -> bool:
    """Test cheaply, before the careful test."""
    smaller, larger = (len(words), len(other)) if len(words) < len(other) else (len(other), len(words))
    if smaller < SAME_WORDS * larger:
        return False
    shared = len(words & other)
    return shared >= SAME_WORDS * (smaller + larger - shared)


def raw_text(candidate: Candidate) -> str:
    """Return a memory whole, as a line of the raw form."""
    return f"{_label(candidate)} {candidate.node.content.strip()}"


def _label(candidate: Candidate) -> str:
    extra = f" (+{len(candidate.alike)} alike)" if candidate.alike else ""
    evidence = f", {candidate.evidence}" if candidate.evidence else ""
    return f"[{short_id(candidate.node.id)}{evidence}]{extra}"


def distilled(
    query: str, candidates: Sequence[Candidate], budget: int, mode: Mode, tokenizer: EmbeddingProvider
) -> Distilled:
    """Return ``candidates``, best first and folded, in at most ``budget`` tokens.

    Auto is raw if everything fits; else code_focused if most of it is code, structured if it is many memories
    of several topics, otherwise narrative.
    """
    if mode is Mode.AUTO:
        mode = _chosen(candidates, budget, tokenizer)
    parts = _MODES[mode](query, candidates, budget, tokenizer)
    return Distilled(parts.text(), mode, tuple(parts.nodes))


def _chosen(candidates: Sequence[Candidate], budget: int, tokenizer: EmbeddingProvider) -> Mode:
    if sum(tokenizer.count_tokens(raw_text(candidate)) for candidate in candidates) <= budget:
        return Mode.RAW
    parts = [segment for candidate in candidates for segment in segments(candidate.node.content)]
    code = sum(len(segment.text) for segment in parts if segment.kind is Kind.CODE)
    if code >= CODE_SHARE * sum(len(segment.text) for segment in parts):
        return Mode.CODE_FOCUSED
    sizes = Counter(candidate.node.semantic_cluster for candidate in candidates)
    shared = [topic for topic, size in sizes.items() if topic is not None and size > 1]
    return Mode.STRUCTURED if len(candidates) >= GROUPED and len(shared) > 1 else Mode.NARRATIVE


class _Parts:
    """A text that grows within a budget."""

    def __init__(self, budget: int, tokenizer: EmbeddingProvider, glue: str) -> None:
        self._left, self._tokenizer, self._glue = budget, tokenizer, glue
        self._parts: list[str] = []
        self.nodes: dict[UUID, None] = {}

    @property
    def left(self) -> int:
        """The tokens left in the budget."""
        return self._left

    def add(self, text: str, node: UUID | None = None) -> bool:
        """Add ``text`` if it fits."""
        cost = self._tokenizer.count_tokens(text)
        if cost > self._left:
            return False
        self._left -= cost
        self._parts.append(text)
        if node is not None:
            self.nodes[node] = None
        return True

    def add_cut(self, text: str, node: UUID) -> bool:
        """Add the beginning of ``text``, marked as cut, if there is room for some of it."""
        mark = self._tokenizer.count_tokens(ELLIPSIS)
        if self._left < MIN_CUT + mark:
            return False
        kept = self._tokenizer.cut_tokens(text, self._left - mark).rstrip()
        return bool(kept) and self.add(f"{kept} {ELLIPSIS}", node)

    def text(self) -> str:
        return self._glue.join(self._parts)


def _raw(query: str, candidates: Sequence[Candidate], budget: int, tokenizer: EmbeddingProvider) -> _Parts:
    """Memories whole, in rank order, while they fit; the first that does not fit is cut."""
    parts = _Parts(budget, tokenizer, "\n")
    for candidate in candidates:
        text = raw_text(candidate)
        if not parts.add(text, candidate.node.id):
            parts.add_cut(text, candidate.node.id)
            break
    return parts


def _narrative(
    query: str, candidates: Sequence[Candidate], budget: int, tokenizer: EmbeddingProvider
) -> _Parts:
    """Return one paragraph: the best sentences, by memory in rank order."""
    parts = _Parts(budget, tokenizer, " ")
    parts.add(LEAD)
    for owner, pieces in _chosen_pieces(query, candidates, parts.left, tokenizer):
        parts.add(f"{_label(candidates[owner])} {_told(pieces)}", candidates[owner].node.id)
    _at_least_one(parts, candidates)
    return parts


def _at_least_one(parts: _Parts, candidates: Sequence[Candidate]) -> None:
    """Take the beginning of the best memory, for when no sentence fits."""
    if not parts.nodes and candidates:
        parts.add_cut(raw_text(candidates[0]), candidates[0].node.id)


def _structured(
    query: str, candidates: Sequence[Candidate], budget: int, tokenizer: EmbeddingProvider
) -> _Parts:
    """Lists under the name of their topic (or day, if topics separate nothing), in order of time."""
    parts = _Parts(budget, tokenizer, "\n")
    room = int(budget * (1.0 - HEADINGS_SHARE))
    chosen = dict(_chosen_pieces(query, candidates, room, tokenizer, "- 2026-01-01: "))
    for heading, owners in _groups(candidates, list(chosen)):
        for number, owner in enumerate(owners):
            line = _line(candidates[owner], chosen[owner])
            if not parts.add(f"{heading}\n{line}" if number == 0 else line, candidates[owner].node.id):
                break
    _at_least_one(parts, candidates)
    return parts


def _code_focused(
    query: str, candidates: Sequence[Candidate], budget: int, tokenizer: EmbeddingProvider
) -> _Parts:
    """Whole blocks of code, each under its memory's id and what leads to it; then other sentences."""
    parts = _Parts(budget, tokenizer, "\n")
    blocks = [(candidate, block) for candidate in candidates for block in _blocks(candidate)]
    for candidate, block in blocks:
        parts.add(block, candidate.node.id)
    if blocks and not parts.nodes:  # not one block fits whole
        parts.add_cut(blocks[0][1], blocks[0][0].node.id)
    rest = [candidate for candidate in candidates if candidate.node.id not in parts.nodes]
    for owner, pieces in _chosen_pieces(query, rest, parts.left, tokenizer, "- 2026-01-01: "):
        parts.add(_line(rest[owner], pieces), rest[owner].node.id)
    _at_least_one(parts, candidates)
    return parts


def _blocks(candidate: Candidate) -> Iterator[str]:
    lead = _label(candidate)
    for segment in segments(candidate.node.content):
        if segment.kind is Kind.CODE:
            yield f"{lead}\n{segment.text}"
            lead = _label(candidate)
        else:
            lead = f"{_label(candidate)} {segment.text}"


_MODES: Final[dict[Mode, Callable[[str, Sequence[Candidate], int, EmbeddingProvider], _Parts]]] = {
    Mode.RAW: _raw,
    Mode.NARRATIVE: _narrative,
    Mode.STRUCTURED: _structured,
    Mode.CODE_FOCUSED: _code_focused,
}


def _chosen_pieces(
    query: str, candidates: Sequence[Candidate], budget: int, tokenizer: EmbeddingProvider, prefix: str = ""
) -> list[tuple[int, list[SourceSegment]]]:
    """Return (candidate, its chosen segments) by rank; ``prefix`` comes before each label."""
    sources = [
        Source(
            candidate.node.content,
            candidate.relevance,
            tokenizer.count_tokens(f"{prefix}{_label(candidate)}"),
        )
        for candidate in candidates
    ]
    by_owner: dict[int, list[SourceSegment]] = {}
    for piece in selected(query, sources, budget, tokenizer):
        by_owner.setdefault(piece.owner, []).append(piece)
    return list(by_owner.items())


def _told(pieces: Sequence[SourceSegment]) -> str:
    return " ".join(" ".join(piece.segment.text.split()) for piece in pieces)


def _line(candidate: Candidate, pieces: Sequence[SourceSegment]) -> str:
    return f"- {_label(candidate)} {_day(candidate.node)}: {_told(pieces)}"


def _day(node: MemoryNode) -> str:
    return iso_time(node.created_at_ms)[:10]


def _groups(candidates: Sequence[Candidate], owners: Sequence[int]) -> list[tuple[str, list[int]]]:
    """Return (heading, its candidates in order of time), the group of the best candidate first."""
    topics = _grouped(owners, lambda owner: str(candidates[owner].node.semantic_cluster))
    if len(topics) == len(owners):  # topics divide nothing: by day
        topics = _grouped(owners, lambda owner: _day(candidates[owner].node))
        named = [(f"## {day}", members) for day, members in topics.items()]
    else:
        firsts = (candidates[members[0]].node.content for members in topics.values())
        named = [
            (f"## {short_name(first)}", group) for first, group in zip(firsts, topics.values(), strict=True)
        ]
    return [
        (name, sorted(group, key=lambda owner: candidates[owner].node.created_at_ms)) for name, group in named
    ]


def _grouped(owners: Iterable[int], key: Callable[[int], str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for owner in owners:
        groups.setdefault(key(owner), []).append(owner)
    return groups


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
    texts = [[(segment, content_words(segment.text)) for segment in _segments(source)] for source in sources]
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


def _segments(source: Source) -> Sequence[Segment]:
    """Return its segments without blocks of code, unless there is nothing else."""
    parts = segments(source.content)[:MAX_SEGMENTS]
    return [segment for segment in parts if segment.kind is not Kind.CODE] or parts


def _shares(parts: Sequence[tuple[Segment, frozenset[str]]], wanted: Mapping[str, float]) -> list[float]:
    """Return the share of the query's words that each segment has, or gets from the one before."""
    whole = math.fsum(wanted.values())
    shares: list[float] = []
    passed_on = 0.0
    for segment, words in parts:
        own = math.fsum(wanted[word] for word in words & wanted.keys()) / whole if whole else 0.0
        shares.append(max(own, passed_on))
        passed_on = ANSWER_SHARE * own if segment.text.endswith(("?", ":")) else 0.0
    return shares
