"""Limits how long a piece of the owner's work may take, and records what is in hand.

The owner serves everybody from one thread. A timer checks the current piece four times within its limit and
ends it with an exception when it has used up its processor time, or has made no commit for a longer time.
What the piece has committed stays and the rest is gone, as if its process had been killed: so whoever ends
one drops what it may have left half done in memory and reads the disk again.

Python code and its `re` can be interrupted. A call into C finishes first, so a write to the store is never
cut in two. Off the main thread, or before `install`, nothing is limited.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, TypeVar

T = TypeVar("T")

_LOOKS: Final = 4
"""Looks at a piece within its limit of processor time."""
_WALL: Final = 6
"""How many times its processor time a piece may last by the clock: it waits for a disk, or for its turn."""
_WHOLE: Final = 30
"""And with all its commits: for an import that never ends is one too."""
_HURRY_S: Final = 1.0
"""What is left to a piece when the process is asked to leave."""


class Piece:
    """One piece of work in hand.

    Args:
        what: For people, a few words: "capture of session s-1".
        where: The folder of the store it is for, or "".
        key: Names it among all that may be tried again, or "".
    """

    __slots__ = ("_cpu", "_looks", "_whole", "began_ms", "ended", "key", "what", "where")

    def __init__(self, what: str, where: str = "", key: str = "") -> None:
        self.what = what
        self.where = where
        self.key = key
        self.began_ms = time.time_ns() // 1_000_000
        self.ended = ""
        """Why it was ended."""
        self._whole = 0
        self.restart()

    def restart(self) -> None:
        """Count its time from now on."""
        self._cpu = time.thread_time()
        self._looks = 0

    def without(self, cpu_s: float) -> None:
        """Take out what a piece inside it has used: that had a limit of its own."""
        self._cpu += cpu_s

    def look(self, limit_s: float) -> None:
        """Note that a part of its time has passed, and why it is over, if it is."""
        self._looks += 1
        self._whole += 1
        used = time.thread_time() - self._cpu
        if used >= limit_s * 0.98:
            self.ended = f"it used {limit_s:g} s of processor time and did not finish"
        elif self._looks >= _LOOKS * _WALL:
            self.ended = f"it did not finish within {limit_s * _WALL:g} s"
        elif self._whole >= _LOOKS * _WHOLE:
            self.ended = f"it lasted more than {limit_s * _WHOLE:g} s"


class TookTooLong(BaseException):  # not an Exception: no handler of ordinary errors may keep it
    """The piece of work was ended.

    Attributes:
        piece: Which; there may be one around it.
        why: In words.
        asked: The process was asked to leave: the piece itself is not to blame.
    """

    def __init__(self, piece: Piece, *, asked: bool = False) -> None:
        super().__init__(f"{piece.what} was ended: {piece.ended}")
        self.piece = piece
        self.why = piece.ended
        self.asked = asked


def _nobody(_piece: Piece | None) -> None:
    """Tell nobody."""


_limit_s = 0.0
_tell: Callable[[Piece | None], None] = _nobody
_stack: list[Piece] = []
_leave_by = 0.0
"""Monotonic time from which on no piece may go on; 0 while nobody asks the process to leave."""


def install(limit_s: float, tell: Callable[[Piece | None], None] = _nobody) -> None:
    """Limit pieces of work from now on; ``limit_s`` is in processor seconds since the last commit, 0 is none.

    Call it on the main thread. ``tell`` gets the piece that begins, and the one around it, or None, at its
    end.
    """
    global _limit_s, _tell
    _limit_s, _tell = limit_s, tell
    # Without SA_RESTART: a wait for a lock or a pipe is left for the handler to run; RocksDB tries again.
    signal.signal(signal.SIGALRM, _look)


def run(piece: Piece, work: Callable[[], T]) -> T:
    """Run ``work`` and return its result. Cost: some 3 us.

    Raises TookTooLong if ``piece`` was ended, or one around it: its ``piece`` says which.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    depth = len(_stack)
    began = time.thread_time()
    try:
        _stack.append(piece)
        _tell(piece)
        if not depth:
            _arm()
        return work()
    finally:
        try:
            _leave(depth, began)
        except TookTooLong:  # in the very last moment: it is done
            _leave(depth, began)


def turn(piece: Piece, what: str, key: str) -> None:
    """Go on with ``piece`` as another work of that name. Cost: some 2 us; a piece of its own costs more."""
    piece.what, piece.key, piece.began_ms = what, key, time.time_ns() // 1_000_000
    if threading.get_ident() == threading.main_thread().ident:
        _tell(piece)


def progress() -> None:
    """Note a commit: the piece in hand makes progress."""
    if _stack and threading.get_ident() == threading.main_thread().ident:
        _stack[-1].restart()


def doing() -> Piece | None:
    """Return the piece in hand."""
    return _stack[-1] if _stack else None


def hurry() -> None:
    """Give the piece in hand a second more: the process is asked to leave."""
    global _leave_by
    _leave_by = time.monotonic() + _HURRY_S
    if _stack:
        signal.setitimer(signal.ITIMER_REAL, _HURRY_S, _HURRY_S)


def _arm() -> None:
    if _limit_s > 0:
        signal.setitimer(signal.ITIMER_REAL, _limit_s / _LOOKS, _limit_s / _LOOKS)


def _leave(depth: int, began: float) -> None:
    """Forget the piece at ``depth``. May be called twice."""
    if len(_stack) <= depth:
        return
    global _leave_by
    del _stack[depth:]
    if depth:
        _stack[-1].without(time.thread_time() - began)
        _tell(_stack[-1])
        return
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    _leave_by = 0.0  # what comes now is the leaving
    _tell(None)


def _look(_number: int, _frame: FrameType | None) -> None:
    """End the piece in hand if it is time. It is told once in a limit, so that it can clean up."""
    if not _stack:
        return
    piece = _stack[-1]
    if piece.ended:
        piece.ended = ""  # it went on in spite of it: once more after a whole limit
        piece.restart()
        return
    asked = bool(_leave_by) and time.monotonic() >= _leave_by
    if asked:
        piece.ended = "the owner was asked to stop"
    elif _limit_s > 0:
        piece.look(_limit_s)
    if piece.ended:
        raise TookTooLong(piece, asked=asked)
