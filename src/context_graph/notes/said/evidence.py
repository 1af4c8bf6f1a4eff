"""Turns a span of a sentence into evidence: which kinds of marks it has, where, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Final

from context_graph.notes.said.language import Language, Mark
from context_graph.notes.said.reading import Prompt
from context_graph.text.patterns import linear

_PATH: Final = linear(r"(?:^|[^\w/])(?:[\w.-]+/|/[\w.-]+[/.])")
"""A folder or a file; no route, and no command that begins with a slash."""
_CODE: Final = linear(r"`|\w\(|\w_\w|[a-z][A-Z]|(?:^|\W)--?[a-z]|@\w|\w\.[a-z]{1,5}(?:\W|$)")
_TITLE: Final = linear(r"^\s*(?:\[[\w ]+\]|[A-Z]\w*(?:Error|Warning|Exception)(?:\W|$))")
"""What the title of a report begins with."""
_FILE: Final = linear(r"\w\.[a-z]{1,5}(?:\W|$)")
_NUMBER: Final = re.compile(r"\d")
_KEYED: Final = re.compile(r"\W*+[^\W\d]++(?: [^\W\d]++)?+\s?+[:：]")
"""How a list of what values mean begins: `Exit codes: 0 if all is well, 4 if not`."""
_LEAST_KEYED: Final = 3
"""Clauses of such a list, with what it is called."""
_OF_VALUES: Final = frozenset(
    f"{place}:{kind}"
    for place in "msh"
    for kind in ("maybe", "past", "ends", "courtesy", "ask", "state", "now", "this")
)
"""What says nothing in such a list: `if`, `changed` and `ok` are what values stand for."""
_QUOTED: Final = re.compile("[\U000f0000-\U000ffffd]")
_SKIPPED: Final = frozenset({"courtesy", "attention"})
"""What a sentence may begin with before it begins."""
_AROUND: Final = frozenset(
    {
        "again",
        "state",
        "past",
        "this",
        "task",
        "now",
        "standing",
        "hearsay",
        "content",
        "maybe",
        "me",
        "forbid",
        "reason",
        "attention",
        "symptom",
        "revised",
    }
)
"""Kinds that tell something about the words beside them."""
_HEADS: Final = frozenset(
    {
        "task",
        "keep",
        "forbid",
        "choose",
        "house",
        "you",
        "me",
        "standing",
        "universal",
        "only",
        "ask",
        "this",
        "now",
        "maybe",
        "the_one",
        "the_many",
        "must",
        "hearsay",
        "content",
        "instead",
        "be",
        "prefer",
        "naming",
        "base",
    }
)
_UNPAIRED: Final = frozenset({"quoted", "size:2", "size:3", "size:4"})


@dataclass(frozen=True, slots=True)
class Counted:
    """The marks of one clause."""

    size: int
    """Words, or signs."""
    kinds: frozenset[str]
    tails: frozenset[str]
    """Kinds of the marks at its end, in scripts without spaces."""
    leading: frozenset[str]
    """Names of evidence where it is the first clause of a span."""
    inside: frozenset[str]
    """Names of evidence where it stands behind another clause."""


@lru_cache(maxsize=256)
def counted(text: str, language: Language) -> Counted:
    """Return the marks of a clause. Linear in its length."""
    words = language.words(text)
    marks = language.marks(words)
    begin = 0
    for mark in marks:
        if mark.start <= begin < mark.end and mark.kind in _SKIPPED:
            begin = mark.end
    begin = 0 if begin >= len(words) else begin
    reach = begin + (2 if language.signs else 1)
    first = [mark for mark in marks if begin <= mark.start < reach]
    heads = {mark.kind for mark in first}
    kinds = frozenset(mark.kind for mark in marks)
    tails = {mark.kind for mark in marks if mark.end >= len(words) - 2} if language.signs else set()
    same = {*(f"m:{kind}" for kind in kinds), *_shapes(text)}
    if language.code == "en" and words:
        same.update(_forms(words[begin], plain=not heads - {"keep"}))
    heads &= _HEADS
    leading = {*same, *(f"s:{kind}" for kind in heads)}
    following = _following(
        words, [mark for mark in first if mark.start == begin and mark.kind in _HEADS], language
    )
    return Counted(
        len(words),
        kinds,
        frozenset(tails),
        frozenset(leading | {following} if following else leading),
        frozenset(same | {f"h:{kind}" for kind in heads}),
    )


def _forms(word: str, *, plain: bool) -> Iterator[str]:
    """Yield whether an English clause that begins with ``word`` speaks of a kind of things: `flags start
    out off`, or of what happens when one does something: `renaming a file fails`.
    """
    if plain and len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        yield "bare"
    if len(word) > 5 and word.endswith("ing"):
        yield "doing"


def _following(words: list[str], heads: list[Mark], language: Language) -> str:
    """Return what follows the longest of ``heads``; "" in scripts without spaces, and where nothing does."""
    at = max((mark.end for mark in heads), default=0)
    if language.signs or not 0 < at < len(words):
        return ""
    return "o:the" if words[at] in language.common else "o:name"


def _shapes(text: str) -> Iterator[str]:
    if "/" in text and _PATH.found(text):
        yield "path"
    if _CODE.found(text):
        yield "code"
    if _FILE.found(text):
        yield "file"
    if _NUMBER.search(text):
        yield "number"
    if _TITLE.found(text):
        yield "title"
    if _QUOTED.search(text):
        yield "quoted"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of some clauses: names of evidence, each once."""

    single: list[str]
    paired: frozenset[str]
    """The names that may tell more together than alone."""

    def names(self) -> list[str]:
        """Return all of them, and each two that are paired, as `one+two` in the order of the alphabet."""
        return [
            *self.single,
            *(f"{first}+{second}" for first, second in combinations(sorted(self.paired), 2)),
        ]


