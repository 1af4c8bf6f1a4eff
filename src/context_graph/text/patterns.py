"""Compiles patterns with RE2, whose time is linear in the length of any text.

Python's `re` backtracks: for an unlucky line a harmless-looking pattern may need a century, and the owner
serves everybody from one thread. So text from outside meets `re` only in patterns that are proved to take one
pass (`tests/security/test_patterns.py`), and RE2 in all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # it ships no annotations

PatternError: Final = re2.error

_MEMORY: Final = 1 << 20
"""Bytes an automaton may take; RE2 starts it afresh beyond, slower but still linear."""
_UNICODE: Final = {
    r"\w": r"\pL\pN_",
    r"\d": r"\p{Nd}",
    r"\s": r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}",
}
"""What Python means by them. RE2 alone means ASCII."""
_PIECE: Final = re.compile(r"\\x\{|\\.|\[\^?\]?|\]|.", re.DOTALL)


class Linear:
    """A pattern over text, compiled when it is first used: all of them at once would take an owner's start a
    quarter of its time.

    Methods are those of `re`; lone surrogates count as question marks.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern: str = pattern

    @cached_property
    def _regexp(self) -> Any:
        return re2.compile(_spelled(self.pattern), _options())

    def found(self, text: str) -> bool:
        """Return whether the pattern matches anywhere. Cost: about 1 us and 1 ns a character."""
        return self._run("search", text) is not None

    def fullmatch(self, text: str) -> Any:
        """Return the match that is all of ``text``, or None."""
        return self._run("fullmatch", text)

    def search(self, text: str) -> Any:
        """Return the first match, or None."""
        return self._run("search", text)

    def match(self, text: str) -> Any:
        """Return the match at the start of ``text``, or None."""
        return self._run("match", text)

    def finditer(self, text: str) -> Iterator[Any]:
        """Yield all matches in order. Cost: some 4 us each."""
        return self._regexp.finditer(_whole(text))  # type: ignore[no-any-return]

    def sub(self, replacement: str | Callable[[Any], str], text: str) -> str:
        """Return ``text`` with each match replaced; the very same object where there is none."""
        text = _whole(text)
        return self._regexp.sub(replacement, text) if self.found(text) else text

    def _run(self, method: str, text: str) -> Any:
        try:
            return getattr(self._regexp, method)(text)
        except UnicodeEncodeError:
            return getattr(self._regexp, method)(_whole(text))


def linear(pattern: str) -> Linear:
    r"""Return ``pattern`` for RE2, with \\w, \\d, \\s and their opposites for all scripts, as in Python.

    It is for patterns of our own: its first use raises PatternError if RE2 does not take it (look-around,
    back references), or if it has \\b or \\B, which would know ASCII words alone, or \\W, \\D or \\S inside a
    class.
    """
    return Linear(pattern)


def _options() -> Any:
    """Return RE2's options: the bytes for an automaton, no log on stderr."""
    made = re2.Options()
    made.max_mem = _MEMORY
    made.log_errors = False
    return made


def _whole(text: str) -> str:
    """Return ``text`` with a question mark for each lone surrogate: RE2 reads UTF-8, which has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _spelled(pattern: str) -> str:
    """Return ``pattern`` with classes for all scripts."""
    spelled = []
    inside = False
    for piece in _PIECE.findall(pattern):
        if piece in (r"\b", r"\B") and not inside:
            raise PatternError(f"{piece} in {pattern!r} would know ASCII words alone: name its neighbours")
        if piece in _UNICODE:
            spelled.append(_UNICODE[piece] if inside else f"[{_UNICODE[piece]}]")
            continue
        if piece in (r"\W", r"\D", r"\S"):
            if inside:
                raise PatternError(f"{piece} inside a class of {pattern!r}: no class holds an opposite")
            spelled.append(f"[^{_UNICODE[piece.lower()]}]")
            continue
        if inside and piece.startswith("["):
            raise PatternError(rf"[ inside a class of {pattern!r}: write \[")
        inside = piece != "]" if inside else piece.startswith("[")
        spelled.append(piece)
    return "".join(spelled)
