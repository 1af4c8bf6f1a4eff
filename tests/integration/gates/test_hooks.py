"""The requirement gates through the installed launcher: with an owner, without one, and with a stuck one."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.gates.installed import A, B, GateProject, an_owner, no_owner

from context_graph.wire import run_folder

PLAN = """
version: "1.0"
inherit: false
requirements:
  plan: {enabled: true, scope: session}
  verify: {enabled: true, scope: session, stop_only: true}
  review:
    enabled: true
    scope: single_use
    trigger_tools: [{tool: Bash, command_pattern: 'git\\s+commit'}]
"""


@pytest.fixture
def project(cli: Cli) -> GateProject:
    """A repository with PLAN as its requirements."""
    return GateProject.make(cli, PLAN)


@pytest.fixture
def running(project: GateProject) -> Iterator[GateProject]:
    """The project with an owner that runs."""
    with an_owner(project.cli):
        yield project


def test_a_refusal_names_what_is_unmet_and_ends_with_the_way_out(running: GateProject) -> None:
    """Once satisfied, the call passes without a word."""
    refused = running.edit()
    assert (refused.decision, refused.names) == ("deny", ["plan"])
    assert refused.context == "", "nothing was measured: there is no brief"
    assert refused.reason.splitlines()[-1].endswith("`context-graph-cli req satisfy plan`")
    running.req("satisfy", "plan", "--session", A[:8])
    passed = running.edit()
    assert passed.decision == "allow" and "permissionDecision" not in passed.own
    assert running.edit(B).decision == "deny", "a session's satisfaction is its own"


def test_a_refusal_and_the_brief_are_in_one_document(project: GateProject) -> None:
    project.cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    for part in ("limits", "buckets", "keys", "windows"):
        project.bash(f"cat src/rate/{part}.py", verb="post-tool")
    refused = project.edit()
    assert (refused.decision, refused.names) == ("deny", ["plan"])
    assert refused.context.startswith("[C:") and "plan" not in refused.context
    assert project.edit().context == "", "the refused call has told it"


def test_stop_is_held_back_once_by_what_an_allowed_call_armed(running: GateProject) -> None:
    """Armed by allowed calls only; stop_hook_active always allows; no document without a block."""
    assert running.edit().decision == "deny"
    assert running.stop().document == {}, "a refused call arms nothing"
    running.req("satisfy", "plan", "--session", A)
    assert running.edit().decision == "allow"
    held = running.stop()
    assert (held.decision, held.names) == ("block", ["verify"])
    assert set(held.document) == {"decision", "reason"}
    assert running.stop(active=True).document == {}
    assert running.stop().decision == "block"
    running.req("satisfy", "verify", "--session", A)
    assert running.stop().document == {}


def test_a_single_use_is_consumed_by_the_call_that_succeeded(running: GateProject) -> None:
    """PostToolUse takes it back; a failure does not."""
    assert running.bash("git commit -m 1").names == ["review"]
    running.req("satisfy", "review", "--session", A)
    assert running.bash("git commit -m 1").decision == "allow"
    running.bash("git commit -m 1", verb="post-tool-failure")
    assert running.bash("git commit -m 1").decision == "allow"
    running.bash("git commit -m 1", verb="post-tool")
    assert running.bash("git commit -m 2").names == ["review"]


def test_every_refusal_and_satisfaction_is_in_the_stores_log(project: GateProject) -> None:
    """Also what happened while no owner ran, in order, once; nothing of the call's own text."""
    project.edit(tool_input={"file_path": "/tmp/secret-name", "old_string": "a", "new_string": "b"})
    with no_owner(project.cli):
        project.req("satisfy", "plan", "--session", A)
    project.edit()
    project.stop()
    project.edit(B)
    entries = project.log()
    assert [(one["kind"], one["requirements"], one["session_id"]) for one in entries] == [
        ("denied", ["plan"], A),
        ("satisfied", ["plan"], A),
        ("blocked", ["verify"], A),
        ("denied", ["plan"], B),
    ]
    assert entries[0]["tool"] == "Edit" and entries[0]["branch"] == "feature/x"
    assert all(one["at_ms"] > 1_600_000_000_000 for one in entries)
    assert "secret-name" not in json.dumps(entries)
    only = json.loads(project.req("log", "--json", "--session", B[:8], "--kind", "denied"))["entries"]
    assert [one["session_id"] for one in only] == [B]


