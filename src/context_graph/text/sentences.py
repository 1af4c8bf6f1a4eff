"""Splits texts into sentences, list items, blocks of code and informative words; shortens them to a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from context_graph.text.english import STOP_WORDS

MAX_CHARS: Final = 65_536
SHORT: Final = 2000
"""Characters up to which a text's words are kept for the next time."""
_FENCE: Final = re.compile(r"^\s*+(```|~~~)")
_ITEM: Final = re.compile(r"^\s*+(?:(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s++|>\s?)")
_SENTENCE: Final = re.compile(r"(?<=[a-z0-9)\]\"'`][.!?]) (?=[A-Z\"'`(\[0-9])|(?<=[。！？])")
_STARTS_CODE: Final = re.compile(
    r"\s*+(?:def \w++\(|class \w++[(:{]|async \w|import [\w.]++;?$|from [\w.]++ import |return\b|@\w|"
    r"#include|\$ \w|[{}\])]++[;,)]*+\s*+$|(?:SELECT|INSERT|CREATE|UPDATE) |"
    r"(?P<block>(?:if|for|while|with|try|else|elif)\b)|(?P<call>(?:pub )?(?:fn|func|function)\b)|"
    r"(?P<value>(?:let|const|var)\b)|(?P<body>(?:struct|impl|enum|interface)\b))"
)
_SIGN_AFTER: Final = {"call": "(", "value": "=", "body": "{"}
"""What must stand somewhere behind such a word."""
_ASSIGNS: Final = re.compile(r"\s*+[\w.\[\]]++\s*+(?:[-+*/]?=|:=)\s*+\S")
_INDENTED: Final = re.compile(r"^(?: {2,}+|\t)\S")
_WORD: Final = re.compile(r"[^\W_]{2,}|\d")
_COMMON: Final = frozenset(word.decode() for word in STOP_WORDS)
_ENDINGS: Final = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "ly", "s")

_HEADING: Final = re.compile(r"^[\s#>*\-+]*+(?:\d++[.)]\s++)?|[*`]{1,3}")
_STOP: Final = re.compile(r"(?<=[.!?])\s")
_ENDED: Final = re.compile(r"[.!?](?=\s)\s*|[。！？\n]\s*")
_LITTLE: Final = 16
"""Bytes of letters and digits that, with one content word at most, say nothing: `No, that is wrong:`."""
_NAMED_CHARS: Final = 4000
"""Of a text in which its name is looked for."""


class Kind(Enum):
    """What a segment is."""

    SENTENCE = "sentence"
    ITEM = "item"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a text."""

    text: str
    kind: Kind


@lru_cache(maxsize=128)  # one answer asks for those of a memory up to three times
def segments(content: str) -> tuple[Segment, ...]:
    """Return the parts of ``content`` in order; together they hold all of its words.

    Code is what stands between fences, or two and more lines in a row that look like it; its lines stay as
    they are. Everything else is on one line each.
    """
    segments: list[Segment] = []
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    for line in content[:MAX_CHARS].splitlines():
        mark = _FENCE.match(line)
        if fence:
            code.append(line)
            if mark and mark[1] == fence:
                fence = ""
                _close_code(segments, prose, code)
        elif mark:
            _close_code(segments, prose, code)
            fence, code = mark[1], [line]
        elif _is_code(line, after_code=bool(code)):
            code.append(line)
        else:
            _close_code(segments, prose, code)
            prose.append(line)
    _close_code(segments, prose, code)
    _close_prose(segments, prose)
    return tuple(segments)


def may_hold_code(content: str) -> bool:
    """Return whether `segments` may find code in it: a single line is none, unless it opens a fence."""
    return len(content.splitlines()) > 1 or _FENCE.match(content) is not None


def _is_code(line: str, *, after_code: bool) -> bool:
    if not line.strip():
        return False
    if after_code and line[0] in " \t" and _INDENTED.match(line):
        return True
    return _starts_code(line) or _ends_code(line.rstrip()) or _ASSIGNS.match(line) is not None


def _starts_code(line: str) -> bool:
    match = _STARTS_CODE.match(line)
    if match is None:
        return False
    if match.lastgroup == "block":
        return line.rstrip().endswith((":", "{"))
    return match.lastgroup is None or _SIGN_AFTER[match.lastgroup] in line


def _ends_code(line: str) -> bool:
    """Return whether a line ends as code does: `;`, `{`, `=>`, a backslash, `):`."""
    return line.endswith((";", "{", "=>", "\\")) or (line.endswith(":") and line[:-1].rstrip().endswith(")"))


def _close_code(segments: list[Segment], prose: list[str], code: list[str]) -> None:
    """End a run of code lines; a single one outside fences is no block, but part of the prose."""
    if not code:
        return
    if len(code) == 1 and not _FENCE.match(code[0]):
        prose.append(code[0])
    else:
        _close_prose(segments, prose)
        segments.append(Segment("\n".join(line.rstrip() for line in code), Kind.CODE))
    code.clear()


def _close_prose(segments: list[Segment], prose: list[str]) -> None:
    """Add the sentences of paragraphs; list items and headings stand for themselves."""
    paragraph: list[str] = []
    for line in [*prose, ""]:
        item = _ITEM.match(line)
        if (item or not line.strip()) and paragraph:
            joined = " ".join(" ".join(paragraph).split())
            segments += [Segment(part, Kind.SENTENCE) for part in _SENTENCE.split(joined) if part]
            paragraph.clear()
        if item:
            text = " ".join(line[item.end() :].split())
            segments += [Segment(text, Kind.ITEM)] if text else []
        elif line.strip():
            paragraph.append(line)
    prose.clear()


def content_words(text: str) -> frozenset[str]:
    """Return the text's words in lower case without endings and stop words: roughly, its subject."""
    return _known_words(text) if len(text) <= SHORT else _words(text)


