"""Words the lines by which a context is told of memories: what to know, since when and from whom it is known.

    - [3f2a9c1d] you said on 12 Nov: "Amounts are in cents, not euros"
    - [91c0ffee] fixed here on 3 Nov: "The form rendered the old template. …" - verified

What a memory says is `quoted`, with how what it rests on is today. Its short id begins the line: it serves to
show or forget it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.memory.context.passages import Near, answers, passage, shortened_to
from context_graph.memory.evidence import EvidenceState, Verdict
from context_graph.model.memory import MemoryNode, author_of
from context_graph.model.note import NOTE, NoteKind, kind_of_memory
from context_graph.text.quoting import MAX_FENCED_CHARS, RECORDS, Line, day_text, fence, quoted, words_of

LINE_TOKENS: Final = 120
"""The most that the best memory gets, unless all of it is wanted."""
NEXT_TOKENS: Final = 75
"""The most that any other one gets."""
_HEAD_TOKENS: Final = 18
"""What a line says besides, about."""
LEAST_TOKENS: Final = 16
"""A cut that leaves less is useless."""
ID_CHARS: Final = 8

_BY_KIND: Final = {
    NoteKind.RULE: "you said",
    NoteKind.DECISION: "decided here",
    NoteKind.LESSON: "learned here",
    NoteKind.CHANGE: "done here",
    NoteKind.WAY: "worked here",
    NoteKind.OPEN: "left open",
    NoteKind.FINDING: "found out",
}
_BY_SOURCE: Final = {
    "capture": "done in a session",
    "checkpoint": "this session, before its context was compacted,",
    "open": "open ends of the last session",
    "open_before": "left open in an earlier session",
}
_OTHERWISE: Final = "noted"
_USER: Final = "user"
_FIXED: Final = ("Cause: ", "Fix: ")
_SOLVED: Final = "Solved by: "
_GOAL: Final = "Goal: "
"""How a summary begins; where it says no more than that, the note that quotes it is enough."""


@dataclass(frozen=True, slots=True)
class Quote:
    """One memory to tell: what is quoted and what is said of it."""

    node_id: str
    content: str
    source: str
    created_at_ms: int
    relevance: float | None = None
    """[0, 1]; None without a query, as at a session's start."""
    evidence: str = ""
    """How what it rests on is today (`evidence`)."""
    author: str = ""
    """The colleague who told it, if it is not one's own."""
    whole: bool = False
    """Tell all of it within the budget, not only the passage that fits the query best."""
    kind: NoteKind | None = None
    said_by: str = ""
    """Whose words a note quotes."""


