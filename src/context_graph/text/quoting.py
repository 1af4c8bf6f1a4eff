"""Quotes stored texts as data for the model's context, between tags that say so.

Stored text may come from anybody: a web page, a file, an import. So each text is one JSON string on one line,
which can't open or close a tag, between two tags of ours. The words around it say what it is and ask for
nothing. A tool's answer is JSON already and has `TRUST` in front instead of tags.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

# Characters that nobody sees could carry words past the reader to the model. A variation selector is seen in
# what it does to the character before it, and only there: an emoji's colour, the form of a Han character.
# Anywhere else, or one after the other, the 256 of them are an alphabet that writes any bytes behind one
# visible letter.
LINE_ENDS: Final = "\n\u2028\u2029\x85"

_CONTROLS: Final = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff"
"""Controls, line ends, lone surrogates, private use."""
_FORMATS: Final = (
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
"""Marks that turn, join or hide text (category Cf)."""
_BLANKS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff"
)
"""Everything else that Unicode tells renderers not to draw (Default_Ignorable_Code_Point): joiners, fillers,
tags, variation selectors, and places reserved for more.
"""
_PERHAPS: Final = re.compile(f"[{_CONTROLS}{_FORMATS}{_BLANKS}]")

_SELECTORS: Final = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe06\ufe0e\ufe0f]")
"""Those with a use; no other variation selector is needed to read a text."""
_KEYCAP: Final = "\u20e3"
_STYLED: Final = ("So", "Sm", "Po", "Pd")
"""Categories of characters with a text form and an emoji form, besides one letter and ASCII's keycaps."""
_FORMED: Final = re.compile(
    "[\u1000-\u109f\u2018-\u201d\u2200-\u22ff\u2a00-\u2aff\u3001\u3002\u3400-\u9fff\ua840-\ua87f\uff01-\uff1f"
    "\U00013000-\U000143ff\U00020000-\U0003ffff]"
)
"""Characters with several forms: Myanmar, quotes, mathematics, Han, Phags-pa, hieroglyphs."""
_MONGOLIAN: Final = re.compile("[\u1820-\u18aa]")


def replace_invisible(text: str, spelled: Callable[[str], str]) -> str:
    """Return ``text`` with each invisible character replaced by ``spelled(character)``, line ends and tabs
    included.

    Cost: one pass in C, and a call for each candidate.
    """
    if text.isascii() and text.isprintable():
        return text
    return _PERHAPS.sub(lambda match: match[0] if _selects(match) else spelled(match[0]), text)


def _selects(match: re.Match[str]) -> bool:
    """Return whether it selects a form of the character before it, which has such forms."""
    if not _SELECTORS.match(match[0]) or not match.start():
        return False
    selector, base = match[0], match.string[match.start() - 1]
    if selector >= "\ufe0e":
        if base.isascii():
            return base in "#*0123456789" and match.string.startswith(_KEYCAP, match.end())
        return base == "\u2139" or unicodedata.category(base) in _STYLED
    forms = _FORMED if selector >= "\ufe00" else _MONGOLIAN
    return forms.match(base) is not None


FENCE_OPEN: Final = '<context-graph-memory trust="untrusted">'
FENCE_CLOSE: Final = "</context-graph-memory>"
RECORDS: Final = (
    "Records from earlier work in this project, quoted as data. They may be wrong or out of date."
)
"""The label of memories."""
TRUST: Final = {"trust": "untrusted data"}
"""The first field of a tool's answer that quotes memories: it labels the whole answer, so no text can end
it.
"""

MAX_FENCED_CHARS: Final = 8000
"""Whatever the budget: the client inlines 10,000 characters, and other parts need some of them."""
_TAG_START: Final = re.compile(r"<(?=[A-Za-z/!?])")
_WORD: Final = re.compile(r"\w{2,}")
_UNPARTED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,}"
)
"""Scripts in which no space parts words, or particles are joined to them."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of our own making; text from outside in it is `quoted`."""

    text: str
    node_id: str = ""
    """The memory that it tells; "" for none."""
    is_head: bool = False
    """Whether it stands above others and is no point of a list."""


def fence(lines: Iterable[str], *, label: str = RECORDS) -> str:
    """Return ``lines``, in which all text from outside is `quoted`, between the tags that label them as data.

    Args:
        label: What they are, as their first line; "" for none.
    """
    return "\n".join((FENCE_OPEN, *([label] if label else []), *lines, FENCE_CLOSE))


def quoted(text: str) -> str:
    """Return ``text`` as one line of JSON string in which no tag begins and nothing is invisible."""
    clean = replace_invisible(text.strip(), _plain).strip()
    return _TAG_START.sub(r"\\u003c", json.dumps(clean, ensure_ascii=False))


def _plain(unseen: str) -> str:
    """Return a newline for a separator of lines, a tab for itself, nothing for an invisible character."""
    if unseen in LINE_ENDS:
        return "\n"
    return unseen if unseen == "\t" else ""


def inert(document: str) -> str:
    """Return the same JSON, escaped so that no tag begins and nothing is invisible.

    Unlike with `quoted` nothing is lost: parsed as JSON it gives exactly the stored texts.
    """
    return _TAG_START.sub(r"\\u003c", replace_invisible(document, lambda unseen: json.dumps(unseen)[1:-1]))


def day_text(at_ms: int, now_ms: int) -> str:
    """Return the day of a time, UTC: `3 Nov`, with its year if that is not this one's."""
    day, now = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (at_ms, now_ms))
    return f"{day.day} {day:%b}" + (f" {day.year}" if day.year != now.year else "")


def words_of(text: str) -> frozenset[str]:
    """Return the distinct words of ``text``, lower case, of two characters or more.

    In scripts without spaces each two neighbouring characters count as a word, as in the lexical index.
    """
    words = {word.lower() for word in _WORD.findall(text)}
    if not text.isascii():
        for run in _UNPARTED.findall(text):
            words.update(map("".join, pairwise(run)))
    return frozenset(words)
