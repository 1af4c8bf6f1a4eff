"""HTTP in front of our stdio server, for the conformance suite, which speaks nothing else.

    python tests/conformance/bridge.py PORT

A session of the older protocol has a `context-graph-cli mcp` of its own, behind the `mcp` package's HTTP. A
request of the stateless one has a process for itself alone: what it needs must be in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import anyio
import uvicorn
from anyio.abc import TaskGroup, TaskStatus
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import JSONRPCRequest
from starlette.requests import Request
from starlette.responses import Response

from context_graph.config import data_root

LAUNCHER: Final = Path(sys.executable).with_name("context-graph-cli")
JSON: Final = "application/json"
LOOPBACK: Final = TransportSecuritySettings(
    enable_dns_rebinding_protection=True,
    allowed_hosts=["127.0.0.1:*", "localhost:*"],
    allowed_origins=["http://127.0.0.1:*", "http://localhost:*"],
)


class Bridge:
    """An ASGI application."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._sessions: dict[str, StreamableHTTPServerTransport] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        named = dict(scope["headers"]).get(b"mcp-session-id", b"").decode("latin-1")
        if not named and scope["method"] == "POST":
            request = Request(scope, receive)
            body = await request.body()
            if is_stateless(scope, body):
                refused = await TransportSecurityMiddleware(LOOPBACK).validate_request(request, is_post=True)
                await (refused or await stateless(request, body))(scope, receive, send)
                return
            receive = again(body, receive)
        transport = self._sessions.get(named)
        if transport is None:  # a new client's, or one that the transport refuses
            transport = StreamableHTTPServerTransport(uuid.uuid4().hex, security_settings=LOOPBACK)
            await self._tasks.start(self._serve, transport)
        await transport.handle_request(scope, receive, send)

    async def _serve(
        self, transport: StreamableHTTPServerTransport, *, task_status: TaskStatus[None]
    ) -> None:
        """Carry messages both ways until either side ends."""
        command = StdioServerParameters(
            command=str(LAUNCHER), args=["mcp"], env={"CONTEXT_GRAPH_HOME": str(data_root())}
        )
        asked: int | str | None = None

        async with AsyncExitStack() as stack:
            of_server, to_server = await stack.enter_async_context(stdio_client(command))
            of_client, to_client = await stack.enter_async_context(transport.connect())
            self._sessions[transport.mcp_session_id or ""] = transport
            task_status.started()
            tasks = await stack.enter_async_context(anyio.create_task_group())

            async def forth() -> None:
                nonlocal asked
                # A session that its client has deleted closes its stream, while this waits or later.
                while (message := await next_of(of_client)) is not None:
                    if isinstance(message, SessionMessage):
                        if isinstance(message.message, JSONRPCRequest):
                            asked = message.message.id
                        await to_server.send(SessionMessage(message.message))
                tasks.cancel_scope.cancel()

            async def back() -> None:
                async for message in of_server:
                    if isinstance(message, SessionMessage):
                        # The suite asks one thing at a time: what is told meanwhile belongs to that.
                        told_with = ServerMessageMetadata(related_request_id=asked)
                        await to_client.send(SessionMessage(message.message, told_with))
                tasks.cancel_scope.cancel()

            tasks.start_soon(forth)
            tasks.start_soon(back)


async def next_of(stream: Any) -> Any:
    """What comes next; None at its end."""
    try:
        return await stream.receive()
    except (anyio.EndOfStream, anyio.ClosedResourceError):
        return None


def is_stateless(scope: Any, body: bytes) -> bool:
    """Whether a request without a session is of 2026-07-28, by what its header or its text names."""
    named = dict(scope["headers"]).get(b"mcp-protocol-version", b"")
    return (
        named >= b"2026"
        or b'"io.modelcontextprotocol/protocolVersion"' in body
        or b'"initialize"' not in body
    )


def again(body: bytes, receive: Any) -> Any:
    """``receive`` of a request whose body has been read."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_part() -> Any:
        return parts.pop() if parts else await receive()

    return next_part


async def stateless(request: Request, body: bytes) -> Response:
    """The answer to one POST: JSON, or a stream of events where notifications come before it."""
    asked = json.loads(body)
    if "id" not in asked:
        return Response(status_code=202)
    mismatch = unlike(asked, request.headers)
    if mismatch:
        error = {"code": -32020, "message": f"Header mismatch: {mismatch}"}
        return Response(
            json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), 400, media_type=JSON
        )
    env = {"CONTEXT_GRAPH_HOME": str(data_root())}
    command = [str(LAUNCHER), "mcp"]
    async with await anyio.open_process(command, env=env, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None and process.stdout is not None
        await process.stdin.send(json.dumps(asked).encode() + b"\n")
        text = b""
        while not text.endswith(b"\n") or "method" in json.loads(text.splitlines()[-1]):
            text += await process.stdout.receive(1 << 20)
        await process.stdin.aclose()
    lines = text.splitlines()
    if len(lines) > 1:
        events = b"".join(b"event: message\ndata: " + line + b"\n\n" for line in lines)
        return Response(events, media_type="text/event-stream")
    code = json.loads(lines[0]).get("error", {}).get("code")
    return Response(lines[0], ERROR_CODE_HTTP_STATUS.get(code, 200), media_type=JSON)


def unlike(asked: dict[str, Any], headers: Any) -> str:
    """The header of HTTP that says something else than the message; \"\" if all agree."""
    params = asked.get("params") or {}
    version = (params.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion")
    said = {
        "mcp-protocol-version": version,
        "mcp-method": asked.get("method"),
        "mcp-name": params.get("name"),
    }
    for header, expected in said.items():
        if expected is not None and headers.get(header) != expected:
            return header
    return ""


async def main(port: int) -> None:
    async with anyio.create_task_group() as tasks:
        config = uvicorn.Config(Bridge(tasks), port=port, lifespan="off", log_level="warning")
        await uvicorn.Server(config).serve()
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]))
