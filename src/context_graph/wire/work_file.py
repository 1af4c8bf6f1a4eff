"""Publishes what the owner is doing, in a file that can be read while it is stopped, busy or dead.

`run/owner.work` in the data root: a u32 LE length and that many bytes of JSON, in a file of fixed size that
the owner has mapped, so that a change costs it no system call and survives its being killed. While it is
written the length is 0.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BYTES: Final = 4096
_LENGTH: Final = struct.Struct("<I")
_TEXT_CHARS: Final = 200
_WHERE_CHARS: Final = 600
_TRIES: Final = 5
_STATES: Final = {
    "T": "stopped (SIGSTOP or a debugger); SIGCONT lets it go on",
    "t": "stopped by a debugger",
    "D": "waiting for a disk that does not answer",
    "Z": "dead, and its parent has not noticed",
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
    """The file of the owner of ``root``."""
    return root / "run" / "owner.work"


class WorkFile:
    """The owner's end. If the disk can't hold the file, only readers of it lose something."""

    def __init__(self, root: Path) -> None:
        self._pid = os.getpid()
        self._map: mmap.mmap | None = None
        with contextlib.suppress(OSError, ValueError):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            handle = os.open(work_path(root), flags, 0o600)
            try:
                os.posix_fallocate(handle, 0, _BYTES)  # a full disk says so here, not by a signal at a write
                self._map = mmap.mmap(handle, _BYTES)
            finally:
                os.close(handle)

    def write(self, what: str = "", where: str = "", key: str = "", since_ms: int = 0) -> None:
        """Write what is being done now; without arguments, nothing. Cost: some 2 us."""
        found = self._map
        if found is None:
            return
        said = {
            "pid": self._pid,
            "what": what[:_TEXT_CHARS],
            "where": where[:_WHERE_CHARS],
            "key": key[:_TEXT_CHARS],
            "since_ms": since_ms or time.time_ns() // 1_000_000,
        }
        data = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")
        found[: _LENGTH.size] = _LENGTH.pack(0)
        found[_LENGTH.size : _LENGTH.size + len(data)] = data
        found[: _LENGTH.size] = _LENGTH.pack(len(data))


def read_work(root: Path) -> Work | None:
    """What the last owner of ``root`` said; None if nobody did, or it can't be read."""
    for _ in range(_TRIES):
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


def process_state(pid: int) -> str:
    """The kernel's view of a process, in words; "" if it runs, or nothing is known of it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    return _STATES.get(stat.rpartition(b") ")[2][:1].decode("ascii", "replace"), "")
