"""Spools a hook's event when no owner answers. Twin of ext/launcher/src/spool.rs; owner.sessions.spool reads
it.

A record is a newline, the CRC-32 of its JSON as 8 hex digits, a space, the JSON on one line and a newline.
The newline in front ends a record that a crash or a full disk has cut short, so that only the torn one is
lost. The format is on disk: never change a byte of it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
import zlib

from context_graph.system.streams import Deadline, above_standard, make_private

_SPOOL_MAX = 64 * 1024 * 1024
"""At which size the spool takes no more: with an owner that never starts it must not fill the disk."""
_LOCK_MS = 50
"""How long to wait for other writers and for the owner's rename."""
_REOPENINGS = 8
"""How often the path may turn out to be another file than the one opened (the owner renames it to drain it).
How often the path may turn out to be another file than the one opened (the owner renames it to drain it)."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


class SpoolError(Exception):
    """What happened and the cure, for the user."""


def frame(data: bytes) -> bytes:
    """The bytes of one record."""
    return b"\n%08x %b\n" % (zlib.crc32(data), data)


def append(store: str, event_id: str, record: bytes) -> None:
    """Append ``record`` to the store's spool, whole or not at all.

    If the common file stays locked for 50 ms, the record gets a file of its own.

    Raises:
        SpoolError: It could not be written.
    """
    folder = f"{store}/spool"
    common = f"{folder}/events.log"
    deadline = Deadline(_LOCK_MS)
    for _ in range(_REOPENINGS):
        try:
            handle = _open_below(common)
        except PermissionError:
            break  # another user's, such as one that root's hook has left: no reason to lose this event
        except OSError as error:
            raise _failed("the spool can't be opened", error) from error
        try:
            if not _lock(handle, deadline):
                break
            # Else drained away between open and lock: what we hold would never be read.
            if _is_same(handle, common):
                _write_whole(handle, record)
                return
        finally:
            os.close(handle)
    _append_alone(f"{folder}/events.{event_id}.log", record)


def _append_alone(path: str, record: bytes) -> None:
    try:
        handle = _open_below(path)
    except OSError as error:
        raise _failed("the spool can't be opened", error) from error
    try:
        # The owner takes these files too, so the lock is needed here as well; nobody else waits for it.
        if not _lock(handle, Deadline(_LOCK_MS)):
            raise SpoolError("the spool is locked by another process")
        _write_whole(handle, record)
    finally:
        os.close(handle)


def _failed(what: str, error: OSError) -> SpoolError:
    return SpoolError(f"{what}: {error.strerror}")


def _open_below(path: str) -> int:
    """Open ``path`` in a folder that may have to be made first, for its owner alone."""
    try:
        return above_standard(os.open(path, _FLAGS, 0o600))
    except FileNotFoundError:
        make_private(os.path.dirname(path))
        return above_standard(os.open(path, _FLAGS, 0o600))


def _lock(handle: int, deadline: Deadline) -> bool:
    """Wait for the lock until ``deadline``; False if others keep it."""
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR):
                raise _failed("the spool can't be locked", error) from error
        if deadline.left_ms() == 0:
            return False
        time.sleep(0.001)


def _is_same(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _write_whole(handle: int, record: bytes) -> None:
    """One write under the lock; a part of it (a full disk) is taken back."""
    size = os.fstat(handle).st_size
    if size + len(record) > _SPOOL_MAX:
        raise SpoolError(
            "the spool has reached 64 MiB; see why the owner does not start (context-graph-cli owner start)"
        )
    view = memoryview(record)
    try:
        while view:
            view = view[os.write(handle, view) :]
    except OSError as error:
        try:
            os.ftruncate(handle, size)
        except OSError:
            pass  # the next record's leading newline isolates the torn one
        raise _failed("the spool can't be written", error) from error
