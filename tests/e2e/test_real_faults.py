"""What a session of the real Claude Code client has of an owner that is killed, or stopped, under it.

Skipped with a word where the client and its driver are not there (tests/support/clients/real_client.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, fired_and_stored, needs_client, watching
from tests.support.sessions import memory

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

FACT = "Deploys run from the main branch on Tuesdays"
OTHER = "Staging listens on port 8443"
STORE = "mcp__context-graph__store_memory"


def bash(command: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command}}


def store(content: str) -> dict[str, Any]:
    return {"tool": STORE, "input": {"content": content, "rationale": "a rule the user stated"}}


def signalled(cli: Cli, name: str) -> dict[str, Any]:
    """A tool call that sends the owner a signal; the lock names its process as the run's namespace counts."""
    return bash(f"kill -{name} $(cut -d' ' -f1 '{cli.env['CONTEXT_GRAPH_HOME']}/run/owner.lock')")


def assert_nothing_lost(cli: Cli, folder: Path, told: dict[str, Any]) -> None:
    assert {hook["exit_code"] for hook in told["hooks"]} == {0}
    fired, stored = fired_and_stored(cli, folder)
    assert {name: dict(events) for name, events in fired.items()} == {
        name: shown["events_by_kind"] for name, shown in stored.items()
    }
    assert {shown["events_waiting"] for shown in stored.values()} == {0}


@needs_client
def test_an_owner_killed_twice_in_a_session_loses_nothing(cli: Cli, tmp_path: Path) -> None:
    cli.run("setup", "--yes")
    turns = [signalled(cli, "KILL"), bash("echo a"), store(FACT), signalled(cli, "KILL"), bash("echo b")]
    watch = watching(tmp_path)
    told = drive(cli, tmp_path / "one", [*turns, "Done."], "work", options=("--trust",), client=watch)
    assert not any(result["is_error"] for result in told["tool_results"])
    assert_nothing_lost(cli, tmp_path, told)
    assert FACT in [node["content"] for node in memory(cli, "list")["nodes"]]


@needs_client
def test_a_stopped_owner_holds_no_tool_up_for_ever_and_loses_nothing(cli: Cli, tmp_path: Path) -> None:
    """A hook waits a second for it, a memory tool some twenty; what they brought is applied once."""
    cli.run("setup", "--yes")
    turns = [signalled(cli, "STOP"), bash("echo a"), store(FACT), signalled(cli, "CONT"), store(OTHER)]
    watch = watching(tmp_path)
    told = drive(cli, tmp_path / "one", [*turns, "Done."], "work", options=("--trust",), client=watch)
    failed = [result for result in told["tool_results"] if result["is_error"]]
    assert len(failed) == 1
    assert "the owner process does not answer" in failed[0]["content"]
    assert_nothing_lost(cli, tmp_path, told)
    assert OTHER in [node["content"] for node in memory(cli, "list")["nodes"]]


@needs_client
def test_a_full_disk_holds_nothing_up(cli: Cli, tmp_path: Path) -> None:
    """Neither store nor log can be written: the user is told, and a prompt does not wait for an owner."""
    cli.run("setup", "--yes")
    root = Path(cli.env["CONTEXT_GRAPH_HOME"])
    root.mkdir(parents=True, exist_ok=True)
    small = f"sh -c 'mount -t tmpfs -o size=200k tmpfs {root}; exec sleep 1000'"
    options = ("--trust", "--aux", small, "--prompt", "go on", "--prompt", "and on")
    told = drive(cli, tmp_path / "one", [bash("echo a"), "a", "b", "c"], "work", options=options)
    assert {hook["exit_code"] for hook in told["hooks"]} == {0}
    assert not any(result["is_error"] for result in told["tool_results"])
    said = (tmp_path / "one" / "stdout.jsonl").read_text()
    assert "this event could not be recorded" in said
