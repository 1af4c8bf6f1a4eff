"""Moves what an earlier version's hooks left in the store's folder `spool` into the event log, once.

A line there is the CRC-32 of its JSON as 8 hex digits, a space and the JSON, with version and event id; its
writers took the file's lock, and looked then whether its name still meant it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import zlib
from pathlib import Path
from typing import Any, Final

from context_graph.errors import MalformedFrameError
from context_graph.owner.sessions.log_reader import (
    FIELDS,
    MAX_LINE_BYTES,
    event_of,
    keep_aside,
    keep_rejected,
)
from context_graph.wire.event_log import append, frame

_CRC_DIGITS: Final = 8
_MOST: Final = 256
_APPENDED_BYTES: Final = 1024 * 1024


def take_over(store_dir: Path) -> list[str]:
    """Move everything; the files that could not be moved, and why, which is tried again next time.

    A file is removed when all its lines are in the log. Killed before that, the next call moves them again:
    their ids say that they are the same.
    """
    folder, failed = store_dir / "spool", []
    try:
        names = sorted(os.listdir(folder), key=lambda name: (name == "events.log", name))
    except OSError:
        return []
    for name in names:
        if name.startswith(("events.", "aside.log", "rejected.log")) and not (folder / name).is_symlink():
            try:
                _move(store_dir, folder / name)
            except OSError as error:
                failed.append(f"{folder / name}: {error.strerror}")
    with contextlib.suppress(OSError):
        folder.rmdir()
    return failed


def _move(store_dir: Path, path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(handle, "rb") as source:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        records: list[bytes] = []
        while line := source.readline(MAX_LINE_BYTES + 2):
            records += _record(store_dir, path.name, line.strip(b"\n"))
            if sum(map(len, records[-_MOST:])) > _APPENDED_BYTES or len(records) > _MOST:
                append(store_dir, b"".join(records))
                records.clear()
        if records:
            append(store_dir, b"".join(records))
        os.unlink(path)


def _record(store_dir: Path, name: str, line: bytes) -> list[bytes]:
    """The record for the log; none if the line is kept otherwise, or empty."""
    if not line:
        return []
    try:
        record = b"" if name.startswith("rejected") else frame(*decode_line(line))
    except MalformedFrameError:
        record = b""
    if not record:
        keep_rejected(store_dir, line, repeated=True)
        return []
    if not name.startswith("aside"):
        return [record]
    keep_aside(store_dir, record.strip(b"\n"))
    return []


def decode_line(line: bytes) -> tuple[str, bytes]:
    """The id and the log's JSON of a line of the spool. Raises MalformedFrameError if it is damaged."""
    data = line.strip(b"\n")[_CRC_DIGITS + 1 :]
    if line.strip(b"\n")[: _CRC_DIGITS + 1] != b"%08x " % zlib.crc32(data):
        raise MalformedFrameError(f"spool line begins with {line[:16]!r}, which does not fit it")
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedFrameError(f"spool line of {len(line)} bytes is not JSON: {error}") from error
    if not isinstance(value, dict) or value.get("v") != 1 or not isinstance(value.get("id"), str):
        raise MalformedFrameError("spool line is of another version")
    event = event_of(value["id"], value)
    fields = {field: value[field] for field in FIELDS}
    return f"{event.id:0>32}", json.dumps(fields, separators=(",", ":")).encode()
