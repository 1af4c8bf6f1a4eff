"""Reads a store's event log from a position on, and keeps what can't be applied.

A segment is read to its end, closed (its write permission goes), read to the end that it then has, removed.
Whoever writes to it after that writes once more elsewhere, so nothing is lost; twice under one id is the same
event. The position is the database's: it is stored with what the events up to it did.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from context_graph.errors import MalformedFrameError
from context_graph.wire.store_folder import FOLDER, POWER, fresh_name, is_open, segments

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""As a frame: what the socket would not carry, the log does not either."""
REJECTED_LOG: Final = "rejected.log"
"""Lines that could not be applied, kept as they were; nothing reads it but people and `doctor`."""
ASIDE_LOG: Final = "aside.log"
"""Lines that are set aside, kept as they were until `put_back`: all of them, however large."""
_READ_BYTES: Final = 256 * 1024
_REJECTED_BYTES: Final = 4 * 1024 * 1024
_HEAD: Final = len(b"E1 00000000 00000000 ")
_ID_CHARS: Final = 32


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One logged hook call, redacted before it was written.

    Attributes:
        id: The event id the live request carried: the owner may have applied it already.
        session: $CLAUDE_CODE_SESSION_ID of the hook, or empty.
        at_ms: Unix milliseconds at which the hook started.
        params: The command's long options without dashes.
        body: The hook's stdin, a JSON object; None if there was none.
        parent: The process that started the hook's, 0 if unknown.
        branch: The branch at that moment, where a session is summarised after the event; None where it is not
            told.
        account: $CLAUDE_CONFIG_DIR of a prompt's client; None for the usual folder.
    """

    id: str
    verb: str
    session: str
    at_ms: int
    project: str
    cwd: str
    params: dict[str, object]
    body: dict[str, Any] | None
    parent: int = 0
    branch: str | None = None
    account: str | None = None


def decode_line(line: bytes) -> LoggedEvent:
    """Return the event of one line, its newlines optional.

    Raises MalformedFrameError if the line is torn, damaged, of another version or lacks a field.
    """
    line = line.strip(b"\n")
    text = line[_HEAD:]
    if len(line) > MAX_LINE_BYTES:
        raise MalformedFrameError(f"a line of the log is over {MAX_LINE_BYTES} bytes")
    if line[:_HEAD] != b"E1 %08x %08x " % (zlib.crc32(text), len(text)):
        raise MalformedFrameError(
            f"a line of {len(line)} bytes begins with {line[:_HEAD]!r}, which does not fit it"
        )
    try:
        event_id, value = text[:_ID_CHARS].decode("ascii"), _json(text[_ID_CHARS + 1 :])
        whole = {**value, "id": event_id} if isinstance(value, dict) else value
        return msgspec.convert(whole, LoggedEvent)
    except (ValueError, RecursionError) as error:  # a ValidationError is a ValueError
        raise MalformedFrameError(f"a line of {len(line)} bytes has no id or no event: {error}") from error


def _json(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:  # a lone surrogate is a byte of a path that is no UTF-8
        return json.loads(data)


class Position(NamedTuple):
    """All before ``offset`` of ``segment`` is read; all other segments are not."""

    segment: str = ""
    offset: int = 0


START: Final = Position()


class LogReader:
    """Reads the lines of one store's log. The caller stores `position`, and calls `advance` at None."""

    def __init__(self, store_dir: Path, position: Position = START) -> None:
        self.position = position
        self._store = store_dir
        self._folder = store_dir / FOLDER
        self._handle = -1
        self._end: int | None = None
        """Of a segment that is closed."""
        self._lines: deque[tuple[bytes, int]] = deque()
        self._locked: list[str] = []
        self._broken: dict[str, str] = {}

    @property
    def shut(self) -> list[str]:
        """The segments that can't be read, and why; they stay, and the others are read."""
        return [*self._locked, *self._broken.values()]

    def next_line(self) -> bytes | None:
        """Return the next line, with `position` behind it; None at the end of this segment so far."""
        try:
            while not self._lines:
                if self._handle < 0 or not self._fill():
                    return None
        except OSError as error:
            self._leave_out(error)
            return None
        line, end = self._lines.popleft()
        self.position = Position(self.position.segment, end)
        return line

    def advance(self) -> bool:
        """At the end of what there was: close the segment or, if it is, go on; False if none is left.

        What was read must be durable.
        """
        if self._handle >= 0 and self._end is None:
            try:
                os.fchmod(self._handle, 0o400)
                # A write that began before is in this size; one that begins now is made once more elsewhere.
                self._end = os.fstat(self._handle).st_size
                return True
            except OSError as error:
                self._leave_out(error)
        elif self._handle >= 0:
            os.unlink(self._folder / self.position.segment)
            self.close()
        return self._open_next()

    def close(self) -> None:
        """Let go of the segment. Safe to call twice."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self._end = -1, None
        self._lines.clear()

    def _leave_out(self, error: OSError) -> None:
        """Leave the segment where it is; what it holds is read when the store is opened again."""
        name = self.position.segment
        self._broken[name] = why_shut(self._folder / name, error)
        self.close()

    def _open_next(self) -> bool:
        try:
            names, self._locked = segments(self._store), []
        except OSError as error:
            self._locked = [why_shut(self._folder, error)]
            return False
        for name in sorted(names, key=lambda name: (name != self.position.segment, name)):
            if name in self._broken:
                continue
            path = self._folder / name
            try:
                self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError as error:
                self._locked.append(why_shut(path, error))
                continue
            if name != self.position.segment:
                self.position = Position(name)
            if not is_open(self._handle):
                self._end = os.fstat(self._handle).st_size
            return True
        return False

    def _fill(self) -> bool:
        """Read on; whether there was more."""
        at, wanted = self.position.offset, _READ_BYTES
        left = None if self._end is None else max(0, self._end - at)
        while True:
            limit = wanted if left is None else min(wanted, left)
            data = os.pread(self._handle, limit, at)
            whole = data.rfind(b"\n") + 1
            if whole or not data or len(data) > MAX_LINE_BYTES or len(data) == left:
                break
            if len(data) < limit:
                return False  # it is being written
            wanted *= 4
        if not data:
            return False
        part = data[: whole or len(data)]  # without an end it is torn
        for line in part.split(b"\n"):
            at += len(line) + 1
            if line:
                self._lines.append((line, min(at, self.position.offset + len(part))))
        if not self._lines:
            self.position = Position(self.position.segment, self.position.offset + len(part))
        return True


def why_shut(path: Path, error: OSError) -> str:
    """Return a sentence about a file that can't be read: a hook that ran as root may have left it."""
    whose = ""
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        whose = f"; it belongs to user {status.st_uid} with mode {status.st_mode & 0o7777:04o}"
    return f"{path} can't be read: {error.strerror}{whose}; make user {os.geteuid()} its owner"


