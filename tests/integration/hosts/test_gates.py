"""Requirements in other hosts: their calls are refused in their own words, with an owner and without one."""

from __future__ import annotations

import json

import pytest
from tests.support.cli import Cli
from tests.support.clients.hosts import NAMES, calls, denial, one, send
from tests.support.gates.installed import GateProject, an_owner

from context_graph.claude.hosts.host import NOT_THE_USER

REQUIREMENTS = """
version: "1.0"
inherit: false
requirements:
  plan: {enabled: true, scope: session, message: Say what you will change.}
  commit:
    enabled: true
    scope: single_use
    message: Have the commit looked at.
    trigger_tools: [{tool: Bash, git: commit}]
  verify: {enabled: true, scope: session, stop_only: true, message: Run the tests before you stop.}
"""
EDITS = {
    "codex": {"command": "*** Begin Patch\n*** Update File: src/bucket.py\n@@\n-a\n+b\n*** End Patch\n"},
    "gemini": {"file_path": "src/bucket.py", "old_string": "a", "new_string": "b"},
    "cursor": {"file_path": "src/bucket.py", "content": "b"},
}
EDITING = {"codex": "apply_patch", "gemini": "replace", "cursor": "Write"}
SHELL = {"codex": "Bash", "gemini": "run_shell_command", "cursor": "Shell"}


@pytest.fixture
def project(cli: Cli) -> GateProject:
    return GateProject.make(cli, REQUIREMENTS)


@pytest.mark.parametrize("host", NAMES)
def test_an_edit_is_refused_until_its_requirement_is_met(project: GateProject, host: str) -> None:
    cli = project.cli
    edit = one(host, cli, "pre-tool", tool_name=EDITING[host], tool_input=EDITS[host])
    with an_owner(cli):
        refused = send(cli, host, "pre-tool", edit)
        assert "Say what you will change" in denial(refused)
        cli.run("req", "satisfy", "plan", "--session", edit["session_id"])
        assert not denial(send(cli, host, "pre-tool", {**edit, "tool_use_id": "another"}))


@pytest.mark.parametrize("host", NAMES)
def test_a_command_is_judged_as_the_shell_s(project: GateProject, host: str) -> None:
    cli = project.cli
    cli.start_owner()
    call = one(host, cli, "pre-tool", tool_name=SHELL[host], tool_input={"command": "git -C . commit -m x"})
    assert "Have the commit looked at" in denial(send(cli, host, "pre-tool", call))
    call["tool_input"] = {"command": "git status"}
    assert not denial(send(cli, host, "pre-tool", call))


@pytest.mark.parametrize("host", NAMES)
def test_a_stop_is_held_once_and_never_in_the_user_s_name(project: GateProject, host: str) -> None:
    cli = project.cli
    cli.start_owner()
    edit = one(host, cli, "pre-tool", tool_name=EDITING[host], tool_input=EDITS[host])
    cli.run("req", "satisfy", "plan", "--session", edit["session_id"])
    send(cli, host, "pre-tool", edit)
    held = send(cli, host, "stop", one(host, cli, "stop", -1))
    if host == "codex":  # shown to its model as a hook's
        assert held["decision"] == "block"
        assert "Run the tests" in held["reason"]
    else:
        said = held["followup_message"] if host == "cursor" else held["reason"]
        assert said.startswith(NOT_THE_USER)
        assert "Run the tests" in said
    again = {"loop_count": 1} if host == "cursor" else {"stop_hook_active": True}
    assert not send(cli, host, "stop", one(host, cli, "stop", -1, **again)).keys() & {
        *("decision", "reason", "followup_message")
    }


def test_a_patch_is_held_to_every_file_that_it_names(cli: Cli, project: GateProject) -> None:
    project.configure(
        REQUIREMENTS.replace("session, message: Say", "session, human_only: true, message: Say")
    )
    cli.start_owner()
    hunks = [f"*** Update File: {name}\n@@\n-a\n+b\n" for name in ("a.py", ".claude/requirements.yaml")]
    patch = {"command": f"*** Begin Patch\n{''.join(hunks)}*** End Patch\n"}
    call = one("codex", cli, "pre-tool", tool_name="apply_patch", tool_input=patch)
    assert "requirements" in denial(send(cli, "codex", "pre-tool", call))


@pytest.mark.parametrize("host", NAMES)
def test_a_gate_that_cannot_be_checked_lets_the_call_through_and_says_so(
    project: GateProject, host: str
) -> None:
    cli = project.cli
    edit = one(host, cli, "pre-tool", tool_name=EDITING[host], tool_input=EDITS[host])
    done = cli.run(
        *("hooks", "pre-tool", "--format", host),
        stdin=json.dumps(edit),
        env={"CONTEXT_GRAPH_PYTHON": "/bin/false"},
    )
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert not denial(answer)
    assert "could not be checked" in (answer.get("user_message") or answer.get("systemMessage", ""))


def test_codex_is_told_no_at_its_permission_dialog(project: GateProject) -> None:
    project.cli.start_owner()
    asked = next(given for _, given in calls("codex", project.cli, "events.json"))
    decision = send(project.cli, "codex", "permission-request", asked)["hookSpecificOutput"]["decision"]
    assert decision["behavior"] == "deny"
    assert "A person can run it" in decision["message"]
