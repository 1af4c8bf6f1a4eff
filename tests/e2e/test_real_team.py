"""Two machines, each with a real client in a network of its own: what one session found, the other's is told.

The only thing that they share is the hub's socket. Skipped with a word where the client is not there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, needs_client
from tests.support.exchange.postgres import started, with_passwords
from tests.support.sessions import memory

pytestmark = [pytest.mark.e2e, pytest.mark.hub, pytest.mark.timeout(300)]

FACT = "Staging listens on port 8443, production on port 443"
STORING: list[Any] = [
    {
        "tool": "mcp__context-graph__store_memory",
        "input": {"content": FACT, "rationale": "needed for every deployment", "importance": 0.8},
    },
    {"tool": "Bash", "input": {"command": "sleep 3", "description": "Work on"}},
    "Noted.",
]
ASKING: list[Any] = [
    {"tool": "Bash", "input": {"command": "sleep 5", "description": "Work on"}},
    {"tool": "mcp__context-graph__recall_memory", "input": {"query": "which port does staging listen on?"}},
    "Staging is on 8443.",
]


@needs_client
def test_what_a_session_found_on_one_machine_is_told_to_one_on_another(cli: Cli, tmp_path: Path) -> None:
    server = with_passwords(started())
    project = tmp_path / "second" / cli.project.name
    (project / ".git").mkdir(parents=True)
    other = Cli(cli.launcher, project, {**cli.env, "CONTEXT_GRAPH_HOME": str(tmp_path / "second" / "data")})
    try:
        admin = {"CONTEXT_GRAPH_HUB_ADMIN_URL": server.address}
        assert cli.run("hub", "init", "--team", "backend", env=admin, timeout=60).returncode == 0
        for one, login in ((cli, "ada"), (other, "grace")):
            made = cli.run("hub", "invite", login, "--team", "backend", env=admin, timeout=60)
            joined = one.run("hub", "join", "-", stdin=made.stdout, timeout=60)
            assert joined.returncode == 0, joined.stderr
            assert one.run("hooks", "generate-config").returncode == 0
            servers = {"mcpServers": {"context-graph": {"command": str(one.launcher), "args": ["mcp"]}}}
            (one.project / ".mcp.json").write_text(json.dumps(servers))
            one.run("owner", "stop")
        first = drive(cli, tmp_path / "one", STORING, "which port is staging on?")
        second = drive(other, tmp_path / "two", ASKING, "look at the deployment", FACT, "from ada")
        for summary in (first, second):
            assert {one["exit_code"] for one in summary["hooks"]} == {0}
        assert second["markers"][FACT], (tmp_path / "two" / "requests.jsonl").read_text()[-3000:]
        assert FACT in [node["content"] for node in memory(other, "list")["nodes"]]
    finally:
        other.stop_owner()
