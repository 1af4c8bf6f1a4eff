"""One client's socket on the event loop: sending what it takes, waiting for what it doesn't, and time limits.

Served straight from the loop's readiness callbacks: asyncio's own transports take three turns of the loop
from accept to the first byte, here one turn does it. What that saves pays for all of decoding, answering and
logging a request (benches/bench_owner.py, `round trip`).
"""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from typing import ClassVar

__all__ = ["Channel"]


class Channel(ABC):
    """A socket that is read from or written to, never both, so that memory is bounded."""

    __slots__ = ("_loop", "_out", "_reads", "_socket", "_timer", "used_at")

    SLOW_S: ClassVar[float]
    """Time to take an answer."""

    def __init__(self, connected: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self._socket = connected
        self._loop = loop
        self._out = memoryview(b"")
        """What of the answer the client has not taken yet."""
        self._reads = False
        self._timer: asyncio.TimerHandle | None = None
        self.used_at = loop.time()

    @abstractmethod
    def _on_readable(self) -> None:
        """There is something to read, or the end of it."""

    @abstractmethod
    def _sent(self) -> None:
        """The answer is with the client, whole."""

    @abstractmethod
    def _expired(self) -> None:
        """The time that `_arm` gave is over; the socket is closed next."""

    @abstractmethod
    def _closed(self) -> None:
        """The socket has just been closed."""

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
