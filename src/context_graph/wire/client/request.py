"""Asks the owner: sends one request, reads its reply, stays connected if wanted; starts it if need be."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from context_graph.config import Location, socket_path
from context_graph.errors import DeadlineExceededError, MalformedFrameError, OwnerUnavailableError
from context_graph.wire.build import client_build
from context_graph.wire.client.connection import connect, exchange
from context_graph.wire.frames import (
    ENV_NAMES,
    MAX_PAYLOAD_BYTES,
    YIELDING,
    Reply,
    Request,
    encode_request,
)


def request(
    verb: str,
    params: Mapping[str, object],
    body: bytes = b"",
    *,
    location: Location,
    autostart: bool = True,
    timeout_s: float = 5.0,
    env: Mapping[str, str] | None = None,
) -> Reply:
    """Ask the owner of ``location.root``; start one first if none answers, unless told not to.

    An owner that is older than this package is waited out and replaced. The request carries one
    event id for all its tries, so that it is applied once.

    Args:
        params: The command's long options without dashes.
        timeout_s: For everything together: start, hand-over, answer.
        env: Where the session id and the request-scoped settings are read from; os.environ if None.

    Returns:
        The reply, whatever its exit code says.

    Raises:
        OwnerUnavailableError: No owner answers and none could be started, or it ended in between;
            says what was tried and what to do.
        DeadlineExceededError: The owner took the request and did not answer in time.
        MalformedFrameError, FrameTooLargeError: The request or the reply is no frame.
    """
    reply, connection = opened(verb, params, body, location, autostart, timeout_s, env)
    connection.close()
    return reply


def opened(
    verb: str,
    params: Mapping[str, object],
    body: bytes,
    location: Location,
    autostart: bool,
    timeout_s: float,
    env: Mapping[str, str] | None,
) -> tuple[Reply, socket.socket]:
    """As `request`; returns the connection too, which stays open."""
    end = time.monotonic() + timeout_s
    env = os.environ if env is None else env
    asked = _made_request(verb, params, body, location, timeout_s, env)
    frame = encode_request(asked)
    yielded = False
    while True:
        connection = _reach(location.root, end, env if autostart else None)
        try:
            reply = exchange(connection, frame, end)
        except DeadlineExceededError as error:
            connection.close()
            raise _silent(location.root, error) from error
        except ConnectionError as error:
            connection.close()
            # It went while we spoke to it; what it may have applied it will know again by its id.
            if not autostart or time.monotonic() >= end:
                raise OwnerUnavailableError(
                    f"the owner of {location.root} ended during the request ({error}); "
                    f"{location.root / 'log' / 'owner.log'} may say why"
                ) from error
            continue
        except BaseException:
            connection.close()
            raise
        if not reply.flags & YIELDING:
            return reply, connection
        connection.close()
        if not autostart:
            raise OwnerUnavailableError(
                f"the owner of {location.root} was older than {client_build()} and has stopped; "
                "`context-graph-cli owner start` starts a new one"
            )
        from context_graph.wire.client.spawn import find_owner_command, wait_free

        if yielded:
            command = " ".join(find_owner_command(env))
            raise OwnerUnavailableError(
                f"the owner that {command!r} starts is older than this client, {client_build()}; "
                "let CONTEXT_GRAPH_PYTHON name the interpreter of the same installation"
            )
        yielded = True
        wait_free(location.root, end)


def _reach(root: Path, end: float, start_env: Mapping[str, str] | None) -> socket.socket:
    """Return a connection; with ``start_env`` an owner is started where none is."""
    while True:
        connection = connect(root, end)
        if connection is not None:
            return connection
        if start_env is None:
            raise OwnerUnavailableError(
                f"no owner listens at {socket_path(root)}; `context-graph-cli owner start` starts one"
            )
        from context_graph.wire.client.spawn import start_owner, wait_ready  # most calls start none

        with start_owner(root, start_env) as starting:
            wait_ready(root, end, starting)


def _silent(root: Path, error: DeadlineExceededError) -> DeadlineExceededError:
    """Return ``error`` with what is known of an owner that took a request and does not answer."""
    from context_graph.wire.client.silent import look_at

    try:
        seen = look_at(root)
    except OSError:
        return error
    if seen is None:
        return error
    return DeadlineExceededError(f"{seen.text()}; {seen.cure()}")


def _made_request(
    verb: str,
    params: Mapping[str, object],
    body: bytes,
    location: Location,
    timeout_s: float,
    env: Mapping[str, str],
) -> Request:
    try:
        cwd: Path | None = Path(os.getcwd())
    except FileNotFoundError:  # the working folder was deleted
        cwd = None
    return Request(
        verb=verb,
        event_id=os.urandom(16).hex(),
        params=params,
        body=body,
        store=location.store,
        project=location.project,
        session_env=env.get("CLAUDE_CODE_SESSION_ID", ""),
        cwd=cwd,
        env={name: env[name] for name in ENV_NAMES if name in env},
        deadline_ms=min(int(timeout_s * 1000), 0xFFFFFFFF),
        at_ms=time.time_ns() // 1_000_000,
        version=client_build(),
    )


# The connection


# To stay connected, and read what the owner says from then on


_RECV_BYTES: Final = 64 * 1024
_SILENT_S: Final = 30.0
"""Without a word, after which the owner is asked whether it still answers."""


class Following:
    """Iterates over what the owner says, a JSON value each; ends when the owner, or this end, closes.

    If ``reply``, to the request, failed, nothing follows. ``ping`` asks the owner something else; raises as
    `request` if it does not answer any more.
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
