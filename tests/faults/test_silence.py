"""Hooks and tools beside an owner that is stopped: one waits, the next do not, and nothing is lost."""

from __future__ import annotations

import json
import statistics
import time

import pytest
from tests.support.cli import Cli, stopped
from tests.support.gates.in_process import git
from tests.support.owner.harness import wait_until
from tests.support.sessions import hook


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
    answered = statistics.median(timed(cli, number) for number in range(1, 6))
    wait_until(lambda: events(cli)["post-tool"] == 6, "the owner to have applied them")
    hook(cli, "pre-tool", "s-1", tool_name="Bash", tool_input={"command": "echo"})  # it has the first brief
    with stopped(pid):
        alone = statistics.median(timed(cli, number) for number in range(6, 11))
        print(f"beside an owner that answers {answered:.1f} ms, beside one that does not {alone:.1f} ms")
        assert alone < 3 * answered
    wait_until(lambda: events(cli)["post-tool"] == 11, "those beside the stopped owner to be applied", 30)


def events(cli: Cli) -> dict[str, int]:
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    found: dict[str, int] = shown["events_by_kind"]
    return found


@pytest.mark.thorough
def test_beside_a_stopped_owner_a_gate_denies_once_and_says_what_it_lets_pass(cli: Cli) -> None:
    """Nobody can say what is required: the first call is asked for again, later ones pass aloud."""
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
    pid = cli.owner_pid()
    replies = []
    with stopped(pid):
        for number in range(3):
            body = json.dumps({**given, "tool_use_id": f"toolu_x{number}"})
            done = cli.run("hooks", "pre-tool", "--stdin", "--format", "claude", stdin=body)
            replies.append(json.loads(done.stdout) if done.stdout else {})
    decisions = [reply.get("hookSpecificOutput", {}).get("permissionDecision") for reply in replies]
    assert decisions == ["deny", None, None], replies
    assert "run the same call again" in json.dumps(replies[0])
    assert all(reply.get("systemMessage") for reply in replies[1:]), replies


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
