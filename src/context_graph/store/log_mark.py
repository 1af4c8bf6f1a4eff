"""Writes that a write-ahead log should hold, known from outside of it.

RocksDB takes a log that is missing or cut for one that ends there: after a kill the store opens, smaller,
without a word. (Its options against that cover synced logs alone, and RocksDict does not have them.) So the
numbers of the last write and of the logs stand in a small file beside them, written after each write without
a sync: it outlives the process as the log does. What is missing when the database is opened next is noted in
another file; the store goes on with what is there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from struct import Struct, error
from typing import Any, Final, NamedTuple

from context_graph.errors import StoreError
from context_graph.store import seal

__all__ = ["LOSSES_KEPT", "Evidence", "LogMark", "losses", "note_losses", "tell_losses"]

MARK: Final = "log.mark"
LOSSES: Final = "lost.json"
LOSSES_KEPT: Final = 20
LOOK_EVERY: Final = 256
"""Writes from one look at which logs there are to the next."""
_MAGIC: Final = b"CGLM\x01\0\0\0"
_FORM: Final = Struct("<8s3Q16Q")
"""Magic; last write; last write when it was opened, all of which are in tables; logs; their numbers."""
_LAST: Final = Struct("<Q")
_LAST_AT: Final = len(_MAGIC)
_LOGS: Final = 16
_FULL, _FIRST = 1, 2
"""Kinds of log records that begin a batch: its number (u64), its length in writes (u32), and the writes."""
_BATCH: Final = Struct("<QI")
_RECORD: Final = 7
_MIN_LOG: Final = 10
_PLAIN_TAGS: Final = frozenset({2, 3, 4, 9, 203, _MIN_LOG})
"""Of a MANIFEST's record: those with one number, which stand before all others but the comparator."""


