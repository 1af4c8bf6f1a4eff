"""HTTP in front of our stdio server, for the conformance suite, which speaks nothing else.

    python tests/conformance/bridge.py PORT

The HTTP side is the `mcp` package's; each of its sessions has one `context-graph-cli mcp` of its own.
"""

from __future__ import annotations

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
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import JSONRPCRequest

from context_graph.config import data_root

LAUNCHER: Final = Path(sys.executable).with_name("context-graph-cli")
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
                async for message in of_client:
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


async def main(port: int) -> None:
    async with anyio.create_task_group() as tasks:
        config = uvicorn.Config(Bridge(tasks), port=port, lifespan="off", log_level="warning")
        await uvicorn.Server(config).serve()
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]))
