"""Reports to the owner what a `req` command changed: a record in the spool, read before its next answer.

So no command waits for an owner or starts one, and a running owner misses nothing.
"""

from __future__ import annotations

import binascii
import fcntl
import json
import os
import time
from typing import Any


def report(records: list[dict[str, Any]], *, store: str, project: str) -> str:
    """Leave ``records`` in the spool of ``store``; why that failed, empty if it did not.

    What people wrote (``detail``) stays in the project's own journal: nothing is redacted on this side.
    """
    if not records:
        return ""
    kept = [{key: value for key, value in record.items() if key != "detail"} for record in records]
    event_id = os.urandom(16).hex()
    value = {
        "v": 1,
        "id": event_id,
        "verb": "req.record",
        "session": os.environ.get("CLAUDE_CODE_SESSION_ID", ""),
        "at_ms": time.time_ns() // 1_000_000,
        "project": project,
        "cwd": _working_folder(),
        "params": {},
        "body": {"records": kept},
    }
    data = json.dumps(value).encode()
    try:
        os.makedirs(store + "/spool", mode=0o700, exist_ok=True)
        # A file of its own: the hooks' common one may be busy.
        _write(f"{store}/spool/events.{event_id}.log", b"\n%08x %b\n" % (binascii.crc32(data), data))
    except OSError as error:
        return f"not in the store's log: {error.strerror}: {error.filename}"
    return ""


def _write(path: str, record: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # the owner takes no file that somebody is at work on
        os.write(handle, record)
    finally:
        os.close(handle)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
