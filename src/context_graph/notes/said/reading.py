"""Cuts a prompt into what its author says himself: sentences and their clauses, without what is pasted.

Fences, quoted lines, blocks of logs and what follows `… says:` are left out; a quotation inside a sentence
is one sign (`context_graph.text.phrases.Unquoted`), to be put back when the sentence is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from context_graph.notes.said.language import Language, language_of
from context_graph.text.patterns import linear
from context_graph.text.phrases import Unquoted

MAX_CHARS: Final = 65_536
_STOP: Final = re.compile(r"[.!?…。！？]+|\n+")
_ABBREVIATIONS: Final = frozenset(
    [
        *(
            "e.g",
            "i.e",
            "etc",
            "vs",
            "approx",
            "resp",
            "ca",
            "bzw",
            "z.b",
            "d.h",
            "u.a",
            "nr",
            "p.ex",
            "p.ej",
        ),
        *("т.е", "т.д"),
    ]
)
_COMMA: Final = re.compile(r"[,;:，；：、–—-]")
_WIDE: Final = frozenset("，；：、。！？")
_JOINTS: Final = {
    "en": (" but ", " otherwise ", " so ", " because "),
    "de": (" aber ",),
    "fr": (" mais ",),
    "es": (" pero ",),
    "pt": (" mas ",),
    "ru": (" но ",),
}
"""Words before which another part of a sentence begins, without a comma."""
_OUTPUT: Final = linear(
    r"\s*(?:\[[^\]\n]+\]|[\w.]*(?:Error|Exception|Warning)(?:\W|$)|\p{Lu}\p{Lu}\p{Lu}\p{Lu}+[ :]|Traceback|"
    r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\$ |>>> |at [\w.]+\(|error(?:\[\w+\])?:|warning:|panic:|"
    r"警告|エラー|错误)"
)
"""How a line begins that a program wrote."""
_QUOTES: Final = '"“„«「『>|'
_ITEMS: Final = linear(r"\s*(?:[#>*•-]+|\d{1,2}[.)])\s+")
_LETTER: Final = re.compile(r"\w")
_MOST_CLAUSES: Final = 12
_LONGEST: Final = 500
"""Characters of a sentence that a person says; a longer one is pasted."""
_TITLE_CHARS: Final = 120
_HEADING: Final = linear(r"^(?:#{1,6} +\S.*|\*\*[^*]+\*\*|\p{Lu}[\p{L}' ]{2,28})\s*:?$")
"""A line that names the part of a report below it: `### Steps to reproduce`, `Description`."""
_LEAST_REPORT: Final = 4
"""Sentences of a report, its title among them."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence, between its commas."""

    start: int
    """Where it begins in the sentence, and where it ends, the sign after it included."""
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a prompt."""

    text: str
    """The text, with one private sign for each quotation."""
    asks: bool
    clauses: tuple[Clause, ...]


class Prompt:
    """The sentences of a prompt that are its author's own."""

    def __init__(self, prompt: str) -> None:
        self._own = Unquoted(_unspaced(_without_pasted(prompt[:MAX_CHARS])))
        self.language: Language = language_of(self._own.text)
        self.sentences: tuple[Sentence, ...] = tuple(
            Sentence(text, asks, _clauses(text, self.language.code))
            for text, asks in _sentences(self._own.text)
            if len(text) <= _LONGEST
        )
        self.is_report: bool = _is_report(prompt[:MAX_CHARS], self.sentences)
        """Whether it is a title with a text below it, as trackers have them: its first sentence names what
        is to be done."""

    def whole(self, part: str) -> str:
        """Return ``part`` of a sentence as it was written."""
        return self._own.whole(part)


def _is_report(prompt: str, sentences: Sequence[Sentence]) -> bool:
    """Return whether below a first line of its own there are headings, or code and something said of it."""
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    if len(sentences) < _LEAST_REPORT or len(lines[0]) > _TITLE_CHARS or _ITEMS.match(lines[0]):
        return False
    if any(_HEADING.found(line) for line in lines[1:]):
        return True
    title = sentences[0]
    has_code = any(line.startswith(("```", "~~~", ">>> ")) for line in lines[1:])
    return (
        has_code
        and len(title.clauses) == 1
        and len(title.text) >= len(lines[0])
        and not _STOP.search(title.text)
    )


