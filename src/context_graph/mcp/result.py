"""Holds what a tool answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from context_graph.memory.context.quoting import TRUST, inert


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers with.

    Attributes:
        structured: The answer as a JSON object; its text becomes the content where ``content`` is empty.
        content: MCP content blocks, for tools that answer with something else.
        failed: MCP's isError: the tool itself failed, in words for the model.
    """

    structured: Mapping[str, Any] | None = None
    content: tuple[Mapping[str, Any], ...] = ()
    failed: bool = False

    def blocks(self) -> list[Mapping[str, Any]]:
        """The content as sent: where there is none, the structured answer's JSON, spelled inertly."""
        if self.content or self.structured is None:
            return list(self.content)
        return [{"type": "text", "text": inert(orjson.dumps(self.structured).decode())}]


def answer(found: Mapping[str, Any], pulse: Mapping[str, Any], *, quotes: bool = True) -> ToolResult:
    """The result with what a tool has ``found``, and the pulse that every answer has (REQ-CORE-019).

    Args:     quotes: Whether some of it may be text from memories: then the first field says so, before
    anything that         such a text could claim of itself.
    """
    return ToolResult({**(TRUST if quotes else {}), **found, "pulse": pulse})
