"""Encodes request and reply frames of the owner's socket as records; ``layout`` has their bytes."""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from context_graph.errors import MalformedFrameError
from context_graph.wire import layout
from context_graph.wire.layout import (
    APPLIED,
    GATE_IT,
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    SPOOL_IT,
    TAGS,
    YIELDING,
)

__all__ = [
    "APPLIED",
    "ENV_NAMES",
    "GATE_IT",
    "HEADER_BYTES",
    "MAX_PAYLOAD_BYTES",
    "SPOOL_IT",
    "WIRE_VERSION",
    "YIELDING",
    "FrameDecoder",
    "Reply",
    "Request",
    "decode_reply",
    "decode_request",
    "encode_reply",
    "encode_request",
    "is_late",
    "reply_length",
    "request_length",
]

WIRE_VERSION: Final = 1
ENV_NAMES: Final = frozenset(layout.ENV_NAMES)

_FIELD: Final = struct.Struct("<BI")
_U32: Final = struct.Struct("<I")
_I64: Final = struct.Struct("<q")
_REPLY_HEAD: Final = struct.Struct("<BBH")

_VERB_BYTES: Final = 64
_PATH_BYTES: Final = 4096
_SESSION_BYTES: Final = 4096
_VERSION_BYTES: Final = 64
_EVENT_ID_KEEPS: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a client. Empty, 0 or None: the field was not sent.

    Attributes:
        event_id: 32 lower-case hex digits, fresh for each call of a hook; a retry carries the same.
        params: The command's long options without dashes; texts and booleans.
        body: Standard input as it was read.
        store, project: Absolute paths of the store's and the project's top folder.
        session_env: $CLAUDE_CODE_SESSION_ID of the client's process.
        env: Request-scoped settings, names of ENV_NAMES only.
        deadline_ms: Milliseconds after ``at_ms`` at which the client stops waiting.
        at_ms: Unix milliseconds at which the client's process started.
        version: Package version of the client.
        parent_pid: Process that started the client's process: Claude Code, or a shell below it.
    """

    verb: str
    event_id: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    body: bytes = b""
    store: Path | None = None
    project: Path | None = None
    session_env: str = ""
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    deadline_ms: int = 0
    at_ms: int = 0
    version: str = ""
    parent_pid: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """The output and exit code for a client; ``flags`` is a sum of APPLIED, SPOOL_IT, YIELDING, GATE_IT."""

    exit_code: int = 0
    flags: int = 0
    stdout: bytes = b""
    stderr: bytes = b""


def is_late(request: Request) -> bool:
    """Whether the client has stopped waiting; a hook has then spooled its event."""
    if not request.at_ms or not request.deadline_ms:
        return False
    return time.time_ns() // 1_000_000 - request.at_ms > request.deadline_ms


def encode_request(request: Request) -> bytes:
    """The frame of ``request``, fields in the order of their tags, unset fields left out.

    Raises MalformedFrameError if a field can't be carried (a number out of range, a foreign variable).
    Raises FrameTooLargeError if the payload exceeds MAX_PAYLOAD_BYTES.
    """
    foreign = set(request.env) - ENV_NAMES
    if foreign:
        raise MalformedFrameError(f"request: {sorted(foreign)} can't be sent; only {sorted(ENV_NAMES)}")
    fields: list[tuple[str, bytes]] = []
    for name, encode, _ in _REQUEST:
        value = getattr(request, name)
        if value:
            try:
                fields.append((name, encode(value)))
            except (struct.error, TypeError, ValueError) as error:
                raise MalformedFrameError(f"request {request.verb!r} can't be encoded: {error}") from error
    return layout.request_frame(fields)


def decode_request(payload: bytes | bytearray | memoryview) -> Request:
    """The request that ``payload`` (a frame without its 8-byte header) holds; unknown tags are skipped.

    Raises MalformedFrameError, naming the field that is not of its form.
    """
    fields: dict[int, bytes] = {}
    for tag, value in _fields(memoryview(payload)):
        if tag in fields:
            raise MalformedFrameError(f"request: field {tag} is given twice")
        fields[tag] = value
    return Request(**{name: decode(fields.get(TAGS[name], b""), TAGS[name]) for name, _, decode in _REQUEST})


def encode_reply(reply: Reply) -> bytes:
    """The frame of ``reply``.

    Raises MalformedFrameError if exit_code or flags is outside 0..255. Raises FrameTooLargeError if the two
    outputs together exceed MAX_PAYLOAD_BYTES.
    """
    try:
        head = _REPLY_HEAD.pack(reply.exit_code, reply.flags, 0)
    except struct.error as error:
        raise MalformedFrameError(f"reply: exit {reply.exit_code}, flags {reply.flags}: {error}") from error
    out, err = reply.stdout, reply.stderr
    return layout.frame(
        layout.REPLY_MAGIC, b"".join((head, _U32.pack(len(out)), out, _U32.pack(len(err)), err))
    )


def decode_reply(payload: bytes | bytearray | memoryview) -> Reply:
    """The reply that ``payload`` (a frame without its 8-byte header) holds.

    Raises MalformedFrameError if the payload is cut short or longer than its parts.
    """
    return Reply(*layout.reply_parts(bytes(payload)))


def request_length(header: bytes | bytearray | memoryview) -> int:
    """Payload length that a request's first HEADER_BYTES announce.

    Raises MalformedFrameError if the magic bytes are not a request's. Raises FrameTooLargeError if the
    length exceeds MAX_PAYLOAD_BYTES; nothing need be read to know it.
    """
    return layout.payload_length(header, layout.REQUEST_MAGIC)


def reply_length(header: bytes | bytearray | memoryview) -> int:
    """Payload length that a reply's first HEADER_BYTES announce; raises as ``request_length``."""
    return layout.payload_length(header, layout.REPLY_MAGIC)


