"""Reads and writes lines of a spool: events that hooks left while no owner answered.

Twin: ext/launcher/src/spool.rs. A record is a newline, the CRC-32 of its JSON as 8 lower-case hex digits, a
space, the JSON on one line and a newline. The newline in front ends a record that was cut short by a crash or
a full disk, so that only the torn one is lost to the checksum, never its successor.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any, Final

from context_graph.errors import MalformedFrameError

SPOOL_VERSION: Final = 1
EVENTS_LOG: Final = "events.log"
"""Name of the file that hooks append to, in the store's `spool` folder."""
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""As a frame: what the socket would not carry, the spool does not either."""

_CRC_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class SpoolRecord:
    """One spooled hook call, redacted before it was written.

    Attributes:
        id: The event id the live request carried: the owner may have applied it already.
        session: $CLAUDE_CODE_SESSION_ID of the hook, or empty.
        at_ms: Unix milliseconds at which the hook started.
        params: The command's long options without dashes.
        body: The hook's stdin, a JSON object; None if there was none.
    """

    id: str
    verb: str
    session: str
    at_ms: int
    project: str
    cwd: str
    params: dict[str, object]
    body: dict[str, Any] | None


def encode_record(record: SpoolRecord) -> bytes:
    """The bytes to append, both newlines included.

    Raises:
        MalformedFrameError: If a value has no JSON form.
    """
    value = {"v": SPOOL_VERSION, **{name: getattr(record, name) for name in _KINDS}}
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        # A path may hold bytes that are not UTF-8; os.fsdecode made lone surrogates of them, which
        # only an escape can carry.
        data = text.encode() if text.isascii() else _utf8(text, value)
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedFrameError(f"spool record {record.id!r} can't be encoded: {error}") from error
    return b"\n%08x %b\n" % (zlib.crc32(data), data)


def decode_line(line: bytes) -> SpoolRecord:
    """The record of one line, its newlines optional.

    Raises:
        MalformedFrameError: If the line is torn, damaged, of another version or lacks a field.
    """
    line = line.strip(b"\n")
    data = line[_CRC_DIGITS + 1 :]
    try:
        checksum = bytes.fromhex(line[:_CRC_DIGITS].decode("ascii"))
    except ValueError as error:
        raise MalformedFrameError(f"spool line begins with {line[:16]!r}, not with a checksum") from error
    if len(checksum) != 4 or line[_CRC_DIGITS : _CRC_DIGITS + 1] != b" ":
        raise MalformedFrameError(f"spool line begins with {line[:16]!r}, not with a checksum")
    if int.from_bytes(checksum, "big") != zlib.crc32(data):
        raise MalformedFrameError(f"spool line of {len(line)} bytes fails its checksum")
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise MalformedFrameError(f"spool line of {len(line)} bytes is not JSON: {error}") from error
    return _record(value)


def _utf8(text: str, value: object) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _record(value: object) -> SpoolRecord:
    if not isinstance(value, dict):
        raise MalformedFrameError(f"spool line holds a {type(value).__name__}, not an object")
    if value.get("v") != SPOOL_VERSION:
        raise MalformedFrameError(f"spool line is of version {value.get('v')!r}, not {SPOOL_VERSION}")
    for name, kind in _KINDS.items():
        if not isinstance(value.get(name), kind):
            raise MalformedFrameError(f"spool line: {name} is {value.get(name)!r:.80}")
    return SpoolRecord(**{name: value[name] for name in _KINDS})


_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "id": str,
    "verb": str,
    "session": str,
    "at_ms": int,
    "project": str,
    "cwd": str,
    "params": dict,
    "body": (dict, type(None)),
}
