"""Serves one client's connection: bytes in, frames out of them, replies back, all of it bounded.

It works directly in the loop's readiness callbacks. asyncio's own transports take three iterations of the
loop from accept to the first byte; here it is one. The time saved pays for decoding, answering and logging a
request (benches/micro/bench_owner.py, `round trip`).
"""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from context_graph.errors import WireError
from context_graph.wire.frames import FrameDecoder, request_length

FRAME_S: Final = 5.0
"""Time to deliver a frame once begun, and to take a reply."""
_LEAVING_S: Final = 0.5
"""What a client that connected but sent nothing gets when the owner is leaving."""
RECV_BYTES: Final = 64 * 1024
"""Bytes that are read at a time."""
LARGE_BYTES: Final = 256 * 1024
"""Bytes of one unfinished message from which on it is asked whether all together hold too much."""
_HTTP_METHODS: Final = (b"POST", b"GET ", b"HEAD", b"PUT ")
"""How HTTP begins; frames begin with magic bytes of their own."""

Upgrade = Callable[[socket.socket, bytes], None]
"""Takes a connected socket and what was read from it beyond the last frame."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished request: what to send, and what to do once it is sent."""

    data: bytes
    last: bool
    """Whether the connection ends with it."""
    then: Callable[[], None]
    """Log and count: work the client need not wait for."""
    upgrade: Upgrade | None = None
    """What takes the socket over once this answer is sent: it speaks something else from then on."""


class Server(Protocol):
    """The methods of the owner's server that connections use."""

    def answer(self, payload: bytes) -> Answer: ...
    def refuse(self, error: WireError) -> Answer: ...
    def too_much_held(self) -> WireError | None: ...
    def plain(self, connected: socket.socket, data: bytes) -> None: ...
    def http(self, connected: socket.socket, data: bytes) -> None: ...
    def line_served(self, name: str, received: int, sent: int, took_s: float) -> None: ...
    def expired(self, connection: Channel) -> None: ...
    def closed(self, connection: Channel) -> None: ...


