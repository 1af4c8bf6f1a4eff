"""Reads, caches, replaces and locks small files: no reader sees half of one, and nobody waits for long.

What others may have put there is read without waiting: a pipe or a device is refused.
"""

from __future__ import annotations

import _thread
import contextlib
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO

Signature = list[int]
"""mtime_ns, ctime_ns, size, inode: equal signatures mean an unchanged file. A list, as JSON has it."""

LOCK_WAIT_S = 2.0
"""Longest wait for a lock: writes take milliseconds, so who waits longer waits for a process that hangs."""

_FRESH_NS = 20_000_000
"""A file changed less than this ago may change again within one tick of the file system's clock."""

_counter = 0


def signature(path: str) -> Signature | None:
    """Return ``path``'s signature, links followed; None if there is nothing (or nothing we may look at)."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino]


def is_settled(sign: Signature | None) -> bool:
    """Return whether an equal signature later proves equal content: not if the file was written just now."""
    return sign is None or abs(time.time_ns() - sign[1]) > _FRESH_NS


def read_json(path: str, limit: int) -> Any:
    """Return the JSON value in ``path``; None where none can be read."""
    try:
        return from_json(read_bytes(path, limit))
    except (OSError, ValueError, RecursionError):
        return None


def read_object(path: str, limit: int) -> dict[str, Any]:
    """Return the JSON object in ``path``; an empty one where it holds none."""
    value = read_json(path, limit)
    return value if isinstance(value, dict) else {}


def number(value: object) -> float:
    """Return ``value`` if it is a number of a sane size; 0 for anything else that a damaged file may hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1e15 < value < 1e15:
        return 0.0
    return value


def from_json(text: str | bytes) -> Any:
    """Return the value of ``text``, UTF-8 if it is bytes.

    Raises ValueError if it is no JSON (NaN and Infinity are none either) or not UTF-8, RecursionError if it
    is nested too deeply.
    """
    text = text.decode("utf-8") if isinstance(text, bytes) else text
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def write_json(path: str, value: object, *, sync: bool = True) -> None:
    """Replace ``path`` by ``value`` as one line of ASCII JSON. Raises as `write_atomic`, and TypeError or
    ValueError if ``value`` holds what JSON has not.
    """
    write_atomic(path, json.dumps(value, allow_nan=False).encode(), sync=sync)


def write_atomic(path: str, data: bytes, *, sync: bool = True) -> None:
    """Replace ``path`` by ``data`` (mode 0600): unique temporary file, fsync (if ``sync``), rename. Where the
    disk refuses, the old file stands and no temporary file is left: OSError.
    """
    global _counter
    _counter += 1
    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/.{name[:80]}.{os.getpid()}.{_counter}.{os.urandom(4).hex()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            if sync:
                os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def append_line(path: str, line: bytes, *, limit: int) -> None:
    """Append ``line`` with its newline in one write; past ``limit`` bytes the file becomes ``path``.1 first.

    So a journal never has more than twice the limit. One write of O_APPEND is not interleaved with others.
    """
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        status = os.fstat(handle)
        if status.st_size > limit:
            if os.stat(path).st_ino == status.st_ino:  # else another process has just set it aside
                os.rename(path, path + ".1")
            os.close(handle)
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(handle, line + b"\n")
    finally:
        os.close(handle)


class LockTimeoutError(OSError):
    """Another process held the lock longer than we may wait."""


class Locked:
    """``with Locked(path):`` holds the flock of the sidecar file ``path``, made if missing.

    Waits in the kernel's queue, in a thread of its own: sixty pollers would take the processor from the one
    that holds the lock, and an alarm signal would not do in a process of many threads.

    Raises on entering:
        LockTimeoutError: After ``wait_s`` seconds.
        OSError: If the file can't be made.
    """

    __slots__ = ("_handle", "_path", "_wait_s")

    def __init__(self, path: str, wait_s: float = LOCK_WAIT_S) -> None:
        self._path, self._wait_s, self._handle = path, wait_s, -1

    def __enter__(self) -> Locked:
        until = time.monotonic() + self._wait_s
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            if not _take(handle, until):
                raise LockTimeoutError(f"{self._path} was held by others for {self._wait_s:g} s; try again")
            if _is_still(handle, self._path):
                self._handle = handle
                return self
            os.close(handle)  # pruned meanwhile: a lock on a vanished file excludes nobody

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)


def _take(handle: int, until: float) -> bool:
    """Lock ``handle``, or close it (at once or later) and return False."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        pass
    except BaseException:
        os.close(handle)
        raise
    taken, ended = _thread.allocate_lock(), _thread.allocate_lock()
    ended.acquire()
    failure: list[OSError] = []

    def wait() -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            failure.append(error)
        ended.release()
        if not taken.acquire(blocking=False):
            os.close(handle)  # nobody waits any more; closing frees the lock

    _thread.start_new_thread(wait, ())
    # Whoever comes first to `taken` owns the handle from there on.
    in_time = ended.acquire(timeout=max(0.0, until - time.monotonic()))
    if not in_time and taken.acquire(blocking=False):
        return False
    if failure:
        os.close(handle)
        raise failure[0]
    return True


def _is_still(handle: int, path: str) -> bool:
    here = os.fstat(handle)
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def real_path(path: str, cwd: str = "") -> str:
    """Return ``path``, given in ``cwd``, with ``~`` and links resolved; empty for what can be no path."""
    try:
        return os.path.realpath(os.path.join(cwd, os.path.expanduser(path))) if path else ""
    except (OSError, ValueError):
        return ""


def read_bytes(path: str, limit: int, *, follow: bool = True) -> bytes:
    """Return the whole file. Raises as `open_regular`, and ValueError for more than ``limit`` bytes."""
    with open_regular(path, follow=follow) as source:
        data = source.read(limit + 1)  # a file may grow, and its size may be told wrongly
    if len(data) > limit:
        raise ValueError(f"{path} has more than {limit} bytes; that is the limit")
    return data


def open_regular(path: str, *, follow: bool = True) -> BinaryIO:
    """Return the file, open for reading; the path itself may be a link only with ``follow``.

    Raises OSError if it can't be opened or read, ValueError if it is no regular file: a pipe would block.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f"{path} is no regular file")
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o600, is_durable: bool = False) -> Iterator[IO[bytes]]:
    """A file to write into, which takes ``path``'s place at the end of the block; after an error it is gone.

    A link stays a link: what it leads to is replaced. With ``is_durable`` the text is on the disk before. The
    folder must be there. OSError: it can't be written; what was there is as it was.
    """
    from tempfile import (
        mkstemp,  # it loads random and hashlib: a command's start that writes nothing does without
    )

    path = Path(os.path.realpath(path))
    handle, draft = mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            if is_durable:
                os.fsync(out.fileno())
        os.chmod(draft, mode)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
