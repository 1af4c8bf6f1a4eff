"""Runs background tasks one by one: limited in time, retried, and set aside when they keep failing.

What is set aside is recorded in a small file beside the database, so that it can be written and read whatever
state the database is in. If the owner crashes during an attempt, the next owner counts that attempt from what
`wire.run_folder` says was in hand; if it is killed, an event is not to blame.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from context_graph.errors import (
    ContextGraphError,
    StoreBusyError,
    StoreClosedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from context_graph.system import watchdog
from context_graph.system.watchdog import Piece, TookTooLong
from context_graph.wire.run_folder import Work

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
_LONG_MS: Final = 10_000


class Chores:
    """The background work of one store."""

    def __init__(self, folder: Path, log: logging.Logger) -> None:
        self._where = str(folder)
        self._log = log
        self.aside = SetAside(folder, log)

    def do(self, key: str, what: str, work: Callable[..., T], *args: Any) -> T | None:
        """Return the result of ``work(*args)``; None if it failed, which is logged, or is set aside.

        TookTooLong: it was ended. The store's memory may be half done: drop it, and read the disk again.
        """
        if self.aside.holds(key):
            return None
        try:
            result = self.limited(key, what, work, *args)
        except _CIRCUMSTANCES as error:
            self._log.error("%s: %s", what, error)
            return None
        except Exception as error:  # our own bug must not keep the next task from being done
            known = isinstance(error, ContextGraphError)
            self._log.error("%s: %s", what, error, exc_info=None if known else error)
            self.aside.failed(key, what, str(error) if known else f"{type(error).__name__}: {error}")
            return None
        self.aside.succeeded(key)
        return result

    def limited(self, key: str, what: str, work: Callable[..., T], *args: Any) -> T:
        """As `do`, but errors are raised to the caller; only being ended is counted here."""
        piece = Piece(what, self._where, key)
        try:
            return watchdog.run(piece, lambda: work(*args))
        except TookTooLong as ended:
            self._log.error("%s", ended)
            if ended.piece is piece and not ended.asked:
                self.aside.failed(key, what, ended.why)
            raise


def count_interrupted(work: Work, now_ms: int, log: logging.Logger, *, crashed: bool) -> None:
    """Count the work that the last owner had in hand when it died as a failed attempt.

    An event is not to blame if the owner was killed, unless it had been at it for long.
    """
    if work.key.startswith("event:") and not crashed and now_ms - work.since_ms < _LONG_MS:
        return
    folder = Path(work.where)
    if not work.key or not folder.is_absolute() or not folder.is_dir():
        return
    how = "crashed" if crashed else "ended"
    log.warning("the last owner (pid %d) %s during this work: %s", work.pid, how, work.what)
    SetAside(folder, log).failed(work.key, work.what, f"the owner {how} while doing this")


NAME: Final = "set_aside.json"
TRIES: Final = 2.0
"""Failed attempts after which there is no other."""
_ROWS: Final = 512
_WEEK_MS: Final = 7 * 86_400_000
"""A single failure of so long ago means nothing any more."""
_TEXT_CHARS: Final = 300


class SetAside:
    """The set-aside work of one store. An unreadable file counts as empty; if it can't be written the list
    is kept in memory, so at worst something is tried once more.
    """

    def __init__(self, folder: Path, log: logging.Logger) -> None:
        self._path = folder / NAME
        self._log = log
        self._rows: dict[str, dict[str, Any]] = {}
        try:
            document = orjson.loads(self._path.read_bytes())
            for row in document["items"]:
                self._rows[str(row["key"])] = {**row, "failures": float(row["failures"])}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s: not read: %s", self._path, error)

    def holds(self, key: str) -> bool:
        """Return whether the work with that key is set aside."""
        row = self._rows.get(key)
        return row is not None and row["failures"] >= TRIES

    def failed(self, key: str, what: str, why: str, *, weight: float = 1.0) -> bool:
        """Count a failed attempt at ``what``, in words; whether it is set aside now.

        ``weight`` is less than 1 where it may not have been the work's own fault.
        """
        now_ms = time.time_ns() // 1_000_000
        row = self._rows.pop(key, {"key": key, "failures": 0.0})
        row.update(what=what[:_TEXT_CHARS], why=why[:_TEXT_CHARS], at_ms=now_ms)
        row["failures"] += weight
        self._rows[key] = row
        self._forget_old(now_ms)
        self._write()
        if self.holds(key):
            self._log.error("set aside: %s: %s (`context-graph-cli owner retry` tries it again)", what, why)
        return self.holds(key)

    def succeeded(self, key: str) -> None:
        """Note that the work of that key is done. Cost: a look-up, unless it had failed before."""
        if self._rows.pop(key, None) is not None:
            self._write()

    def rows(self) -> list[dict[str, Any]]:
        """Return the set-aside work: key, what, why, failures and at_ms of the last failure."""
        return [dict(row) for key, row in self._rows.items() if self.holds(key)]

    def release(self) -> list[dict[str, Any]]:
        """Let everything be tried again; returns what was set aside."""
        released = self.rows()
        if self._rows:
            self._rows.clear()
            self._write()
        return released

    def _forget_old(self, now_ms: int) -> None:
        for key in [known for known, row in self._rows.items() if not self.holds(known)]:
            if now_ms - int(self._rows[key].get("at_ms", 0)) > _WEEK_MS:
                del self._rows[key]
        while len(self._rows) > _ROWS:
            del self._rows[next(iter(self._rows))]

    def _write(self) -> None:
        draft = self._path.with_suffix(".new")
        try:
            draft.write_bytes(orjson.dumps({"items": list(self._rows.values())}))
            os.replace(draft, self._path)
        except OSError as error:
            self._log.warning("%s: not written: %s", self._path, error)
