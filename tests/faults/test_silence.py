"""Hooks and tools beside an owner that is stopped: one waits, the next do not, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli, stopped
from tests.support.gates.in_process import git
from tests.support.owner.harness import wait_until
from tests.support.sessions import hook

PATIENCE_MS = 3000
"""What a PostToolUse waits for an answer (docs/hooks.md)."""


def timed(cli: Cli, number: int) -> float:
    """Milliseconds of one PostToolUse."""
    began = time.monotonic()
    hook(
        cli, "post-tool", "s-1", tool_name="Bash", tool_input={"command": f"echo {number}"}, tool_response={}
    )
    return (time.monotonic() - began) * 1000


def test_tool_calls_do_not_wait_for_an_owner_that_is_stopped(cli: Cli) -> None:
    """Nothing is due for them, so nobody is asked. All are applied, once."""
    hook(cli, "session-start", "s-1", source="startup")
    pid = cli.owner_pid()
    timed(cli, 0)
    wait_until(lambda: events(cli)["post-tool"] == 1, "the owner to have applied it")
    hook(cli, "pre-tool", "s-1", tool_name="Bash", tool_input={"command": "echo"})  # it has the first brief
    with stopped(pid):
        assert timed(cli, 1) < PATIENCE_MS / 2, "the first that asks waits as long as its event allows"
        timed(cli, 2)
    wait_until(lambda: events(cli)["post-tool"] == 3, "those beside the stopped owner to be applied", 30)


def events(cli: Cli) -> dict[str, int]:
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    found: dict[str, int] = shown["events_by_kind"]
    return found


def _govern(cli: Cli) -> None:
    requirements = cli.project / ".claude" / "requirements.yaml"
    requirements.parent.mkdir()
    requirements.write_text(
        'version: "1.0"\nenabled: true\nrequirements:\n  plan:\n    enabled: true\n    message: Plan first.\n'
    )
    (cli.project / ".git").rmdir()
    git(cli.project, "init", "-q", "-b", "work")
    git(cli.project, "commit", "-q", "--allow-empty", "-m", "x")


def _edit(cli: Cli, session: str, number: int) -> dict[str, Any]:
    """The document on a call of Edit."""
    given = {
        "session_id": session,
        "cwd": str(cli.project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": f"{cli.project}/a.py"},
        "tool_use_id": f"toolu_x{number}",
    }
    done = cli.run("hooks", "pre-tool", "--stdin", "--format", "claude", stdin=json.dumps(given))
    document: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return document


def _decision(document: dict[str, Any]) -> tuple[str | None, str]:
    output = document.get("hookSpecificOutput", {})
    return output.get("permissionDecision"), output.get("permissionDecisionReason", "")


@pytest.mark.thorough
def test_beside_a_stopped_owner_a_gate_denies_once_and_says_what_it_lets_pass(cli: Cli) -> None:
    """Nobody can say what is required: the first call is asked for again, later ones pass aloud."""
    _govern(cli)
    hook(cli, "session-start", "s-1", source="startup")
    with stopped(cli.owner_pid()):
        replies = [_edit(cli, "s-1", number) for number in range(3)]
    assert [_decision(reply)[0] for reply in replies] == ["deny", None, None], replies
    assert "run the same call again" in json.dumps(replies[0])
    assert all(reply.get("systemMessage") for reply in replies[1:]), replies


@pytest.mark.real
@pytest.mark.torture
def test_first_calls_with_a_cold_owner_are_decided_at_load_30(cli: Cli) -> None:
    """By the first call, or by the same one again: nobody passes because the machine is busy."""
    _govern(cli)
    running = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(max(2, 30 - running))]
    took: list[float] = []
    try:
        for number in range(5):
            began = time.monotonic()
            decision, reason = _decision(_edit(cli, f"s-{number}", number))
            if "run the same call again" in reason:
                decision, reason = _decision(_edit(cli, f"s-{number}", number + 100))
            took.append(time.monotonic() - began)
            assert decision == "deny" and "Plan first." in reason, (number, took)
            cli.stop_owner()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(
        f"decided within {', '.join(f'{seconds:.1f}' for seconds in took)} s, load {os.getloadavg()[0]:.0f}"
    )


@pytest.mark.thorough
def test_a_tool_beside_an_owner_that_is_stopped_is_answered_and_told_why(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    opening = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    lines = "".join(
        json.dumps(line) + "\n"
        for line in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
            {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": {"name": "search_graph", "arguments": {"query": "x"}},
            },
        )
    )
    pid = cli.owner_pid()
    with stopped(pid):
        timed(cli, 0)  # it waits, and leaves word of it
        done = cli.run("mcp", stdin=lines, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in answers] == [1, 2], done
    for one in answers:
        assert "owner status" in one["error"]["message"], one
