"""Hooks and tools beside an owner that is stopped: one waits, the next do not, and nothing is lost."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

from tests.support.cli import Cli, stopped
from tests.support.gates.in_process import git
from tests.support.owner.harness import wait_until
from tests.support.sessions import hook


def pid_of(cli: Cli) -> int:
    return int(json.loads(cli.run("owner", "status", "--json").stdout)["pid"])


def timed(cli: Cli, number: int) -> float:
    """Milliseconds of one PostToolUse."""
    began = time.monotonic()
    hook(
        cli, "post-tool", "s-1", tool_name="Bash", tool_input={"command": f"echo {number}"}, tool_response={}
    )
    return (time.monotonic() - began) * 1000


def test_hooks_wait_once_for_an_owner_that_is_stopped(cli: Cli) -> None:
    """The others are a small part of the first, which waits its whole budget. All are applied, once."""
    silent = Path(cli.env["CONTEXT_GRAPH_HOME"]) / "run" / "owner.silent"
    hook(cli, "session-start", "s-1", source="startup")
    pid = pid_of(cli)
    with stopped(pid):
        first = timed(cli, 0)
        rest = [timed(cli, number) for number in range(1, 6)]
        assert silent.exists()
        print(f"first {first:.0f} ms, then {', '.join(f'{one:.1f}' for one in rest)} ms")
        assert statistics.median(rest) < first / 4
    wait_until(lambda: not silent.exists(), "the owner answers, and takes the memory back", 30)
    timed(cli, 6)
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["post-tool"] == 7
    assert shown["spool_pending"] == 0


def test_gates_still_decide_beside_an_owner_that_is_stopped(cli: Cli) -> None:
    """The spool is not the gates' way: they decide from files, also when nobody was waited for."""
    requirements = cli.project / ".claude" / "requirements.yaml"
    requirements.parent.mkdir()
    requirements.write_text(
        'version: "1.0"\nenabled: true\nrequirements:\n  no_rm:\n    enabled: true\n    type: blocking\n'
        "    scope: session\n    triggers: [Edit]\n    message: Plan first.\n"
    )
    (cli.project / ".git").rmdir()
    git(cli.project, "init", "-q", "-b", "work")
    git(cli.project, "commit", "-q", "--allow-empty", "-m", "x")
    hook(cli, "session-start", "s-1", source="startup")
    edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{cli.project}/a.py"}}
    given = {"session_id": "s-1", "cwd": str(cli.project), "hook_event_name": "PreToolUse", **edit}
    pid = pid_of(cli)
    decisions = []
    with stopped(pid):
        for number in range(3):
            body = json.dumps({**given, "tool_use_id": f"toolu_x{number}"})
            done = cli.run("hooks", "pre-tool", "--stdin", "--format", "claude", stdin=body)
            decisions.append(json.loads(done.stdout)["hookSpecificOutput"].get("permissionDecision"))
    assert decisions == ["deny"] * 3


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
    pid = pid_of(cli)
    with stopped(pid):
        timed(cli, 0)  # it waits, and leaves word of it
        done = cli.run("mcp", stdin=lines, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in answers] == [1, 2], done
    for one in answers:
        assert "owner status" in one["error"]["message"], one
