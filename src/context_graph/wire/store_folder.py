"""Writes the files of a store's folder that hooks share: its event log, what the next session is told.

Hooks append to the event log (docs/dev/formats.md; twin: ext/launcher/src/log.rs), the folder `events` of
segments. A record is one write to the end of the newest one, without a lock: a newline, `E1`, CRC-32 and
length in hex, the event id, the JSON, a newline. The newline in front ends a record that was cut short, so
that only the torn one is lost. The owner takes away a segment's write permission before it reads its end and
removes it; whoever sees that after a write writes once more.

`start.txt` has what the start of the next session is told, for a hook that finds no owner (twin: prepared.rs;
tests/integration/owner/test_prepared_start.py has one read the other): a heading with the checksum of all
behind it; what the text rests on, a line each; an empty line; the text. Only a store that is closed in order
has one; whoever opens it takes it away, for it may become untrue.
"""

from __future__ import annotations

import binascii
import contextlib
import errno
import os
import re
import stat
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from context_graph.system.small_files import read_bytes

FOLDER: Final = "events"
POWER: Final = "power"
"""A file in the log's folder: each event must survive a power failure."""
SEGMENT_BYTES: Final = 4 * 1024 * 1024
"""Size from which on a segment takes no more."""
SEGMENTS: Final = 16
"""With so many of them the log takes no more: an owner that never starts must not let it fill the disk."""
_TRIES: Final = 8
_SEGMENT: Final = re.compile(r"\d{1,20}-[0-9a-f]{1,16}\.log")


def frame(event_id: str, data: bytes) -> bytes:
    """Return the record of an event, which has an id of 32 hex digits, and as JSON no newline."""
    text = b"%b %b" % (event_id.encode(), data)
    return b"\nE1 %08x %08x %b\n" % (binascii.crc32(text), len(text), text)


def segments(store_dir: str | Path) -> list[str]:
    """Return the names of the segments, oldest first; links and other things of such a name are not ours.

    Raises OSError if the folder is there and can't be read. Cost: one listing of a small folder.
    """
    try:
        with os.scandir(os.path.join(store_dir, FOLDER)) as entries:
            return sorted(
                entry.name
                for entry in entries
                if _SEGMENT.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            )
    except FileNotFoundError:
        return []


def append(store_dir: str | Path, record: bytes) -> None:
    """Append ``record``, which `frame` made. Raises OSError if it can't be kept whole."""
    folder = os.path.join(store_dir, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for tries_left in reversed(range(_TRIES)):
        names = segments(store_dir)
        handle = _newest(folder, names)
        if handle is None and len(names) >= SEGMENTS:
            raise OSError(errno.EFBIG, "the event log has reached 64 MiB", folder)
        fresh = fresh_name(names[-1] if names else "") if handle is None else ""
        if handle is None:
            handle = _open(os.path.join(folder, fresh), os.O_CREAT)
        try:
            if fresh and tries_left and segments(store_dir)[-1:] != [fresh]:
                continue  # somebody made a newer one meanwhile, which may be read before this one
            if os.write(handle, record) != len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)
            if os.path.exists(os.path.join(folder, POWER)):
                os.fsync(handle)
            if is_open(handle):
                return
        finally:
            os.close(handle)
    raise OSError(errno.EAGAIN, "the event log was closed each time it was written to", folder)


def fresh_name(newest: str = "") -> str:
    """Return a name no segment has or had: milliseconds, later than ``newest``'s, and a random part."""
    after = int(newest.partition("-")[0]) + 1 if newest else 0
    return f"{max(time.time_ns() // 1_000_000, after):013d}-{os.urandom(4).hex()}.log"


def is_open(handle: int) -> bool:
    """Return whether writers may still append to the segment."""
    return bool(os.fstat(handle).st_mode & stat.S_IWUSR)


def _newest(folder: str, names: list[str]) -> int | None:
    if not names:
        return None
    try:
        handle = _open(os.path.join(folder, names[-1]))
    except OSError:  # another user's: it is no reason to lose this event
        return None
    if is_open(handle) and os.fstat(handle).st_size < SEGMENT_BYTES:
        return handle
    os.close(handle)
    return None


def _open(path: str, flags: int = 0) -> int:
    return os.open(
        path, flags | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
    )


# What the next session's start is told


NAME: Final = "start.txt"
_HEADING: Final = b"CGSTART1 "
_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class PreparedStart:
    """The text for the next session's start, and what it rests on.

    Attributes:
        branch: That was checked out; "" off any branch and outside repositories.
        account: CLAUDE_CONFIG_DIR of the client; "" if it had none.
        files: Paths whose time and size must be as they are now, or that must not be there.
        memories: Ids of the memories that the text quotes, with the tokens of each.
    """

    text: str
    branch: str
    account: str
    files: Sequence[str]
    memories: Sequence[tuple[str, int]]

    def to_bytes(self) -> bytes | None:
        """Return the file's bytes; None where it would be too long, or a path has a line's end."""
        facts = [
            f"branch {self.branch}",
            f"account {self.account}",
            *(f"memory {node_id} {tokens}" for node_id, tokens in self.memories),
            *(f"file {_seen(path)} {path}" for path in self.files),
        ]
        if any("\n" in fact for fact in facts):
            return None
        rest = os.fsencode("\n".join(facts)) + b"\n\n" + self.text.encode("utf-8", "replace")
        whole = b"%s%08x\n%s" % (_HEADING, zlib.crc32(rest), rest)
        return whole if len(whole) <= _MAX_BYTES else None

    def leave(self, store_dir: Path) -> None:
        """Write the file. Raises OSError."""
        whole = self.to_bytes()
        if whole is None:
            return
        partial = store_dir / f"{NAME}.new"
        partial.write_bytes(whole)
        os.replace(partial, store_dir / NAME)


def take(store_dir: Path) -> list[tuple[str, int]]:
    """Remove the file; the ids of the memories that it quotes, with the tokens of each."""
    path = store_dir / NAME
    try:
        whole = read_bytes(str(path), _MAX_BYTES)
        if not whole.startswith(_HEADING):  # a library's store may lie beside any file
            return []
        path.unlink()
    except (OSError, ValueError):
        return []
    facts = whole.partition(b"\n")[2].partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
    rows = (fact.split(" ") for fact in facts if fact.startswith("memory "))
    return [(row[1], int(row[2])) for row in rows if len(row) == 3 and row[2].isdigit()]


def take_all(stores_dir: Path) -> None:
    """Remove those of all stores: what they rest on has changed."""
    with contextlib.suppress(OSError):
        for path in stores_dir.glob(f"*/{NAME}"):
            path.unlink(missing_ok=True)


def _seen(path: str) -> str:
    try:
        stat = os.stat(path)
    except OSError:
        return "- -"
    seconds, rest = divmod(stat.st_mtime_ns, 1_000_000_000)
    return f"{seconds}.{rest:09d} {stat.st_size}"