@pytest.mark.thorough
def test_reading_the_log_decides_nothing(project: GateProject) -> None:
    """What nobody decided when it happened uses nothing up when the owner reads of it."""
    project.req("satisfy", "review", "plan", "--session", A)
    with no_owner(project.cli):
        assert project.bash("git commit -m 1").reason == LATE
        project.bash("git commit -m 1", verb="post-tool")
        verbs = {record["verb"] for record in project.logged()}
        assert {"hooks.pre-tool", "hooks.post-tool", "req.record"} == verbs
    project.log()  # the owner reads before it answers
    assert project.logged() == []
    assert project.bash("git commit -m 2").decision == "allow"
    shown = json.loads(project.cli.run("session", "show", "--session-id", A, "--json").stdout)
    assert shown["events_by_kind"]["pre-tool"] == 2 and shown["events_by_kind"]["post-tool"] == 1


LATE = "The gates are starting; run the same call again."
PASSED = "PreToolUse was let through without them"


@contextmanager
def _stuck(project: GateProject) -> Iterator[None]:
    """While it lasts the owner that runs does nothing."""
    pid = _owner_pid(project)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.thorough
def test_an_owner_that_is_stuck_lets_nothing_pass_in_silence(running: GateProject) -> None:
    """What it reads when nobody waits any more changes nothing."""
    running.edit()
    running.req("satisfy", "review", "--session", A)
    with _stuck(running):
        assert running.edit().reason == LATE
        passed = running.bash("git commit -m 1")
        assert passed.decision == "allow" and PASSED in passed.message
        running.bash("git commit -m 1", verb="post-tool")
    errors = [one for one in running.log() if one["kind"] == "error"]
    assert len(errors) == 1 and "did not answer in time" in errors[0]["detail"]
    assert running.bash("git commit -m 2").decision == "allow", "a late look consumed the satisfaction"


def _owner_pid(project: GateProject) -> int:
    holder = run_folder.read_holder(project.data / "run" / "owner.lock")
    assert holder is not None
    return holder.pid


def test_a_gate_that_is_late_denies_the_first_call_of_a_session_and_no_other(project: GateProject) -> None:
    """By the second call there is an owner, as a rule; where there is none it passes, and everybody hears."""
    with no_owner(project.cli):
        first = project.edit()
        assert (first.decision, first.reason) == ("deny", LATE)
        assert "the first call may wait" in first.message
        second = project.edit()
        assert second.decision == "allow" and "they did not answer in time" in second.message
        assert second.message.removeprefix("context-graph: ") in second.context
        assert project.edit(B).decision == "deny", "another session has a first call of its own"
        stopped = project.stop()
        assert set(stopped.document) == {"systemMessage"}, "context would force another turn"


@pytest.mark.thorough
def test_strict_gates_hold_every_call_that_nothing_decided(project: GateProject) -> None:
    """As the client holds them where our program is gone."""
    settings = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "onFailure": "block"}]}]}}
    (project.root / ".claude/settings.json").write_text(json.dumps(settings, indent=2))
    with no_owner(project.cli):
        assert project.edit().reason == LATE
        held = project.edit()
        assert held.decision == "deny" and "held back (strict gates)" in held.reason
    project.env["CONTEXT_GRAPH_PYTHON"] = "/bin/false"
    held = project.edit(B)
    assert held.decision == "deny" and "no owner can be started" in held.reason


def test_where_no_owner_can_be_started_a_call_passes_and_everybody_hears(project: GateProject) -> None:
    """To run it again would not help."""
    project.env["CONTEXT_GRAPH_PYTHON"] = "/bin/false"
    passed = project.edit()
    assert passed.decision == "allow" and "it ends at its start" in passed.message
    assert PASSED in passed.message and PASSED in passed.context
    del project.env["CONTEXT_GRAPH_PYTHON"]
    assert [one["kind"] for one in project.log()] == ["error"]


def test_a_store_that_fails_keeps_no_gate_from_its_decision(project: GateProject) -> None:
    """The decision needs the project's files alone; its record waits in the event log."""
    project.cli.start_owner()
    project.edit()
    project.cli.stop_owner()
    for table in project.data.glob("stores/*/db/CURRENT"):
        table.write_text("no such file\n")
    assert project.edit().names == ["plan"]
    assert [record["body"]["records"][0]["kind"] for record in _decisions(project)] == ["denied"]
    project.req("satisfy", "plan", "--session", A)
    passed = project.edit()
    assert passed.decision == "allow" and "repair" in passed.message


def _decisions(project: GateProject) -> list[dict[str, Any]]:
    return [record for record in project.logged() if record["verb"] == "req.record"]


