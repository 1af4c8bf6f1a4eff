"""Follows a store: the owner says which parts changed, for as long as the connection lasts."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from context_graph.config.paths import Location
from context_graph.errors import MalformedFrameError, OwnerUnavailableError
from context_graph.wire.client.connection import connect, exchange
from context_graph.wire.client.request import made_request
from context_graph.wire.frames import encode_request

VERB: Final = "view.follow"
_LINE_BYTES: Final = 64 * 1024
_RECV_BYTES: Final = 4096


class Following:
    """Iterates over the parts that changed, each time the owner says so; ends when the owner goes.

    Starts no owner: whoever looks at a store has just asked it for something.

    Raises:
        OwnerUnavailableError: No owner listens, or it refuses.
        DeadlineExceededError: It does not answer in ``timeout_s``.
    """

    def __init__(
        self, location: Location, *, timeout_s: float = 5.0, env: Mapping[str, str] | None = None
    ) -> None:
        end = time.monotonic() + timeout_s
        connection = connect(location.root, end)
        if connection is None:
            raise OwnerUnavailableError(f"no owner listens for {location.root}")
        asked = made_request(VERB, {}, b"", location, timeout_s, os.environ if env is None else env)
        try:
            reply = exchange(connection, encode_request(asked), end)
            if reply.exit_code or reply.flags:
                raise OwnerUnavailableError(reply.stderr.decode("utf-8", "replace").strip())
            connection.settimeout(None)
        except ConnectionError as error:
            connection.close()
            raise OwnerUnavailableError(f"the owner of {location.root} ended: {error}") from error
        except BaseException:
            connection.close()
            raise
        self._socket = connection

    def __iter__(self) -> Iterator[Sequence[str]]:
        rest = b""
        while True:
            try:
                data = self._socket.recv(_RECV_BYTES)
            except OSError:
                data = b""
            if not data:
                self.close()
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield _parts(line)
            if len(rest) > _LINE_BYTES:
                self.close()
                raise MalformedFrameError(f"a line of more than {_LINE_BYTES} bytes")

    def close(self) -> None:
        """End it, from any thread. Safe to call twice."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _parts(line: bytes) -> Sequence[str]:
    try:
        parts = json.loads(line)["changed"]
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedFrameError(f"no line of a store that is followed: {line[:80]!r}") from error
    return [str(part) for part in parts]
