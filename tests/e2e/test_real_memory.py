"""Memory through the real Claude Code client: one session stores, works and ends; the next one is told.

Skipped with a word where the client and its driver are not there (tests/support/clients/real_client.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, needs_client
from tests.support.sessions import memory

from context_graph.text.quoting import FENCE_CLOSE, FENCE_OPEN

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

FACT = "Staging listens on port 8443, production on port 443"
STORING: list[Any] = [
    {
        "tool": "mcp__context-graph__store_memory",
        "input": {"content": FACT, "rationale": "needed for every deployment", "importance": 0.8},
    },
    {
        "tool": "Write",
        "input": {"file_path": "@PROJECT@/deploy.sh", "content": "curl https://staging:8443/health\n"},
    },
    {"tool": "Bash", "input": {"command": "sh -c 'exit 3'", "description": "Fail on purpose"}},
    "Wrote deploy.sh. I decided to keep the health check in curl. Next step: deploy to production.",
]
TOLD: list[Any] = [
    {"tool": "Bash", "input": {"command": "echo https://staging:8443 https://production:443"}},
    "Staging is on 8443 and production on 443.",
]


def _seen(logs: Path) -> str:
    """All that the model was sent in the run."""
    return (logs / "requests.jsonl").read_text()


@needs_client
def test_what_one_real_session_stored_and_did_the_next_one_is_told(cli: Cli, tmp_path: Path) -> None:
    """The issue's demonstration: stored through MCP and captured at the end, brought at start and prompt."""
    assert cli.run("hooks", "generate-config").returncode == 0
    servers = {"mcpServers": {"context-graph": {"command": str(cli.launcher), "args": ["mcp"]}}}
    (cli.project / ".mcp.json").write_text(json.dumps(servers))
    first = drive(cli, tmp_path / "one", STORING, "write a deployment script with a health check")
    by_source = {node["source"]: node for node in memory(cli, "list")["nodes"] if node["source"] != "note"}
    notes = {node["kind"]: node["content"] for node in memory(cli, "list", "--source", "note")["nodes"]}
    stored, summary = by_source["tool"], by_source["capture"]
    assert (stored["content"], stored["session_id"], stored["source"]) == (FACT, first["session_id"], "tool")
    assert (summary["source"], summary["session_id"]) == ("capture", first["session_id"])
    lines = dict(line.split(": ", 1) for line in summary["content"].splitlines())
    assert lines["Goal"] == "write a deployment script with a health check"
    assert lines["Changed"] == "deploy.sh" and "sh -c 'exit 3'" in lines["Failed"]
    assert "keep the health check in curl" in notes["change"] and "deploy to production" in notes["open"]

    second = drive(cli, tmp_path / "two", TOLD, "which port does staging listen on?", FENCE_OPEN[1:-1], FACT)
    for summary_ in (first, second):
        assert {one["exit_code"] for one in summary_["hooks"]} == {0}
    assert any(hit["request"] == 1 for hit in second["markers"][FACT]), "with the first request"
    text = _seen(tmp_path / "two")
    assert "open ends of the last session" in text and "] noted on " in text
    assert "write a deployment script with a health check" in text
    assert FENCE_OPEN[1:-1].split()[0] in text and FENCE_CLOSE[2:-1] in text

    entries = memory(cli, "list", "--injected")["injections"]
    assert {entry["session_id"] for entry in entries} == {second["session_id"]}
    assert {entry["event"] for entry in entries} == {"startup", "prompt"}
    (shown,) = next(entry for entry in entries if entry["event"] == "prompt")["memories"]
    assert shown["id"] == stored["id"] and "8443" in shown["used"], "and the ledger saw that it was used"
