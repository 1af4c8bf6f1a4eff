"""The requirement gates in the real Claude Code client, by the settings that our own generator writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.realclient.installed import VERSION
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, last_messages, needs_client, text_of
from tests.support.gates.installed import GateProject

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

REQUIREMENTS = """
version: "1.0"
inherit: false
requirements:
  commit_plan: {enabled: true, scope: session, message: Say first what you will change.}
  verify: {enabled: true, scope: session, stop_only: true, message: Run the tests before you stop.}
"""
WORK: list[Any] = [
    {"tool": "Read", "input": {"file_path": "@PROJECT@/rates.py"}},
    {
        "tool": "Edit",
        "input": {"file_path": "@PROJECT@/rates.py", "old_string": "return 1", "new_string": "return 2"},
    },
    {"tool": "Bash", "input": {"command": "cd src && context-graph-cli req satisfy commit_plan"}},
    {
        "tool": "Edit",
        "input": {"file_path": "@PROJECT@/rates.py", "old_string": "return 1", "new_string": "return 3"},
    },
    "I am done.",
    "I am really done.",
]


@pytest.fixture
def project(cli: Cli) -> GateProject:
    """A git repository with one file, and our hooks in its settings."""
    shutil.rmtree(cli.project / ".git")
    made = GateProject(cli)
    made.git("init", "-q", "-b", "feature/rates")
    (made.root / "src").mkdir()
    (made.root / "rates.py").write_text("def refill():\n    return 1\n")
    assert cli.run("hooks", "generate-config").returncode == 0
    return made


@needs_client
def test_an_edit_is_denied_satisfied_and_let_pass_and_stop_is_held_once(
    project: GateProject, tmp_path: Path
) -> None:
    """The reason is the tool's result, the way out works, Stop blocks once and lets go."""
    project.configure(REQUIREMENTS)
    summary = drive(
        project.cli, tmp_path / "logs", WORK, "change the rate", "Say first what you will change."
    )
    assert {hook["exit_code"] for hook in summary["hooks"]} == {0}
    assert (project.root / "rates.py").read_text() == "def refill():\n    return 3\n"
    results = [result for result in summary["tool_results"] if "commit_plan" in json.dumps(result)]
    refused = json.dumps(results[0])
    assert "Say first what you will change." in refused and "req satisfy commit_plan`" in refused
    assert summary["markers"]["Say first what you will change."], "the reason reached the model"
    assert "satisfied: commit_plan" in json.dumps(results[1])
    messages = last_messages(tmp_path / "logs")
    # The client tells the reason of one held Stop twice: as its feedback, and as the error of a hook.
    held = [one for one in messages if "Run the tests before you stop." in text_of(one)]
    assert [one["role"] for one in held] == ["user", "system"], "Stop was held once"
    assert "Stop hook feedback" in text_of(held[0])
    assert "I am done." in json.dumps(messages)
    stops = [hook for hook in summary["hooks"] if hook["event"] == "Stop"]
    assert len(stops) == 2
    kinds = [(one["kind"], one["requirements"]) for one in project.log()]
    assert kinds == [
        ("denied", ["commit_plan"]),
        ("satisfied", ["commit_plan"]),
        ("blocked", ["verify"]),
    ]


@needs_client
def test_a_project_without_requirements_hears_nothing_of_them_and_is_held_up_by_nothing(
    project: GateProject, tmp_path: Path
) -> None:
    """D6, issue C show 2: installed but not governing."""
    summary = drive(project.cli, tmp_path / "logs", [*WORK[:2], "Changed."], "change the rate")
    assert {hook["exit_code"] for hook in summary["hooks"]} == {0}
    assert (project.root / "rates.py").read_text() == "def refill():\n    return 2\n"
    first = json.loads((tmp_path / "logs" / "requests.jsonl").read_text().splitlines()[0])
    everything = json.dumps([first, *last_messages(tmp_path / "logs")])
    assert "requirements" not in everything.replace(str(tmp_path), "").lower()


