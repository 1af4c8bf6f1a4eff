"""Texts that are hard for patterns and loops over text, and how fast the time they take grows."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

__all__ = ["Text", "hard_texts", "why_not_linear"]

Text = Callable[[int], str]
"""A text of about so many characters."""

_SMALL: Final = 500
_LARGE: Final = 4_000
_HUGE: Final = 32_000
_STEPS: Final = ((_SMALL, _LARGE), (_LARGE, _HUGE))
_STEEP: Final = 2.5
"""How many times more than in proportion the time may grow: what is quadratic grows 8 and 10 times more."""
_SOON_S: Final = 0.008
"""What takes less than this at _LARGE is not quadratic: the cheapest step takes a nanosecond."""
_LIMIT_S: Final = 10.0
"""Processor seconds after which a run is ended: what is exponential never ends."""
_WORDS: Final = 6
_PIECES: Final = (
    *("a", "A", "1", " ", "\n", "\t", "-", "_", ".", ":", "/", "\\", "'", '"', "`", "=", "(", "<", "["),
    *("{", ",", ";", "$", "#", "*", ">", "~", "|", "&", "…", "’", "é", "中", "。", "\u2003", "\U0001f600"),
    *("\x1b[", "ab ", "Ab ", "a-", "a.", "-1", "a'", "' ", '" ', "```", ") ", ". ", "x=1 ", "a: ", "n't"),
    *("aA", "\r\n", " \n", "://", "a/", "1.", "中 ", "a,", "${", '\\"', "a\\", "an't ", "ab\n", "- a\n"),
    *(". A", "=\\", "//", "\u0316\u0301", "A is B. "),
)
_ENDS: Final = (("", "!"), ('git commit -m "Fix. The ', '"'))
_FILLERS: Final = (" ", "a", "1", "\n", "ab ")


def hard_texts(pattern: str = "") -> Iterator[Text]:
    """Repeated pieces, near misses, long words, nested quotes, spaces, lines, and what ``pattern`` names."""
    for piece in _PIECES:
        yield _repeated("", piece, "")
        yield _repeated("", piece, "!")
    for head, tail in _ENDS:
        yield from (_repeated(head, piece, tail) for piece in ("and ", "and", "a ", "A ", " ", "a-a ", "'"))
    for word in islice(dict.fromkeys(re.findall(r"[^\W\d_]{2,}|[^\w\s]{2,}", pattern)), _WORDS):
        for filler in _FILLERS:
            yield _repeated(word, filler, "")
            yield _repeated("", word + filler, "")


def _repeated(head: str, piece: str, tail: str) -> Text:
    def text(size: int) -> str:
        return head + piece * (max(1, size - len(head) - len(tail)) // len(piece)) + tail

    return text


class _TooLongError(Exception):
    """The run was ended."""


def why_not_linear(run: Callable[[str], Any], texts: Iterable[Text]) -> str:
    """Which text takes more than its share of time when it grows; "" when none does.

    All are tried at 40 and 4,000 characters; what seems steep at 32,000 too, for a rule may hold from a size
    on; the dearest one at 10 to 100,000.
    """
    worst, dearest = 0.0, _repeated("", "a", "")
    for text in texts:
        try:
            _seconds(run, text(40))
            seconds = _seconds(run, text(_LARGE))
            steep = seconds > _SOON_S and all(_is_steep(run, text, *sizes) for sizes in _STEPS)
        except _TooLongError:
            steep = True
        if steep:
            return f"{text(40)!r} takes far more time than in proportion to its length"
        if seconds > worst:
            worst, dearest = seconds, text
    try:
        seconds = [_seconds(run, dearest(size)) for size in (10, 100, 1000, 10_000, 100_000)][-1]
        steep = seconds > _SOON_S and _is_steep(run, dearest, 10_000, 100_000)
    except _TooLongError:
        steep = True
    return f"{dearest(40)!r} of 100,000 characters takes far more time than of 10,000" if steep else ""


def _is_steep(run: Callable[[str], Any], text: Text, less: int, more: int) -> bool:
    """Whether the time grows faster than the text, each time: other processes run too."""
    allowed = _STEEP * more / less
    return all(_seconds(run, text(more)) > allowed * _seconds(run, text(less)) for _ in range(5))


def _seconds(run: Callable[[str], Any], text: str) -> float:
    with _within():
        began = time.thread_time()
        run(text)
        return time.thread_time() - began


@contextmanager
def _within() -> Iterator[None]:
    """Ends what takes longer than _LIMIT_S; `re` looks for signals as it goes."""

    def late(_number: int, _frame: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
