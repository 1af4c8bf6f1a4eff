"""The real Claude Code client with this repository's own .mcp.json: one session stores, the next is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, needs_client, requests_of

from context_graph.text.quoting import TRUST

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

REPOSITORY = Path(__file__).resolve().parents[2]
FACT = "Deploys run from the main branch on Tuesdays"
FIRST = [
    {
        "tool": "mcp__context-graph__store_memory",
        "input": {"content": FACT, "rationale": "a rule the user stated"},
    },
    {"tool": "mcp__context-graph__store_memory", "input": {"content": "without one"}},
    "Stored.",
]
SECOND = [
    {"tool": "mcp__context-graph__recall_memory", "input": {"query": "when do deploys run"}},
    "Told.",
]


@needs_client
def test_the_memory_tools_stand_in_the_first_request(cli: Cli, tmp_path: Path) -> None:
    """A question that needs memory takes one call; the client defers the other tools."""
    shutil.copy(REPOSITORY / ".mcp.json", cli.project)
    told = drive(cli, tmp_path / "logs", SECOND, "when do we deploy?")
    assert [one["is_error"] for one in told["tool_results"]] == [False]
    turns = [entry for entry in requests_of(tmp_path / "logs") if entry.get("who") == "main"]
    names = {
        tool["name"].rpartition("__")[2] for tool in turns[0]["body"]["tools"] if "mcp__" in tool["name"]
    }
    assert names == {"store_memory", "recall_memory"}
    called = [block["name"] for block in calls_of(turns[-1]["body"]["messages"])]
    assert called == ["mcp__context-graph__recall_memory"], "no ToolSearch"


def calls_of(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tool calls in a request's messages."""
    blocks = [block for one in messages if isinstance(one["content"], list) for block in one["content"]]
    return [block for block in blocks if block["type"] == "tool_use"]


@needs_client
def test_what_one_session_stores_the_next_is_told(cli: Cli, tmp_path: Path) -> None:
    """The server is in the first request even where it has to start the owner (contract section 7)."""
    shutil.copy(REPOSITORY / ".mcp.json", cli.project)
    first = drive(cli, tmp_path / "one", FIRST, "remember this", "Long-term memory of this project")
    assert any(hit["request"] == 1 for hit in first["markers"]["Long-term memory of this project"])
    stored, refused = first["tool_results"]
    assert not stored["is_error"]
    node = json.loads(stored["content"])["node_id"]
    assert refused["is_error"]
    assert "Rationale is required (10-500 characters)" in refused["content"]
    second = drive(cli, tmp_path / "two", SECOND, "when do we deploy?", FACT)
    (told,) = second["tool_results"]
    assert told["content"].startswith(json.dumps(TRUST, separators=(",", ":"))[:-1] + ","), "seen first"
    assert told["content"].count('"id":') == 1 and f'"id":"{node}"' in told["content"]
