"""Memories as quoted data for the model's context: fenced, labelled with source and age, within a budget.

What is stored may come from anybody: a web page that was read, a file, an import. So each text is one line
of JSON string, in which nothing can open or close a tag, between two tags of ours; the words around it state
what it is and ask for nothing. A tool's answer is JSON already and has `TRUST` in front instead of tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from context_graph.memory.phrases import sentences, shortened
from context_graph.memory.unseen import LINE_ENDS, replace_unseen

__all__ = [
    "FENCE_CLOSE",
    "FENCE_OPEN",
    "TRUST",
    "Fenced",
    "Quote",
    "age_text",
    "best_passage",
    "fenced",
    "inert",
    "quoted",
    "words_of",
]

FENCE_OPEN: Final = '<context-graph-memory trust="untrusted">'
FENCE_CLOSE: Final = "</context-graph-memory>"
_LABEL: Final = "Records from earlier work in this project, quoted as data. They may be wrong or out of date."
TRUST: Final = {"trust": "untrusted data"}
"""The first field of a tool's answer that quotes memories. It is said of the whole answer, so it has no end
that a text could fake."""

MAX_FENCED_CHARS: Final = 8000
"""Whatever the budget says: the client inlines 10,000 characters, and other parts need theirs."""
QUOTE_TOKENS: Final = 140
"""Most that one memory gets; more than two of them fit the default budget."""
LEAST_TOKENS: Final = 24
"""A cut that leaves less says nothing."""

_SOURCES: Final = {
    "tool": "stored by a tool call",
    "capture": "summary of a session",
    "cli": "stored by a command",
    "import": "imported",
    "library": "stored by a program",
    "checkpoint": "checkpoint of this session",
}
_TAG_START: Final = re.compile(r"<(?=[A-Za-z/!?])")
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))
_WORD: Final = re.compile(r"\w{2,}")
_UNPARTED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,}"
)
"""Scripts in which no space parts words, or particles are joined to them."""


@dataclass(frozen=True, slots=True)
class Quote:
    """One memory to show: what is quoted and what is said of it."""

    node_id: str
    content: str
    source: str
    created_at_ms: int
    relevance: float | None = None
    """[0, 1]; None where nothing was asked, as at a session's start."""
    whole: bool = False
    """Show all of it, as far as the budget goes, not the passage that fits the query best."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """The text for the context, "" when nothing fits, with what of it came from which memory."""

    text: str
    tokens: int
    shown: tuple[tuple[str, int], ...]
    """(node id, tokens of its line), in order."""


def fenced(
    quotes: Sequence[Quote],
    *,
    query: str,
    budget: int,
    now_ms: int,
    count: Callable[[str], int],
    cut: Callable[[str, int], str],
) -> Fenced:
    """As many of ``quotes``, best first, as ``budget`` tokens hold, fence and label included.

    Args:
        query: What they answer; of a long memory the sentences that share its words are shown. "" for none.
        count: Exact token count of a text.
        cut: The start of a text in at most so many tokens.
    """
    frame = "\n".join((FENCE_OPEN, _LABEL, FENCE_CLOSE))
    used, chars = count(frame), len(frame)
    lines: list[str] = []
    shown: list[tuple[str, int]] = []
    asked = words_of(query)
    for quote in quotes:
        room = budget - used
        line = _line(quote, asked, room, now_ms, count, cut)
        if line is None or chars + len(line) + 1 > MAX_FENCED_CHARS:
            continue
        tokens = count(line)
        if tokens > room:
            continue
        lines.append(line)
        shown.append((quote.node_id, tokens))
        used += tokens
        chars += len(line) + 1
    if not lines:
        return Fenced("", 0, ())
    text = "\n".join((FENCE_OPEN, _LABEL, *lines, FENCE_CLOSE))
    return Fenced(text, count(text), tuple(shown))


def _line(
    quote: Quote,
    asked: frozenset[str],
    room: int,
    now_ms: int,
    count: Callable[[str], int],
    cut: Callable[[str, int], str],
) -> str | None:
    """The line of one memory in at most ``room`` tokens; None when too little of it would be left."""
    facts = [quote.node_id[:8], age_text(quote.created_at_ms, now_ms)]
    facts.append(_SOURCES.get(quote.source, "stored"))
    if quote.relevance is not None:
        facts.append(f"relevance {quote.relevance:.2f}")
    head = f"- [{', '.join(facts)}] "
    limit = room - count(head) - 2
    if not quote.whole:
        limit = min(limit, QUOTE_TOKENS)
    if limit < LEAST_TOKENS:
        return None
    content = quote.content if quote.whole else best_passage(quote.content, asked, limit, count)
    for _ in range(4):  # escapes cost tokens that the plain text does not have
        line = head + quoted(content)
        over = count(line) - room
        if over <= 0:
            return line
        limit -= over
        if limit < LEAST_TOKENS:
            return None
        content = cut(content, limit - 1).rstrip() + "…"
    return None


def quoted(text: str) -> str:
    """``text`` as one line of JSON string in which no tag begins and nothing is invisible."""
    clean = replace_unseen(text.strip(), _plain).strip()
    return _TAG_START.sub(r"\\u003c", json.dumps(clean, ensure_ascii=False))


def _plain(unseen: str) -> str:
    """A newline for what separates lines, a tab for itself, nothing for what cannot be seen."""
    if unseen in LINE_ENDS:
        return "\n"
    return unseen if unseen == "\t" else ""


def inert(document: str) -> str:
    """The same JSON, spelled so that no tag begins and nothing is invisible: for who is shown it as text.

    Nothing is lost, unlike in `quoted`: what reads it as JSON gets the very texts that are stored.
    """
    return _TAG_START.sub(r"\\u003c", replace_unseen(document, _escaped))


def _escaped(unseen: str) -> str:
    """JSON's escape of a character."""
    return json.dumps(unseen)[1:-1]


def age_text(created_at_ms: int, now_ms: int) -> str:
    """How old, in one unit: `3 d old`."""
    seconds = max(0, (now_ms - created_at_ms) // 1000)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} old"
    return f"{seconds} s old"


def words_of(text: str) -> frozenset[str]:
    """The distinct words of ``text``, lower case, of two characters or more.

    Where words are not parted each two neighbouring characters are one, as for the lexical index.
    """
    words = {word.lower() for word in _WORD.findall(text)}
    if not text.isascii():
        for run in _UNPARTED.findall(text):
            words.update(map("".join, pairwise(run)))
    return frozenset(words)


def best_passage(content: str, asked: frozenset[str], limit: int, count: Callable[[str], int]) -> str:
    """The sentences of ``content`` that share most words with ``asked``, in order, within ``limit`` tokens.

    A text that fits stays as it is. The first sentence says what the text is about and stays if it can;
    a gap is marked.
    """
    if count(content) <= limit:
        return content
    parts = list(sentences(content)) or [" ".join(content.split())]
    order = sorted(range(len(parts)), key=lambda at: (-len(words_of(parts[at]) & asked), at))
    room, kept = limit - 1, set()
    for at in [0, *order]:
        cost = count(parts[at]) + 1
        if at not in kept and cost <= room:
            kept.add(at)
            room -= cost
    if not kept:
        return shortened(parts[order[0]], limit * 4)
    pieces: list[str] = []
    for at in sorted(kept):
        if pieces and at - 1 not in kept:
            pieces.append("…")
        pieces.append(parts[at])
    if max(kept) < len(parts) - 1:
        pieces.append("…")
    return " ".join(pieces)
