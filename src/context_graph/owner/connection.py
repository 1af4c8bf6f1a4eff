"""One client's connection: bytes in, frames out of them, replies back, all of it bounded."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import ClassVar, Final, Protocol

from context_graph.errors import WireError
from context_graph.owner.channel import Channel
from context_graph.wire.decoder import FrameDecoder
from context_graph.wire.frames import request_length

__all__ = ["FRAME_S", "Answer", "Connection", "Server"]

FRAME_S: Final = 5.0
"""Time to deliver a frame once begun, and to take a reply."""
_LEAVING_S: Final = 0.5
"""What a client that connected but sent nothing gets when the owner is leaving."""
_RECV_BYTES: Final = 64 * 1024
_LARGE_BYTES: Final = 256 * 1024

Upgrade = Callable[[socket.socket, bytes], None]
"""Takes a connected socket and what was read from it beyond the last frame."""


class Answer(Protocol):
    """A finished request: what to send, and what to do once it is sent."""

    @property
    def data(self) -> bytes: ...
    @property
    def last(self) -> bool:
        """Whether the connection ends with it."""
        ...

    @property
    def then(self) -> Callable[[], None]:
        """Log and count: work the client need not wait for."""
        ...

    @property
    def upgrade(self) -> Upgrade | None:
        """What takes the socket over once this answer is sent: it speaks something else from then on."""
        ...


class Server(Protocol):
    """What a connection needs of its server."""

    def answer(self, payload: bytes) -> Answer: ...
    def refuse(self, error: WireError) -> Answer: ...
    def plain(self, connected: socket.socket, data: bytes) -> None:
        """A client that began with `{`: its socket and what it said."""
        ...

    def too_much_held(self) -> WireError | None:
        """Why no more unfinished bytes may be kept, if so; asked when a frame has grown large."""
        ...

    def expired(self, connection: Connection) -> None: ...
    def closed(self, connection: Connection) -> None: ...


class Connection(Channel):
    """State: reading a frame, or writing a reply; never both, so memory is bounded."""

    __slots__ = ("_decoder", "_eof", "_last", "_leaving", "_server", "_upgrade", "served")

    SLOW_S: ClassVar[float] = FRAME_S

    def __init__(self, connected: socket.socket, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(connected, loop)
        self._server = server
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
        return self.served > 0 and not self._decoder.held and not self._out

    @property
    def held(self) -> int:
        """Bytes of an unfinished frame."""
        return self._decoder.held

    def start(self) -> None:
        """Serve it; what has arrived already is read at once."""
        self._arm(FRAME_S)
        self._on_readable()

    def leave(self) -> None:
        """The owner is leaving: close when nothing is half done, else as soon as that is done."""
        self._leaving = True
        if self.idle:
            self.close()
        elif not self.served and not self._decoder.held:
            self._arm(_LEAVING_S)

    def _closed(self) -> None:
        self._server.closed(self)

    def _on_readable(self) -> None:
        try:
            data = self._socket.recv(_RECV_BYTES)
        except BlockingIOError:
            self._read_on()
            return
        except OSError:
            self.close()
            return
        if not data:
            self._eof = True
            self._stop_reading()
            if not self._out:
                self._serve()
            return
        if not self.served and not self._decoder.held and data[:1] == b"{":
            self._hand_over(self._server.plain, data)
            return
        self._decoder.feed(data)
        self._serve()

    def _serve(self) -> None:
        """Answer one request if it is whole. More in the same buffer wait their turn behind other clients."""
        if self._is_closed or self._out or self._last:
            return
        answer = self._answer()
        if answer is None:
            if self._eof:
                self.close()
                return
            if self._decoder.held and self._timer is None:
                self._arm(FRAME_S)
            self._read_on()
            return
        self._disarm()
        self.served += 1
        self._last = answer.last
        self._upgrade = answer.upgrade
        self._send(answer.data)
        answer.then()
        if self._decoder.held:
            self._loop.call_soon(self._serve)

    def _answer(self) -> Answer | None:
        try:
            payload = self._decoder.take()
        except WireError as error:
            return self._server.refuse(error)
        if payload is not None:
            return self._server.answer(payload)
        strained = self._server.too_much_held() if self._decoder.held > _LARGE_BYTES else None
        return None if strained is None else self._server.refuse(strained)

    def _on_writable(self) -> None:
        super()._on_writable()
        if not self._out:
            self._serve()

    def _sent(self) -> None:
        if self._upgrade is not None and not self._leaving:
            self._hand_over(self._upgrade, self._decoder.rest())
            return
        if self._last or (not self._decoder.held and (self._eof or self._leaving)):
            self.close()
        elif not self._eof:
            self._read_on()

    def _hand_over(self, upgrade: Upgrade, data: bytes) -> None:
        """Give the socket away; this connection has ended."""
        self._disarm()
        self._stop_reading()
        upgrade(socket.socket(fileno=self._socket.detach()), data)
        self._server.closed(self)

    def _expired(self) -> None:
        self._server.expired(self)
