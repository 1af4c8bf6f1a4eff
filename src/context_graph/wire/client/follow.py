"""Stays connected to the owner after a request, and reads the JSON lines that it says from then on."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from context_graph.config.paths import Location
from context_graph.errors import MalformedFrameError
from context_graph.wire.client.request import opened, request
from context_graph.wire.frames import MAX_PAYLOAD_BYTES, Reply

_RECV_BYTES: Final = 64 * 1024
_SILENT_S: Final = 30.0
"""Without a word, after which the owner is asked whether it still answers."""


class Following:
    """Iterates over what the owner says, a JSON value each; ends when the owner, or this end, closes.

    Attributes:
        reply: To the request. If it failed, nothing follows.

    Args:
        ping: Asks the owner something else; raises as `request` if it does not answer any more.
    """

    def __init__(self, reply: Reply, connection: socket.socket, ping: Callable[[], Reply]) -> None:
        self.reply = reply
        self._socket, self._ping = connection, ping
        connection.settimeout(_SILENT_S)
        if reply.exit_code or reply.flags:
            self.close()

    def __iter__(self) -> Iterator[Any]:
        rest = b""
        while True:
            try:
                data = self._socket.recv(_RECV_BYTES)
            except TimeoutError:
                self._ping()
                continue
            except OSError:
                data = b""
            if not data:
                self.close()
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield _value(line)
            if len(rest) > MAX_PAYLOAD_BYTES:
                self.close()
                raise MalformedFrameError(f"a line of more than {MAX_PAYLOAD_BYTES} bytes")

    def give_up(self) -> None:
        """Say that nobody waits any more; what the owner says to that can still be read."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it, from any thread. Safe to call twice."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def follow(
    verb: str,
    params: Mapping[str, object],
    body: bytes = b"",
    *,
    location: Location,
    autostart: bool = True,
    timeout_s: float = 5.0,
    env: Mapping[str, str] | None = None,
) -> Following:
    """Ask as `request` and stay connected. Arguments and errors as `request`'s."""
    ping = partial(
        request, "owner.ping", {}, location=location, autostart=False, timeout_s=_SILENT_S, env=env
    )
    return Following(*opened(verb, params, body, location, autostart, timeout_s, env), ping)


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise MalformedFrameError(f"no line of an owner that is followed: {line[:80]!r}") from error
