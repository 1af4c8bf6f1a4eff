"""Finds where else the words of a memory stand, and takes them out of what quotes them.

A sentence that somebody said stands in a session's summary, in notes, in their hidden search text and in the
record from which all these are made. Whoever forgets it means the sentence, not the one memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from context_graph.memory.memex import Memex
from context_graph.model.memory import CAPTURED, NOTED, MemoryNode
from context_graph.text.patterns import Linear, linear
from context_graph.text.sentences import segments

_LEAST_WORDS: Final = 3
_LEAST_SIGNS: Final = 8
"""Characters of a sentence in a script without spaces."""
_MOST: Final = 64
"""Sentences of a memory that are looked for; a longer one is no note."""
_LABEL: Final = linear(r"^[\w ]{2,24}(?: \(\d+ times\))?:\s+")
_BARE_LABEL: Final = linear(r"(?m)^[A-Z][\w ]{1,23}:[\s;,]*$\n?")
_NOTHING_BETWEEN: Final = linear(r"([:;])(?:\s*;)+")
_BLANK_LINES: Final = linear(r"\n(?:[ \t-]*\n)+")
_CUT: Final = "…"
_LEAST_CUT: Final = 16
"""Characters of a sentence's beginning that was shortened."""
_EMPTY: Final = "(what it said was forgotten)"
_QUERY_CHARS: Final = 4096
_RELATED: Final = 5
_LIKELY: Final = 0.4
"""Relevance from which another memory may say the same in other words."""


class Words:
    """The sentences of one text, to be looked for in others: word for word, but for case, blanks and end."""

    def __init__(self, content: str) -> None:
        parts = (
            _LABEL.sub("", segment.text.strip()).strip(" .!?。！？…\"'") for segment in segments(content)
        )
        self.sentences = tuple(dict.fromkeys(filter(_is_telling, parts)))[:_MOST]

    def __bool__(self) -> bool:
        return bool(self.sentences)

    @cached_property
    def _pattern(self) -> Linear:
        longest_first = sorted(self.sentences, key=len, reverse=True)
        spelled = (r"\s+".join(map(re.escape, sentence.split())) for sentence in longest_first)
        return linear(rf"(?i)(?:{'|'.join(spelled)})[.!?。！？]*")

    @cached_property
    def _starts(self) -> tuple[str, ...]:
        return tuple(" ".join(sentence.split()).casefold() for sentence in self.sentences)

    def taken_out(self, text: str) -> str:
        """Return ``text`` without them; the very same object if it has none."""
        cut = self._cut_at(text) if text.endswith(_CUT) else -1
        if cut >= 0:
            text = text[:cut]
        elif not self._pattern.found(text):
            return text
        rest = self._pattern.sub("", text)
        rest = _BARE_LABEL.sub("", _NOTHING_BETWEEN.sub(r"\1", rest).strip(" ;,"))
        return _BLANK_LINES.sub("\n", rest).strip()

    def taken_out_of(self, value: Any, *, is_row: bool = False) -> Any:
        """Return the same for each text of a JSON value: an item of a list of texts with nothing else is
        gone; in a list inside a list its place stays, for such a row is read by places.
        """
        if isinstance(value, str):
            return self.taken_out(value)
        if isinstance(value, list):
            clean = [self.taken_out_of(item, is_row=True) for item in value]
            if is_row or not all(isinstance(item, str) for item in value):
                return clean
            return [new for old, new in zip(value, clean, strict=True) if new or not old]
        if isinstance(value, Mapping):
            items = ((self.taken_out(name), self.taken_out_of(item)) for name, item in value.items())
            return {name: item for name, item in items if name}
        return value

    def _cut_at(self, text: str) -> int:
        """Return where the shortened beginning of a sentence is the end of ``text``; -1 if it is not."""
        flat = text[:-1].rstrip()
        lower = flat.casefold()
        for sentence in self._starts:
            head = sentence[:_LEAST_CUT]
            at = lower.rfind(head)
            if at >= 0 and sentence.startswith(" ".join(lower[at:].split())):
                return at
        return -1


def _is_telling(sentence: str) -> bool:
    return len(sentence.split()) >= _LEAST_WORDS or (not sentence.isascii() and len(sentence) >= _LEAST_SIGNS)


class Traces(NamedTuple):
    """What of the live memories has a text's words."""

    quoting: list[MemoryNode]
    """The memories that quote it beside other things, as they are without it."""
    same: list[MemoryNode]
    """Notes of sessions that say nothing else."""
    alike: list[MemoryNode]
    """The memories that somebody stored in the same words; then those that may say it in others."""


def traces_of(memex: Memex, node: MemoryNode) -> Traces:
    """Return where the words of ``node`` stand in other memories. Cost: some 50 us a memory, and a recall."""
    words, traces = Words(node.content), Traces([], [], [])
    for stored in memex.stored_after():
        other = stored.node
        if stored.deleted or other.id == node.id or not words:
            continue
        rest = words.taken_out(other.content)
        if not rest and other.source != CAPTURED:
            (traces.same if other.source == NOTED else traces.alike).append(other)
            continue
        metadata = words.taken_out_of(other.metadata)
        if (rest, metadata) != (other.content, other.metadata):
            traces.quoting.append(replace(other, content=rest or _EMPTY, metadata=metadata, embedding=None))
    known = {node.id, *(other.id for other in (*traces.quoting, *traces.same, *traces.alike))}
    rows = memex.recall(node.content[:_QUERY_CHARS], top_k=_RELATED + len(known)).nodes
    likely = [row.node for row in rows if row.score >= _LIKELY and row.node.id not in known]
    traces.alike.extend(likely[:_RELATED])
    return traces
