"""Serves one HTTP/1.1 request on the owner's socket: what the plugin's hooks module in the client can speak.

`POST /v1/<verb>` with a JSON body is the same request as a frame: the same verbs, the same peer (our own user
alone), the same limits. The body may have ``project`` (absolute path of the folder; else there is no store),
``session_id``, ``params`` (the command's options) and ``body`` (what a hook would read from standard input).
The answer's body is what the verb prints; 400 says in ``error`` what was wrong, 200 with the header
``x-exit-code`` what the command's exit code would have been. The connection ends with the answer.

h11 reads the request: it is strict, does no input or output of its own, and its buffers are bounded.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Final

import h11
import msgspec
import orjson

from context_graph.config import locate
from context_graph.errors import ContextGraphError, InvalidInputError, WireError
from context_graph.owner.socket.connection import FRAME_S, RECV_BYTES, Channel, Server
from context_graph.wire.build import owner_build
from context_graph.wire.frames import Reply, Request

BODY_MAX: Final = 4 * 1024 * 1024
_HEAD_MAX: Final = 16 * 1024
_PREFIX: Final = "/v1/"
_JSON: Final = "application/json"
_WAIT_MS: Final = 5_000

Serve = Callable[[Request, int], Reply]
"""Answers a request that took so many bytes; never raises."""


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    """What a request asks with."""

    project: str | None = None
    session_id: str | None = None
    params: dict[str, Any] = {}
    body: msgspec.Raw = msgspec.Raw(b"")


class HttpRefusedError(WireError):
    """The request can't be served; ``status`` says why in HTTP's terms."""

    code = "http_refused"

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class HttpConnection(Channel):
    """State: reading the one request, of which ``first`` was read already, or writing its answer."""

    SLOW_S: ClassVar[float] = FRAME_S

    def __init__(
        self,
        connected: socket.socket,
        server: Server,
        loop: asyncio.AbstractEventLoop,
        *,
        root: Path,
        first: bytes,
        serve: Serve,
    ) -> None:
        super().__init__(connected, server, loop)
        self._root = root
        self._first = first
        self._serve = serve
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_MAX)
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._received = 0
        self._answered = False

    @property
    def buffered(self) -> int:
        """Bytes of the unfinished request."""
        return 0 if self._answered else self._received

    @property
    def idle(self) -> bool:
        """Never: it lives for one request."""
        return False

    def start(self) -> None:
        """Serve it, beginning with what was read already."""
        self._arm(FRAME_S)
        self._take(self._first)
        self._first = b""

    def leave(self) -> None:
        """Nothing to do: it ends with its answer, or when its time is over."""

    def _on_readable(self) -> None:
        data = self._receive()
        if data is not None:
            self._take(data)

    def _take(self, data: bytes) -> None:
        """Feed ``data`` ("" is the end) to the parser, and answer if the request is whole."""
        self._received += len(data)
        try:
            self._parser.receive_data(data)
            whole = self._read_events()
        except h11.RemoteProtocolError as error:
            if not self._received or not data:  # gone before it said anything whole: nobody to tell
                self.close()
                return
            self._refuse(HTTPStatus(error.error_status_hint), f"this is no HTTP request: {error}")
            return
        except HttpRefusedError as error:
            self._refuse(error.status, str(error))
            return
        if whole:
            self._answer()
        elif data:
            self._read_on()
        else:
            self.close()

    def _read_events(self) -> bool:
        while True:
            event = self._parser.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                strained = self._server.too_much_held() if self._received > RECV_BYTES else None
                if strained is not None:
                    raise HttpRefusedError(HTTPStatus.SERVICE_UNAVAILABLE, str(strained))
                return False
            if isinstance(event, h11.Request):
                self._head = event
                _check_length(int(dict(event.headers).get(b"content-length", b"0")))
            elif isinstance(event, h11.Data):
                self._body += event.data
                _check_length(len(self._body))
            else:
                return isinstance(event, h11.EndOfMessage)

    def _answer(self) -> None:
        assert self._head is not None, "a message ends after its head"
        try:
            request = request_of(self._head, bytes(self._body), self._root)
        except HttpRefusedError as error:
            self._refuse(error.status, str(error))
            return
        except ContextGraphError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
            return
        reply = self._serve(request, self._received)
        if reply.exit_code and not reply.stdout:
            message = reply.stderr.decode("utf-8", "replace").strip().removeprefix("context-graph: ")
            self._refuse(HTTPStatus.BAD_REQUEST, message or "the command failed", reply.exit_code)
            return
        self._respond(HTTPStatus.OK, reply.stdout, reply.exit_code)

    def _refuse(self, status: HTTPStatus, text: str, exit_code: int = 1) -> None:
        self._respond(status, orjson.dumps({"error": text}), exit_code)

    def _respond(self, status: HTTPStatus, body: bytes, exit_code: int) -> None:
        self._disarm()
        self._stop_reading()
        self._answered = True
        headers = [
            ("content-type", _JSON),
            ("content-length", str(len(body))),
            ("x-exit-code", str(exit_code)),
            ("connection", "close"),
        ]
        try:
            head = self._parser.send(h11.Response(status_code=status, headers=headers, reason=status.phrase))
        except h11.LocalProtocolError:  # it broke the rules before we may answer by them
            self.close()
            return
        self._send((head or b"") + body)

    def _sent(self) -> None:
        self.close()


def _check_length(count: int) -> None:
    if count > BODY_MAX:
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        raise HttpRefusedError(status, f"the body is longer than {BODY_MAX} bytes; send less")


def request_of(head: h11.Request, body: bytes, root: Path) -> Request:
    """Return the frame's request that this HTTP request means.

    Raises:
        HttpRefusedError: Another method or path.
        InvalidInputError: A body that is no JSON object of known fields.
        ContextGraphError: As ``locate``.
    """
    target = head.target.decode("ascii", "replace")
    if not target.startswith(_PREFIX):
        raise HttpRefusedError(HTTPStatus.NOT_FOUND, f"{target[:80]!r} is not {_PREFIX}<verb>")
    if head.method != b"POST":
        raise HttpRefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "only POST is served")
    try:
        asked = msgspec.json.decode(body, type=_Body) if body.strip() else _Body()
    except msgspec.DecodeError as error:
        raise InvalidInputError(f"the body is not JSON as it must be: {error}") from error
    project = Path(asked.project) if asked.project else None
    place = None
    if project is not None:
        if not project.is_absolute():
            raise InvalidInputError(f"project {str(project)[:80]!r} must be an absolute path")
        place = locate(None, {"CONTEXT_GRAPH_HOME": os.fspath(root), "HOME": "/"}, project)
    return Request(
        verb=target.removeprefix(_PREFIX),
        event_id=secrets.token_hex(16),
        params=asked.params,
        body=bytes(asked.body),
        store=place.store if place else None,
        project=place.project if place else None,
        session_env=asked.session_id or "",
        cwd=project,
        deadline_ms=_WAIT_MS,
        at_ms=time.time_ns() // 1_000_000,
        version=owner_build(),
    )