class Shown(NamedTuple):
    """One memory that was told."""

    node_id: str
    tokens: int
    """Tokens of its line."""
    text: str
    """The part of its text that is shown."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """The text for the context, "" when nothing fits, and the memories that its parts come from."""

    text: str
    tokens: int
    shown: tuple[Shown, ...]
    """The quotes that are shown, in order."""


def fenced(
    quotes: Sequence[Quote],
    *,
    query: str,
    budget: int,
    now_ms: int,
    count: Callable[[str], int],
    lines: Sequence[Line] = (),
    label: bool = True,
    near: Near | None = None,
) -> Fenced:
    """Return as many of ``quotes``, best first, as fit ``budget`` tokens, fence and label included; each text
    once.

    Args:
        query: Of a long memory, the sentences that share its words are told. "" for none.
        count: Exact token count of a text.
        lines: Lines that stand before the memories, whatever the budget leaves for those.
        label: Whether the text says what it is.
        near: How near a text comes to the query by its meaning, [-1, 1].
    """
    texts = [line.text if line.is_head else f"- {line.text}" for line in lines]
    says = RECORDS if label else ""
    frame = fence(texts, label=says)
    used, chars = count(frame), len(frame)
    shown_text = " ".join(texts).casefold()
    shown: list[Shown] = []
    asked = words_of(query)
    likely = [(quote.content, quote.relevance or 0.5) for quote in quotes]
    chosen = answers(likely, asked, budget - used, _HEAD_TOKENS, count, near) if near is not None else []
    is_chosen = any(chosen)  # not if the nearest sentence is too long
    contents = chosen if is_chosen else [quote.content for quote in quotes]
    for quote, content in zip(quotes, contents, strict=True):
        if not content or _plain(quote.content) in shown_text:
            continue
        most = budget if quote.whole or is_chosen else NEXT_TOKENS if shown else LINE_TOKENS
        line, text = _line(quote, content, asked, min(most, budget - used), now_ms, count)
        if not line or chars + len(line) + 1 > MAX_FENCED_CHARS:
            continue
        tokens = count(line)
        texts.append(line)
        shown_text += f" {_plain(quote.content)}"
        shown.append(Shown(quote.node_id, tokens, text))
        used += tokens
        chars += len(line) + 1
    if not texts:
        return Fenced("", 0, ())
    text = fence(texts, label=says)
    return Fenced(text, count(text), tuple(shown))


def lead_of(quote: Quote, now_ms: int) -> str:
    """Since when, and from whom, something is known: `you said on 12 Nov`."""
    return f"{_who(quote)} on {day_text(quote.created_at_ms, now_ms)}"


def _who(quote: Quote) -> str:
    if quote.kind is None:
        who = _BY_SOURCE.get(quote.source, _OTHERWISE)
        return f"{quote.author} {who}" if quote.author and who == _OTHERWISE else who
    if quote.author:
        return f"{quote.author}: {_BY_KIND[quote.kind].replace('you said', 'said')}"
    if quote.said_by == _USER and quote.kind is NoteKind.DECISION:
        return _BY_KIND[NoteKind.RULE]
    if quote.kind is NoteKind.CHANGE and any(mark in quote.content for mark in _FIXED):
        return "fixed here"
    if quote.kind is NoteKind.LESSON and _SOLVED in quote.content:
        return "solved here"
    return _BY_KIND[quote.kind]


def _line(
    quote: Quote, content: str, asked: frozenset[str], room: int, now_ms: int, count: Callable[[str], int]
) -> tuple[str, str]:
    """Return (the line of one memory, what it quotes of ``content``); "" if too little would be left."""
    head = f"- [{quote.node_id[:ID_CHARS]}] {lead_of(quote, now_ms)}: "
    tail = f" - {quote.evidence}" if quote.evidence else ""
    limit = room - count(head + tail) - 2
    text = content
    for _ in range(4):  # escapes cost tokens that the plain text does not have
        if limit < LEAST_TOKENS and count(text) > limit:
            return "", ""
        text = shortened_to(text, limit, count) if quote.whole and count(text) > limit else text
        text = text if quote.whole else passage(content, asked, limit, count)
        line = f"{head}{quoted(' | '.join(filter(None, map(str.strip, text.splitlines()))))}{tail}"
        over = count(line) - room
        if over <= 0:
            return line, text
        limit -= over
    return "", ""


def _plain(text: str) -> str:
    """Return what of two texts must be the same for one of them to be enough."""
    return " ".join(text.removeprefix(_GOAL).split()).casefold()


def quotes_of(
    likely: Sequence[tuple[MemoryNode, float]],
    verdicts: Sequence[Verdict | None],
    contradicted: Mapping[UUID, UUID],
) -> list[Quote]:
    """(memory, relevance) as quotes, in their order, those last whose files are gone; what another memory
    superseded is left out.

    Args:
        verdicts: How what each rests on is today; None for what rests on nothing.
        contradicted: Which memory contradicts one of them.
    """
    quotes, gone = [], dict[str, bool]()
    for (node, score), verdict in zip(likely, verdicts, strict=True):
        if verdict is not None and verdict.state is EvidenceState.SUPERSEDED:
            continue
        weight, text = (1.0, "") if verdict is None else (verdict.weight, verdict.text())
        if node.id in contradicted:
            text = ", ".join(filter(None, (text, f"contradicted by {str(contradicted[node.id])[:8]}")))
        gone[str(node.id)] = verdict is not None and verdict.state is EvidenceState.GONE
        fields = (str(node.id), node.content, node.source, node.created_at_ms, score * weight, text)
        note, kind = node.metadata.get(NOTE), kind_of_memory(node.metadata)
        said_by = str(note.get("said_by", "")) if isinstance(note, dict) else ""
        quotes.append(Quote(*fields, author_of(node), kind=kind, said_by=said_by))
    return sorted(quotes, key=lambda quote: gone[quote.node_id])
