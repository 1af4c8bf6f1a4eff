"""A subagent of the real client is brought what its task needs; its parent hears nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, needs_client, requests_of
from tests.support.sessions import remember

from context_graph.cli.doctor.client_files import native_memory

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

STAGING = "Staging listens on port 8443 behind the proxy"
TASK = "Find out on which port staging listens behind the proxy"
WORK = {
    "replies": {
        "": [
            {"tool": "Agent", "input": {"description": "A port", "prompt": TASK, "subagent_type": "Explore"}},
            "I wait for it.",
            "Done.",
        ]
    },
    "agents": {TASK: ["It is 8443."]},
}


@needs_client
def test_a_subagents_first_request_has_the_memories_that_its_task_needs(cli: Cli, tmp_path: Path) -> None:
    assert cli.run("setup", "--yes", "--local").returncode == 0
    remember(cli, STAGING)
    logs = tmp_path / "logs"
    drive(cli, logs, WORK, "begin with something else", STAGING, options=["--trust"])
    sent = [
        (entry["who"], json.dumps(entry["body"]["messages"])) for entry in requests_of(logs) if "who" in entry
    ]
    told = next(text for who, text in sent if who != "main")
    assert STAGING in told and "SubagentStart hook additional context" in told
    state, _ = native_memory(cli.project, [], {"CLAUDE_CONFIG_DIR": str(logs / "home" / ".claude")})
    assert (state["on"], state["transcripts"]) == (True, 1), "doctor knows where the client keeps them"
    assert not any(STAGING in text for who, text in sent if who == "main")