@dataclass
class Reading:
    """A prompt's sentences with the marks of each of their clauses."""

    prompt: Prompt
    clauses: list[list[Counted]] = field(init=False)
    _known: dict[tuple[int, int, int], Evidence] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        language = self.prompt.language
        self.clauses = [
            [counted(clause.text, language) for clause in each.clauses] for each in self.prompt.sentences
        ]

    @cached_property
    def around(self) -> list[frozenset[str]]:
        """The kinds of each sentence's marks."""
        return [frozenset().union(*(clause.kinds for clause in each)) for each in self.clauses]

    def evidence(self, at: int, start: int, end: int) -> Evidence:
        """Return what is known of clauses ``start`` to ``end`` of sentence ``at``."""
        key = (at, start, end)
        if key not in self._known:
            self._known[key] = self._evidence(at, start, end)
        return self._known[key]

    def _evidence(self, at: int, start: int, end: int) -> Evidence:
        span = self.clauses[at][start:end]
        leading = span[0].leading
        if len(span) > 1:
            leading = leading.union(*(clause.inside for clause in span[1:]))
        if self.is_keyed(at):
            leading -= _OF_VALUES
        single = [*leading, *(f"q:{kind}" for kind in span[-1].tails)]
        size = self._size(sum(clause.size for clause in span))
        single.append(size)
        paired = frozenset(name for name in single if name not in _UNPAIRED)
        single += self._place(at, start, end)
        rest = self.clauses[at][:start] + self.clauses[at][end:]
        if rest:
            single += {f"r:{kind}" for clause in rest for kind in clause.kinds & _AROUND}
        return Evidence(single, paired)

    def is_keyed(self, at: int) -> bool:
        """Whether a sentence lists what values mean."""
        sentence = self.prompt.sentences[at]
        return len(sentence.clauses) >= _LEAST_KEYED and _KEYED.match(sentence.text) is not None

    def _size(self, words: int) -> str:
        """Return how long a span is; two signs count as one word."""
        words = words // 2 if self.prompt.language.signs else words
        return "size:1" if words < 3 else "size:2" if words < 6 else "size:3" if words < 18 else "size:4"

    def _place(self, at: int, start: int, end: int) -> Iterator[str]:
        signs = self.prompt.language.signs
        yield "bias"
        yield "signs" if signs else "words"
        if self.prompt.sentences[at].asks and end == len(self.clauses[at]):
            yield "asks"
        if self.is_keyed(at):
            yield "keyed"
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
            if self.prompt.sentences[at + 1].asks:
                yield "n:asks"
