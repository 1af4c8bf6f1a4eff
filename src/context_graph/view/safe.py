"""Makes text safe to show: what steers a terminal or turns the direction of reading is shown, not obeyed."""

from __future__ import annotations

from typing import Final

_KEPT: Final = "\n\t"
_TURNING: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def shown(text: str) -> str:
    """Return ``text`` with what steers a terminal or turns the direction of reading in its escaped form
    (`\\x1b`).

    A memory or a project's file may hold such characters: they could write the clipboard or hide a line.
    """
    if text.isprintable():  # nothing of what is escaped below is
        return text
    return "".join(map(_visible, text))


def one_line(text: str) -> str:
    """As `shown`, with each run of white space as one space."""
    return " ".join(shown(text).split())


def _visible(character: str) -> str:
    code = ord(character)
    if (code < 0x20 and character not in _KEPT) or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    if character in _TURNING or 0xD800 <= code < 0xE000:
        return f"\\u{code:04x}"
    return character
