"""Puts payloads into frames of the owner's socket and takes them out again, whatever they hold.

A frame is 4 magic bytes, a u32 LE payload length and the payload. ``frames`` has the payloads.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from context_graph.errors import FrameTooLargeError, MalformedFrameError

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