def _fields(payload: memoryview) -> Iterator[tuple[int, bytes]]:
    at, end = 0, len(payload)
    while at < end:
        if end - at < _FIELD.size:
            raise MalformedFrameError(f"request: {end - at} bytes after the last field")
        tag, length = _FIELD.unpack_from(payload, at)
        at += _FIELD.size
        if length > end - at:
            raise MalformedFrameError(f"request: field {tag} says {length} bytes, {end - at} are left")
        yield tag, bytes(payload[at : at + length])
        at += length


def _text(raw: bytes, tag: int, limit: int) -> str:
    if len(raw) > limit:
        raise MalformedFrameError(f"request: field {tag} has {len(raw)} bytes, the limit is {limit}")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedFrameError(f"request: field {tag} is not UTF-8: {error}") from error


def _verb(raw: bytes, tag: int) -> str:
    verb = _text(raw, tag, _VERB_BYTES)
    if not verb.isprintable() or not verb:
        raise MalformedFrameError(f"request: {verb!r} is not a verb")
    return verb


def _event_id(raw: bytes, tag: int) -> str:
    event_id = _text(raw, tag, 32)
    if event_id and (len(event_id) != 32 or not _EVENT_ID_KEEPS.issuperset(event_id)):
        raise MalformedFrameError(f"request: event id {event_id!r} is not 32 lower-case hex digits")
    return event_id


def _params(raw: bytes, _tag: int) -> dict[str, object]:
    try:
        params = json.loads(raw.decode()) if raw else {}
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise MalformedFrameError(f"request: params are not JSON: {error}") from error
    if not isinstance(params, dict):
        raise MalformedFrameError(f"request: params are a {type(params).__name__}, not an object")
    return params


@lru_cache(maxsize=64)  # the same few folders in every request; a Path costs more than the look-up
def _path(raw: bytes, tag: int) -> Path | None:
    if not raw:
        return None
    if len(raw) > _PATH_BYTES or not raw.startswith(b"/") or b"\0" in raw:
        raise MalformedFrameError(f"request: field {tag} is not an absolute path: {raw[:80]!r}")
    return Path(os.fsdecode(raw))


def _env(raw: bytes, _tag: int) -> dict[str, str]:
    pairs = (os.fsdecode(part).partition("=") for part in raw.split(b"\0") if part)
    return {name: value for name, _, value in pairs if name in ENV_NAMES}


def _env_bytes(env: Mapping[str, str]) -> bytes:
    return b"\0".join(os.fsencode(f"{name}={value}") for name, value in env.items())


def _number(raw: bytes, tag: int, form: struct.Struct) -> int:
    if not raw:
        return 0
    if len(raw) != form.size:
        raise MalformedFrameError(f"request: field {tag} has {len(raw)} bytes, not {form.size}")
    return int(form.unpack(raw)[0])


def _text_bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _params_bytes(params: Mapping[str, object]) -> bytes:
    return json.dumps(dict(params), separators=(",", ":")).encode()


_U32_IN: Final = partial(_number, form=_U32)
_REQUEST: Final[tuple[tuple[str, Callable[[Any], bytes], Callable[[bytes, int], Any]], ...]] = (
    ("verb", _text_bytes, _verb),
    ("event_id", _text_bytes, _event_id),
    ("params", _params_bytes, _params),
    ("body", bytes, lambda raw, _: raw),
    ("store", os.fsencode, _path),
    ("project", os.fsencode, _path),
    ("session_env", _text_bytes, lambda raw, _: raw[:_SESSION_BYTES].decode("utf-8", "replace")),
    ("cwd", os.fsencode, _path),
    ("env", _env_bytes, _env),
    ("deadline_ms", _U32.pack, _U32_IN),
    ("at_ms", _I64.pack, partial(_number, form=_I64)),
    ("version", _text_bytes, partial(_text, limit=_VERSION_BYTES)),
    ("parent_pid", _U32.pack, _U32_IN),
)
"""A request's fields in the order of their tags: name, to bytes, from bytes."""


class FrameDecoder:
    """Holds the bytes of at most one unfinished frame, and of what was pipelined behind it.

    Args:
        length_of: ``request_length`` or ``reply_length``.
    """

    __slots__ = ("_buffer", "_length", "_length_of")

    def __init__(self, length_of: Callable[[bytearray], int]) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        self._length_of = length_of

    def feed(self, data: bytes) -> None:
        """Add what the socket gave."""
        self._buffer += data

    def take(self) -> bytes | None:
        """The next whole payload, or None until more bytes come.

        Raises MalformedFrameError, FrameTooLargeError as soon as the 8-byte header shows it. The stream has
        no further frame boundary then, so its connection must be closed.
        """
        if self._length is None:
            if len(self._buffer) < HEADER_BYTES:
                return None
            self._length = self._length_of(self._buffer)
        end = HEADER_BYTES + self._length
        if len(self._buffer) < end:
            return None
        payload = bytes(memoryview(self._buffer)[HEADER_BYTES:end])
        del self._buffer[:end]
        self._length = None
        return payload

    def rest(self) -> bytes:
        """Return what was fed beyond the frames that were taken, and forget it."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._length = None
        return rest

    @property
    def held(self) -> int:
        """Bytes that wait for the rest of their frame."""
        return len(self._buffer)

    @property
    def wanted(self) -> int:
        """Bytes still missing for the next step: the rest of the header, or of the announced frame."""
        if self._length is None:
            return max(0, HEADER_BYTES - len(self._buffer))
        return max(0, HEADER_BYTES + self._length - len(self._buffer))
