"""One call's turn at a store's memory: its lock, its time, and what a failure leaves to be done."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from context_graph.errors import UNREADABLE_RECORD, StoreBusyError, StoreClosedError, StoreError
from context_graph.memory.metrics import Timings

__all__ = ["Turn", "Turns"]

_HARMLESS = (*UNREADABLE_RECORD, StoreBusyError, StoreClosedError)
"""Failures after which the database goes on as before."""


class Held(Protocol):
    """What a lock protects."""

    def begin(self, *, writes: bool) -> None:
        """Called with the lock held, at the start of each turn; what it raises ends the turn."""


T = TypeVar("T", bound=Held)


class Turns(Generic[T]):
    """Hands out turns at ``held``, one thread at a time; a thread may take one inside another."""

    def __init__(self, held: T, timeout_s: float, timings: Timings) -> None:
        self.held = held
        self.timings = timings
        self.suspect = False
        """A write failed: RocksDB may refuse every further one until it is opened again."""
        self._lock = threading.RLock()
        self._timeout_s = timeout_s

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


class Turn(Generic[T]):
    """A lock that is held, and a time that runs. Cost: 2 us."""

    __slots__ = ("_began", "_operation", "_turns", "_writes")

    def __init__(self, turns: Turns[T], operation: str, *, writes: bool) -> None:
        self._turns = turns
        self._operation = operation
        self._writes = writes

    def __enter__(self) -> T:
        turns = self._turns
        self._began = time.perf_counter()
        turns.acquire(self._operation)
        try:
            turns.held.begin(writes=self._writes)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return turns.held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        turns = self._turns
        turns.timings.note(self._operation, time.perf_counter() - self._began, failed=error is not None)
        if self._writes and isinstance(error, StoreError) and not isinstance(error, _HARMLESS):
            turns.suspect = True
        turns.release()
