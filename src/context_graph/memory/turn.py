"""One call's turn at a store's memory: its lock, its time, and what a failure leaves to be done."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from context_graph.errors import (
    CorruptedMemoryError,
    MemoryFormatError,
    ReadFailedError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
)
from context_graph.memory.metrics import Timings

__all__ = ["Turn", "Turns"]

_HARMLESS = (CorruptedMemoryError, MemoryFormatError, ReadFailedError, StoreBusyError, StoreClosedError)
"""Failures after which the database goes on as before."""


class Turns:
    """Hands out turns, one thread at a time; a thread may take one inside another."""

    def __init__(self, timeout_s: float, timings: Timings) -> None:
        self.timings = timings
        self.suspect = False
        """A write failed: RocksDB may refuse every further one until it is opened again."""
        self._lock = threading.RLock()
        self._timeout_s = timeout_s

    def take(self, operation: str) -> Turn:
        """A turn to be used in a with statement."""
        return Turn(self, operation)

    def acquire(self, operation: str) -> None:
        """Wait for the lock.

        Raises:
            StoreBusyError: It was not free in time (ERR-CORE-009).
        """
        if not self._lock.acquire(timeout=self._timeout_s):
            raise StoreBusyError(
                f"{operation} waited {self._timeout_s:g} s for another use of this store's memory; "
                "try again, or let fewer callers write at once"
            )

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()


class Turn:
    """A lock that is held, and a time that runs."""

    __slots__ = ("_began", "_operation", "_turns")

    def __init__(self, turns: Turns, operation: str) -> None:
        self._turns = turns
        self._operation = operation
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter()
        self._turns.acquire(self._operation)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        turns = self._turns
        turns.timings.note(self._operation, time.perf_counter() - self._began, failed=error is not None)
        if isinstance(error, StoreError) and not isinstance(error, _HARMLESS):
            turns.suspect = True
        turns.release()
