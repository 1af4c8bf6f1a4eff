"""Classifies a database's failures: the only reader of RocksDB's error texts.

RocksDict raises bare Exceptions, so the text is all there is. Each text that is matched here was seen
from rocksdict 0.3.29 and has a test with the real failure in tests/integration/store/test_engine.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from context_graph.errors import (
    DatabaseCorruptionError,
    LogReplayError,
    MissingColumnFamilyError,
    StoreClosedError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)

T = TypeVar("T")

REPAIR: Final = "context-graph-cli repair --cf session_identity"
"""The cure that the error messages name (seed 000 REQ-SESSION-12)."""


def lock_holder(path: Path) -> str | None:
    """Who holds RocksDB's lock on ``path``, as "process 123 (name)"; None if nobody, or no way to know.

    Read from /proc/locks: to open the LOCK file and close it again would drop this process's own lock.
    """
    try:
        lock = (path / "LOCK").stat()
        table = Path("/proc/locks").read_text()
    except OSError:
        return None
    device = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    for line in table.splitlines():
        words = line.split()
        if len(words) > 5 and words[1] == "POSIX" and words[5] == device:
            return _process_name(words[4])
    return None


def refuse_held(path: Path) -> None:
    """Raise StoreLockedError if a live process holds the database at ``path``."""
    holder = lock_holder(path)
    if holder is not None:
        raise StoreLockedError(_held(path, holder))


def translate(error: BaseException, path: Path) -> StoreError:
    """Return the typed error for what RocksDict raised; the only reader of RocksDB's texts."""
    text = str(error)
    if isinstance(error, StoreError):
        return error
    if type(error).__name__ == "DbClosedError" or "already closed" in text:
        return StoreClosedError(f"{path} is closed")
    for marks, make in _TEXTS:
        if any(mark in text for mark in marks):
            return make(text, path)
    return StoreError(f"{path}: {text}")


def call(path: Path, function: Callable[..., T], *args: object) -> T:
    """Call ``function(*args)``; what RocksDict raises is classified (`translate`).

    An exception keeps this frame alive, and whatever of RocksDict's is in the frame keeps the database open,
    and locked. So nothing is left in it.
    """
    try:
        return function(*args)
    except Exception as error:  # RocksDict raises bare Exceptions
        del function, args
        raise translate(error, path) from error


def _locked(text: str, path: Path) -> StoreError:
    if "current process" in text:
        holder = f"this process ({os.getpid()})"
    else:
        holder = lock_holder(path) or "another process"
    return StoreLockedError(_held(path, holder))


def _held(path: Path, holder: str) -> str:
    return f"{path} is held by {holder}; one process at a time can have it open"


def damaged_database(text: str, path: Path) -> StoreError:
    """Return the error for a database at ``path`` whose files are damaged."""
    return DatabaseCorruptionError(f"database corruption: {path}: {' '.join(text.split())}; run `{REPAIR}`")


def _unwritable(text: str, path: Path) -> StoreError:
    return StoreReadOnlyError(f"{path} can't be written ({text}){_whose(path)}")


def shut_file(file: Path, error: OSError) -> StoreError:
    """Return the error for a file of the database that this user may not read."""
    try:
        status = os.stat(file)
    except OSError:
        return StoreReadOnlyError(f"{file} can't be read: {error.strerror}")
    return StoreReadOnlyError(
        f"{file} can't be read: {error.strerror}; it belongs to user {status.st_uid} with mode "
        f"{status.st_mode & 0o7777:04o}, and this process, user {os.geteuid()}, needs to read and write it"
    )


def _whose(path: Path) -> str:
    """Return the owner and mode of the nearest folder that exists, if we can't use it."""
    folder = next((ancestor for ancestor in (path, *path.parents) if os.path.isdir(ancestor)), path)
    try:
        status = os.stat(folder)
    except OSError:
        return ""
    if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return ""
    return (
        f"; {folder} belongs to user {status.st_uid} with mode {status.st_mode & 0o7777:04o}, "
        f"and this process, user {os.geteuid()}, needs to read, write and enter it (mode 0700 of its own)"
    )


def missing_family(family: str) -> MissingColumnFamilyError:
    """Return the error for a column family that should be in the database."""
    return MissingColumnFamilyError(
        f"column family {family!r} is not in the database; run `context-graph-cli repair --cf {family}`"
    )


# Order matters: a corruption may quote a system error ("Corruption: IO error: No such file ...").
# What RocksDB's log reader reports; a table's blocks say "block checksum mismatch".
_LOG_READER: Final = (
    "Corruption: checksum mismatch",
    "missing start of fragmented record",
    "partial record without end",
    "error in middle of record",
    "bad record length",
    "error reading trailing data",
    "unknown record type",
)
_TEXTS: Final[tuple[tuple[tuple[str, ...], Callable[[str, Path], StoreError]], ...]] = (
    (("lock hold by current process", "While lock file"), _locked),
    (("Column family not found",), lambda text, _: missing_family(text.rpartition(": ")[2].strip())),
    (
        _LOG_READER,
        lambda text, path: LogReplayError(f"write-ahead log replay failed: {path}: {text}; run `{REPAIR}`"),
    ),
    (("Corruption", "CURRENT: does not exist", "block checksum mismatch", "bad block"), damaged_database),
    (
        ("No space left on device", "Disk quota exceeded"),
        lambda text, path: StoreFullError(f"no space left for {path}; free some and try again ({text})"),
    ),
    (("Read-only file system", "read only mode"), _unwritable),
    (("Permission denied", "Operation not permitted"), _unwritable),
    (("No such file or directory",), damaged_database),
)


def _process_name(pid: str) -> str:
    if pid == str(os.getpid()):
        return f"this process ({pid})"
    try:
        return f"process {pid} ({Path(f'/proc/{pid}/comm').read_text().strip()})"
    except OSError:
        return f"process {pid}"
