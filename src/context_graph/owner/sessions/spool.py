"""Takes in what hooks spooled while no owner answered: in order, exactly once, despite crashes.

A drain renames `events.log` under its lock, so that hooks continue with a new file, and deletes the renamed
file only after every line is durable. After a crash before that, the next drain applies the file again from
its start; the store's dedupe keys make that harmless (invariant 6).

A line holds one event. A record is a newline, the CRC-32 of its JSON as 8 lower-case hex digits, a space, the
JSON on one line and a newline. The newline in front ends a record that was cut short by a crash or a full
disk, so that only the torn one fails its checksum, never its successor. Twin: ext/launcher/src/spool.rs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from context_graph.errors import (
    ContextGraphError,
    CorruptedIdentityError,
    MalformedFrameError,
    UsageError,
    WireError,
)
from context_graph.wire.run_folder import same_file

SPOOL_VERSION: Final = 1
EVENTS_LOG: Final = "events.log"
"""Name of the file that hooks append to, in the store's `spool` folder."""
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""As a frame: what the socket would not carry, the spool does not either."""

_CRC_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class SpoolRecord:
    """One spooled hook call, redacted before it was written.

    Attributes:
        id: The event id the live request carried: the owner may have applied it already.
        session: $CLAUDE_CODE_SESSION_ID of the hook, or empty.
        at_ms: Unix milliseconds at which the hook started.
        params: The command's long options without dashes.
        body: The hook's stdin, a JSON object; None if there was none.
    """

    id: str
    verb: str
    session: str
    at_ms: int
    project: str
    cwd: str
    params: dict[str, object]
    body: dict[str, Any] | None


def decode_line(line: bytes) -> SpoolRecord:
    """The record of one line, its newlines optional.

    Raises MalformedFrameError if the line is torn, damaged, of another version or lacks a field.
    """
    line = line.strip(b"\n")
    if len(line) > MAX_LINE_BYTES:
        raise MalformedFrameError(f"spool line is over {MAX_LINE_BYTES} bytes")
    data = line[_CRC_DIGITS + 1 :]
    try:
        checksum = bytes.fromhex(line[:_CRC_DIGITS].decode("ascii"))
    except ValueError as error:
        raise MalformedFrameError(f"spool line begins with {line[:16]!r}, not with a checksum") from error
    if len(checksum) != 4 or line[_CRC_DIGITS : _CRC_DIGITS + 1] != b" ":
        raise MalformedFrameError(f"spool line begins with {line[:16]!r}, not with a checksum")
    if int.from_bytes(checksum, "big") != zlib.crc32(data):
        raise MalformedFrameError(f"spool line of {len(line)} bytes fails its checksum")
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise MalformedFrameError(f"spool line of {len(line)} bytes is not JSON: {error}") from error
    return _record(value)


def _record(value: object) -> SpoolRecord:
    if not isinstance(value, dict):
        raise MalformedFrameError(f"spool line holds a {type(value).__name__}, not an object")
    if value.get("v") != SPOOL_VERSION:
        raise MalformedFrameError(f"spool line is of version {value.get('v')!r}, not {SPOOL_VERSION}")
    for name, kind in _KINDS.items():
        if not isinstance(value.get(name), kind):
            raise MalformedFrameError(f"spool line: {name} is {value.get(name)!r:.80}")
    return SpoolRecord(**{name: value[name] for name in _KINDS})


_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "id": str,
    "verb": str,
    "session": str,
    "at_ms": int,
    "project": str,
    "cwd": str,
    "params": dict,
    "body": (dict, type(None)),
}


REJECTED_LOG: Final = "rejected.log"
"""Lines that could not be applied, kept as they were; nothing reads it but people and `doctor`."""

ASIDE_LOG: Final = "aside.log"
"""Lines that are set aside, kept as they were until `put_back`: all of them, however large."""
_ASIDE_LOGS: Final = ("aside.log.1", ASIDE_LOG)
"""The first is an earlier version's, which kept only a part."""

_DRAINING: Final = re.compile(r"events\.(\d++)\.draining")
_SINGLE: Final = re.compile(r"events\.[0-9a-f]{1,64}\.log")
_REJECTED_BYTES: Final = 4 * 1024 * 1024
_REASONS: Final = 5
_LOCK_WAIT_S: Final = 0.05
"""A hook holds the lock for one write; one that is stopped while it does must not stop the owner."""
_SETTLE_S: Final = 10.0
"""Age below which an empty or torn single file may still be about to be written."""


class LineSetAsideError(Exception):
    """Raised by ``apply`` for a line that has failed often enough."""