# What can't be applied


def keep_rejected(store_dir: Path, line: bytes, *, repeated: bool) -> None:
    """Keep a line that is rejected for good: of many the last ones, of a long one its start. ``repeated``: by
    a reader that ended before its position was stored, it may have been kept already.
    """
    path, entry = store_dir / FOLDER / REJECTED_LOG, line[:_REJECTED_BYTES] + b"\n"
    with contextlib.suppress(FileNotFoundError):
        if repeated and entry in path.read_bytes():
            return
        if path.stat().st_size + len(entry) > _REJECTED_BYTES:
            os.replace(path, path.with_suffix(".log.1"))
    _append(path, entry)


def keep_aside(store_dir: Path, line: bytes) -> None:
    """Keep a line that is to be applied later. Memory: two lines."""
    path = store_dir / FOLDER / ASIDE_LOG
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as source:
        if any(kept.strip(b"\n") == line for kept in source):
            return
    _append(path, b"\n" + line + b"\n")


def put_back(store_dir: Path) -> bool:
    """Have the lines that are set aside read again; whether there were any."""
    path = store_dir / FOLDER / ASIDE_LOG
    try:
        os.rename(path, path.with_name(fresh_name()))
    except FileNotFoundError:
        return False
    return True


def _append(path: Path, entry: bytes) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb", buffering=0) as sink:
        size = os.fstat(handle).st_size
        if sink.write(entry) != len(entry):
            os.ftruncate(handle, size)  # half a line would take the next one with it
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))


# From outside


def has_waiting(store_dir: Path) -> bool:
    """Return whether there is anything to read. Cost: one listing of a small folder."""
    try:
        return bool(segments(store_dir))
    except OSError:  # whoever reads finds out and says so
        return True


def count_waiting(store_dir: Path, position: Position = START) -> int:
    """Events that wait behind ``position``. Cost: reads them, some 20 ms for 64 MiB."""
    count = 0
    with contextlib.suppress(OSError):
        for name in segments(store_dir):
            with contextlib.suppress(OSError), open(store_dir / FOLDER / name, "rb") as source:
                source.seek(position.offset if name == position.segment else 0)
                count += source.read().count(b"\nE1 ")
    return count


def mark_power(store_dir: Path, *, power: bool) -> None:
    """Tell hooks whether each event must survive a power failure.

    Raises OSError if it is so and can't be recorded.
    """
    path = store_dir / FOLDER / POWER
    if power:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(0o600)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
