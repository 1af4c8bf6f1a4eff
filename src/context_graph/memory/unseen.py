"""Which characters of a text nobody sees: they could carry words past the reader to the model.

A variation selector is seen in what it does to the character before it, and only there: an emoji's colour,
the form of a Han character. Anywhere else, or one after the other, the 256 of them are an alphabet that
writes any bytes behind one visible letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

__all__ = ["LINE_ENDS", "replace_unseen"]

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
"""What else Unicode tells renderers to draw nothing for (Default_Ignorable_Code_Point): joiners, fillers,
tags, variation selectors, and places that are kept for more of them."""
_PERHAPS: Final = re.compile(f"[{_CONTROLS}{_FORMATS}{_BLANKS}]")

_SELECTORS: Final = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe06\ufe0e\ufe0f]")
"""Those that have a use; of the other variation selectors none is needed to read a text."""
_KEYCAP: Final = "\u20e3"
_STYLED: Final = ("So", "Sm", "Po", "Pd")
"""Categories of what has a form as text and one as emoji, besides one letter and ASCII's keycaps."""
_FORMED: Final = re.compile(
    "[\u1000-\u109f\u2018-\u201d\u2200-\u22ff\u2a00-\u2aff\u3001\u3002\u3400-\u9fff\ua840-\ua87f\uff01-\uff1f"
    "\U00013000-\U000143ff\U00020000-\U0003ffff]"
)
"""What has several forms: Myanmar, quotes, mathematics, Han with its punctuation, Phags-pa, hieroglyphs."""
_MONGOLIAN: Final = re.compile("[\u1820-\u18aa]")


def replace_unseen(text: str, spelled: Callable[[str], str]) -> str:
    """``text`` with ``spelled(character)`` for each that nobody sees, line ends and tabs among them.

    Cost: one pass in C, and a call for each character that may be one.
    """
    if text.isascii() and text.isprintable():
        return text
    return _PERHAPS.sub(lambda found: found[0] if _selects(found) else spelled(found[0]), text)


def _selects(found: re.Match[str]) -> bool:
    """Whether it selects a form of the character before it, which has such forms."""
    if not _SELECTORS.match(found[0]) or not found.start():
        return False
    selector, base = found[0], found.string[found.start() - 1]
    if selector >= "\ufe0e":
        if base.isascii():
            return base in "#*0123456789" and found.string.startswith(_KEYCAP, found.end())
        return base == "\u2139" or unicodedata.category(base) in _STYLED
    forms = _FORMED if selector >= "\ufe00" else _MONGOLIAN
    return forms.match(base) is not None
