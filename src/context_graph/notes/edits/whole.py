"""Makes an edit's texts whole lines of its file, so that they can be found there."""

from __future__ import annotations

from typing import Final

from context_graph.model import EventParts
from context_graph.notes.edits.seen import SeenTexts
from context_graph.text.patterns import linear

_DEBRIS: Final = linear(r"\\\\|\\[\[\](){}.*^$/\"']")
_WORD: Final = linear(r"\w")
_LEAST: Final = 6
_PAIRS: Final = ("()", "[]", "{}")
_QUOTES: Final = ("'", '"', "`")


def whole_edit(seen: SeenTexts, path: str, parts: EventParts) -> list[tuple[str, str]]:
    """Return what an edit took away and put there, as lines of the file; [] where the place was not seen
    and the text alone would not be found there: half a bracket, a shell's escapes.
    """
    old, new = parts.old_text, parts.new_text
    if parts.is_whole:
        return [(old, new)]
    pair = seen.whole_lines(path, old, new) or ((old, new) if _is_sound(old) else None)
    return [pair] if pair else []


def _is_sound(text: str) -> bool:
    if not text:
        return True
    balanced = all(text.count(pair[0]) == text.count(pair[1]) for pair in _PAIRS)
    balanced = balanced and not any(text.count(quote) % 2 for quote in _QUOTES)
    return balanced and len(text) >= _LEAST and _WORD.found(text) and not _DEBRIS.found(text)
