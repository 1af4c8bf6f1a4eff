"""Cuts a prompt into what its author says himself: sentences and their clauses, without what is pasted.

Fences, quoted lines, blocks of logs and what follows `… says:` are left out; a quotation inside a sentence
is one sign (`context_graph.text.phrases.Unquoted`), to be put back when the sentence is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from context_graph.notes.said.language import Language, language_of
from context_graph.text.phrases import Unquoted

MAX_CHARS: Final = 65_536
_STOP: Final = re.compile(r"[.!?…]+(?:[\"'”»)]*)(?=\s|$)|[。！？]+|[!?]+(?=[\u3040-\u9fff])|(?<=[\u3040-\u9fff])[!?]+|…{2,}|\n+|(?<=\s)[:;]['-]?[()DP](?=\s|$)")
_NO_STOP: Final = re.compile(r"(?:\b\w|\b(?:e\.g|i\.e|etc|vs|ca|bzw|z\.B|approx|resp|Nr|p\.ej|т\.е|т\.д))\.$")
_COMMA: Final = re.compile(
    r"[,;:](?=\s)|[，；：、]|(?<=[\u3040-\u9fff])[,;:]|[,;:](?=[\u3040-\u9fff])|\s[-–—]+\s"
)
_JOINTS: Final = {
    "en": re.compile(r"\s(?=but\s)|\s(?=otherwise\s)|\s(?=so\s(?!that|far|it))|\s(?=because\s)"),
    "de": re.compile(r"\s(?=aber\s)"),
    "fr": re.compile(r"\s(?=mais\s)"),
    "es": re.compile(r"\s(?=pero\s)"),
    "pt": re.compile(r"\s(?=mas\s)"),
    "ru": re.compile(r"\s(?=но\s)"),
}
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")
_LOG_LINE: Final = re.compile(
    r"\s*(?:\[[^\]\n]{1,40}\]|[\w.]*(?:Error|Exception|Warning)\b|[A-ZÄÖÜÉ]{4,}[ :]|[А-Я]{4,}[ :]|Traceback|"
    r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\$ |>>> |at \S+\(|error\b[\w\[\]]*:|warning:|panic:|警告|エラー|错误)"
)
_QUOTE_LINE: Final = re.compile(r"\s*[\"“„«「『>|]")
_SPACED_QUOTE: Final = re.compile(r"(?<=«)[\s\u202f]+|[\s\u202f]+(?=»)")
"""French puts blanks inside its quotation marks."""
_ITEM: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s")
_EMPTY: Final = re.compile(r"^[\s\W]*$")
_MARKUP: Final = re.compile(r"^\s*(?:[#>*•-]+|\d{1,2}[.)])\s+")
_MOST_CLAUSES: Final = 12
_LONGEST: Final = 500
"""Characters of a sentence that a person says; a longer one is pasted."""


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
    """With one private sign for each quotation."""
    asks: bool
    clauses: tuple[Clause, ...]


class Prompt:
    """The sentences of a prompt that are its author's own."""

    def __init__(self, prompt: str) -> None:
        own = _SPACED_QUOTE.sub("", _without_pasted(prompt[:MAX_CHARS]))
        self._own = Unquoted(own)
        self.language: Language = language_of(self._own.text)
        self.sentences: tuple[Sentence, ...] = tuple(
            Sentence(text, asks, _clauses(text, self.language.code))
            for text, asks in _sentences(self._own.text)
            if len(text) <= _LONGEST
        )

    def whole(self, part: str) -> str:
        """Return ``part`` of a sentence as it was written."""
        return self._own.whole(part)


def _without_pasted(text: str) -> str:
    """``text`` without paragraphs that look like output, a quotation, or what a line with a colon announces."""
    kept: list[str] = []
    for paragraph in _PARAGRAPH.split(text):
        pasted = bool(kept) and _QUOTE_LINE.match(paragraph) is not None
        lines: list[str] = []
        for line in paragraph.split("\n"):
            announced = bool(lines) and lines[-1].rstrip().endswith((":", "："))
            indented = line.startswith(("  ", "\t")) and not _ITEM.match(line)
            if lines and indented and (announced or not lines[-1].strip()):
                lines.append("")
            elif _LOG_LINE.match(line) and (lines or kept):
                lines.append("")
            else:
                lines.append(line)
        kept.append("" if pasted else "\n".join(lines))
    return "\n".join(kept)


def _sentences(text: str) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    begin = 0
    for stop in _STOP.finditer(text):
        if _NO_STOP.search(text[max(begin, stop.start() - 6) : stop.end()]):
            continue
        _add(found, text[begin : stop.end()], asks="?" in stop[0] or "？" in stop[0])
        begin = stop.end()
    _add(found, text[begin:], asks=False)
    return found


def _add(found: list[tuple[str, bool]], part: str, *, asks: bool) -> None:
    sentence = _MARKUP.sub("", part).strip()
    if not _EMPTY.match(sentence):
        found.append((" ".join(sentence.split()), asks))


def _clauses(text: str, code: str) -> tuple[Clause, ...]:
    """The clauses of a sentence; behind the twelfth comma all is one."""
    cuts = [found.end() for found in _COMMA.finditer(text)]
    joint = _JOINTS.get(code)
    cuts += [found.end() for found in joint.finditer(text)] if joint else []
    bounds = [0, *sorted(set(cuts))[: _MOST_CLAUSES - 1], len(text)]
    found = (
        Clause(start, end, text[start:end]) for start, end in zip(bounds, bounds[1:], strict=False) if start < end
    )
    return tuple(one for one in found if not _EMPTY.match(one.text)) or (Clause(0, len(text), text),)
