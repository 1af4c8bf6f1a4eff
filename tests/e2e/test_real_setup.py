"""The real Claude Code client in a project that `setup` has set up, and with the plugin."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.realclient.installed import FOLDER, NAMESPACES
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, fired_and_stored, needs_client, watching
from tests.support.sessions import memory

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

FACT = "Deploys run from the main branch on Tuesdays"
PLUGIN_TOOL = "mcp__plugin_context-graph_context-graph__store_memory"


def storing(tool: str) -> list[Any]:
    arguments = {"content": FACT, "rationale": "a rule the user stated"}
    return [{"tool": tool, "input": arguments}, "Stored."]


@needs_client
def test_after_setup_hooks_run_and_tools_need_no_asking_and_remove_leaves_nothing(
    cli: Cli, tmp_path: Path
) -> None:
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    before = sorted(path for path in cli.project.rglob("*") if ".git" not in path.parts)
    cli.run("setup", "--yes")
    told = drive(
        cli,
        tmp_path / "one",
        storing("mcp__context-graph__store_memory"),
        "remember this",
        "New session initialized",
        options=("--trust", "--permission-mode", "default"),
    )
    assert told["markers"]["New session initialized"]
    (stored,) = told["tool_results"]
    assert not stored["is_error"] and "node_id" in json.loads(stored["content"])
    cli.run("setup", "--remove", "--yes")
    assert sorted(path for path in cli.project.rglob("*") if ".git" not in path.parts) == before
    again = drive(cli, tmp_path / "two", ["Done."], "hello", "Identity restored", "New session initialized")
    assert not any(again["markers"].values()), "nothing of it is left in the client"


@needs_client
def test_the_plugin_alone_brings_hooks_tools_and_skills(cli: Cli, tmp_path: Path) -> None:
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    folder = cli.run("setup", "--plugin").stdout.strip()
    told = drive(
        cli,
        tmp_path / "one",
        storing(PLUGIN_TOOL),
        "remember this",
        "New session initialized",
        "context-graph:recall",
        client=("--plugin-dir", folder),
    )
    assert all(told["markers"].values()), told["markers"]
    (stored,) = told["tool_results"]
    assert not stored["is_error"], stored
    listed = memory(cli, "list")
    assert FACT in [one["content"] for one in listed["nodes"]]


@needs_client
def test_setup_and_plugin_at_once_record_and_tell_everything_once(cli: Cli, tmp_path: Path) -> None:
    """The client runs the hooks of both: it takes a command for the same only among settings."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    cli.run("setup", "--yes")
    folder = cli.run("setup", "--plugin").stdout.strip()
    work: list[Any] = [
        {"tool": "Bash", "input": {"command": "echo a"}},
        {"tool": "Bash", "input": {"command": "false"}},
        "Worked.",
    ]
    client = (*watching(tmp_path), "--plugin-dir", folder)
    told = drive(cli, tmp_path / "one", work, "begin", "New session initialized", client=client)
    assert {hook["exit_code"] for hook in told["hooks"]} == {0}
    fired, stored = fired_and_stored(cli, tmp_path)
    ((session, shown),) = stored.items()
    assert dict(fired[session]) == shown["events_by_kind"]
    assert shown["events_duplicate"] >= sum(fired[session].values())
    first = (tmp_path / "one" / "requests.jsonl").read_text().splitlines()[0]
    assert first.count("New session initialized") == 1


@needs_client
def test_the_plugin_passes_the_directory_s_checks(cli: Cli, tmp_path: Path) -> None:
    folder = cli.run("setup", "--plugin").stdout.strip()
    program = FOLDER / "node_modules" / ".bin" / "claude"
    for words in (["--profile", "directory", folder], [str(Path(__file__).parents[2])]):
        done = subprocess.run(
            [*NAMESPACES, str(program), "plugin", "validate", *words],
            env={"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0 and "Validation passed" in done.stdout, done.stdout + done.stderr
