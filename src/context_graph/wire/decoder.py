"""Cutting a byte stream into frames, however the pieces arrive."""

from __future__ import annotations

from collections.abc import Callable

from context_graph.wire.frames import HEADER_BYTES

__all__ = ["FrameDecoder"]


class FrameDecoder:
    """Holds the bytes of at most one unfinished frame, and of what was pipelined behind it.

    Args:
        length_of: ``frames.request_length`` or ``frames.reply_length``.
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

        Raises:
            MalformedFrameError, FrameTooLargeError: As soon as the 8-byte header shows it. The
                stream has no further frame boundary then, so its connection must be closed.
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
        """What was fed beyond the frames that were taken; the decoder is empty afterwards."""
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