class LogMark:
    """The mark of a database that is open for writing."""

    def __init__(self, folder: Path, sequence: int) -> None:
        """Begin it anew: all writes up to ``sequence`` are there."""
        self._folder = folder
        self._handle: int | None = None
        self._begun = sequence
        self._writes = 0
        with suppress(OSError):  # a full disk: then a loss may go unnoticed, and nothing else
            self._handle = os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.look(sequence)

    def note(self, sequence: int) -> None:
        """The last write that is in the log by now. Cost: 1 us."""
        if self._handle is None:
            return
        self._writes += 1
        if self._writes % LOOK_EVERY == 0:
            self.look(sequence)
            return
        with suppress(OSError):
            os.pwrite(self._handle, _LAST.pack(sequence), _LAST_AT)

    def close(self) -> None:
        """Let go of the file, which stays."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def look(self, sequence: int) -> None:
        """As `note`, with the logs that there are by now. Cost: a listing of the folder."""
        with suppress(OSError, StoreError):
            self._write(sequence, _numbers(self._folder)[:_LOGS])

    def finish(self, sequence: int) -> None:
        """All writes are in tables by now: no log is needed any more."""
        with suppress(OSError):
            self._write(sequence, [])

    def _write(self, sequence: int, logs: list[int]) -> None:
        if self._handle is not None:
            padded = [*logs, *([0] * (_LOGS - len(logs)))]
            os.pwrite(self._handle, _FORM.pack(_MAGIC, sequence, self._begun, len(logs), *padded), 0)


class Evidence(NamedTuple):
    """What the mark and the logs say before the database is opened, which replays and removes the logs."""

    sequence: int
    """The last write there was; 0 where nothing is known."""
    found: list[str]
    """What is wrong with the logs."""

    @classmethod
    def of(cls, folder: Path) -> Evidence:
        """Read it. Cost: one pass over the headers of the logs, which are empty after a clean close."""
        try:
            magic, sequence, begun, count, *numbers = _FORM.unpack((folder / MARK).read_bytes())
        except (OSError, error):  # none yet, or cut: no evidence
            return cls(0, [])
        if magic != _MAGIC:
            return cls(0, [])
        needed = [one for one in numbers[: min(count, _LOGS)] if one >= _oldest_kept(folder)]
        spans = {int(file.stem): _span(file) for file in seal.log_files(folder) if file.stem.isdigit()}
        begins = min((span[0] for span in spans.values() if span), default=0)
        found = [f"the log {one:06d}.log is gone" for one in needed if one not in spans]
        if not found and begins > begun + 1 and any(spans[one] is None for one in needed):
            found.append(f"up to {begins - begun - 1} writes before the first in a log are gone")
        found += _gaps(spans)
        return cls(sequence if sequence >= begun else 0, found)

    def losses(self, sequence: int) -> list[str]:
        """What is lost of a database whose last write is ``sequence`` now that it is open."""
        lost = self.sequence - sequence
        end = [f"the last {lost} writes to its log are lost: the log was cut or removed"] if lost > 0 else []
        return [*self.found, *end]


def losses(folder: Path) -> list[dict[str, Any]]:
    """What was lost of the database in ``folder`` and when that was noticed, the newest last."""
    try:
        found = json.loads((folder / LOSSES).read_text())
    except (OSError, ValueError):
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def note_losses(folder: Path, found: list[str]) -> None:
    """Keep what was lost, to be told; of many the newest. Best effort on a full disk."""
    at_ms = time.time_ns() // 1_000_000
    kept = [*losses(folder), *({"at_ms": at_ms, "what": one, "told": False} for one in found)]
    _write(folder, kept[-LOSSES_KEPT:])


def tell_losses(folder: Path) -> list[str]:
    """What was lost and nobody was told of yet; it counts as told from now on."""
    kept = losses(folder)
    untold = [str(one.get("what")) for one in kept if not one.get("told")]
    if untold:
        _write(folder, [{**one, "told": True} for one in kept])
    return untold


def _write(folder: Path, kept: list[dict[str, Any]]) -> None:
    with suppress(OSError):
        draft = folder / (LOSSES + ".new")
        draft.write_text(json.dumps(kept))
        draft.replace(folder / LOSSES)


def _numbers(folder: Path) -> list[int]:
    """Of the logs there are, ascending."""
    return sorted(int(file.stem) for file in seal.log_files(folder) if file.stem.isdigit())


def _gaps(spans: Mapping[int, tuple[int, int] | None]) -> Iterator[str]:
    """Where a log does not go on at the write after the end of the one before it."""
    end = before = 0
    for number in sorted(spans):
        span = spans[number]
        if span is None:
            continue
        if end and span[0] > end:
            yield f"{span[0] - end} writes between the logs {before:06d}.log and {number:06d}.log are gone"
        end, before = span[1], number


def _span(file: Path) -> tuple[int, int] | None:
    """Number of the first write in a log, and of the first after it; None for one without any."""
    content = file.read_bytes()
    first = end = 0
    for at, kind in seal.frames(content):
        if kind in (_FULL, _FIRST) and at + _RECORD + _BATCH.size <= len(content):
            number, count = _BATCH.unpack_from(content, at + _RECORD)
            first, end = first or number, max(end, number + count)
    return (first, end) if end else None


def _oldest_kept(folder: Path) -> int:
    """The oldest log that RocksDB still needs, as the MANIFEST says it."""
    oldest = 0
    with suppress(OSError, IndexError, StoreError):
        content = seal.current_manifest(folder).read_bytes()
        for at, kind in seal.frames(content):
            if kind in (_FULL, _FIRST):
                oldest = max(oldest, _min_log(content, at + _RECORD))
    return oldest


def _min_log(content: bytes, at: int) -> int:
    """The oldest log to be kept that one record of a MANIFEST names, 0 for none. Raises IndexError."""
    while True:
        tag, at = _varint(content, at)
        if tag == 1:
            size, at = _varint(content, at)
            at += size
            continue
        if tag not in _PLAIN_TAGS:
            return 0
        value, at = _varint(content, at)
        if tag == _MIN_LOG:
            return value


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            return value, at
        shift += 7
