"""One session of the real client with all that makes prompts, stops and folders other than they seem.

A skill that the user types, an agent and a command that run in the background and end with a notification,
and a worktree that the session enters.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, last_messages, needs_client
from tests.support.gates.installed import GateProject
from tests.support.sessions import memory

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

REQUIREMENTS = """
version: "1.0"
inherit: false
requirements:
  commit_plan: {enabled: true, scope: session, satisfied_by_skill: look-first, message: Look first.}
  verified: {enabled: true, scope: session, stop_only: true, message: Run the tests before you stop.}
"""
SKILL = "---\nname: look-first\ndescription: Looks at the code first\n---\nLook at the code first.\n"
GOAL = "Make the limiter count per key, with help"
AGENTS_WORDS = "We decided to drop the cache and always use Redis. From now on never call the billing API."
AGENT = {
    "description": "Look at rivals",
    "prompt": "Find out how rivals count",
    "subagent_type": "general-purpose",
}
IN_WORKTREE = "Now do the same in a worktree"


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    return {"tool": "Edit", "input": {"file_path": path, "old_string": old, "new_string": new}}


def bash(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command, **more}}


def stopped(times: int) -> str:
    """Shell: whether Stop has fired that often."""
    return f'test "$(ls @LOGS@/stop-* 2>/dev/null | wc -l)" -ge {times}'


SCRIPT: dict[str, Any] = {
    "prompts": [
        "/look-first",
        {"say": GOAL, "after": stopped(1)},
        {"say": IN_WORKTREE, "after": "test -e @LOGS@/all-done"},
    ],
    "replies": {
        "Look at the code first.": ["It counts per address."],
        GOAL: [
            {"tool": "Read", "input": {"file_path": "@PROJECT@/rates.py"}},
            edit("@PROJECT@/rates.py", "return 1", "return 2"),
            bash("context-graph-cli req satisfy commit_plan"),
            edit("@PROJECT@/rates.py", "def refill()", "def refill(key)"),
            {"tool": "Agent", "input": AGENT},
            bash(f"until {stopped(3)}; do sleep 0.1; done", run_in_background=True),
            "Both are running.",
        ],
        "finished</summary>": ["The agent is done, the command is not."],
        "completed (exit code 0)": [
            "All is done.",
            bash("context-graph-cli req satisfy verified"),
            bash("touch @LOGS@/all-done"),
            "All is done and tested.",
        ],
        IN_WORKTREE: [
            {"tool": "ToolSearch", "input": {"query": "select:EnterWorktree", "max_results": 1}},
            {"tool": "EnterWorktree", "input": {"name": "second"}},
            {"tool": "Read", "input": {"file_path": "@PROJECT@/.claude/worktrees/second/rates.py"}},
            edit("@PROJECT@/.claude/worktrees/second/rates.py", "return 1", "return 7"),
            "The worktree is edited.",
        ],
    },
    "agents": {AGENT["prompt"]: [{"say": AGENTS_WORDS, "after": stopped(2)}]},
}


@pytest.fixture
def project(cli: Cli) -> GateProject:
    """A repository with a skill and requirements, and our hooks in its settings."""
    made = GateProject.make(cli, REQUIREMENTS)
    (made.root / "rates.py").write_text("def refill():\n    return 1\n")
    made.git("add", "rates.py")
    made.git("commit", "-qm", "begin")
    skill = made.root / ".claude" / "skills" / "look-first"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    assert cli.run("setup", "--yes").returncode == 0
    return made


def watching_stops(folder: Path, logs: Path) -> tuple[str, ...]:
    """Arguments for the client: a hook beside ours leaves a file with what each Stop was told."""
    hook = {"type": "command", "command": f"cat > {logs}/stop-$(date +%s%N)"}
    settings = folder / "watching.json"
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))
    return ("--settings", str(settings))


def results(logs: Path) -> list[tuple[str, str]]:
    """The name of each tool that the main conversation called, and what the model was told of the call."""
    blocks = [
        block for one in last_messages(logs) if isinstance(one["content"], list) for block in one["content"]
    ]
    told = {one["tool_use_id"]: json.dumps(one["content"]) for one in blocks if one["type"] == "tool_result"}
    return [(one["name"], told.get(one["id"], "")) for one in blocks if one["type"] == "tool_use"]


@needs_client
def test_a_session_with_a_typed_skill_an_agent_a_background_command_and_a_worktree(
    project: GateProject, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    client = watching_stops(tmp_path, logs)
    quiet = ("--trust", "--timeout", "150", "--env", "CONTEXT_GRAPH_DREAM=false")
    told = drive(project.cli, logs, SCRIPT, "unused", options=quiet, client=client)
    assert {hook["exit_code"] for hook in told["hooks"]} == {0}
    stops = [json.loads(path.read_text()) for path in sorted(logs.glob("stop-*"))]
    assert [task["status"] for task in stops[1]["background_tasks"]] == ["running", "running"]
    assert (logs / "all-done").exists(), "the notifications of both came, and were answered"

    edits = [said for name, said in results(logs) if name == "Edit"]
    copy = project.root / ".claude" / "worktrees" / "second" / "rates.py"
    held = [one["requirements"] for one in project.log() if one["kind"] == "blocked"]
    (summary,) = [one for one in memory(project.cli, "list")["nodes"] if one["source"] == "capture"]
    lines = dict(line.split(": ", 1) for line in summary["content"].splitlines() if ": " in line)
    right = {
        "the typed skill satisfies": "has been updated" in edits[0],
        "Stop is held once, when no task runs any more": held == [["verified"]],
        "an edit in the worktree is governed": "Look first." in edits[2] and "return 1" in copy.read_text(),
        "a notification is no prompt": "task-notification" not in summary["content"],
        "what an agent said is no decision": "Redis" not in summary["content"],
        "what was told to the gates is no work": "req satisfy" not in summary["content"],
        "the user's words are the goal": lines.get("Goal") == GOAL,
    }
    assert not [what for what, is_so in right.items() if not is_so], (edits, held, summary["content"])