@dataclass(slots=True)
class DrainReport:
    """The result of one drain.

    Attributes:
        applied: Lines that ``apply`` took, duplicates included.
        rejected: Lines now in rejected.log.
        aside: Lines now in aside.log.
        deferred: Files left for later because a hook was at work on them.
        shut: Files that this user may not read, and why.
        reasons: Why the first few lines were rejected.
    """

    applied: int = 0
    rejected: int = 0
    aside: int = 0
    deferred: int = 0
    shut: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def has_pending(store_dir: Path) -> bool:
    """Whether anything waits in the spool of ``store_dir``. Cost: one listing of a small folder."""
    return any(size for _, size in _files(store_dir / "spool"))


def pending(store_dir: Path) -> int:
    """Lines that wait in the spool, left-overs of an interrupted drain included. Cost: reads them."""
    count = 0
    for path, size in _files(store_dir / "spool"):
        if size:
            with contextlib.suppress(FileNotFoundError, PermissionError), open(path, "rb") as source:
                count += sum(1 for _ in _lines(source))
    return count


def shut(store_dir: Path) -> list[str]:
    """Spool files that this user may not read, each with its owner: a hook that ran as root left them."""
    found = []
    try:
        _names(store_dir / "spool")
    except PermissionError as error:
        return [_shut(store_dir / "spool", error)]
    for path, _ in _files(store_dir / "spool"):
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK))
        except PermissionError as error:
            found.append(_shut(path, error))
        except OSError:
            pass  # drained away meanwhile
    return found


def put_back(store_dir: Path) -> bool:
    """Move the lines that are set aside back to be drained; whether there were any."""
    spool, found = store_dir / "spool", False
    for name in _ASIDE_LOGS:
        with contextlib.suppress(FileNotFoundError):
            os.rename(spool / name, _next_draining(spool))
            found = True
    return found


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def drain(store_dir: Path, apply: Callable[[SpoolRecord], None]) -> DrainReport:
    """Apply every waiting line, oldest file first, and remove what is done.

    ``apply`` must be durable when it returns and must tolerate a line it has seen before. It
    rejects one line for good by UsageError, WireError or CorruptedIdentityError. An exception that
    is none of ours is a bug: if other lines go through it is that line's and the line is rejected;
    if none does it is ours, and nothing is thrown away.

    Args:
        store_dir: The store's folder; its `spool` folder need not exist.

    Raises:
        ContextGraphError, OSError: Whatever else ``apply`` or the disk raised. The line in hand and
            all after it stay and are drained next time.
        Exception: A bug that met every line; all lines stay.

    Memory: one line.
    """
    spool = store_dir / "spool"
    run = _Drain(apply)
    # A left-over may have had lines rejected before the crash; its rejects are looked up, not repeated.
    for path in _draining(spool):
        run.take(path, repeated=True)
    for path in _appended(spool):
        _set_aside(path, run.report)
    for path in _draining(spool):
        if not run.holds(path) and not any(text.startswith(f"{path} ") for text in run.report.shut):
            run.take(path, repeated=False)
    run.settle()
    return run.report


@dataclass(frozen=True, slots=True)
class _Held:
    """A line that met a bug, by its place: it is read again once its fate is known."""

    path: Path
    at: int
    repeated: bool


class _Drain:
    """One run over the spool's files."""

    def __init__(self, apply: Callable[[SpoolRecord], None]) -> None:
        self.report = DrainReport()
        self._apply = apply
        self._held: list[_Held] = []
        self._bug: Exception | None = None

    def take(self, path: Path, *, repeated: bool) -> None:
        """Apply each line of ``path``; unlink it unless some are held."""
        before = len(self._held)
        try:
            source = open(path, "rb")  # noqa: SIM115  # closed below
        except PermissionError as error:
            self.report.shut.append(_shut(path, error))
            return
        with source:
            for at, line in _lines(source):
                try:
                    self._apply(decode_line(line))
                except LineSetAsideError:
                    _keep_whole(path.parent / ASIDE_LOG, line, repeated=repeated)
                    self.report.aside += 1
                except Exception as error:  # told apart by what it says about the line
                    if isinstance(error, (UsageError, WireError, CorruptedIdentityError)):
                        self._reject(path, line, error, repeated=repeated)
                    elif isinstance(error, (ContextGraphError, OSError, MemoryError)):
                        raise
                    else:
                        self._bug = self._bug or error
                        self._held.append(_Held(path, at, repeated))
                else:
                    self.report.applied += 1
        if len(self._held) == before:
            os.unlink(path)

    def holds(self, path: Path) -> bool:
        """Whether lines of ``path`` are held, so that it is still there, and done with for now."""
        return any(held.path == path for held in self._held)

    def settle(self) -> None:
        """Reject the lines that met a bug which others did not meet; else raise it and leave all as it is."""
        if self._bug is None:
            return
        if not self.report.applied:
            raise self._bug
        for held in self._held:
            with open(held.path, "rb") as source:
                source.seek(held.at)
                line = next(line for _, line in _lines(source))
            self._reject(held.path, line, self._bug, repeated=held.repeated)
        for path in {held.path for held in self._held}:
            os.unlink(path)

    def _reject(self, path: Path, line: bytes, error: Exception, *, repeated: bool) -> None:
        _keep(path.parent / REJECTED_LOG, line, repeated=repeated)
        self.report.rejected += 1
        if len(self.report.reasons) < _REASONS:
            self.report.reasons.append(f"{type(error).__name__}: {error}")


