"""Codex CLI and Gemini CLI themselves, set up by `setup --host`, on one memory with Claude Code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.realclient import other_hosts
from tests.support.cli import Cli
from tests.support.gates.installed import GateProject
from tests.support.sessions import context_of, hook, memory, remember

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

FACT = "The bucket refills by two, never by one"
STORE = {"content": FACT, "rationale": "decided in the session"}
SCRIPTS: dict[str, list[Any]] = {
    "codex": [
        {"tool": "exec_command", "input": {"cmd": "echo hi > made.txt"}},
        {"tool": "mcp__context_graph.store_memory", "input": STORE},
        "The sliding window is not yet covered by tests.",
    ],
    "gemini": [
        {"tool": "run_shell_command", "input": {"command": "echo hi > made.txt"}},
        {"tool": "mcp_context-graph_store_memory", "input": STORE},
        "The sliding window is not yet covered by tests.",
    ],
}
REQUIREMENTS = """
version: "1.0"
inherit: false
requirements:
  plan: {enabled: true, scope: session, message: Say what you will change., trigger_tools: [Bash]}
"""


def drive(cli: Cli, host: str, logs: Path, prompt: str) -> list[str]:
    """One prompt of the real program; what its model was sent, one text a request."""
    missing = other_hosts.why_not(host)
    if missing:
        pytest.skip(missing)
    logs.mkdir()
    (logs / "script.json").write_text(json.dumps(SCRIPTS[host]))
    done = subprocess.run(
        [
            *(sys.executable, other_hosts.__file__, host, cli.project, logs),
            *("--prompt", prompt, "--script", logs / "script.json"),
        ],
        env={**cli.env, "PATH": f"{cli.launcher.parent}:{cli.env['PATH']}"},
        check=False,
    )
    assert done.returncode == 0, (logs / "output.txt").read_text()[-3000:]
    return (logs / "requests.jsonl").read_text().splitlines()


@pytest.mark.parametrize("host", SCRIPTS)
def test_host_and_claude_code_know_of_each_other_s_work(cli: Cli, host: str, tmp_path: Path) -> None:
    assert cli.run("setup", "--host", host, "--yes").returncode == 0
    remember(cli, "The token bucket keeps its level as a float because integers lose the rest.")
    cli.stop_owner()
    asked = "Why does the token bucket keep its level as a float?"
    requests = drive(cli, host, tmp_path / "logs", asked)
    assert "because integers lose the rest" in requests[0], "told with the prompt"
    assert "Long-term memory of this project" in requests[0], "the server says when to use it"
    stored = [node for node in memory(cli, "list")["nodes"] if node["content"] == FACT]
    assert len(stored) == 1
    begun = context_of(hook(cli, "session-start", "claude-1", source="startup"))
    assert asked in begun
    assert "The sliding window is not yet covered" in begun


@pytest.mark.parametrize("host", SCRIPTS)
def test_a_gate_refuses_the_host_s_call(cli: Cli, host: str, tmp_path: Path) -> None:
    GateProject.make(cli, REQUIREMENTS)
    assert cli.run("setup", "--host", host, "--yes").returncode == 0
    requests = drive(cli, host, tmp_path / "logs", "Write the file")
    assert "Say what you will change" in requests[1]
    assert not (cli.project / "made.txt").exists()