@needs_client
def test_what_the_client_quotes_of_our_hooks_is_no_shell_line(project: GateProject, tmp_path: Path) -> None:
    """A Stop that is held and a compaction quote the command: in settings of this machine it is short."""
    project.configure(REQUIREMENTS)
    (project.root / ".claude" / "settings.json").unlink()
    (tmp_path / "claude").write_text(f"#!/bin/sh\necho '{VERSION} (Claude Code)'\n")
    (tmp_path / "claude").chmod(0o755)
    path = f"{tmp_path}:{project.cli.launcher.parent}:/usr/bin:/bin"
    link = Path(project.cli.env["HOME"]) / ".local" / "bin" / "context-graph-cli"
    link.parent.mkdir(parents=True)
    link.symlink_to(project.cli.launcher)
    assert project.cli.run("setup", "--yes", "--local", env={"PATH": path}).returncode == 0
    compact = ["--trust", "--prompt", "/compact", "--prompt", "go on"]
    drive(project.cli, tmp_path / "logs", [*WORK, "Summary."], "change the rate", options=compact)
    told = (tmp_path / "logs" / "requests.jsonl").read_text()
    assert "Stop hook blocking error from command" in told and "Compacted" in told
    assert "command -v" not in told and "|| true" not in told
    assert "context-graph-cli hooks stop --format claude" in told


REVIEW = """
version: "1.0"
inherit: false
requirements:
  review: {enabled: true, trigger_tools: [{git: [commit, push]}], message: Have the change reviewed.}
"""


def _ship(where: str, more: str = "make -f ../project/ship.mk") -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": f"{more}; echo {where} ended with $?"}}


@needs_client
def test_git_asks_whatever_an_agent_starts_wherever_it_starts_it(
    project: GateProject, tmp_path: Path
) -> None:
    """Makefile, subagent, background, worktree, second prompt, /clear; another repository is let alone."""
    project.configure(REVIEW)
    (project.root / "ship.mk").write_text("ship:\n\t@git commit -q --allow-empty -m ship\n")
    for key in ("name", "email"):
        project.git("config", f"user.{key}", "t@t")
    project.git("add", "-A")
    project.git("commit", "-qm", "init")
    elsewhere = 'cd "$(mktemp -d)" && git init -q'
    elsewhere += " && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m x"
    behind = _ship("background", "make -f ship.mk > ../told 2>&1")
    behind["input"]["run_in_background"] = True
    script: list[Any] = [
        _ship("main", "make -f ship.mk"),
        {"tool": "Task", "input": {"description": "d", "prompt": "p", "subagent_type": "general-purpose"}},
        *(_ship("subagent", "make -f ship.mk"), "done"),
        *(behind, _ship("waited", "sleep 4; cat ../told")),
        _ship("worktree", "git worktree add -q ../w -b w; cd ../w && make -f ship.mk"),
        *(_ship("elsewhere", elsewhere), "one"),
        *(_ship("second", "make -f ship.mk"), "two", _ship("cleared", "make -f ship.mk"), "three"),
    ]
    options = ("--prompt", "more", "--prompt", "/clear", "--prompt", "again")
    summary = drive(project.cli, tmp_path / "logs", script, "ship it", options=options)
    told = {
        name: json.dumps(r)
        for r in summary["tool_results"]
        for name in _ENDS
        if f"{name} ended with" in json.dumps(r)
    }
    assert told.keys() == set(_ENDS)
    assert "elsewhere ended with 0" in told.pop("elsewhere")
    for name, text in told.items():
        assert "Have the change reviewed." in text, name
        assert name == "waited" or f"{name} ended with 2" in text
    assert project.git("log", "--format=%s", "--all") == "init"


_ENDS = ("main", "subagent", "waited", "worktree", "elsewhere", "second", "cleared")


SIGN = """
version: "1.0"
inherit: false
requirements:
  sign: {enabled: true, human_only: true, trigger_tools: [Write], message: A person must look.}
"""


@needs_client
@pytest.mark.parametrize("how", ["echo '{}' >", "rm"])
def test_settings_without_our_hooks_do_not_reach_a_session_that_a_person_holds(
    project: GateProject, tmp_path: Path, how: str
) -> None:
    """ConfigChange: the client asks us, is refused, and calls the hooks that it had."""
    project.configure(SIGN)
    write = {"tool": "Write", "input": {"file_path": "@PROJECT@/new.txt", "content": "x"}}
    drop = {"tool": "Bash", "input": {"command": f"{how} .claude/settings.json; sleep 3"}}
    script: list[Any] = [write, drop, write, "Done.", "Really."]
    summary = drive(project.cli, tmp_path / "logs", script, "write the file")
    assert "ConfigChange hook blocked" in (tmp_path / "logs" / "debug.log").read_text()
    assert {hook["exit_code"] for hook in summary["hooks"]} == {0}
    assert not (project.root / "new.txt").exists()
    assert json.dumps(summary["tool_results"]).count("A person must look.") == 2