class Channel(ABC):
    """A socket that is read from or written to, never both, so that memory is bounded."""

    __slots__ = ("_loop", "_out", "_reads", "_server", "_socket", "_timer", "used_at")

    SLOW_S: ClassVar[float]
    """Time to take an answer."""

    def __init__(self, connected: socket.socket, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self._socket = connected
        self._server = server
        self._loop = loop
        self._out = memoryview(b"")
        """What of the answer the client has not taken yet."""
        self._reads = False
        self._timer: asyncio.TimerHandle | None = None
        self.used_at = loop.time()

    @property
    @abstractmethod
    def buffered(self) -> int:
        """Bytes that were read and are not served yet."""

    @property
    @abstractmethod
    def idle(self) -> bool:
        """Whether it may be closed without anything being lost."""

    @abstractmethod
    def start(self) -> None:
        """Serve it, beginning with what has arrived already."""

    @abstractmethod
    def leave(self) -> None:
        """Close for an owner that leaves, as soon as nothing is half done."""

    @abstractmethod
    def _on_readable(self) -> None:
        """Called when there is something to read, or the end of it."""

    @abstractmethod
    def _sent(self) -> None:
        """Called when the whole answer was sent."""

    def _expired(self) -> None:
        """Called when the time that `_arm` gave is over; the socket is closed next."""
        self._server.expired(self)

    def _closed(self) -> None:
        """Called when the socket has just been closed."""
        self._server.closed(self)

    @property
    def _is_closed(self) -> bool:
        return self._socket.fileno() < 0

    def close(self) -> None:
        """Close now. Safe to call twice."""
        if self._is_closed:
            return
        self._disarm()
        self._stop_reading()
        if self._out:
            self._loop.remove_writer(self._socket)
            self._out = memoryview(b"")
        self._socket.close()
        self._closed()

    def _receive(self) -> bytes | None:
        """Return what has arrived, b"" at its end; None where nothing has, or it failed and is closed now."""
        try:
            return self._socket.recv(RECV_BYTES)
        except BlockingIOError:
            self._read_on()
        except OSError:
            self.close()
        return None

    def _send(self, data: bytes) -> None:
        """Send ``data``; nothing is read until the client has taken it all."""
        try:
            sent = self._socket.send(data) if data else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self.close()
            return
        if sent < len(data):
            self._out = memoryview(data)[sent:]
            self._stop_reading()
            self._arm(self.SLOW_S)
            self._loop.add_writer(self._socket, self._on_writable)
            return
        self._has_sent()

    def _on_writable(self) -> None:
        try:
            sent = self._socket.send(self._out)
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        self._out = self._out[sent:]
        if not self._out:
            self._loop.remove_writer(self._socket)
            self._has_sent()

    def _has_sent(self) -> None:
        self._disarm()
        self.used_at = self._loop.time()
        self._sent()

    def _read_on(self) -> None:
        if not self._reads and not self._is_closed:
            self._loop.add_reader(self._socket, self._on_readable)
            self._reads = True

    def _stop_reading(self) -> None:
        if self._reads:
            self._loop.remove_reader(self._socket)
            self._reads = False

    def _arm(self, seconds: float) -> None:
        """Close in so many seconds, unless `_disarm` is called before."""
        self._disarm()
        self._timer = self._loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        self._timer = None
        self._expired()
        self.close()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Connection(Channel):
    """State: reading a frame, or writing a reply; never both, so memory is bounded."""

    __slots__ = ("_decoder", "_eof", "_last", "_leaving", "_upgrade", "served")

    SLOW_S: ClassVar[float] = FRAME_S

    def __init__(self, connected: socket.socket, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(connected, server, loop)
        self._decoder = FrameDecoder(request_length)
        self._eof = False
        self._last = False
        self._leaving = False
        self._upgrade: Upgrade | None = None
        self.served = 0
        """Requests answered."""

    @property
    def idle(self) -> bool:
        """Between two requests of a client that stays connected."""
        return self.served > 0 and not self._decoder.buffered and not self._out

    @property
    def buffered(self) -> int:
        """Bytes of an unfinished frame."""
        return self._decoder.buffered

    def start(self) -> None:
        """Serve it, beginning with what has arrived already."""
        self._arm(FRAME_S)
        self._on_readable()

    def leave(self) -> None:
        """Close for an owner that leaves: now, or as soon as nothing is half done."""
        self._leaving = True
        if self.idle:
            self.close()
        elif not self.served and not self._decoder.buffered:
            self._arm(_LEAVING_S)

    def _on_readable(self) -> None:
        data = self._receive()
        if data is None:
            return
        if not data:
            self._eof = True
            self._stop_reading()
            if not self._out:
                self._serve()
            return
        if not self.served and not self._decoder.buffered and data[:1] == b"{":
            self._hand_over(self._server.plain, data)
            return
        if not self.served and not self._decoder.buffered and data[:4] in _HTTP_METHODS:
            self._hand_over(self._server.http, data)
            return
        self._decoder.feed(data)
        self._serve()

    def _serve(self) -> None:
        """Answer one request if it is whole; further ones in the buffer wait for other clients' turn."""
        if self._is_closed or self._out or self._last:
            return
        answer = self._answer()
        if answer is None:
            if self._eof:
                self.close()
                return
            if self._decoder.buffered and self._timer is None:
                self._arm(FRAME_S)
            self._read_on()
            return
        self._disarm()
        self.served += 1
        self._last = answer.last
        self._upgrade = answer.upgrade
        self._send(answer.data)
        answer.then()
        if self._decoder.buffered:
            self._loop.call_soon(self._serve)

    def _answer(self) -> Answer | None:
        try:
            payload = self._decoder.take()
        except WireError as error:
            return self._server.refuse(error)
        if payload is not None:
            return self._server.answer(payload)
        strained = self._server.too_much_held() if self._decoder.buffered > LARGE_BYTES else None
        return None if strained is None else self._server.refuse(strained)

    def _on_writable(self) -> None:
        super()._on_writable()
        if not self._out:
            self._serve()

    def _sent(self) -> None:
        if self._upgrade is not None and not self._leaving:
            self._hand_over(self._upgrade, self._decoder.rest())
            return
        if self._last or (not self._decoder.buffered and (self._eof or self._leaving)):
            self.close()
        elif not self._eof:
            self._read_on()

    def _hand_over(self, upgrade: Upgrade, data: bytes) -> None:
        """Give the socket away; this connection has ended."""
        self._disarm()
        self._stop_reading()
        upgrade(socket.socket(fileno=self._socket.detach()), data)
        self._server.closed(self)
