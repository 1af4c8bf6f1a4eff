"""Tells a client which parts of a store changed, one JSON line each time, for as long as it stays connected.

The client says nothing. What changes while a line is still being sent, or within a moment of the last one, is
said in one line afterwards, so a client that is slow, or a busy session, costs no memory.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import ClassVar, Final

from context_graph.owner.socket.connection import Channel, Server

_PAUSE_S: Final = 0.25
"""Between two lines."""

Changed = Callable[[], tuple[str, ...]]
"""The parts that changed since its last call."""


class FollowConnection(Channel):
    """State: waiting, or (``_out``) sending a line.

    Args:
        changed: Asked each time something may have changed.
        ended: Called once, when the connection has ended.
    """

    SLOW_S: ClassVar[float] = 30.0

    def __init__(
        self,
        connected: socket.socket,
        server: Server,
        loop: asyncio.AbstractEventLoop,
        *,
        changed: Changed,
        ended: Callable[[FollowConnection], None],
    ) -> None:
        super().__init__(connected, server, loop)
        self._changed, self._ended = changed, ended
        self._waiting: dict[str, None] = {}
        self._pause: asyncio.TimerHandle | None = None

    @property
    def buffered(self) -> int:
        """It reads nothing."""
        return 0

    @property
    def idle(self) -> bool:
        """It may go when room is needed: the client connects again and reads everything anew."""
        return not self._out

    def start(self) -> None:
        """Wait for changes, or for the client to go."""
        self._changed()
        self._read_on()

    def look(self) -> None:
        """Something may have changed: say so, now or soon."""
        self._waiting |= dict.fromkeys(self._changed())
        if self._waiting and not self._out and self._pause is None:
            self._tell()

    def leave(self) -> None:
        """Close, as the owner leaves."""
        self.close()

    def _tell(self) -> None:
        line = json.dumps({"changed": list(self._waiting)}).encode() + b"\n"
        self._waiting.clear()
        self._pause = self._loop.call_later(_PAUSE_S, self._resume)
        self._send(line)

    def _resume(self) -> None:
        self._pause = None
        if self._waiting and not self._out and not self._is_closed:
            self._tell()

    def _on_readable(self) -> None:
        self.close()  # the end, or a client that speaks out of turn

    def _sent(self) -> None:
        self._read_on()
        if self._pause is None:
            self._resume()

    def _expired(self) -> None:
        self._server.expired(self)

    def _closed(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._ended(self)
        self._server.closed(self)
