"""The real Claude Code client with this repository's own .mcp.json: one session stores, the next is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.real_client import drive, needs_client

from context_graph.memory.context.quoting import TRUST

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
