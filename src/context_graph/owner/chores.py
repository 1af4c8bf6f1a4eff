"""Work that nobody waits for, a piece at a time: limited, counted when it fails, then set aside."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from context_graph import watchdog
from context_graph.errors import (
    ContextGraphError,
    StoreBusyError,
    StoreClosedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from context_graph.owner.set_aside import SetAside
from context_graph.watchdog import Piece, TookTooLong
from context_graph.wire.work_file import Work

__all__ = ["Chores", "count_interrupted"]

T = TypeVar("T")

_CIRCUMSTANCES: Final = (
    StoreBusyError,
    StoreClosedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    OSError,
    MemoryError,
)
"""Failures that are the disk's, or another's, and say nothing of the work."""
_QUICK_MS: Final = 1000
_QUICK: Final = 0.5
"""What an owner's death counts for an event that it had only just begun: it was killed for something else."""


class Chores:
    """Of one store."""

    def __init__(self, folder: Path, log: logging.Logger) -> None:
        self._where = str(folder)
        self._log = log
        self.aside = SetAside(folder, log)

    def do(self, key: str, what: str, work: Callable[..., T], *args: Any) -> T | None:
        """What ``work(*args)`` gives; None where it failed, which is logged, or is set aside.

        Raises:
            TookTooLong: It was ended. The store's memory may be half done: drop it, and read the disk again.
        """
        if self.aside.holds(key):
            return None
        try:
            found = self.limited(key, what, work, *args)
        except _CIRCUMSTANCES as error:
            self._log.error("%s: %s", what, error)
            return None
        except Exception as error:  # a bug of ours must not keep the next piece from being done
            known = isinstance(error, ContextGraphError)
            self._log.error("%s: %s", what, error, exc_info=None if known else error)
            self.aside.failed(key, what, str(error) if known else f"{type(error).__name__}: {error}")
            return None
        self.aside.succeeded(key)
        return found

    def limited(self, key: str, what: str, work: Callable[..., T], *args: Any) -> T:
        """The same, but for the caller to judge what it raises; only being ended is counted here."""
        piece = Piece(what, self._where, key)
        try:
            return watchdog.run(piece, lambda: work(*args))
        except TookTooLong as ended:
            self._log.error("%s", ended)
            if ended.piece is piece and not ended.asked:
                self.aside.failed(key, what, ended.why)
            raise


def count_interrupted(work: Work, now_ms: int, log: logging.Logger) -> None:
    """Count what the last owner had in hand when it died as an attempt that failed."""
    folder = Path(work.where)
    if not work.key or not folder.is_absolute() or not folder.is_dir():
        return
    quick = work.key.startswith("event:") and now_ms - work.since_ms < _QUICK_MS
    log.warning("the last owner (pid %d) ended while it was at: %s", work.pid, work.what)
    SetAside(folder, log).failed(
        work.key, work.what, "the owner ended while it did this", weight=_QUICK if quick else 1.0
    )
