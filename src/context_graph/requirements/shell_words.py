"""The words of a command as ``shell`` leaves them: text with marks where only a run would tell."""

from __future__ import annotations

__all__ = ["CLOSE", "COMMA", "ONE", "OPEN", "STAR", "UNKNOWN", "ansi_c", "could_be", "is_plain", "spread"]

UNKNOWN = "\0"
"""Any text: a variable that isn't known, a program's output."""
STAR = "\1"
"""Any text without a slash: an unquoted ``*``."""
ONE = "\2"
"""Any one character: an unquoted ``?`` or ``[…]``."""

OPEN, COMMA, CLOSE = "\3", "\4", "\5"
"""Signs of a brace list, within ``shell`` only."""

_LISTED = 64
"""Words that one brace list may become; what would be more stays one word of any text."""

_LISTS = 32

_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "e": "\x1b",
    "E": "\x1b",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
}
_HEX = frozenset("0123456789abcdefABCDEF")


def is_plain(word: str) -> bool:
    """Whether every character is known."""
    return UNKNOWN not in word and STAR not in word and ONE not in word


def spread(word: str) -> list[str]:
    """The words that a brace list stands for; the word itself where there is none."""
    if OPEN not in word:
        return [word.replace(COMMA, ",").replace(CLOSE, "}")]
    if word.count(OPEN) > _LISTS:
        return [UNKNOWN]
    found, left = _alternatives(word, 0, 0)
    if left < len(word):
        found = [one + _literal(word[left:]) for one in found]
    return found if len(found) <= _LISTED else [UNKNOWN]


def _alternatives(word: str, at: int, depth: int) -> tuple[list[str], int]:
    """What the text from ``at`` to the comma or brace that ends it may be, and where it ends."""
    made = [""]
    start = at
    while at < len(word):
        char = word[at]
        if char == OPEN and depth < 8:
            tail = word[start:at]
            inner, at = _list(word, at + 1, depth + 1)
            made = [one + tail + more for one in made[: _LISTED + 1] for more in inner[: _LISTED + 1]]
            made = made[: _LISTED + 1]
            start = at
        elif depth and char in (COMMA, CLOSE):
            break
        else:
            at += 1
    tail = _literal(word[start:at])
    return [one + tail for one in made], at


def _list(word: str, at: int, depth: int) -> tuple[list[str], int]:
    choices: list[str] = []
    parts = 0
    while True:
        inner, at = _alternatives(word, at, depth)
        choices += inner[: _LISTED + 1]
        parts += 1
        if at >= len(word):  # never closed: no list
            return ["{" + ",".join(choices[:1])], at
        at += 1
        if word[at - 1] == CLOSE:
            break
    if parts == 1:
        return ([UNKNOWN] if ".." in choices[0] else ["{" + one + "}" for one in choices]), at
    return choices[: _LISTED + 1], at


def _literal(text: str) -> str:
    return text.replace(OPEN, "{").replace(COMMA, ",").replace(CLOSE, "}")


def ansi_c(text: str, at: int) -> tuple[str, int, bool]:
    """``$'…'`` from behind its first quote: its text, where it ends, and whether it was closed."""
    parts: list[str] = []
    while at < len(text) and text[at] != "'":
        if text[at] != "\\":
            parts.append(text[at])
            at += 1
            continue
        at += 1
        char = text[at : at + 1]
        at += 1
        if char in ("x", "u", "U"):
            stop = at
            while stop < min(len(text), at + {"x": 2, "u": 4, "U": 8}[char]) and text[stop] in _HEX:
                stop += 1
            code = int(text[at:stop] or "0", 16)
            parts.append(chr(code) if 5 < code < 0x110000 else "")
            at = stop
        elif char and char in "01234567":
            stop = at
            while stop < min(len(text), at + 2) and text[stop] in "01234567":
                stop += 1
            code = int(text[at - 1 : stop], 8)
            parts.append(chr(code) if code > 5 else "")
            at = stop
        else:
            parts.append(_ESCAPES.get(char, char))
    return "".join(parts), at + 1, at < len(text)


def could_be(word: str, path: str) -> bool:
    """Whether the word, with its marks filled in, may be exactly ``path``; a leading dot needs its own.

    Time: the product of both lengths at most.
    """
    star = text = -1
    free = False
    at = here = 0
    while here < len(path):
        mark = word[at] if at < len(word) else ""
        hidden = path[here] == "." and (here == 0 or path[here - 1] == "/")
        if mark in (UNKNOWN, STAR) and mark:
            star, text, free = at, here, mark == UNKNOWN
            at += 1
        elif mark == path[here] or (mark == ONE and path[here] != "/" and not hidden):
            at, here = at + 1, here + 1
        elif star >= 0 and (free or (path[text] != "/" and not _hides(path, text))):
            text += 1
            at, here = star + 1, text
        else:
            return False
    return all(mark in (UNKNOWN, STAR) for mark in word[at:])


def _hides(path: str, at: int) -> bool:
    return path[at] == "." and (at == 0 or path[at - 1] == "/")
