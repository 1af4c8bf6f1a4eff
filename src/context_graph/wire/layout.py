"""Lays out frames of the owner's socket as bytes, and nothing more. ext/launcher/src/wire.rs is the twin.

A frame is 4 magic bytes, a u32 LE payload length and the payload. A request's payload is fields
(u8 tag, u32 LE length, bytes) until its end; a reply's is fixed. Numbers here are never renumbered:
an old owner must understand a new client well enough to make way for it. ``frames`` has the records; hooks
that run in Python have time for this module alone.
"""

from __future__ import annotations

from context_graph.errors import FrameTooLargeError, MalformedFrameError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
"""The launcher's 4 MiB of stdin and ample room around it; bounds what one client can make us hold."""
HEADER_BYTES = 8
REQUEST_MAGIC = b"CGQ1"
REPLY_MAGIC = b"CGR1"

APPLIED = 1
"""Reply flag: the event is durable, now or from before; never send it again."""
SPOOL_IT = 2
"""Reply flag: the event was not applied; keep it."""
YIELDING = 4
"""Reply flag: this owner is older than the client and is leaving; keep the event, start a new owner."""
GATE_IT = 8
"""Reply flag: the event is durable, but the client has to decide the requirement gates by itself, from the
project's files. stdout is text for the model then, and behind a NUL for the user (docs/adr/0013-gates.md)."""

TAGS = {
    "verb": 1,
    "event_id": 2,
    "params": 3,
    "body": 4,
    "store": 5,
    "project": 6,
    "session_env": 7,
    "cwd": 8,
    "env": 9,
    "deadline_ms": 10,
    "at_ms": 11,
    "version": 12,
    "parent_pid": 13,
}
"""A request's fields by their tags. Tags are on the wire: never renumber, never reuse."""

ENV_NAMES = (
    *("CONTEXT_GRAPH_BRIEF", "CONTEXT_GRAPH_AUTO_DREAM", "CONTEXT_GRAPH_INJECT"),
    *("CONTEXT_GRAPH_CLOCK_OFFSET", "CLAUDE_CONFIG_DIR", "CLAUDE_SKIP_REQUIREMENTS", "CLAUDE_PROJECT_DIR"),
)
"""The only variables that travel; the owner must not be steered by the rest of a client's environment."""


def request_frame(fields: Iterable[tuple[str, bytes]]) -> bytes:
    """The frame of a request's ``fields``, in the order of their tags; what is empty is not sent.

    Raises FrameTooLargeError if the payload exceeds MAX_PAYLOAD_BYTES.
    """
    parts: list[bytes] = []
    for name, raw in fields:
        if raw:
            parts += (bytes((TAGS[name],)), len(raw).to_bytes(4, "little"), raw)
    return frame(REQUEST_MAGIC, b"".join(parts))


def frame(magic: bytes, payload: bytes) -> bytes:
    """``payload`` behind its header. Raises FrameTooLargeError above MAX_PAYLOAD_BYTES."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise FrameTooLargeError(f"frame of {len(payload)} bytes is over the limit of {MAX_PAYLOAD_BYTES}")
    return magic + len(payload).to_bytes(4, "little") + payload


def payload_length(header: bytes | bytearray | memoryview, magic: bytes) -> int:
    """Payload length that a frame's first HEADER_BYTES announce.

    Raises MalformedFrameError if the magic bytes are others. Raises FrameTooLargeError if the length
    exceeds MAX_PAYLOAD_BYTES; nothing need be read to know it.
    """
    found = bytes(header[:4])
    if found != magic:
        raise MalformedFrameError(f"frame begins with {found!r}, not {magic!r}")
    length = int.from_bytes(header[4:HEADER_BYTES], "little")
    if length > MAX_PAYLOAD_BYTES:
        raise FrameTooLargeError(f"frame of {length} bytes is over the limit of {MAX_PAYLOAD_BYTES}")
    return length


def reply_parts(data: bytes) -> tuple[int, int, bytes, bytes]:
    """Exit code, flags, stdout and stderr of a reply's payload.

    Raises MalformedFrameError if the payload is cut short or longer than its parts.
    """
    out_end = 8 + int.from_bytes(data[4:8], "little")
    err_end = out_end + 4 + int.from_bytes(data[out_end : out_end + 4], "little")
    if len(data) < 12 or err_end > len(data):
        raise MalformedFrameError(f"reply of {len(data)} bytes is cut short")
    if err_end != len(data):
        raise MalformedFrameError(f"reply of {len(data)} bytes should have {err_end}")
    return data[0], data[1], data[8:out_end], data[out_end + 4 : err_end]
