"""Streamable HTTP: who may speak to the one endpoint on loopback, and the MCP sessions opened over it.

Source: the transport chapter of the MCP specification, 2025-03-26 to 2025-11-25. What a browser could be
tricked into sending is refused by Host and Origin before anything else is looked at.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import h11

from context_graph.errors import ContextGraphError
from context_graph.mcp_server import rpc
from context_graph.mcp_server.endpoint import Endpoint
from context_graph.mcp_server.http_request import (
    BODY_MAX,
    JSON,
    RefusedError,
    accepts,
    headers_of,
    host_of,
    path_of,
    query_of,
)
from context_graph.mcp_server.protocol import VERSIONS

__all__ = ["PATH", "HttpServer"]

PATH: Final = "/mcp"
_CONNECTIONS_MAX: Final = 64
_SESSIONS_MAX: Final = 256
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(slots=True)
class _Open:
    endpoint: Endpoint
    used_at: float


class _Closable(Protocol):
    def close(self) -> None: ...


class HttpServer:
    """The endpoint: who may speak to it, and the MCP sessions that were opened over it.

    Args:
        make: Makes the conversation of a new session, for the project folder that its URL names (None: the
            server's own); raises ContextGraphError for one it does not serve.
        token: What `Authorization: Bearer` must carry.
        lifetime_s: Seconds without a request after which a session is forgotten.
    """

    def __init__(
        self,
        make: Callable[[str | None, bytes], Endpoint],
        token: str,
        *,
        lifetime_s: float = 86_400.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._token = token.encode()
        self._lifetime_s = lifetime_s
        self._clock = clock
        self._sessions: OrderedDict[str, _Open] = OrderedDict()
        self._connections: set[_Closable] = set()

    def opened(self, connection: _Closable) -> bool:
        """Whether there is room for it."""
        if len(self._connections) >= _CONNECTIONS_MAX:
            return False
        self._connections.add(connection)
        return True

    def closed(self, connection: _Closable) -> None:
        """It has ended."""
        self._connections.discard(connection)

    def close(self) -> None:
        """End all connections."""
        for connection in list(self._connections):
            connection.close()

    def check(self, request: h11.Request) -> None:
        """Refuse who may not speak here; before the body is read."""
        headers = headers_of(request)
        if host_of(f"//{headers.get('host', '')}") not in _LOOPBACK:
            raise RefusedError(403, "the Host header does not name this machine")
        origin = headers.get("origin")
        if origin is not None and host_of(origin) not in _LOOPBACK:
            raise RefusedError(403, "requests from that Origin are not served")
        if path_of(request) != PATH:
            raise RefusedError(404, f"there is nothing here; the endpoint is {PATH}")
        if not self.authorized(headers.get("authorization", "")):
            raise RefusedError(
                401, "send the token of the file http-token in the data root", ("WWW-Authenticate", "Bearer")
            )
        version = headers.get("mcp-protocol-version")
        if version is not None and version not in VERSIONS:
            known = ", ".join(VERSIONS)
            raise RefusedError(400, f"MCP-Protocol-Version is none of {known}")
        if request.method not in (b"POST", b"DELETE"):
            raise RefusedError(405, "no stream is offered; POST one message", ("Allow", "POST, DELETE"))
        if request.method == b"POST":
            self._check_post(headers)

    def authorized(self, header: str) -> bool:
        """Whether the Authorization header carries the token; takes the same time for every wrong one."""
        kind, _, given = header.partition(" ")
        return hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token) and (
            kind.lower() == "bearer"
        )

    def _check_post(self, headers: dict[str, str]) -> None:
        if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RefusedError(415, f"Content-Type must be {JSON}")
        if not accepts(headers, JSON):
            raise RefusedError(406, f"Accept must admit {JSON}")
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > BODY_MAX:
            raise RefusedError(413, f"a message may have {BODY_MAX} bytes")

    def session(self, request: h11.Request, body: bytes) -> tuple[Endpoint, str | None]:
        """The conversation that a POST belongs to; and the id of a session that it opens."""
        found = rpc.parse(body)
        if isinstance(found, rpc.Request) and found.method == "initialize":
            return self._open(request)
        return self._known(request).endpoint, None

    def end_session(self, request: h11.Request) -> None:
        """Forget the session that a DELETE names; what it waits for is cancelled."""
        self._known(request).endpoint.close()
        del self._sessions[headers_of(request)["mcp-session-id"]]

    def _open(self, request: h11.Request) -> tuple[Endpoint, str]:
        name = secrets.token_hex(16)
        try:
            endpoint = self._make(query_of(request, "project"), name.encode())
        except ContextGraphError as error:
            raise RefusedError(400, str(error)) from error
        self._sessions[name] = _Open(endpoint, self._clock())
        while len(self._sessions) > _SESSIONS_MAX:
            self._sessions.popitem(last=False)[1].endpoint.close()
        return endpoint, name

    def _known(self, request: h11.Request) -> _Open:
        name = headers_of(request).get("mcp-session-id")
        if name is None:
            raise RefusedError(400, "the header Mcp-Session-Id is missing; initialize gives one")
        found = self._sessions.get(name)
        if found is None or self._clock() - found.used_at > self._lifetime_s:
            self._sessions.pop(name, None)
            raise RefusedError(404, "there is no such session; initialize opens one")
        found.used_at = self._clock()
        self._sessions.move_to_end(name)
        return found