def _without_pasted(text: str) -> str:
    """Return ``text`` without paragraphs that look like output or a quotation, and what a colon announces."""
    kept: list[str] = []
    lines: list[str] = []
    before = ""
    quoting = False
    for line in text.split("\n"):
        blank = not line.strip()
        if blank or not before:
            quoting = bool(kept) and not blank and line.lstrip()[:1] in _QUOTES
        indented = line.startswith(("  ", "\t")) and not _ITEMS.match(line)
        pasted = quoting or (bool(kept) and (indented or _OUTPUT.match(line) is not None))
        lines.append("" if pasted else line)
        kept += [] if blank else [line]
        before = "" if blank else line
    return "\n".join(lines)


def _unspaced(text: str) -> str:
    """Return ``text`` without the blanks that French puts inside its quotation marks."""
    for blank in (" ", "\u00a0", "\u202f"):
        text = text.replace(f"«{blank}", "«").replace(f"{blank}»", "»")
    return text


def _sentences(text: str) -> list[tuple[str, bool]]:
    """Return each sentence with whether it asks."""
    sentences: list[tuple[str, bool]] = []
    begin = 0
    for stop in _STOP.finditer(text):
        if _ends(text, stop.start(), stop.end()):
            _add(sentences, text[begin : stop.end()], asks="?" in stop[0] or "？" in stop[0])
            begin = stop.end()
    _add(sentences, text[begin:], asks=False)
    return sentences


def _ends(text: str, start: int, end: int) -> bool:
    """Return whether the stop there ends a sentence: `e.g.`, `3.5` and `a.py` hold none that does."""
    stop, after = text[start:end], text[end : end + 1]
    if "\n" in stop or _WIDE & set(stop):
        return True
    ideograph = bool(after >= "\u3040" or (start and "\u3040" <= text[start - 1] <= "\u9fff"))
    if stop == ".":
        word = text[max(0, start - 8) : start].rsplit(None, 1)[-1:]
        shortened = bool(word) and (
            word[0].lower() in _ABBREVIATIONS or (len(word[0]) == 1 and word[0].isalpha())
        )
        return not shortened and (not after or after.isspace())
    return not after or after.isspace() or ideograph or after in "\"'”»)"


def _add(sentences: list[tuple[str, bool]], part: str, *, asks: bool) -> None:
    item = _ITEMS.match(part)
    sentence = part[item.end() :] if item else part
    if _LETTER.search(sentence) or any(_is_quotation(letter) for letter in sentence):
        sentences.append((" ".join(sentence.split()), asks))


def _is_quotation(letter: str) -> bool:
    return "\U000f0000" <= letter <= "\U000ffffd"


def _clauses(text: str, code: str) -> tuple[Clause, ...]:
    """Return the clauses of a sentence; behind the eleventh cut all is one."""
    cuts = {match.end() for match in _COMMA.finditer(text) if _cuts(text, match.start())}
    for joint in _JOINTS.get(code, ()):
        at = text.find(joint)
        while at >= 0:
            cuts.add(at + 1)
            at = text.find(joint, at + len(joint))
    bounds = [0, *sorted(cuts)[: _MOST_CLAUSES - 1], len(text)]
    clauses = [Clause(start, end, text[start:end]) for start, end in pairwise(bounds) if start < end]
    spoken = [clause for clause in clauses if _LETTER.search(clause.text)]
    return tuple(spoken) or (Clause(0, len(text), text),)


def _cuts(text: str, at: int) -> bool:
    """Return whether the sign at ``at`` ends a clause: one of a wide script, or one with a blank behind
    it."""
    sign, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if sign in _WIDE:
        return True
    if sign in "–—-":
        return before.isspace() and after.isspace()
    beside = max(before, after)
    return after.isspace() or "\u3040" <= beside <= "\u9fff"