@lru_cache(maxsize=1024)
def _known_words(text: str) -> frozenset[str]:
    return _words(text)


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if word not in _COMMON)


@lru_cache(maxsize=32_768)
def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def short_name(content: str, limit: int = 48) -> str:
    """Return a name for a memory, taken from its text: its first heading or sentence, cut after a word."""
    lines = (_HEADING.sub("", line).strip() for line in content[:_NAMED_CHARS].splitlines())
    first = next((line for line in lines if line), content.strip())
    return shortened(" ".join(_STOP.split(first)[0].split()).rstrip(" .:;,"), limit)


def shortened(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` characters, cut after a word and then marked with an ellipsis."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    at_word = kept.rsplit(" ", 1)[0] if " " in kept[limit // 2 :] else kept
    return at_word.rstrip(" ,;:([{\"'") + "…"


def shortened_lines(lines: Iterable[str], limit: int) -> str:
    """Return as many lines as fit; the first one that does not is shortened."""
    kept, room = list[str](), limit
    for line in lines:
        if len(line) + 1 > room:
            if room > 80:
                kept.append(shortened(line, room - 1))
            break
        kept.append(line)
        room -= len(line) + 1
    return "\n".join(kept)


def _says_little(text: str) -> bool:
    letters = "".join(filter(str.isalnum, text))
    return len(letters.encode()) <= _LITTLE and len(content_words(text)) <= 1


def without_sentences(content: str, texts: Iterable[str]) -> str:
    """Return ``content`` without the sentences that say one of ``texts`` and hardly more.

    One that says more stays whole, as what would be left of it is no sentence; so does a ``content`` of which
    nothing would be left. Cost: linear, for each text.
    """
    for text in texts:
        at = content.find(text)
        if at < 0 or not text:
            continue
        begin = max((end.end() for end in _ENDED.finditer(content, 0, at)), default=0)
        last = at + len(text)
        end = _ENDED.search(content, max(at, last - 1))
        until = end.end() if end else len(content)
        more = f"{content[begin:at]} {content[last:until]}"
        rest = content[:begin] + content[until:]
        if _says_little(more) and rest.strip():
            content = rest.rstrip()
    return content


def common_ends(first: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return how many parts two sequences share at the beginning, and how many of the others at the end."""
    most = min(len(first), len(other))
    head = next((at for at in range(most) if first[at] != other[at]), most)
    tail = next((at for at in range(most - head) if first[-1 - at] != other[-1 - at]), most - head)
    return head, tail