@pytest.mark.thorough
def test_without_a_requirements_file_no_call_waits_for_an_owner(project: GateProject) -> None:
    """Who has no gates pays for none."""
    (project.root / ".claude" / "requirements.yaml").unlink()
    with no_owner(project.cli):
        began = time.monotonic()
        assert project.edit().decision == "allow"
        project.configure(PLAN)
        project.hook("pre-compact", trigger="manual")
        assert time.monotonic() - began < 2, "nothing is decided before a compaction"
        assert project.edit().decision == "deny"


def test_input_that_can_t_be_recorded_is_still_refused(running: GateProject) -> None:
    """No wrong allow because some other field is not as the client sends it."""
    assert running.edit(source=5).names == ["plan"]


NO_EVENT = (b"", b"{", b"[1]", b"{}", b'{"session_id":"s"', b"\xff\xfe", b"null")


def test_what_is_no_event_passes_with_exit_0(running: GateProject) -> None:
    """The client never sends it; whatever does is not held up."""
    for verb in ("pre-tool", "stop", "permission-request", "session-end", "subagent-stop"):
        for stdin in NO_EVENT:
            done = running.cli.run("hooks", verb, "--format", "claude", stdin=stdin)
            assert (done.returncode, done.stdout) == (0, ""), (verb, stdin)


def test_the_project_s_own_switches_travel_with_the_request(running: GateProject) -> None:
    """CLAUDE_SKIP_REQUIREMENTS is the caller's, not the owner's."""
    running.configure(
        "version: '1.0'\ninherit: false\nrequirements:\n"
        "  plan: {enabled: true, satisfied_by_skill: planner, replan_ttl: 60}\n"
    )
    assert running.edit().decision == "deny"
    running.env["CLAUDE_SKIP_REQUIREMENTS"] = "1"
    assert running.edit().decision == "allow"
    del running.env["CLAUDE_SKIP_REQUIREMENTS"]
    running.hook("post-tool", tool_name="Skill", tool_input={"skill": "planner"}, tool_response={})
    assert running.edit().decision == "allow"
    running.later(120)
    assert running.edit().decision == "deny"


