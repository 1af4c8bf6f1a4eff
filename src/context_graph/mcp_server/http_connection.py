"""One HTTP connection: a request is read whole, served a message a turn of the loop, answered. h11 parses.

Answers are JSON; a stream of events where notifications precede the answer, or it comes late, and the client
takes one. A late call goes on when its connection ends, as the transport's chapter has it: what cancels it is
the client's notification.
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
_Headers = tuple[tuple[str, str], ...]
_STREAM: Final[_Headers] = (("Content-Type", SSE), ("Cache-Control", "no-store"))


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
        self._expected = 0
        self._lines: list[bytes] = []
        self._opened: _Headers = ()
        self._sent = 0
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
        if self._draining or self._transport is None:
            return
        self._http.receive_data(data)
        if self._is_busy:
            self._transport.pause_reading()  # the next request waits with its sender, not with us
        self._advance()

    def eof_received(self) -> bool:
        if self._draining:
            return False
        self._http.receive_data(b"")
        self._advance()
        return self._work is not None or self._expected > 0

    def close(self) -> None:
        """End it now."""
        if self._transport is not None:
            self._transport.close()

    def _advance(self) -> None:
        """Take what h11 has, until a request is whole or more bytes are needed."""
        while self._transport is not None and not self._is_busy and not self._draining:
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
        self._lines, self._sent = [], 0
        self._opened = (("Mcp-Session-Id", opened),) if opened else ()
        self._work = endpoint.receive(body, self)
        self._step()

    @property
    def _is_busy(self) -> bool:
        return self._work is not None or self._expected > 0

    def expect(self) -> None:
        """One more late answer of the request that is being served is to come."""
        self._expected += 1

    def late(self, lines: bytes, *, last: bool) -> None:
        """Send ``lines`` in the stream, or keep them until all is there; ``last``: an answer is settled."""
        self._expected -= last
        self._lines += lines.splitlines()
        if self._work is None and self._transport is not None:
            self._continue()

    @property
    def clear(self) -> bool:
        """Whether the client takes progress, and has taken all that there was."""
        return self._streams and self._transport is not None and not self._transport.get_write_buffer_size()

    def _step(self) -> None:
        """Serve one message, then let others have their turn."""
        if self._work is None or self._transport is None:
            return
        chunk = next(self._work, None)
        if chunk is not None:
            self._lines += chunk.splitlines()
            asyncio.get_running_loop().call_soon(self._step)
            return
        self._work = None
        self._continue()

    def _continue(self) -> None:
        """All messages are served: answer, or say in the stream what there is to say before the rest."""
        if not self._expected and self._state() is not h11.SEND_BODY:
            self._answer()
        elif self._streams:
            self._stream()
        if not self._expected:
            self._advance()

    @property
    def _streams(self) -> bool:
        return self._request is not None and accepts(headers_of(self._request), SSE)

    def _answer(self) -> None:
        lines, headers = self._lines, self._opened
        answers = [line for line in lines if not line.startswith(_NOTE)]
        if not answers:
            self._respond(202, b"", headers)  # what was notified of has no stream to go to
        elif len(answers) < len(lines) and self._streams:
            self._respond(200, _events(lines), (*headers, *_STREAM))
        else:
            status = 400 if answers[0].startswith(b'{"jsonrpc":"2.0","id":null,') else 200
            self._respond(status, answers[0] + b"\n", (*headers, ("Content-Type", JSON)))

    def _stream(self) -> None:
        """Begin the stream, if it has not begun; send what waits, and the end once nothing is to come."""
        if self._transport is None:
            return
        parts: list[bytes | None] = []
        if self._state() is not h11.SEND_BODY:
            parts.append(self._http.send(h11.Response(status_code=200, headers=[*self._opened, *_STREAM])))
        body, self._lines = _events(self._lines), []
        self._sent += len(body)
        if body:
            parts.append(self._http.send(h11.Data(data=body)))
        if not self._expected:
            parts.append(self._http.send(h11.EndOfMessage()))
        self._transport.write(b"".join(part for part in parts if part))
        if not self._expected:
            self._finish(200, self._sent)

    def _refuse(self, refused: RefusedError) -> None:
        self._log.warning("http: refused with %d: %s", refused.status, refused)
        error = rpc.RpcError(rpc.INVALID_REQUEST, f"Invalid Request: {refused}")
        body = rpc.failure(None, error) + b"\n"
        # The rest of a body that nobody wants would be taken for the next request.
        headers = (*refused.headers, ("Content-Type", JSON), ("Connection", "close"))
        self._respond(refused.status, body, headers)

    def _respond(self, status: int, body: bytes, headers: _Headers) -> None:
        if self._transport is None or self._state() not in (h11.IDLE, h11.SEND_RESPONSE):
            self.close()
            return
        all_headers = [*headers, *([("Content-Length", str(len(body)))] if status != 204 else [])]
        parts = [self._http.send(h11.Response(status_code=status, headers=all_headers))]
        if body:
            parts.append(self._http.send(h11.Data(data=body)))
        parts.append(self._http.send(h11.EndOfMessage()))
        self._transport.write(b"".join(part for part in parts if part))
        self._finish(status, len(body))

    def _finish(self, status: int, sent: int) -> None:
        """The answer is on its way: be ready for the next request, or for the end."""
        took_ms = (time.perf_counter() - self._began) * 1000.0
        self._log.info("http status=%d ms=%.2f in=%d out=%d", status, took_ms, len(self._body), sent)
        if self._transport is not None and not self._transport.is_reading():
            self._transport.resume_reading()
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


def _events(lines: list[bytes]) -> bytes:
    return b"".join(b"event: message\ndata: " + line + b"\n\n" for line in lines)
