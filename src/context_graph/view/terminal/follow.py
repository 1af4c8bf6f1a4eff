"""Follows what changes, in a thread that waits until the owner says so; nothing is polled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from context_graph.errors import ContextGraphError
from context_graph.view.source import Source

_FIRST_S: Final = 0.25
_MOST_S: Final = 8.0


class Follower(threading.Thread):
    """Tells ``changed`` the parts that did, ``lost`` that the owner is gone, ``found`` that it is back.

    All three are called in this thread.
    """

    def __init__(
        self,
        source: Source,
        changed: Callable[[Sequence[str]], None],
        lost: Callable[[str], None],
        found: Callable[[], None],
    ) -> None:
        super().__init__(name="follow", daemon=True)
        self._source, self._changed, self._lost, self._found = source, changed, lost, found
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
        while not self._ended.is_set():
            said = ""
            try:
                for parts in self._source.follow():
                    self._changed(parts)
            except (ContextGraphError, OSError, ValueError) as error:
                said = str(error)
            if self._ended.is_set():
                return
            self._lost(said)
            if self._is_back():
                self._found()

    def _is_back(self) -> bool:
        """Wait until the owner answers, ever longer between tries; False if this is to end."""
        pause = _FIRST_S
        while not self._ended.is_set():
            self._wake.wait(pause)
            self._wake.clear()
            if self._ended.is_set():
                return False
            try:
                self._source.health()
            except (ContextGraphError, OSError, ValueError):
                pause = min(_MOST_S, pause * 2)
            else:
                return True
        return False
