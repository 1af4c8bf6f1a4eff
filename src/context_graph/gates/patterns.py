"""Searches untrusted patterns within a time limit.

A backtracking engine takes ages for some patterns on some texts, and the owner serves everybody from one
thread. RE2 would not, but these patterns are Python's and may have lookarounds and back references.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from types import FrameType

IGNORE_CASE = int(re.IGNORECASE)

SEARCH_S = 0.1
"""Processor seconds for one search; honest patterns take some microseconds."""


class _TooLongError(Exception):
    """The search was ended."""


_began = -1.0
"""Thread time at which the running search began; negative when none runs."""


def matches(pattern: str, text: str, flags: int = 0) -> bool:
    """Return whether ``pattern`` is found in ``text``; also True when that can't be said within ``SEARCH_S``.

    What can't be judged counts as found: else a long enough command would walk past the gate. Off the main
    thread, as in a library, there is no limit.
    """
    global _began
    compiled = re.compile(pattern, flags)
    if threading.current_thread() is not threading.main_thread():
        return compiled.search(text) is not None
    if signal.getsignal(signal.SIGVTALRM) is not _expired:
        signal.signal(signal.SIGVTALRM, _expired)
    _began = time.thread_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, SEARCH_S, SEARCH_S)
        return compiled.search(text) is not None
    except _TooLongError:
        return True
    finally:
        _began = -1.0
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)


def _expired(_number: int, _frame: FrameType | None) -> None:
    # The timer counts all threads of the process: only this one's own time ends the search.
    if 0.0 <= _began <= time.thread_time() - SEARCH_S * 0.9:
        raise _TooLongError
