"""Encodes request and reply frames of the owner's socket. ext/launcher/src/wire.rs is the twin.

A request's payload is fields (u8 tag, u32 LE length, bytes) until its end; a reply's is fixed. Numbers here
are never renumbered: an old owner must understand a new client well enough to make way for it. A
frame is 4 magic bytes, a u32 LE payload length and the payload.
"""

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

from context_graph.errors import FrameTooLargeError, MalformedFrameError

APPLIED: Final = 1
"""Reply flag: the event is durable, now or from before; never send it again."""
KEEP_IT: Final = 2
"""Reply flag: the event was not applied; keep it."""
YIELDING: Final = 4
"""Reply flag: this owner is older than the client and is leaving; keep the event, start a new owner."""

FOLLOWS: Final = "follows"
"""Parameter of a request for long work: the client stays connected and is told how far the work is, a JSON
line each time; the work ends when the client ends its side of the connection."""

ENV_NAMES: Final = frozenset(
    {
        *("CONTEXT_GRAPH_IDENTITY_LINES", "CONTEXT_GRAPH_AUTO_DREAM", "CLAUDE_CONFIG_DIR"),
        *("CLAUDE_SKIP_REQUIREMENTS", "CLAUDE_PROJECT_DIR"),
    }
)
"""The only variables that travel; the owner must not be steered by the rest of a client's environment."""

_REQUEST_MAGIC: Final = b"CGQ1"
_REPLY_MAGIC: Final = b"CGR1"
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
    """The output and exit code for a client; ``flags`` is a sum of APPLIED, KEEP_IT, YIELDING."""

    exit_code: int = 0
    flags: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    job: Any = None
    """The long work that the request began; in the owner only."""


def is_late(request: Request) -> bool:
    """Return whether the client has stopped waiting; a hook has then logged its event."""
    if not request.at_ms or not request.deadline_ms:
        return False
    return time.time_ns() // 1_000_000 - request.at_ms > request.deadline_ms


def encode_request(request: Request) -> bytes:
    """Return the frame of ``request``, fields in the order of their tags, unset fields left out.

    Raises MalformedFrameError if a field can't be carried (a number out of range, a foreign variable).
    Raises FrameTooLargeError if the payload exceeds MAX_PAYLOAD_BYTES.
    """
    foreign = set(request.env) - ENV_NAMES
    if foreign:
        raise MalformedFrameError(f"request: {sorted(foreign)} can't be sent; only {sorted(ENV_NAMES)}")
    parts: list[bytes] = []
    for tag, name, encode, _ in _REQUEST:
        value = getattr(request, name)
        if value:
            try:
                raw = encode(value)
            except (struct.error, TypeError, ValueError) as error:
                raise MalformedFrameError(f"request {request.verb!r} can't be encoded: {error}") from error
            parts += (_FIELD.pack(tag, len(raw)), raw)
    return frame(_REQUEST_MAGIC, b"".join(parts))


def decode_request(payload: bytes | bytearray | memoryview) -> Request:
    """Return the request that ``payload`` (a frame without its 8-byte header) holds; unknown tags are
    skipped.

    Raises MalformedFrameError, naming the field that is not of its form.
    """
    fields: dict[int, bytes] = {}
    for tag, value in _fields(memoryview(payload)):
        if tag in fields:
            raise MalformedFrameError(f"request: field {tag} is given twice")
        fields[tag] = value
    return Request(**{name: decode(fields.get(tag, b""), tag) for tag, name, _, decode in _REQUEST})


def encode_reply(reply: Reply) -> bytes:
    """Return the frame of ``reply``.

    Raises MalformedFrameError if exit_code or flags is outside 0..255. Raises FrameTooLargeError if the two
    outputs together exceed MAX_PAYLOAD_BYTES.
    """
    try:
        head = _REPLY_HEAD.pack(reply.exit_code, reply.flags, 0)
    except struct.error as error:
        raise MalformedFrameError(f"reply: exit {reply.exit_code}, flags {reply.flags}: {error}") from error
    out, err = reply.stdout, reply.stderr
    return frame(_REPLY_MAGIC, b"".join((head, _U32.pack(len(out)), out, _U32.pack(len(err)), err)))