def _files(spool: Path) -> Iterator[tuple[Path, int]]:
    """Every spool file with its size; links and other things of that name are not ours and stay."""
    with contextlib.suppress(FileNotFoundError, PermissionError), os.scandir(spool) as entries:
        for entry in entries:
            name = entry.name
            ours = name == EVENTS_LOG or _SINGLE.fullmatch(name) or _DRAINING.fullmatch(name)
            if ours and entry.is_file(follow_symlinks=False):
                yield spool / name, entry.stat(follow_symlinks=False).st_size


def _shut(path: Path, error: OSError) -> str:
    whose = ""
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        whose = f"; it belongs to user {found.st_uid} with mode {found.st_mode & 0o7777:04o}"
    return f"{path} can't be read: {error.strerror}{whose}; make user {os.geteuid()} its owner"


def _appended(spool: Path) -> list[Path]:
    found = [path for path, _ in _files(spool) if not _DRAINING.fullmatch(path.name)]
    return sorted(found, key=lambda path: (path.name == EVENTS_LOG, os.lstat(path).st_mtime_ns, path.name))


def _draining(spool: Path) -> list[Path]:
    numbered = ((_DRAINING.fullmatch(path.name), path) for path, _ in _files(spool))
    return [path for _, path in sorted((int(match[1]), path) for match, path in numbered if match)]


def _next_draining(spool: Path) -> Path:
    numbers = [int(match[1]) for name in _names(spool) if (match := _DRAINING.fullmatch(name))]
    return spool / f"events.{max(numbers, default=0) + 1}.draining"


def _set_aside(path: Path, report: DrainReport) -> None:
    """Rename ``path`` to the next `.draining` name once no hook is writing to it.

    A hook that opened the file before the rename and gets the lock after it sees that the name is
    gone or means another file, and opens again.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    except PermissionError as error:
        report.shut.append(_shut(path, error))
        return
    try:
        if not _lock(handle) or not same_file(handle, path) or not _settled(handle, path):
            report.deferred += 1
            return
        os.rename(path, _next_draining(path.parent))
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    end = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.002)


def _settled(handle: int, path: Path) -> bool:
    """Whether nobody can still be about to write to this file without the lock.

    Writers of `events.log` take the lock and look again. A single file has one writer that may be
    between open and write: it is taken once it ends in a newline, or is old.
    """
    if path.name == EVENTS_LOG:
        return True
    found = os.fstat(handle)
    if found.st_size > 1 and os.pread(handle, 1, found.st_size - 1) == b"\n":
        return True
    return time.time() - found.st_mtime > _SETTLE_S


def _lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Offset and text of each line that holds something.

    Of a line above MAX_LINE_BYTES only its first part comes, too long still; the rest is skipped.
    """
    while True:
        at = source.tell()
        line = source.readline(MAX_LINE_BYTES + 2)
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = source.readline(1 << 16)
        if not line:
            return
        stripped = line.strip(b"\n")
        if stripped:
            yield at, stripped


def _keep_whole(path: Path, line: bytes, *, repeated: bool) -> None:
    """Keep a line that is to be applied later. Memory: two lines."""
    if repeated:
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as source:
            if any(kept == line for _, kept in _lines(source)):
                return
    _append(path, line + b"\n")


def _keep(path: Path, line: bytes, *, repeated: bool) -> None:
    """Keep a line that is rejected for good: of many the last ones, of a long one its start."""
    entry = line[:_REJECTED_BYTES] + b"\n"
    with contextlib.suppress(FileNotFoundError):
        if repeated and _holds(path, entry):
            return
        if path.stat().st_size + len(entry) > _REJECTED_BYTES:
            os.replace(path, path.with_suffix(".log.1"))
    _append(path, entry)


def _append(path: Path, entry: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb", buffering=0) as sink:
        size = os.fstat(handle).st_size
        if sink.write(entry) != len(entry):
            os.ftruncate(handle, size)  # half a line would take the next one with it
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))


def _holds(path: Path, entry: bytes) -> bool:
    with open(path, "rb") as source:
        return entry in source.read(_REJECTED_BYTES + 1)
