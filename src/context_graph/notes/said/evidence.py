"""Turns a span of a sentence into evidence: which kinds of marks it has, where, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Final

from context_graph.notes.said.language import Language, Mark
from context_graph.notes.said.reading import Prompt, Sentence

_PATH: Final = re.compile(r"(?<![\w/])(?:[\w.-]+/[\w./*-]*|/[\w./-]+)")
_CODE: Final = re.compile(r"`|\b\w+\(\)?|\b\w+_\w+|\b[a-z]+[A-Z]\w*|(?<!\w)--?[a-z][\w-]*|@\w+|\w\.[a-z]{1,5}\b")
_NUMBER: Final = re.compile(r"\d")
_QUOTED: Final = re.compile("[\U000f0000-\U000ffffd]")
_SKIPPED: Final = frozenset({"courtesy", "attention"})
"""What a sentence may begin with before it begins."""
_AROUND: Final = frozenset(
    {"again", "state", "past", "this", "task", "now", "standing", "hearsay", "content", "maybe", "me", "forbid", "reason", "attention"}
)
"""Kinds that tell something about the words beside them."""
_HEADS: Final = frozenset({"task", "keep", "forbid", "choose", "house", "you", "me", "standing", "universal",
    "only", "ask", "this", "now", "maybe", "the_one", "the_many", "must", "hearsay", "content", "instead", "be"})
_PAIRED: Final = re.compile(r"[mshqo]:|bare|code|path|number")


@dataclass(slots=True)
class Counted:
    """The marks of one clause."""

    size: int
    """Words, or signs."""
    kinds: frozenset[str]
    heads: frozenset[str]
    tails: frozenset[str]
    bare: bool
    """Begins with a bare plural: `flags start out off`."""
    shapes: frozenset[str]
    follows: str
    """What comes after the word it begins with: `o:the` a common one, as in `use the list`; `o:name` another."""


def counted(text: str, language: Language) -> Counted:
    """The marks of a clause. Linear in its length."""
    words = language.words(text)
    marks = language.marks(words)
    begin = 0
    reach = 2 if language.signs else 1
    for mark in marks:
        if mark.start <= begin and mark.kind in _SKIPPED and mark.end > begin:
            begin = mark.end
    begin = 0 if begin >= len(words) else begin
    heads = {one.kind for one in marks if begin <= one.start < begin + reach}
    tails = {one.kind for one in marks if one.end >= len(words) - 2} if language.signs else set()
    first = words[begin] if begin < len(words) else ""
    bare = language.code == "en" and len(first) > 3 and first.endswith("s") and not first.endswith("ss")
    return Counted(
        len(words),
        frozenset(one.kind for one in marks),
        frozenset(heads & _HEADS),
        frozenset(tails),
        bare and not heads - {"keep"},
        frozenset(_shapes(text)),
        _following(words, [one for one in marks if one.start == begin and one.kind in _HEADS], language),
    )


def _following(words: list[str], heads: list[Mark], language: Language) -> str:
    """What follows the longest of ``heads``; "" in scripts without spaces, and where nothing does."""
    at = max((one.end for one in heads), default=0)
    if language.signs or not 0 < at < len(words):
        return ""
    return "o:the" if words[at] in language.common else "o:name"


def _shapes(text: str) -> Iterator[str]:
    for name, pattern in (("path", _PATH), ("code", _CODE), ("number", _NUMBER), ("quoted", _QUOTED)):
        if pattern.search(text):
            yield name


@dataclass
class Reading:
    """A prompt's sentences with the marks of each of their clauses."""

    prompt: Prompt
    clauses: list[list[Counted]] = field(init=False)

    def __post_init__(self) -> None:
        language = self.prompt.language
        self.clauses = [[counted(one.text, language) for one in each.clauses] for each in self.prompt.sentences]

    @cached_property
    def around(self) -> list[frozenset[str]]:
        """The kinds of each sentence's marks."""
        return [frozenset().union(*(one.kinds for one in each)) for each in self.clauses]

    def evidence(self, at: int, start: int, end: int) -> list[str]:
        """What is known of clauses ``start`` to ``end`` of sentence ``at``: names of evidence, each once."""
        sentence: Sentence = self.prompt.sentences[at]
        span, rest = self.clauses[at][start:end], self.clauses[at][:start] + self.clauses[at][end:]
        kinds = frozenset().union(*(one.kinds for one in span))
        single = [f"m:{kind}" for kind in kinds]
        single += [f"s:{kind}" for kind in span[0].heads]
        single += [f"h:{kind}" for kind in frozenset().union(*(one.heads for one in span[1:])) - span[0].heads]
        single += [f"q:{kind}" for kind in span[-1].tails]
        single += frozenset().union(*(one.shapes for one in span))
        single += [span[0].follows] if span[0].follows else []
        single += ["bare"] if any(one.bare for one in span) else []
        paired = sorted(one for one in single if _PAIRED.match(one))
        single += self._place(sentence, at, start, end, sum(one.size for one in span))
        if rest:
            single += [f"r:{kind}" for kind in frozenset().union(*(one.kinds for one in rest)) & _AROUND]
        return [*single, *(f"{one}+{two}" for one, two in combinations(paired, 2))]

    def _place(self, sentence: Sentence, at: int, start: int, end: int, size: int) -> Iterator[str]:
        signs = self.prompt.language.signs
        yield "bias"
        yield "signs" if signs else "words"
        size = size // 2 if signs else size
        yield "size:1" if size < 3 else "size:2" if size < 6 else "size:3" if size < 18 else "size:4"
        if sentence.asks and end == len(sentence.clauses):
            yield "asks"
        if end - start > 1:
            yield "joined"
        if start:
            yield "after comma"
        if at:
            yield from (f"p:{kind}" for kind in self.around[at - 1] & _AROUND)
            if self.prompt.sentences[at - 1].asks:
                yield "p:asks"
        if at + 1 < len(self.clauses):
            yield from (f"n:{kind}" for kind in self.around[at + 1] & {"task", "state", "reason", "standing"})