def decode_reply(payload: bytes | bytearray | memoryview) -> Reply:
    """Return the reply that ``payload`` (a frame without its 8-byte header) holds.

    Raises MalformedFrameError if the payload is cut short or longer than its parts.
    """
    data = bytes(payload)
    try:
        exit_code, flags, _ = _REPLY_HEAD.unpack_from(data)
        out_end = 8 + _U32.unpack_from(data, 4)[0]
        err_end = out_end + 4 + _U32.unpack_from(data, out_end)[0]
    except struct.error as error:
        raise MalformedFrameError(f"reply of {len(data)} bytes is cut short") from error
    if err_end != len(data):
        raise MalformedFrameError(f"reply of {len(data)} bytes should have {err_end}")
    return Reply(exit_code, flags, data[8:out_end], data[out_end + 4 : err_end])


def request_length(header: bytes | bytearray | memoryview) -> int:
    """Return the payload length that a request's first HEADER_BYTES announce.

    Raises MalformedFrameError if the magic bytes are not a request's. Raises FrameTooLargeError if the
    length exceeds MAX_PAYLOAD_BYTES; nothing need be read to know it.
    """
    return payload_length(header, _REQUEST_MAGIC)


def reply_length(header: bytes | bytearray | memoryview) -> int:
    """Return the payload length that a reply's first HEADER_BYTES announce; raises as ``request_length``."""
    return payload_length(header, _REPLY_MAGIC)


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
_REQUEST: Final[tuple[tuple[int, str, Callable[[Any], bytes], Callable[[bytes, int], Any]], ...]] = (
    (1, "verb", _text_bytes, _verb),
    (2, "event_id", _text_bytes, _event_id),
    (3, "params", _params_bytes, _params),
    (4, "body", bytes, lambda raw, _: raw),
    (5, "store", os.fsencode, _path),
    (6, "project", os.fsencode, _path),
    (7, "session_env", _text_bytes, lambda raw, _: raw[:_SESSION_BYTES].decode("utf-8", "replace")),
    (8, "cwd", os.fsencode, _path),
    (9, "env", _env_bytes, _env),
    (10, "deadline_ms", _U32.pack, _U32_IN),
    (11, "at_ms", _I64.pack, partial(_number, form=_I64)),
    (12, "version", _text_bytes, partial(_text, limit=_VERSION_BYTES)),
    (13, "parent_pid", _U32.pack, _U32_IN),
)
"""A request's fields: tag, name, to bytes, from bytes. Tags are on the wire: never renumber, never reuse."""


MAX_PAYLOAD_BYTES: Final = 16 * 1024 * 1024
"""The launcher's 4 MiB of stdin and ample room around it; bounds what one client can make us hold."""
_HEADER: Final = struct.Struct("<4sI")
HEADER_BYTES: Final = _HEADER.size


def frame(magic: bytes, payload: bytes) -> bytes:
    """Return ``payload`` behind its header. Raises FrameTooLargeError above MAX_PAYLOAD_BYTES."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise FrameTooLargeError(f"frame of {len(payload)} bytes is over the limit of {MAX_PAYLOAD_BYTES}")
    return _HEADER.pack(magic, len(payload)) + payload


def payload_length(header: bytes | bytearray | memoryview, magic: bytes) -> int:
    """Return the payload length that a frame's first HEADER_BYTES announce.

    Raises MalformedFrameError if the magic bytes are others. Raises FrameTooLargeError if the length
    exceeds MAX_PAYLOAD_BYTES; nothing need be read to know it.
    """
    begin, length = _HEADER.unpack_from(header)
    if begin != magic:
        raise MalformedFrameError(f"frame begins with {begin!r}, not {magic!r}")
    if length > MAX_PAYLOAD_BYTES:
        raise FrameTooLargeError(f"frame of {length} bytes is over the limit of {MAX_PAYLOAD_BYTES}")
    return int(length)


class FrameDecoder:
    """Holds at most one unfinished frame, and what was pipelined; ``length_of``: requests' or replies'."""

    __slots__ = ("_buffer", "_length", "_length_of")

    def __init__(self, length_of: Callable[[bytearray], int]) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        self._length_of = length_of

    def feed(self, data: bytes) -> None:
        """Add what the socket gave."""
        self._buffer += data

    def take(self) -> bytes | None:
        """Return the next whole payload, or None until more bytes come.

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
    def buffered(self) -> int:
        """Bytes that wait for the rest of their frame."""
        return len(self._buffer)

    @property
    def wanted(self) -> int:
        """Bytes still missing for the next step: the rest of the header, or of the announced frame."""
        if self._length is None:
            return max(0, HEADER_BYTES - len(self._buffer))
        return max(0, HEADER_BYTES + self._length - len(self._buffer))
