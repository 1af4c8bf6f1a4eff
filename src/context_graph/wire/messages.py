"""Splits a byte stream of JSON into messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_STRUCTURE: Final = re.compile(rb'["{}\[\]]')
_IN_TEXT: Final = re.compile(rb'["\\]')


class MessageSplitter:
    """Cuts a stream into messages, however the pieces arrive; white space between them is dropped.

    Args:
        limit: Bytes of the longest message that may be held.
        spread: A message may span lines: it ends with the bracket that closes its first one. Without, a
            line is a message.
    """

    def __init__(self, limit: int, *, spread: bool = False) -> None:
        self._limit = limit
        self._spread = spread
        self._buffer = bytearray()
        self._seen = 0
        self._depth = 0
        self._in_text = False
        self._refused = False

    @property
    def held(self) -> int:
        """Bytes of an unfinished message."""
        return len(self._buffer)

    @property
    def too_long(self) -> bool:
        """Whether the unfinished message can't be taken any more."""
        return self._refused or len(self._buffer) > self._limit

    def refuse(self) -> None:
        """Take no more of the unfinished message."""
        self._refused = True

    def drop(self) -> None:
        """Forget the unfinished message."""
        self._buffer.clear()
        self._seen = self._depth = 0
        self._in_text = self._refused = False

    def tail(self) -> bytes:
        """What is left at the stream's end: a last message without its newline."""
        left = bytes(self._buffer).strip()
        self.drop()
        return left

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that ``data`` completes."""
        self._buffer += data
        while (end := self._end()) >= 0:
            message = bytes(memoryview(self._buffer)[:end])
            del self._buffer[:end]
            self._seen = 0
            message = message.strip()
            if message:
                yield message
        if self._buffer and not self._depth and not self._buffer.strip():
            self.drop()  # white space is no unfinished message

    def _end(self) -> int:
        """Where the first message of the buffer ends, -1 if it does not yet."""
        if self._spread:
            return self._end_of_value()
        end = self._buffer.find(b"\n", self._seen)
        self._seen = len(self._buffer)
        return end + 1 if end >= 0 else -1

    def _end_of_value(self) -> int:
        """Behind the bracket that closes the first one; behind the line, for what does not begin with one."""
        buffer = self._buffer
        if not self._depth:
            start = _first(buffer)
            if start < len(buffer) and buffer[start] not in b"{[":
                return buffer.find(b"\n", start) + 1 or -1
        while True:
            found = (_IN_TEXT if self._in_text else _STRUCTURE).search(buffer, self._seen)
            if found is None:
                self._seen = len(buffer)
                return -1
            at, mark = found.start(), found[0]
            if mark == b"\\":
                if at + 1 == len(buffer):  # what it escapes has not come yet
                    self._seen = at
                    return -1
                self._seen = at + 2
                continue
            self._seen = at + 1
            if mark == b'"':
                self._in_text = not self._in_text
            elif mark in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth <= 0:
                    self._depth = 0
                    return self._seen


def _first(buffer: bytearray) -> int:
    """Index of the first byte that is no white space."""
    return len(buffer) - len(buffer.lstrip())
