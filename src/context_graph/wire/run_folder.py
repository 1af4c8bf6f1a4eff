"""Reads and writes the files of a data root's `run` folder: the start lock, the current work, notes of hooks.

`owner.lock`: one flock decides who may start, and be, the owner. The lock belongs to the open file
description, so a starter hands it over with the descriptor; the kernel frees it when its last holder dies.
The file is never unlinked: a second file of the same name would be a second lock. Twin: programs.rs.

`owner.work`: what the owner is doing, readable while it is stopped, busy or dead. A u32 LE length and so many
bytes of JSON. The owner has mapped the file, so a change costs no system call and survives its being killed;
while it is written the length is 0.

`owner.crash`: what Python's faulthandler writes as the owner crashes; empty if it did not, or if something
else ended it.

`told-owner-…`, `told-store-…`: hooks note which sessions' users were told of trouble. Twin: trouble.rs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import mmap
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from context_graph.system import processes

_TEXT_BYTES: Final = 512
_LOCK_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Holder:
    """The text of the lock file: informative only, the flock itself counts."""

    pid: int
    version: str


def take_lock(path: Path) -> int | None:
    """Return the locked descriptor of ``path`` (created if missing, close-on-exec), or None if it is held.

    Raises OSError if the file can't be opened or created.
    """
    for _ in range(_LOCK_TRIES):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        if same_file(handle, path):
            return handle
        # The file was replaced between open and flock; a lock on the old one excludes nobody.
        os.close(handle)
    return None


def is_locked(path: Path) -> bool:
    """Return whether some process holds the lock at this instant.

    Raises OSError if the file exists but can't be opened.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False  # nobody can have taken a lock there
        raise
    try:
        # Shared, so that two who only look never take each other for an owner.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def has_open(pid: int, path: Path) -> bool:
    """Return whether process ``pid`` is the owner that has the file open: ids wrap."""
    return processes.has_open(pid, os.fspath(path), "owner")


def same_file(handle: int, path: Path) -> bool:
    """Return whether ``path`` still names the file that ``handle`` is open on."""
    try:
        here, there = os.fstat(handle), os.lstat(path)
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def write_holder(handle: int, holder: Holder) -> None:
    """Write the holder into the locked file.

    Raises OSError if the disk refuses; the lock holds all the same.
    """
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{holder.pid} {holder.version}\n".encode(), 0)


def read_holder(path: Path) -> Holder | None:
    """Return the holder that the file names; None for none (a starter that has not become one)."""
    try:
        with open(path, "rb") as source:
            words = source.read(_TEXT_BYTES).decode("ascii", "replace").split()
    except OSError:
        return None
    if len(words) < 2 or not words[0].isdigit():
        return None
    return Holder(int(words[0]), words[1])


# owner.work

_BYTES: Final = 4096
_LENGTH: Final = struct.Struct("<I")
_TEXT_CHARS: Final = 200
_WHERE_CHARS: Final = 600
_READ_TRIES: Final = 5
_STATES: Final = {
    "T": "stopped (SIGSTOP or a debugger); SIGCONT resumes it",
    "t": "stopped by a debugger",
    "D": "waiting for a disk that does not answer",
    "Z": "dead, but its parent has not collected it yet",
}


@dataclass(frozen=True, slots=True)
class Work:
    """The owner's current work, as of the last time it began or ended something.

    Attributes:
        pid: The owner's.
        what: In words; "" when it waits for requests.
        where: The folder of the store that it is for, or "".
        key: Names the piece of work among those that can be set aside, or "".
        since_ms: Unix milliseconds.
    """

    pid: int
    what: str = ""
    where: str = ""
    key: str = ""
    since_ms: int = 0


def work_path(root: Path) -> Path:
    """Return the file of the owner of ``root``."""
    return root / "run" / "owner.work"


class WorkFile:
    """The owner's end. If the disk can't hold the file, only readers of it lose something."""

    def __init__(self, root: Path) -> None:
        from orjson import dumps  # not at the top: hooks and commands read this file, and need none of it

        self._dumps = dumps
        self._pid = os.getpid()
        self._map: mmap.mmap | None = None
        with contextlib.suppress(OSError, ValueError):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            handle = os.open(work_path(root), flags, 0o600)
            try:
                processes.allocate(handle, _BYTES)
                self._map = mmap.mmap(handle, _BYTES)
            finally:
                os.close(handle)

    def write(self, what: str = "", where: str = "", key: str = "", since_ms: int = 0) -> None:
        """Write what is being done now; without arguments, nothing. Cost: some 2 us, six times a request."""
        page = self._map
        if page is None:
            return
        record = {
            "pid": self._pid,
            "what": what[:_TEXT_CHARS],
            "where": where[:_WHERE_CHARS],
            "key": key[:_TEXT_CHARS],
            "since_ms": since_ms or time.time_ns() // 1_000_000,
        }
        try:
            data = self._dumps(record)
        except TypeError:  # a folder whose name is no UTF-8
            data = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
        page[: _LENGTH.size] = _LENGTH.pack(0)
        page[_LENGTH.size : _LENGTH.size + len(data)] = data
        page[: _LENGTH.size] = _LENGTH.pack(len(data))


def read_work(root: Path) -> Work | None:
    """Return the work that the last owner of ``root`` named; None if there is none, or it can't be read."""
    for _ in range(_READ_TRIES):
        try:
            data = work_path(root).read_bytes()
            (length,) = _LENGTH.unpack_from(data)
            if length:
                return Work(**json.loads(data[_LENGTH.size : _LENGTH.size + length]))
        except OSError:
            return None
        except (ValueError, TypeError, struct.error):
            pass  # it is being written
        time.sleep(0.001)
    return None


def begin_crash_note(root: Path) -> bool:
    """Return whether the last owner of ``root`` crashed. From now on a crash of this process is noted.

    SIGKILL, a power failure and the kernel's lack of memory leave no note: the work in hand is not to blame.
    """
    import faulthandler  # an owner's alone

    try:
        handle = os.open(
            root / "run" / "owner.crash", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        crashed = os.fstat(handle).st_size > 0
        os.ftruncate(handle, 0)
    except OSError:
        return False
    faulthandler.enable(handle, all_threads=False)  # keeps the descriptor for the process's life
    return crashed


def process_state(pid: int) -> str:
    """Return the kernel's view of a process, in words; "" if it runs, or nothing is known of it."""
    return _STATES.get(processes.state(pid), "")


# Notes of hooks

_WEEK_S: Final = 7 * 86_400


def forget_troubles(root: Path) -> None:
    """Remove the notes about a failed start and old marks: an owner has started."""
    with contextlib.suppress(OSError), os.scandir(root / "run") as entries:
        for entry in entries:
            old = entry.name.startswith("told-store-") and entry.stat().st_mtime < time.time() - _WEEK_S
            if old or entry.name.startswith("told-owner-"):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