def test_a_folder_below_and_a_folder_elsewhere_are_the_project_too(
    running: GateProject, tmp_path: Path
) -> None:
    """`cd src` must not disable a gate; elsewhere CLAUDE_PROJECT_DIR is the hint."""
    (running.root / "src" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for folder in (running.root / "src" / "deep", tmp_path / "elsewhere"):
        assert running.edit(cwd=folder).names == ["plan"], folder


def test_a_reason_that_is_too_long_keeps_its_end(running: GateProject) -> None:
    """Contract section 4: 10,000 characters; the way out is at the end."""
    long = "x" * 12_000
    running.configure(
        f"version: '1.0'\ninherit: false\nrequirements:\n  plan: {{enabled: true, message: '{long}'}}\n"
    )
    refused = running.edit()
    assert refused.decision == "deny" and len(refused.reason) <= 10_000
    assert refused.names == ["plan"]


def test_permissions_are_denied_where_the_file_says_so_and_else_left_to_the_user(
    running: GateProject,
) -> None:
    """PermissionRequest; never an allow, which would skip the user's own answer."""
    asked = {"tool_name": "Bash", "tool_input": {"command": "git push --force origin x"}}
    denied = running.hook("permission-request", **asked)
    assert denied.own["decision"]["behavior"] == "deny" and denied.own["decision"]["message"]
    asked["tool_input"] = {"command": "ls"}
    assert running.hook("permission-request", **asked).document == {}


def test_a_subagent_s_stop_is_recorded_and_never_held_back(project: GateProject) -> None:
    """Subagents share the session: what they leave open holds its Stop."""
    project.req("satisfy", "plan", "--session", A)
    project.edit(agent_id="agent-1", agent_type="general-purpose")
    assert project.hook("subagent-stop", agent_id="agent-1", stop_hook_active=False).document == {}
    assert project.stop().decision == "block"
    shown = json.loads(project.cli.run("session", "show", "--session-id", A, "--json").stdout)
    assert shown["events_by_kind"]["subagent-stop"] == 1


def test_a_session_hears_at_its_start_what_governs_it(running: GateProject) -> None:
    """The status with requirements, and why a file can't be used."""
    start = running.hook("session-start", source="startup")
    assert "plan" in start.context and start.decision == "allow"
    (running.root / ".claude" / "requirements.yaml").write_text("requirements: [1\n")
    broken = running.hook("session-start", B, source="startup")
    assert "requirements.yaml" in broken.context + broken.message


def test_a_project_without_a_file_hears_nothing_of_requirements(project: GateProject) -> None:
    """D6: installed but not governing; a model can do nothing with that."""
    (project.root / ".claude" / "requirements.yaml").unlink()
    for source in ("startup", "resume", "clear", "compact", "fork"):
        told = project.hook("session-start", B, source=source)
        assert "requirement" not in told.context.lower() + told.message.lower()


def test_a_crowd_of_gates_and_satisfies_loses_nothing(running: GateProject) -> None:
    """16 sessions at once on one branch, each refused, satisfied and let pass."""
    sessions = [f"crowd-{number:02}" for number in range(16)]
    failures: list[BaseException] = []

    def decision(session: str) -> str:
        """Asked again where, with sixteen at once on a busy machine, nobody could decide in time."""
        for _ in range(12):
            told = running.edit(session)
            if "could not be checked" not in told.message and told.reason != LATE:
                break
        return told.decision

    def run(session: str) -> None:
        try:
            assert decision(session) == "deny"
            running.req("satisfy", "plan", "--session", session)
            assert decision(session) == "allow"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for session in sessions:
        assert json.loads(running.req("status", "--json", "--session", session))["requirements"]["plan"][
            "satisfied"
        ]


def test_the_status_line_starts_an_owner_where_requirements_govern(
    project: GateProject, tmp_path: Path
) -> None:
    """Pure, worktree aware, exit 0 whatever stands on its input."""
    given = json.dumps({"session_id": A, "workspace": {"current_dir": str(project.root / ".claude")}})
    before = sorted(path for path in project.root.rglob("*"))

    def line(stdin: str = given, cwd: Path | None = None) -> str:
        for _ in range(5):  # a busy machine has no answer in time, and says so by a question mark
            done = project.cli.run("req", "statusline", stdin=stdin, cwd=cwd)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.count("\n") == 1
            if done.stdout != "requirements ?\n":
                break
        return done.stdout.rstrip("\n")

    assert line() == "✗ 3 of 3 open: plan, verify, review"
    assert sorted(path for path in project.root.rglob("*")) == before, "a status line writes nothing"
    project.req("satisfy", "plan", "verify", "review", "--session", A)
    assert line() == "✓ 3 requirements"
    assert line("not JSON", cwd=project.root).startswith("✗ 3 of 3"), "no session is named: its own are unmet"
    project.req("pause", "--session", A)
    assert line() == "⏸ requirements paused"
    project.git("commit", "-q", "--allow-empty", "-m", "x")
    project.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "wt"))
    (tmp_path / "wt" / ".claude").mkdir()
    (tmp_path / "wt" / ".claude" / "requirements.yaml").write_text(PLAN)
    assert line(json.dumps({"session_id": B, "cwd": str(tmp_path / "wt")})).startswith("✗ 3 of 3")
    (tmp_path / "bare").mkdir()
    assert line(json.dumps({"cwd": str(tmp_path / "bare")}), cwd=tmp_path / "bare") == "no requirements here"


def test_without_an_owner_one_is_started_and_decides(project: GateProject) -> None:
    """ADR 0013: after an idle hour the first tool call starts an owner, as a prompt does."""
    project.cli.run("owner", "stop")
    assert project.edit().names == ["plan"]
    assert _owner_pid(project) > 0 and [one["kind"] for one in project.log()] == ["denied"]
    project.cli.run("owner", "stop")


def test_a_tool_that_fails_again_and_again_brings_what_is_open(running: GateProject) -> None:
    def told(**given: object) -> str:
        return running.hook("post-tool-failure", tool_name="Edit", tool_input={}, error="x", **given).context

    said = [told(), told(is_interrupt=True), told(), told()]
    assert ["open: plan" in one for one in said] == [False, False, False, True]


def test_human_only_outlives_the_file_that_says_it(running: GateProject) -> None:
    """The file moved away, then a HEAD that names no branch."""
    running.configure("requirements: {sign: {enabled: true, human_only: true}}\n")
    assert running.edit().names == ["sign"]
    (running.root / ".claude").rename(running.root / "away")
    gone = running.edit()
    assert gone.decision == "deny" and gone.names == ["sign"] and "has seen it" in gone.reason
    (running.root / "away").rename(running.root / ".claude")
    assert "has seen it" not in running.edit().reason
    running.git("commit", "-q", "--allow-empty", "-m", "x")
    running.git("checkout", "-q", "--detach")
    assert running.edit().names == ["sign"]
    running.hook("session-end", reason="other")
    assert running.edit().decision == "allow"
