"""The real Claude Code client calls the tools whose answers are late, and has the skill for them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, needs_client
from tests.support.sessions import memory, remember

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

REPOSITORY = Path(__file__).resolve().parents[2]
TOOL = "mcp__context-graph__consolidate_memories"
FACT = "Deploys run from the main branch on Tuesdays"
CALLS = [
    {"tool": TOOL, "input": {"mode": "light", "dry_run": True}},
    {"tool": TOOL, "input": {"mode": "light"}},
    {"tool": TOOL, "input": {"mode": "light", "session_id": "another"}},
    {"tool": "mcp__context-graph__discover_goals", "input": {}},
    "Consolidated.",
]


@needs_client
def test_a_session_consolidates_with_the_tools(cli: Cli, tmp_path: Path) -> None:
    """Seed 002: a dry run, a second call that comes too soon, the real run, the goals."""
    shutil.copy(REPOSITORY / ".mcp.json", cli.project)
    for end in ("", ".", " "):
        remember(cli, FACT + end, "--occurred-at", "2025-01-31T09:30:00Z")
    session = drive(cli, tmp_path / "one", CALLS, "tidy the memory", "consolidate_memories")
    dry, soon, done, goals = session["tool_results"]  # the driver tells of each the beginning
    assert '"merged_count":1' in dry["content"]
    assert '"dry_run":true' in dry["content"]
    assert soon["is_error"] and "Rate limit exceeded" in soon["content"]
    assert '"merged_count":1' in done["content"]
    assert '"final_memory_count":1' in done["content"]
    assert not goals["is_error"]
    assert '"goals":' in goals["content"] and "untrusted" in goals["content"]
    assert len(memory(cli, "list")["nodes"]) == 1
    assert memory(cli, "runs")["runs"][0]["counts"]["merged"] == 1
    memory(cli, "undo")
    assert len(memory(cli, "list")["nodes"]) == 2


@needs_client
def test_the_skill_is_for_people_to_call(cli: Cli, tmp_path: Path) -> None:
    """Seed 002: invoked by hand only. The client does not list it; `/consolidate` puts it into the prompt."""
    shutil.copytree(REPOSITORY / ".claude" / "skills", cli.project / ".claude" / "skills")
    listed, called = "Keeps a decision, a rule", "Consolidating the memory"
    unlisted = "in three depths"
    session = drive(cli, tmp_path / "one", ["Nothing."], "/consolidate deep", listed, called, unlisted)
    assert session["markers"][called]
    assert session["markers"][listed]
    assert not session["markers"][unlisted]
