"""Taking in what hooks spooled while no owner answered: in order, exactly once, crash or not.

A drain renames `events.log` aside under its lock, so that hooks go on appending to a new one, and
unlinks the renamed file only after every line is durable. A crash before that leaves the file, and
the next drain applies it again from its start: the store's dedupe keys make that harmless
(invariant 6).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from context_graph.errors import (
    ContextGraphError,
    CorruptedIdentityError,
    MalformedFrameError,
    UsageError,
    WireError,
)
from context_graph.wire.lockfile import same_file
from context_graph.wire.spool import EVENTS_LOG, MAX_LINE_BYTES, SpoolRecord, decode_line

__all__ = ["REJECTED_LOG", "DrainReport", "drain", "has_pending", "pending"]

REJECTED_LOG: Final = "rejected.log"
"""Lines that could not be applied, kept as they were; nothing reads it but people and `doctor`."""

_DRAINING: Final = re.compile(r"events\.(\d+)\.draining")
_SINGLE: Final = re.compile(r"events\.[0-9a-f]{1,64}\.log")
_REJECTED_BYTES: Final = 4 * 1024 * 1024
_REASONS: Final = 5
_LOCK_WAIT_S: Final = 0.05
"""A hook holds the lock for one write; one that is stopped while it does must not stop the owner."""
_SETTLE_S: Final = 10.0
"""Age below which an empty or torn single file may still be about to be written."""


@dataclass(slots=True)
class DrainReport:
    """What one drain did.

    Attributes:
        applied: Lines that ``apply`` took, duplicates included.
        rejected: Lines now in rejected.log.
        deferred: Files left for later because a hook was at work on them.
        reasons: Why the first few lines were rejected.
    """

    applied: int = 0
    rejected: int = 0
    deferred: int = 0
    reasons: list[str] = field(default_factory=list)


def has_pending(store_dir: Path) -> bool:
    """Whether anything waits in the spool of ``store_dir``. Cost: one listing of a small folder."""
    return any(size for _, size in _files(store_dir / "spool"))


def pending(store_dir: Path) -> int:
    """Lines that wait in the spool, left-overs of an interrupted drain included. Cost: reads them."""
    count = 0
    for path, size in _files(store_dir / "spool"):
        if size:
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as source:
                count += sum(1 for _ in _lines(source))
    return count


def drain(store_dir: Path, apply: Callable[[SpoolRecord], None]) -> DrainReport:
    """Apply every waiting line, oldest file first, and remove what is done.

    ``apply`` must be durable when it returns and must tolerate a line it has seen before. It
    rejects one line for good by UsageError, WireError, CorruptedIdentityError, or an exception
    that is none of ours (a bug: the line is kept in rejected.log, it must not block the others).

    Args:
        store_dir: The store's folder; its `spool` folder need not exist.

    Raises:
        ContextGraphError, OSError: Whatever else ``apply`` or the disk raised. The line in hand and
            all after it stay and are drained next time.

    Memory: one line.
    """
    spool = store_dir / "spool"
    report = DrainReport()
    # A left-over may have had lines rejected before the crash; its rejects are looked up, not repeated.
    for path in _draining(spool):
        _apply_file(path, apply, report, repeated=True)
    for path in _appended(spool):
        _set_aside(path, report)
    for path in _draining(spool):
        _apply_file(path, apply, report, repeated=False)
    return report


def _files(spool: Path) -> Iterator[tuple[Path, int]]:
    """Every spool file with its size; links and what else bears such a name are not ours and stay."""
    with contextlib.suppress(FileNotFoundError), os.scandir(spool) as entries:
        for entry in entries:
            name = entry.name
            ours = name == EVENTS_LOG or _SINGLE.fullmatch(name) or _DRAINING.fullmatch(name)
            if ours and entry.is_file(follow_symlinks=False):
                yield spool / name, entry.stat(follow_symlinks=False).st_size


def _appended(spool: Path) -> list[Path]:
    """Files that hooks write, single ones by age, `events.log` last."""
    found = [path for path, _ in _files(spool) if not _DRAINING.fullmatch(path.name)]
    return sorted(found, key=lambda path: (path.name == EVENTS_LOG, os.lstat(path).st_mtime_ns, path.name))


def _draining(spool: Path) -> list[Path]:
    """Files set aside, in the order in which they were."""
    numbered = ((_DRAINING.fullmatch(path.name), path) for path, _ in _files(spool))
    return [path for _, path in sorted((int(match[1]), path) for match, path in numbered if match)]


def _set_aside(path: Path, report: DrainReport) -> None:
    """Rename ``path`` to the next `.draining` name once no hook is writing to it.

    A hook that opened the file before the rename and gets the lock after it sees that the name is
    gone or means another file, and opens again.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        if not _lock(handle) or not same_file(handle, path) or not _settled(handle, path):
            report.deferred += 1
            return
        spool = path.parent
        numbers = [int(match[1]) for name in os.listdir(spool) if (match := _DRAINING.fullmatch(name))]
        os.rename(path, spool / f"events.{max(numbers, default=0) + 1}.draining")
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


def _apply_file(
    path: Path, apply: Callable[[SpoolRecord], None], report: DrainReport, *, repeated: bool
) -> None:
    with open(path, "rb") as source:
        for line in _lines(source):
            try:
                if len(line) > MAX_LINE_BYTES:
                    raise MalformedFrameError(f"spool line is over {MAX_LINE_BYTES} bytes")
                apply(decode_line(line))
            except Exception as error:  # judged one by one in _is_final
                if not _is_final(error):
                    raise
                _reject(path.parent, line, repeated=repeated)
                report.rejected += 1
                if len(report.reasons) < _REASONS:
                    report.reasons.append(f"{type(error).__name__}: {error}")
            else:
                report.applied += 1
    os.unlink(path)


def _is_final(error: Exception) -> bool:
    """Whether trying the line again could never help."""
    if isinstance(error, (UsageError, WireError, CorruptedIdentityError)):
        return True
    return not isinstance(error, (ContextGraphError, OSError, MemoryError))


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines that hold something; of one above MAX_LINE_BYTES only its first part, the rest is skipped."""
    while line := source.readline(MAX_LINE_BYTES + 2):
        if not line.endswith(b"\n"):
            rest = line
            while rest and not rest.endswith(b"\n"):
                rest = source.readline(1 << 16)
        stripped = line.strip(b"\n")
        if stripped:
            yield stripped


def _reject(spool: Path, line: bytes, *, repeated: bool) -> None:
    """Keep ``line`` in rejected.log, which is rotated once so that it stays bounded."""
    path = spool / REJECTED_LOG
    entry = line[:_REJECTED_BYTES] + b"\n"
    with contextlib.suppress(FileNotFoundError):
        if repeated and _holds(path, entry):
            return
        if path.stat().st_size + len(entry) > _REJECTED_BYTES:
            os.replace(path, path.with_suffix(".log.1"))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb", buffering=0) as sink:
        if sink.write(entry) != len(entry):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))


def _holds(path: Path, entry: bytes) -> bool:
    with open(path, "rb") as source:
        return entry in source.read(_REJECTED_BYTES + 1)
