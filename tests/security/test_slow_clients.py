"""Clients that send byte by byte, or nothing, or too much, over HTTP (over the socket: test_owner_server)."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.owner_harness import WAIT_S

from context_graph.mcp_server import http_connection
from context_graph.mcp_server.http import HttpServer
from context_graph.mcp_server.http_connection import HttpConnection

TOKEN = "a" * 64
HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %b\r\nContent-Type: application/json\r\n"
)


class Door:
    """The HTTP server as the owner has it, on a loop that a test drives."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

        def no_project(_project: str | None, _client: bytes) -> Any:
            raise AssertionError("nobody here gets as far as a session")

        server = HttpServer(no_project, TOKEN)
        made = self.loop.create_server(lambda: HttpConnection(server, logging.getLogger("t")), "127.0.0.1", 0)
        self.server = self.loop.run_until_complete(made)
        self.port = int(self.server.sockets[0].getsockname()[1])

    def run(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)
        connection.setblocking(False)
        self.run(0.01)
        return connection

    def is_open(self, connection: socket.socket) -> bool:
        try:
            return connection.recv(65536) != b""
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.server.close()
    made.run(0.01)
    made.loop.close()


@pytest.mark.parametrize("authorized", [False, True])
def test_a_request_that_comes_byte_by_byte_is_ended_in_its_time(
    door: Door, authorized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte does not buy more time: the limit is of the whole request."""
    monkeypatch.setattr(http_connection, "_KEEP_S", 0.5)
    monkeypatch.setattr(HttpConnection._arm, "__defaults__", (0.5,))
    with door.connect() as slow:
        sent = HEAD % (TOKEN.encode() if authorized else b"x") + b"X-Slow: "
        for at in range(400):
            try:
                slow.send(sent[at : at + 1] or b"a")
            except OSError:
                break
            door.run(0.005)
            if not door.is_open(slow):
                break
        else:
            raise AssertionError("it was still being served")


def test_a_head_without_end_is_refused(door: Door) -> None:
    with door.connect() as connection:
        connection.send(b"GET /mcp HTTP/1.1\r\nX: " + b"a" * 40_000)
        door.run(0.05)
        assert connection.recv(4096).startswith(b"HTTP/1.1 4")


def test_connections_are_bounded_and_the_next_one_is_served_when_one_has_gone(door: Door) -> None:
    held = [door.connect() for _ in range(64)]
    try:
        late = door.connect()
        door.run(0.05)
        assert not door.is_open(late)
        late.close()
        held.pop().close()
        door.run(0.05)
        with door.connect() as next_one:
            next_one.send(b"GET /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            door.run(0.05)
            assert next_one.recv(4096).startswith(b"HTTP/1.1 403")
    finally:
        for connection in held:
            connection.close()


def test_a_body_is_not_read_before_the_token_is_known(door: Door) -> None:
    with door.connect() as connection:
        connection.send(HEAD % b"wrong" + b"Content-Length: 2000000\r\n\r\n")
        door.run(0.05)
        assert connection.recv(4096).startswith(b"HTTP/1.1 401"), "answered with not one byte of it sent"
