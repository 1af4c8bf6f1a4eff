"""Follows what changes, in a thread that waits until the owner says so; nothing is polled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from context_graph.errors import ContextGraphError
from context_graph.view.source import Source

_FIRST_S: Final = 0.25
_MOST_S: Final = 4.0


class Follower(threading.Thread):
    """Tells ``changed`` the parts that did, and ``lost`` that the owner is gone; both in this thread.

    Following starts no owner. Until one is there again, it looks for its socket, ever less often.
    """

    def __init__(
        self, source: Source, changed: Callable[[Sequence[str]], None], lost: Callable[[str], None]
    ) -> None:
        super().__init__(name="follow", daemon=True)
        self._source, self._changed, self._lost = source, changed, lost
        self._ended, self._wake = threading.Event(), threading.Event()

    def end(self) -> None:
        """Stop following; from any thread."""
        self._ended.set()
        self._wake.set()
        self._source.close()

    def try_now(self) -> None:
        """Look for the owner now instead of later; from any thread."""
        self._wake.set()

    def run(self) -> None:
        pause = _FIRST_S
        while not self._ended.is_set():
            reason = ""
            try:
                for parts in self._source.follow():
                    pause = _FIRST_S
                    self._changed(parts)
            except (ContextGraphError, OSError, ValueError) as error:
                reason = str(error)
            if self._ended.is_set():
                return
            self._lost(reason)
            self._wake.wait(pause)
            self._wake.clear()
            pause = min(_MOST_S, pause * 2)
