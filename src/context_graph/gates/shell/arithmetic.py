"""Finds where a shell's arithmetic ends: `$((…))`, `((…))`, `$[…]` and the subscript of `a[…]=x`.

There `<<` shifts bits and announces no here-document, and words are no commands.
"""

from __future__ import annotations

from itertools import pairwise

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
NAME = _FIRST | frozenset("0123456789")
_SUBSCRIPT = 200
"""Longest subscript that is looked through; one that has blanks and is longer is read as words."""


def closing(text: str, at: int, pair: str, closes: int) -> int:
    """Where the expression from ``at`` ends, ``closes`` brackets included; -1 if it is none."""
    opened, closed = pair[0], pair[1]
    depth, end = 0, len(text)
    while at < end:
        char = text[at]
        if char == opened:
            depth += 1
        elif char == closed:
            if not depth:
                return at + closes if text.startswith(closed * closes, at) else -1
            depth -= 1
        elif char == "\\":
            at += 1
        elif char == '"':
            at = _quoted(text, at + 1)
        at += 1
    return -1


def _quoted(text: str, at: int) -> int:
    """Where the double quote is that closes the one before ``at``."""
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at


def is_name(text: str) -> bool:
    """Whether a variable can have that name."""
    return text[:1] in _FIRST and NAME.issuperset(text)


def is_odd(inside: str) -> bool:
    """Whether it might be no arithmetic after all, but words of a command: names side by side, quotes."""
    words = inside.split()
    beside = any(before[-1] in NAME and after[0] in _FIRST for before, after in pairwise(words))
    return beside or "'" in inside


def subscript(text: str, at: int) -> int:
    """Behind the sign of an assignment to an array's element that begins at ``at``; 0 if none does."""
    start = at
    while at < len(text) and text[at] in NAME and at - start < _SUBSCRIPT:
        at += 1
    if at == start or text[start] not in _FIRST or not text.startswith("[", at):
        return 0
    stop = text.find("]", at, at + _SUBSCRIPT)
    if stop < 0 or "\n" in text[at:stop]:
        return 0
    for sign in ("]=", "]+="):
        if text.startswith(sign, stop):
            return stop + len(sign)
    return 0
