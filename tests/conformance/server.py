"""The owner with the tools that the protocol's conformance suite calls by name.

    python tests/conformance/server.py ROOT

Run by tests/conformance/run.py only; nothing of it is shipped. The tools are added where any program that
embeds the server would add its own (`Toolbox.add`).
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from context_graph.config import Settings
from context_graph.operations.mcp.answers import ToolResult
from context_graph.operations.mcp.rpc import RpcError
from context_graph.operations.mcp.tools import Tool, ToolCall
from context_graph.owner.__main__ import main
from context_graph.owner.commands.memory import McpHost
from context_graph.owner.service import OwnerService
from context_graph.owner.service import build_service as build_real_service

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PAUSE_S: Final = 0.05
"""The suite wants it between two notifications."""


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


IMAGE: Final = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO: Final = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}


def resource(uri: str, kind: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


def answering(*blocks: dict[str, Any], failed: bool = False) -> Callable[[ToolCall], ToolResult]:
    return lambda call: ToolResult(content=blocks, failed=failed)


def with_logging(call: ToolCall) -> ToolResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        call.log("info", words)
        time.sleep(PAUSE_S)
    return ToolResult(content=(text("done"),))


def with_progress(call: ToolCall) -> ToolResult:
    for done in (0, 50, 100):
        call.progress(done, 100)
        time.sleep(PAUSE_S)
    return ToolResult(content=(text("done"),))


def without_capability(call: ToolCall) -> ToolResult:
    """Our own tools need nothing of a client; one that does refuses this way."""
    needed = {"requiredCapabilities": {"sampling": {}}}
    raise RpcError(-32021, "Missing required client capability: sampling", needed)


TOOLS: Final[dict[str, Callable[[ToolCall], ToolResult]]] = {
    "test_simple_text": answering(text("This is a simple text response for testing.")),
    "test_image_content": answering(IMAGE),
    "test_audio_content": answering(AUDIO),
    "test_embedded_resource": answering(
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": answering(
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_tool_with_logging": with_logging,
    "test_tool_with_progress": with_progress,
    "test_logging_tool": with_logging,
    "test_streaming_elicitation": with_progress,
    "test_missing_capability": without_capability,
    "test_error_handling": answering(
        text("This tool intentionally returns an error for testing"), failed=True
    ),
}
NO_PARAMETERS: Final = {"type": "object", "properties": {}}
SCHEMA_2020: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
    "if": {"required": ["name"]},
    "then": {"properties": {"name": {"minLength": 1}}},
    "else": {"required": ["address"]},
    "additionalProperties": False,
}


def build_service(root: Path, settings: Settings, log: logging.Logger) -> OwnerService:
    """The real service, its MCP side with the suite's tools beside its own."""
    service = build_real_service(root, settings, log)
    host: McpHost = service.mcp_host()
    for name, run in TOOLS.items():
        host.toolbox.add(Tool(name, f"The suite's {name}.", NO_PARAMETERS, run))
    host.toolbox.add(Tool("json_schema_2020_12_tool", "The suite's.", SCHEMA_2020, answering(text("done"))))
    return service


if __name__ == "__main__":
    import context_graph.owner.service as real

    real.build_service = build_service
    sys.exit(main(["--root", sys.argv[1], "--foreground"]))
