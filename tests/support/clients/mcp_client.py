"""The official SDK's client in front of the real bridge, as blocking calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult, ErrorData
from tests.support.cli import Cli

__all__ = ["Peer", "connected"]

WAIT_S = 30.0


@dataclass(frozen=True)
class Peer:
    """A connected client; every answer has passed the SDK's own validation."""

    portal: BlockingPortal
    client: Client

    def run(self, call: Callable[..., Any], *args: Any) -> Any:
        return self.portal.call(call, *args)

    def result(self, name: str, **arguments: Any) -> CallToolResult:
        """The whole result of a tool call."""
        found = self.run(self.client.call_tool, name, arguments)
        assert isinstance(found, CallToolResult)
        return found

    def ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a tool call that succeeds."""
        found = self.result(name, **arguments)
        assert not found.is_error, found.content
        assert found.structured_content is not None
        return found.structured_content

    def fail(self, name: str, **arguments: Any) -> ErrorData:
        """The error of a tool call that fails; of its input, the one in the result."""
        try:
            found = self.result(name, **arguments)
        except MCPError as error:
            return error.error
        if found.is_error:
            fault = ErrorData.model_validate((found.meta or {})["context-graph/error"])
            assert [one.text for one in found.content] == [fault.message]
            return fault
        raise AssertionError(f"{name} succeeded: {found}")

    def store(self, content: str, **more: Any) -> str:
        """Store a memory; its id."""
        return str(self.ask("store_memory", content=content, rationale="kept by a test", **more)["node_id"])


@contextmanager
def connected(cli: Cli, *args: str, env: Mapping[str, str] | None = None, **options: Any) -> Iterator[Peer]:
    """A client of `context-graph-cli mcp` in ``cli``'s project."""
    server = StdioServerParameters(
        command=str(cli.launcher), args=["mcp", *args], env={**cli.env, **(env or {})}, cwd=cli.project
    )
    options = {"mode": "legacy", "read_timeout_seconds": WAIT_S, **options}
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, **options)) as client,
    ):
        yield Peer(portal, client)
