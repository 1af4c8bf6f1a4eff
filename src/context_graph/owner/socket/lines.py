"""Serves JSON-RPC on the owner's socket, one message per line, for a bridge (`mcp.attach`) or whoever
sends `{`.

It replaces ``connection`` on the same socket. Like that, it is bounded in all directions, and it returns to
the loop after each message: a hook waits for one memory call at most, never for a client's backlog. Answers
that take long come later, and the client is served meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
from collections import deque
from collections.abc import Iterator
from typing import ClassVar, Final

from context_graph.operations.mcp.endpoint import Endpoint
from context_graph.operations.mcp.rpc import INVALID_REQUEST, Notification, Request, RpcError, failure, parse
from context_graph.owner.socket.connection import LARGE_BYTES, Channel, Server

LINE_MAX: Final = 2 * 1024 * 1024
"""Bytes of one message: 65,536 characters, each escaped twice (12 bytes), and ample room around them."""
_UNFINISHED_S: Final = 30.0
"""Time to finish a message once begun."""
_LINGER_S: Final = 0.25
"""A plain client that has had its answers and is silent for so long has said all: `nc` waits for us."""
_LEAVING_S: Final = 0.05
_HUNG_UP_S: Final = 1.0
"""How often it is looked whether a client that has said all still waits for its late answer."""
_QUEUED_MAX: Final = 256
"""Messages that wait; with more nothing is read."""
_CANCELLED: Final = b"notifications/cancelled"


class _Waiting:
    """A message that waits, which is parsed at most once to see whether it is the one to be cancelled."""

    __slots__ = ("_request", "line")

    def __init__(self, line: bytes) -> None:
        self.line = line
        self._request: tuple[object, str] | None = None

    def is_request(self, wanted: object) -> bool:
        """Return whether it is the request of that id, and one that may be cancelled."""
        if self._request is None:
            message = parse(self.line)
            self._request = (message.id, message.method) if isinstance(message, Request) else (None, "")
        number, method = self._request
        return method not in ("", "initialize") and number == wanted


class LineConnection(Channel):
    """State: reading, serving one message after another, or (``_out``) writing.

    ``plain``: the client did not attach; its messages may be spread over lines, and it is closed when it has
    been answered and falls silent, unless it opens an MCP conversation. ``rest`` was read already.
    """

    SLOW_S: ClassVar[float] = 30.0

    def __init__(
        self,
        connected: socket.socket,
        endpoint: Endpoint,
        server: Server,
        loop: asyncio.AbstractEventLoop,
        *,
        name: str,
        plain: bool = False,
        rest: bytes = b"",
    ) -> None:
        super().__init__(connected, server, loop)
        self._endpoint = endpoint
        self.name = name
        """For the log: which store."""
        self._plain = plain
        self._splitter = MessageSplitter(LINE_MAX, spread=plain)
        self._rest = rest
        self._queue: deque[_Waiting] = deque()
        self._work: Iterator[bytes] | None = None
        self._expected = 0
        self._late: list[bytes] = []
        self._received = 0
        self._began = 0.0
        self._eof = False
        self._leaving = False
        self._scheduled = False

    @property
    def buffered(self) -> int:
        """Bytes of messages that are not served yet."""
        return self._splitter.buffered + sum(len(waiting.line) for waiting in self._queue)

    @property
    def busy(self) -> bool:
        """Whether a message is being served or an answer is on its way or to come."""
        return bool(self._queue or self._work is not None or self._expected or self._late or self._out)

    @property
    def idle(self) -> bool:
        """Whether it may be closed without anything being lost: a bridge connects again by itself."""
        return not self._plain and not self.busy and not self._splitter.buffered

    def start(self) -> None:
        """Serve it; what was read already comes first."""
        rest, self._rest = self._rest, b""
        if rest:
            self._feed(rest)
        self._next()

    def leave(self) -> None:
        """Serve what has arrived whole, then close, as the owner leaves. A bridge sends the rest again, and
        what is not answered yet; other clients are told."""
        self._leaving = True
        if self._plain:
            self._endpoint.leave()
        self._next()

    def expect(self) -> None:
        """Note that one more late answer is to come."""
        self._expected += 1

    def late(self, lines: bytes, *, last: bool) -> None:
        """Queue ``lines`` for sending; ``last``: they complete an answer that was expected."""
        self._expected -= last
        if lines and not self._is_closed:
            self._late.append(lines)
        self._next()

    @property
    def clear(self) -> bool:
        """Whether everything was sent to the client."""
        return not self._out and not self._late

    def _closed(self) -> None:
        self._queue.clear()
        self._late.clear()
        self._work = None
        self._endpoint.close()
        super()._closed()

    def _on_readable(self) -> None:
        data = self._receive()
        if data is None:
            return
        if not data:
            self._eof = True
            self._stop_reading()
            tail = self._splitter.tail()
            if tail:
                self._queue.append(_Waiting(tail))
        else:
            self._feed(data)
        if self._queue and not self._scheduled:
            self._serve()  # this is the turn for one message; those behind it get their own
        else:
            self._next()

    def _feed(self, data: bytes) -> None:
        self._disarm()
        for line in self._splitter.feed(data):
            if _CANCELLED in line and self._cancel(line):
                continue
            self._queue.append(_Waiting(line))
        if self._splitter.buffered > LARGE_BYTES and self._server.too_much_held() is not None:
            self._splitter.refuse()

    def _cancel(self, line: bytes) -> bool:
        """Return whether ``line`` asked for the end of a request, and has done its work: a batch that waits
        or is being served may hold that request too."""
        message = parse(line)
        if not isinstance(message, Notification) or message.method != "notifications/cancelled":
            return False
        wanted = message.params.get("requestId")
        for waiting in self._queue:
            if waiting.is_request(wanted):
                self._queue.remove(waiting)
                return True
        self._endpoint.cancel(wanted)
        return self._work is None and not any(
            waiting.line.lstrip().startswith(b"[") for waiting in self._queue
        )

    def _next(self) -> None:
        """Serve the next message in an iteration of its own, or wait for what this connection waits for."""
        if self._is_closed or self._out:
            return
        if self._queue or self._work is not None or self._late:
            if not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self._serve)
            if len(self._queue) >= _QUEUED_MAX or self.buffered > LINE_MAX:
                self._stop_reading()
            return
        if self._splitter.too_long:
            why = f"Invalid Request: a message may have {LINE_MAX} bytes, fewer while others send a lot"
            self._eof = True
            self._stop_reading()
            self._splitter.drop()
            self._send(failure(None, RpcError(INVALID_REQUEST, why)) + b"\n")
        elif self._eof:
            self._end()
        else:
            self._await_more()

    def _end(self) -> None:
        """Handle the client's end of file: a bridge is gone; others may wait for a late answer."""
        if not self._expected or not self._plain or self._hung_up():
            self.close()
        elif self._timer is None:
            self._timer = self._loop.call_later(_HUNG_UP_S, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._is_closed:
            self._next()

    def _hung_up(self) -> bool:
        """Return whether the client's end is closed both ways: after its last word it may read on."""
        poller = select.poll()
        poller.register(self._socket, 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll(0))

    def _await_more(self) -> None:
        if self._leaving and not self._plain:
            self.close()
            return
        self._read_on()
        if self._leaving:
            self._arm(_LEAVING_S)  # for what is in the socket's buffer already
        elif self._splitter.buffered:
            if self._timer is None:
                self._arm(_UNFINISHED_S)
        elif self._plain and not self._endpoint.initialized and not self._expected:
            self._arm(_LINGER_S)

    def _serve(self) -> None:
        self._scheduled = False
        if self._is_closed or self._out:
            return
        if self._late:
            late, self._late = b"".join(self._late), []
            self._send(late)
            return
        if self._work is None:
            if not self._queue:
                return
            line = self._queue.popleft().line
            self._received = len(line)
            self._work = self._endpoint.receive(line, self)
        began = self._loop.time()
        data = next(self._work, None)
        if data is None:
            self._work = None
            self._next()
            return
        self._began = began
        self._send(data)
        self._server.line_served(self.name, self._received, len(data), self._loop.time() - began)
        self._received = 0

    def _sent(self) -> None:
        self._next()

    def _expired(self) -> None:
        if self._out or self._splitter.buffered:
            super()._expired()


_STRUCTURE: Final = re.compile(rb'["{}\[\]]')
_IN_TEXT: Final = re.compile(rb'["\\]')


class MessageSplitter:
    """Cuts a stream into messages, however the pieces arrive; white space between them is dropped.

    At most ``limit`` bytes of a message are held. With ``spread`` one may span lines: it ends with the
    bracket that closes its first one. Without, a line is a message.
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
    def buffered(self) -> int:
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
        """Return the rest at the stream's end: a last message without its newline."""
        left = bytes(self._buffer).strip()
        self.drop()
        return left

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the messages that ``data`` completes."""
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
        """Return where the first message of the buffer ends, -1 if it does not yet."""
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
            match = (_IN_TEXT if self._in_text else _STRUCTURE).search(buffer, self._seen)
            if match is None:
                self._seen = len(buffer)
                return -1
            at, mark = match.start(), match[0]
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
