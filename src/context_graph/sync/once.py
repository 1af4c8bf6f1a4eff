"""One exchange of a store at a time, and what the last one with each place came to.

Two at once would tell different lines under one number. What is noted is for people: `sync`, `doctor` and the
view show it, nothing goes by it.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from context_graph.errors import ContextGraphError, StoreBusyError
from context_graph.sync.hearing import Report
from context_graph.sync.run import exchange
from context_graph.sync.side import Side
from context_graph.sync.transport import Transport
from context_graph.system.small_files import replacing

_LOCK: Final = "sync.lock"
_NOTES: Final = "sync.json"
_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.02
_MAX_WHY: Final = 500
_KEPT: Final = 5
"""Refusals that are noted of an exchange."""


class Last(msgspec.Struct):
    """The last exchanges with one place. Times are Unix milliseconds, 0 for never."""

    where: str
    """A folder's path, or a hub's team and project."""
    tried_ms: int = 0
    done_ms: int = 0
    """Of the last one that was not cut off."""
    told_ms: int = 0
    """Of the last that told something; `heard_ms` of the last that heard something."""
    heard_ms: int = 0
    told: int = 0
    """Lines, of all exchanges together."""
    heard: int = 0
    refused_count: int = 0
    refused: list[tuple[str, str]] = []
    """The last ones: where, and why."""
    refused_ms: int = 0
    ahead: list[str] = []
    """Machines whose clocks are ahead of ours."""
    failed: str = ""
    """Why the last one was cut off; empty if it was not."""


def exchange_once(store: Path, where: str, side: Side, transport: Transport) -> Report:
    """Exchange with a place, and note what came of it.

    Raises:
        StoreBusyError: Another exchange of this store is running.
        ContextGraphError: As `run.exchange`; it is noted.
    """
    with alone(store):
        began_ms = time.time_ns() // 1_000_000
        try:
            report = exchange(side, transport)
        except ContextGraphError as error:
            note_failure(store, transport.name, where, str(error), began_ms)
            raise
        _note(store, transport.name, where, report, began_ms)
        return report


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Wait a little for the exchange that runs by itself, which mostly takes a moment.

    Raises StoreBusyError: Another exchange of this store goes on running.
    """
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    end = time.monotonic() + _WAIT_S
    with open(store / _LOCK, "ab") as lock:
        while not _took(lock.fileno()):
            if time.monotonic() > end:
                raise StoreBusyError("another `sync` of this project is running; try again when it is done")
            time.sleep(_LOOK_S)
        yield


def _took(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def last_exchanges(store: Path) -> dict[str, Last]:
    """By the place's name; nothing if none was made, or the note can't be read."""
    try:
        return msgspec.json.decode((store / _NOTES).read_bytes(), type=dict[str, Last])
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return {}


def note_failure(store: Path, name: str, where: str, why: str, began_ms: int) -> None:
    """Note that a place could not be reached."""
    notes = last_exchanges(store)
    last = notes.setdefault(name, Last(where))
    last.where, last.tried_ms, last.failed = where, began_ms, why[:_MAX_WHY]
    _write(store, notes)


def _note(store: Path, name: str, where: str, report: Report, began_ms: int) -> None:
    notes = last_exchanges(store)
    last = notes.setdefault(name, Last(where))
    last.where, last.tried_ms, last.failed, last.ahead = where, began_ms, "", report.ahead
    last.done_ms = time.time_ns() // 1_000_000
    if report.told:
        last.told_ms, last.told = last.done_ms, last.told + report.told
    if report.heard:
        last.heard_ms, last.heard = last.done_ms, last.heard + report.heard
    if report.refused_count:
        last.refused_count += report.refused_count
        last.refused_ms = last.done_ms
        last.refused = [(refusal.where, refusal.why) for refusal in report.refused[:_KEPT]]
    _write(store, notes)


def _write(store: Path, notes: dict[str, Last]) -> None:
    try:
        with replacing(store / _NOTES) as out:
            out.write(msgspec.json.encode(notes))
    except OSError:
        pass  # a full disk must not undo an exchange that went through
