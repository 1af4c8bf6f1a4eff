"""Lists the tools that a server offers, and finds one by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from context_graph.mcp.protocol import Version

if TYPE_CHECKING:
    from context_graph.mcp.call import ToolCall
    from context_graph.mcp.deferred import Deferred
    from context_graph.mcp.result import ToolResult

_SERVER: Final = "context-graph"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its entry in tools/list, and the function that a call runs.

    Attributes:
        run: Called on the server's one thread with the call; returns what the client gets, or the promise
            of it where that takes long.
        output: JSON schema of ``structuredContent``; None for a tool that has none.
        hints: MCP's annotations (readOnlyHint, destructiveHint, idempotentHint, openWorldHint).
        once_a_minute: A session may call it once a minute.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[ToolCall], ToolResult | Deferred]
    output: Mapping[str, Any] | None = None
    hints: Mapping[str, bool] = field(default_factory=dict)
    once_a_minute: bool = False

    def listed(self, version: Version) -> dict[str, Any]:
        """Its entry in tools/list, with no more than a client of ``version`` knows."""
        entry: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.parameters,
        }
        if version.structured and self.output is not None:
            entry["outputSchema"] = self.output
        if version.annotations and self.hints:
            entry["annotations"] = self.hints
        return entry


class Toolbox:
    """The tools of a server, in the order in which they are listed."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)
        self._listed: dict[str, list[dict[str, Any]]] = {}

    def add(self, tool: Tool) -> None:
        """Add ``tool``. The public way to extend a server before it serves anybody.

        Raises:
            ValueError: If there is one of that name already.
        """
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name!r} already")
        self._tools[tool.name] = tool
        self._listed = {}

    def find(self, name: str) -> Tool | None:
        """The tool that a client means by ``name``: bare, or as its own client prefixes it (D2.7)."""
        return self._tools.get(name) or self._tools.get(bare_name(name))

    def names(self) -> list[str]:
        """All names, as listed."""
        return list(self._tools)

    def listed(self, version: Version) -> list[dict[str, Any]]:
        """The answer to tools/list; made once for each version."""
        if version.name not in self._listed:
            self._listed[version.name] = [tool.listed(version) for tool in self._tools.values()]
        return self._listed[version.name]


def bare_name(name: str) -> str:
    """``store_memory`` for `mcp__context-graph__store_memory` and the plugin's form of it, else ``name``."""
    prefix, mark, rest = name.rpartition("__")
    if not mark or not prefix.startswith("mcp__"):
        return name
    server = prefix.removeprefix("mcp__")
    return rest if server == _SERVER or (server.startswith("plugin_") and server.endswith(_SERVER)) else name
