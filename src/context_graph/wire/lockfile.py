"""Takes the start lock: one flock decides who may start, and be, the owner of a data root.

The lock belongs to the open file description, so a starter hands it to the owner it starts with the
descriptor itself, and the kernel frees it when the last holder dies, however it dies. The file is
never unlinked: a second file of the same name would be a second lock. Twin: ext/launcher/src/programs.rs.
"""

from __future__ import annotations

import errno
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TEXT_BYTES: Final = 512
_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Holder:
    """The text of the lock file: informative only, the flock itself counts."""

    pid: int
    version: str
    fingerprint: str


def take(path: Path) -> int | None:
    """The locked descriptor of ``path`` (created if missing, close-on-exec), or None if it is held.

    Raises:
        OSError: If the file can't be opened or created.
    """
    for _ in range(_TRIES):
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


def is_held(path: Path) -> bool:
    """Whether some process holds the lock at this instant.

    Raises:
        OSError: If the file exists but can't be opened.
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


def holding_pid(path: Path) -> int:
    """The process that took the lock, as the kernel lists it; 0 if that can't be told."""
    try:
        found = os.stat(path)
        with open("/proc/locks", encoding="ascii", errors="replace") as table:
            rows = [line.split() for line in table]
    except OSError:
        return 0
    inode = f":{found.st_ino}"
    for words in rows:
        if len(words) > 5 and words[1] == "FLOCK" and words[3] == "WRITE" and words[5].endswith(inode):
            return int(words[4]) if words[4].isdigit() else 0
    return 0


def has_open(pid: int, path: Path) -> bool:
    """Whether process ``pid`` has the file open: pids wrap, and a lock file may name one of old."""
    try:
        wanted = os.stat(path)
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    for name in names:
        try:
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/{name}"), wanted):
                return True
        except OSError:
            pass  # closed meanwhile, or nothing that can be looked at
    return False


def same_file(handle: int, path: Path) -> bool:
    """Whether ``path`` still names the file that ``handle`` is open on."""
    try:
        here, there = os.fstat(handle), os.lstat(path)
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def write_holder(handle: int, holder: Holder) -> None:
    """Write the holder into the locked file.

    Raises:
        OSError: If the disk refuses; the lock holds all the same.
    """
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{holder.pid} {holder.version} {holder.fingerprint}\n".encode(), 0)


def read_holder(path: Path) -> Holder | None:
    """The holder that the file names, or None if it names none (a starter that has not yet become one)."""
    try:
        with open(path, "rb") as source:
            words = source.read(_TEXT_BYTES).decode("ascii", "replace").split()
    except OSError:
        return None
    if len(words) != 3 or not words[0].isdigit():
        return None
    return Holder(int(words[0]), words[1], words[2])
