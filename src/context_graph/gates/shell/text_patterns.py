"""Tells in one pass, without a regular expression, whether a line may have the pattern that a grep was given.

What is no plain text in a pattern may be any text: more lines are taken than grep takes, never fewer.
"""

from __future__ import annotations

from collections.abc import Sequence

from context_graph.gates.shell.command import CLOSE, OPEN, UNKNOWN, is_plain

_BEGINS, _STOPS = OPEN, CLOSE
"""Anchors, as signs that no word has once its brace lists are spread."""

_CHARS = 1000
_CHOICES = 64
_DEPTH = 8
_ANYTHING = [UNKNOWN]
_GROUPING = "|(){}+?"


class TextPattern:
    """One pattern; ``kind`` is fixed, basic (``\\(`` begins a group) or extended (``(`` does)."""

    def __init__(self, pattern: str, kind: str, *, any_case: bool = False) -> None:
        self._any_case = any_case
        self._choices = [self._cased(one).split(UNKNOWN) for one in _choices(pattern, kind)]

    def _cased(self, text: str) -> str:
        return text.lower() if self._any_case else text

    def may_match(self, text: str) -> bool:
        """Whether a line of ``text`` may have it. Cost: one pass for each choice, of 64 at most."""
        whole = self._cased(text)
        for pieces in self._choices:
            longest = max((piece.strip(_BEGINS + _STOPS) for piece in pieces), key=len)
            if longest in whole and any(_in_order(pieces, line) for line in whole.split("\n")):
                return True
        return False


def _in_order(pieces: Sequence[str], line: str) -> bool:
    """Whether the line has the pieces one after the other, those with an anchor at its ends."""
    at, last = 0, len(line)
    for piece in pieces:
        text = piece.strip(_BEGINS + _STOPS)
        begins, stops = piece.startswith(_BEGINS), piece.endswith(_STOPS)
        found = 0 if begins else last - len(text) if stops else line.find(text, at)
        if found < at or not line.startswith(text, found) or (stops and found + len(text) < last):
            return False
        at = found + len(text)
    return True


def _choices(pattern: str, kind: str) -> list[str]:
    """The texts of which a line must have one, a mark for whatever is no plain text."""
    if not is_plain(pattern) or len(pattern) > _CHARS:
        return _ANYTHING
    if kind == "fixed":
        return pattern.split("\n")
    try:
        return _Reader(pattern, basic=kind == "basic").choices(0)
    except _CannotTellError:
        return _ANYTHING


class _CannotTellError(Exception):
    """What a pattern takes can't be told in this way."""


class _Reader:
    """Reads one pattern from its start."""

    def __init__(self, pattern: str, *, basic: bool) -> None:
        self.pattern, self.basic, self.at = pattern, basic, 0

    def choices(self, depth: int) -> list[str]:
        """What the pattern from here to the bracket that ends it, or to its end, may be."""
        done: list[str] = []
        made = [""]
        while len(done) + len(made) <= _CHOICES:
            sign = self._next()
            if sign in ("", ")"):
                return done + made
            if sign == "|":
                done, made = done + made, [""]
                continue
            more = self._group(depth) if sign == "(" else [self._one(sign)]
            made = [one + text for one in made for text in more]
        raise _CannotTellError

    def _next(self) -> str:
        """The next sign: one of grouping as itself, a plain one behind a backslash."""
        char = self.pattern[self.at : self.at + 1]
        self.at += 1
        if char == "\\":
            char += self.pattern[self.at : self.at + 1]
            self.at += 1
        if char.strip("\\") in tuple(_GROUPING):
            return char[-1] if (len(char) == 2) == self.basic else "\\" + char[-1]
        return char

    def _group(self, depth: int) -> list[str]:
        """What a group may be that is there once, or more often."""
        if depth >= _DEPTH or self._ahead("?"):  # (?i), (?=x)
            raise _CannotTellError
        found = self.choices(depth + 1)
        if self.at > len(self.pattern) or any(map(self._ahead, "*?{")):
            raise _CannotTellError
        return found

    def _one(self, sign: str) -> str:
        """What one sign takes: itself, an anchor, or any text."""
        if sign == "[":
            close = self.pattern.find("]", self.at + 1 + self.pattern.startswith("^", self.at))
            if close < 0:
                raise _CannotTellError
            inside, self.at = self.pattern[self.at : close], close + 1
            sign = "\\" + inside if len(inside) == 1 else "."
        if sign in ("{", "}") or self._ahead("{"):  # a{2,3}
            raise _CannotTellError
        if any(map(self._ahead, "*?")):
            return UNKNOWN
        if sign in ("^", "$"):
            return _BEGINS if sign == "^" else _STOPS
        special = sign in tuple(".*+?") or (sign[0] == "\\" and sign[-1].isalnum())
        return UNKNOWN if special else sign[-1]

    def _ahead(self, sign: str) -> bool:
        """Whether that sign follows, in the pattern's own spelling."""
        spelled = "\\" + sign if self.basic and sign in _GROUPING else sign
        return self.pattern.startswith(spelled, self.at)
