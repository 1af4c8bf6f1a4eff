"""One HTTP connection: a request is read whole, served a message a turn of the loop, answered. h11 parses.

Answers are JSON; a stream of events only where notifications precede the answer and the client takes one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Final

import h11

from context_graph.mcp_server import rpc
from context_graph.mcp_server.http import HttpServer
from context_graph.mcp_server.http_request import BODY_MAX, JSON, SSE, RefusedError, accepts, headers_of

__all__ = ["HttpConnection"]

_HEAD_MAX: Final = 16 * 1024
_KEEP_S: Final = 75.0
"""How long a connection may be silent."""
_DRAIN_S: Final = 2.0
_NOTE: Final = b'{"jsonrpc":"2.0","method":'


class HttpConnection(asyncio.Protocol):
    """The protocol of one connection, for `loop.create_server`."""

    def __init__(self, server: HttpServer, log: logging.Logger) -> None:
        self._server = server
        self._log = log
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_MAX)
        self._transport: asyncio.Transport | None = None
        self._request: h11.Request | None = None
        self._body = bytearray()
        self._work: Iterator[bytes] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._began = 0.0
        self._draining = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._server.opened(self):
            self._log.warning("http: refused: too many connections")
            transport.abort()
            return
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self._transport = self._work = None
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        if not self._draining:
            self._http.receive_data(data)
            self._advance()

    def eof_received(self) -> bool:
        if self._draining:
            return False
        self._http.receive_data(b"")
        self._advance()
        return self._work is not None

    def close(self) -> None:
        """End it now."""
        if self._transport is not None:
            self._transport.close()

    def _advance(self) -> None:
        """Take what h11 has, until a request is whole or more bytes are needed."""
        while self._transport is not None and self._work is None and not self._draining:
            try:
                event = self._http.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    return
                if isinstance(event, h11.Request):
                    self._request, self._began = event, time.perf_counter()
                    self._body.clear()
                    self._server.check(event)
                elif isinstance(event, h11.Data):
                    self._body += event.data
                    if len(self._body) > BODY_MAX:
                        raise RefusedError(413, f"a message may have {BODY_MAX} bytes")
                elif isinstance(event, h11.EndOfMessage):
                    self._serve()
                else:
                    self.close()
                    return
            except RefusedError as refused:
                self._refuse(refused)
            except h11.RemoteProtocolError as error:
                self._refuse(RefusedError(error.error_status_hint, str(error)))

    def _serve(self) -> None:
        request = self._request
        assert request is not None
        self._disarm()
        if request.method == b"DELETE":
            self._server.end_session(request)
            self._respond(204, b"", ())
            return
        body = bytes(self._body)
        endpoint, opened = self._server.session(request, body)
        self._work = endpoint.receive(body)
        self._step([], (("Mcp-Session-Id", opened),) if opened else ())

    def _step(self, lines: list[bytes], headers: tuple[tuple[str, str], ...]) -> None:
        """Serve one message, then let others have their turn."""
        if self._work is None or self._transport is None:
            return
        chunk = next(self._work, None)
        if chunk is not None:
            lines += chunk.splitlines()
            asyncio.get_running_loop().call_soon(self._step, lines, headers)
            return
        self._work = None
        self._answer(lines, headers)
        self._advance()

    def _answer(self, lines: list[bytes], headers: tuple[tuple[str, str], ...]) -> None:
        answers = [line for line in lines if not line.startswith(_NOTE)]
        assert self._request is not None
        if not answers:
            self._respond(202, b"", headers)  # what was notified of has no stream to go to
        elif len(answers) < len(lines) and accepts(headers_of(self._request), SSE):
            body = b"".join(b"event: message\ndata: " + line + b"\n\n" for line in lines)
            self._respond(200, body, (*headers, ("Content-Type", SSE), ("Cache-Control", "no-store")))
        else:
            status = 400 if answers[0].startswith(b'{"jsonrpc":"2.0","id":null,') else 200
            self._respond(status, answers[0] + b"\n", (*headers, ("Content-Type", JSON)))

    def _refuse(self, refused: RefusedError) -> None:
        self._log.warning("http: refused with %d: %s", refused.status, refused)
        error = rpc.RpcError(rpc.INVALID_REQUEST, f"Invalid Request: {refused}")
        body = rpc.failure(None, error) + b"\n"
        # The rest of a body that nobody wants would be taken for the next request.
        headers = (*refused.headers, ("Content-Type", JSON), ("Connection", "close"))
        self._respond(refused.status, body, headers)

    def _respond(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
        if self._transport is None or self._state() not in (h11.IDLE, h11.SEND_RESPONSE):
            self.close()
            return
        all_headers = [*headers, *([("Content-Length", str(len(body)))] if status != 204 else [])]
        parts = [self._http.send(h11.Response(status_code=status, headers=all_headers))]
        if body:
            parts.append(self._http.send(h11.Data(data=body)))
        parts.append(self._http.send(h11.EndOfMessage()))
        self._transport.write(b"".join(part for part in parts if part))
        took_ms = (time.perf_counter() - self._began) * 1000.0
        self._log.info("http status=%d ms=%.2f in=%d out=%d", status, took_ms, len(self._body), len(body))
        if self._state() is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._arm()
        elif self._state() is not h11.DONE:
            self._drain()

    def _state(self) -> object:
        return self._http.our_state

    def _drain(self) -> None:
        """Let the answer arrive: to close on a peer that is still sending would take it from him."""
        self._draining = True
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()
        self._arm(_DRAIN_S)

    def _arm(self, seconds: float = _KEEP_S) -> None:
        self._disarm()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.close)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
