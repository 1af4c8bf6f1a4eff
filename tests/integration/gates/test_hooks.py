"""The requirement gates through the installed launcher: with an owner, without one, and with a broken one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.cli import Cli, alone
from tests.support.gates.installed import A, Answer, B, GateProject, decided_by, no_owner

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


@pytest.fixture(params=["owner", "files"])
def either(request: pytest.FixtureRequest, project: GateProject) -> Iterator[GateProject]:
    """The project with an owner that runs, and with none that can."""
    with decided_by(request.param, project.cli):
        yield project


def test_a_refusal_names_what_is_unmet_and_ends_with_the_way_out(either: GateProject) -> None:
    """Once satisfied, the call passes without a word."""
    refused = either.edit()
    assert (refused.decision, refused.names) == ("deny", ["plan"])
    assert refused.context == "", "nothing was measured: there is no brief"
    assert refused.reason.splitlines()[-1].endswith("`context-graph-cli req satisfy plan`")
    either.req("satisfy", "plan", "--session", A[:8])
    passed = either.edit()
    assert passed.decision == "allow" and "permissionDecision" not in passed.own
    assert either.edit(B).decision == "deny", "a session's satisfaction is its own"


def test_a_refusal_and_the_brief_are_in_one_document(project: GateProject) -> None:
    project.cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    for part in ("limits", "buckets", "keys", "windows"):
        project.bash(f"cat src/rate/{part}.py", verb="post-tool")
    refused = project.edit()
    assert (refused.decision, refused.names) == ("deny", ["plan"])
    assert refused.context.startswith("[C:") and "plan" not in refused.context
    assert project.edit().context == "", "the refused call has told it"


def test_stop_is_held_back_once_by_what_an_allowed_call_armed(either: GateProject) -> None:
    """Armed by allowed calls only; stop_hook_active always allows; no document without a block."""
    assert either.edit().decision == "deny"
    assert either.stop().document == {}, "a refused call arms nothing"
    either.req("satisfy", "plan", "--session", A)
    assert either.edit().decision == "allow"
    held = either.stop()
    assert (held.decision, held.names) == ("block", ["verify"])
    assert set(held.document) == {"decision", "reason"}
    assert either.stop(active=True).document == {}
    assert either.stop().decision == "block"
    either.req("satisfy", "verify", "--session", A)
    assert either.stop().document == {}


def test_a_single_use_is_consumed_by_the_call_that_succeeded(either: GateProject) -> None:
    """PostToolUse takes it back; a failure does not."""
    assert either.bash("git commit -m 1").names == ["review"]
    either.req("satisfy", "review", "--session", A)
    assert either.bash("git commit -m 1").decision == "allow"
    either.bash("git commit -m 1", verb="post-tool-failure")
    assert either.bash("git commit -m 1").decision == "allow"
    either.bash("git commit -m 1", verb="post-tool")
    assert either.bash("git commit -m 2").names == ["review"]


def test_every_refusal_and_satisfaction_is_in_the_stores_log(project: GateProject) -> None:
    """Also what happened while no owner ran, in order, once; nothing of the call's own text."""
    with no_owner(project.cli):
        project.edit(tool_input={"file_path": "/tmp/secret-name", "old_string": "a", "new_string": "b"})
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


def test_reading_the_log_decides_nothing_again(project: GateProject) -> None:
    """What was consumed without an owner is not consumed once more when the owner reads the log."""
    with no_owner(project.cli):
        project.req("satisfy", "review", "plan", "--session", A)
        project.bash("git commit -m 1")
        project.bash("git commit -m 1", verb="post-tool")
        project.req("satisfy", "review", "--session", A)
        verbs = [record["verb"] for record in project.logged()]
        assert sorted(verbs) == [
            "hooks.post-tool",
            "hooks.pre-tool",
            "req.record",
            "req.record",
            "req.record",
        ]
    assert project.cli.run("owner", "start").returncode == 0
    project.log()  # the owner drains before it answers
    assert project.logged() == []
    assert project.bash("git commit -m 2").decision == "allow", "the newer satisfaction stands"
    shown = json.loads(project.cli.run("session", "show", "--session-id", A, "--json").stdout)
    assert shown["events_by_kind"]["pre-tool"] == 2 and shown["events_by_kind"]["post-tool"] == 1


def test_an_owner_that_is_stuck_lets_nothing_pass_in_silence(project: GateProject) -> None:
    """Its time is up, Python decides; the owner's late look at the request changes nothing."""
    assert project.cli.run("owner", "start").returncode == 0
    project.edit()
    project.req("satisfy", "review", "--session", A)
    pid = _owner_pid(project)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert _in_time(project.edit).names == ["plan"]
        assert _in_time(lambda: project.bash("git commit -m 1")).decision == "allow"
        project.bash("git commit -m 1", verb="post-tool")
        project.req("satisfy", "review", "--session", A)
    finally:
        os.kill(pid, signal.SIGCONT)
    project.log()
    assert project.bash("git commit -m 2").decision == "allow", "a late look consumed the newer satisfaction"
    consumed = [one for one in project.log() if one["kind"] == "consumed"]
    assert len(consumed) == 1


def _in_time(call: Callable[[], Answer]) -> Answer:
    """What was decided: on a machine that is busy Python may need longer than the client would wait."""
    answer = call()
    for _ in range(4):
        if "did not end in time" not in answer.message:
            break
        answer = call()
    return answer


def _owner_pid(project: GateProject) -> int:
    holder = run_folder.read_holder(project.data / "run" / "owner.lock")
    assert holder is not None
    return holder.pid


@pytest.mark.parametrize(
    ("python", "why"),
    [
        ("exit 3", "it ended with code 3"),
        ("exit 0", "it gave no answer"),
        ("echo '{}'", "it gave no answer"),
        ("kill -9 $$", "it ended with code 137"),
    ],
)
def test_if_python_fails_too_the_call_passes_and_everybody_hears_of_it(
    project: GateProject, tmp_path: Path, python: str, why: str
) -> None:
    """Allowed, but said to the user, to the model and in the log."""
    launcher = alone(project.cli, tmp_path)
    script = tmp_path / "python"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *context_graph.gates*) {python};; esac\nexec {sys.executable} "$@"\n'
    )
    script.chmod(0o755)
    broken = GateProject(
        Cli(launcher, project.root, {**project.cli.env, "CONTEXT_GRAPH_PYTHON": str(script)})
    )
    with no_owner(project.cli):
        passed = broken.edit()
        assert passed.decision == "allow"
        assert why in passed.message and "PreToolUse was let through without them" in passed.message
        assert passed.message.removeprefix("context-graph: ") in passed.context
        stopped = broken.stop()
        assert set(stopped.document) == {"systemMessage"}, "context would force another turn"
    errors = [one for one in project.log() if one["kind"] == "error"]
    assert len(errors) == 2 and why in errors[0]["detail"]


def test_a_gate_that_is_late_denies_the_first_call_of_a_session_and_no_other(
    project: GateProject, tmp_path: Path
) -> None:
    """By the second call there is an owner, as a rule; where there is none it passes, and everybody hears."""
    launcher = alone(project.cli, tmp_path)
    script = tmp_path / "python"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *context_graph.gates*) exec sleep 30;; esac\nexec {sys.executable} "$@"\n'
    )
    script.chmod(0o755)
    slow = GateProject(Cli(launcher, project.root, {**project.cli.env, "CONTEXT_GRAPH_PYTHON": str(script)}))
    with no_owner(project.cli):
        first = slow.edit()
        assert first.decision == "deny" and first.reason == "The gates are starting; run the same call again."
        assert "the first call may wait" in first.message and str(tmp_path) not in first.message
        second = slow.edit()
        assert second.decision == "allow" and "they did not answer in time" in second.message
        assert slow.edit(B).decision == "deny", "another session has a first call of its own"


def test_without_a_requirements_file_no_python_is_started(project: GateProject, tmp_path: Path) -> None:
    """Who has no gates pays for none."""
    (project.root / ".claude" / "requirements.yaml").unlink()
    launcher = alone(project.cli, tmp_path)
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    script.chmod(0o755)
    plain = GateProject(Cli(launcher, project.root, {**project.cli.env, "CONTEXT_GRAPH_PYTHON": str(script)}))
    with no_owner(project.cli):
        assert plain.edit().decision == "allow"
        project.configure(PLAN)
        plain.hook("pre-compact", trigger="manual")
        assert not (tmp_path / "started").exists(), "nothing is decided before a compaction"
        plain.edit()
        assert (tmp_path / "started").exists()


def test_input_that_can_t_be_recorded_is_still_refused(either: GateProject) -> None:
    """No wrong allow because some other field is not as the client sends it."""
    assert either.edit(source=5).names == ["plan"]


NO_EVENT = (b"", b"{", b"[1]", b"{}", b'{"session_id":"s"', b"\xff\xfe", b"null")


def test_what_is_no_event_passes_with_exit_0(either: GateProject) -> None:
    """The client never sends it; whatever does is not held up."""
    for verb in ("pre-tool", "stop", "permission-request", "session-end", "subagent-stop"):
        for stdin in NO_EVENT:
            done = either.cli.run("hooks", verb, "--format", "claude", stdin=stdin)
            assert (done.returncode, done.stdout) == (0, ""), (verb, stdin)


def test_the_project_s_own_switches_travel_with_the_request(either: GateProject) -> None:
    """CLAUDE_SKIP_REQUIREMENTS is the caller's, not the owner's."""
    either.configure(
        "version: '1.0'\ninherit: false\nrequirements:\n"
        "  plan: {enabled: true, satisfied_by_skill: planner, replan_ttl: 60}\n"
    )
    assert either.edit().decision == "deny"
    either.env["CLAUDE_SKIP_REQUIREMENTS"] = "1"
    assert either.edit().decision == "allow"
    del either.env["CLAUDE_SKIP_REQUIREMENTS"]
    either.hook("post-tool", tool_name="Skill", tool_input={"skill": "planner"}, tool_response={})
    assert either.edit().decision == "allow"
    either.later(120)
    assert either.edit().decision == "deny"


def test_a_folder_below_and_a_folder_elsewhere_are_the_project_too(
    either: GateProject, tmp_path: Path
) -> None:
    """`cd src` must not disable a gate; elsewhere CLAUDE_PROJECT_DIR is the hint."""
    (either.root / "src" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for folder in (either.root / "src" / "deep", tmp_path / "elsewhere"):
        assert either.edit(cwd=folder).names == ["plan"], folder


def test_a_reason_that_is_too_long_keeps_its_end(either: GateProject) -> None:
    """Contract section 4: 10,000 characters; the way out is at the end."""
    long = "x" * 12_000
    either.configure(
        f"version: '1.0'\ninherit: false\nrequirements:\n  plan: {{enabled: true, message: '{long}'}}\n"
    )
    refused = either.edit()
    assert refused.decision == "deny" and len(refused.reason) <= 10_000
    assert refused.names == ["plan"]


def test_permissions_are_denied_where_the_file_says_so_and_else_left_to_the_user(either: GateProject) -> None:
    """PermissionRequest; never an allow, which would skip the user's own answer."""
    asked = {"tool_name": "Bash", "tool_input": {"command": "git push --force origin x"}}
    denied = either.hook("permission-request", **asked)
    assert denied.own["decision"]["behavior"] == "deny" and denied.own["decision"]["message"]
    asked["tool_input"] = {"command": "ls"}
    assert either.hook("permission-request", **asked).document == {}


def test_a_subagent_s_stop_is_recorded_and_never_held_back(project: GateProject) -> None:
    """Subagents share the session: what they leave open holds its Stop."""
    project.req("satisfy", "plan", "--session", A)
    project.edit(agent_id="agent-1", agent_type="general-purpose")
    assert project.hook("subagent-stop", agent_id="agent-1", stop_hook_active=False).document == {}
    assert project.stop().decision == "block"
    shown = json.loads(project.cli.run("session", "show", "--session-id", A, "--json").stdout)
    assert shown["events_by_kind"]["subagent-stop"] == 1


def test_a_session_hears_at_its_start_what_governs_it(either: GateProject) -> None:
    """The status with requirements, and why a file can't be used."""
    start = either.hook("session-start", source="startup")
    assert "plan" in start.context and start.decision == "allow"
    (either.root / ".claude" / "requirements.yaml").write_text("requirements: [1\n")
    broken = either.hook("session-start", B, source="startup")
    assert "requirements.yaml" in broken.context + broken.message


def test_a_project_without_a_file_hears_nothing_of_requirements(project: GateProject) -> None:
    """D6: installed but not governing; a model can do nothing with that."""
    (project.root / ".claude" / "requirements.yaml").unlink()
    for source in ("startup", "resume", "clear", "compact", "fork"):
        told = project.hook("session-start", B, source=source)
        assert "requirement" not in told.context.lower() + told.message.lower()


def test_a_crowd_of_gates_and_satisfies_loses_nothing(either: GateProject) -> None:
    """16 sessions at once on one branch, each refused, satisfied and let pass."""
    sessions = [f"crowd-{number:02}" for number in range(16)]
    failures: list[BaseException] = []

    def decision(session: str) -> str:
        """Asked again where, with sixteen at once on a busy machine, nobody could decide in time."""
        for _ in range(12):
            told = either.edit(session)
            if "could not be checked" not in told.message:
                break
        return told.decision

    def run(session: str) -> None:
        try:
            assert decision(session) == "deny"
            either.req("satisfy", "plan", "--session", session)
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
        assert json.loads(either.req("status", "--json", "--session", session))["requirements"]["plan"][
            "satisfied"
        ]


def test_the_status_line_is_the_same_with_and_without_an_owner(either: GateProject, tmp_path: Path) -> None:
    """Pure, worktree aware, exit 0 whatever stands on its input."""
    given = json.dumps({"session_id": A, "workspace": {"current_dir": str(either.root / ".claude")}})
    before = sorted(path for path in either.root.rglob("*"))

    def line(stdin: str = given, cwd: Path | None = None) -> str:
        for _ in range(5):  # a busy machine has no answer in time, and says so by a question mark
            done = either.cli.run("req", "statusline", stdin=stdin, cwd=cwd)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.count("\n") == 1
            if done.stdout != "requirements ?\n":
                break
        return done.stdout.rstrip("\n")

    assert line() == "✗ 3/3 requirements: plan, verify, review"
    assert sorted(path for path in either.root.rglob("*")) == before, "a status line writes nothing"
    either.req("satisfy", "plan", "verify", "review", "--session", A)
    assert line() == "✓ 3 requirements"
    assert line("not JSON", cwd=either.root).startswith("✗ 3/3"), "no session is named: its own are unmet"
    either.req("pause", "--session", A)
    assert line() == "⏸ requirements paused"
    either.git("commit", "-q", "--allow-empty", "-m", "x")
    either.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "wt"))
    (tmp_path / "wt" / ".claude").mkdir()
    (tmp_path / "wt" / ".claude" / "requirements.yaml").write_text(PLAN)
    assert line(json.dumps({"session_id": B, "cwd": str(tmp_path / "wt")})).startswith("✗ 3/3")
    (tmp_path / "bare").mkdir()
    assert line(json.dumps({"cwd": str(tmp_path / "bare")}), cwd=tmp_path / "bare") == "no requirements here"


@pytest.mark.parametrize("layout", ["plain", "wrapped"])
def test_the_interpreter_is_that_of_the_program_beside_the_launcher(
    project: GateProject, tmp_path: Path, layout: str
) -> None:
    """ADR 0013: told by the first line of `context-graph-py`; where installers wrap it, by the second."""
    launcher = Path(shutil.copy(project.cli.launcher, tmp_path / "context-graph-cli"))
    first = (
        f"#!/bin/sh\n'''exec' {sys.executable} \"$0\" \"$@\""
        if layout == "wrapped"
        else f"#!{sys.executable}"
    )
    beside = tmp_path / "context-graph-py"
    beside.write_text(f"{first}\nraise SystemExit(1)\n")
    beside.chmod(0o755)
    env = {name: value for name, value in project.cli.env.items() if name != "CONTEXT_GRAPH_PYTHON"}
    with no_owner(project.cli):
        assert GateProject(Cli(launcher, project.root, env)).edit().names == ["plan"]


def test_without_an_owner_one_is_started_and_decides(project: GateProject) -> None:
    """ADR 0013: after an idle hour the first tool call starts an owner, as a prompt does."""
    project.cli.run("owner", "stop")
    assert project.edit().names == ["plan"]
    assert _owner_pid(project) > 0 and [one["kind"] for one in project.log()] == ["denied"]
    project.cli.run("owner", "stop")


def test_a_tool_that_fails_again_and_again_brings_what_is_open(either: GateProject) -> None:
    def told(**given: object) -> str:
        return either.hook("post-tool-failure", tool_name="Edit", tool_input={}, error="x", **given).context

    said = [told(), told(is_interrupt=True), told(), told()]
    assert ["open: plan" in one for one in said] == [False, False, False, True]


def test_human_only_outlives_the_file_that_says_it(either: GateProject) -> None:
    """With an owner and without one: the file moved away, then a HEAD that names no branch."""
    either.configure("requirements: {sign: {enabled: true, human_only: true}}\n")
    assert either.edit().names == ["sign"]
    (either.root / ".claude").rename(either.root / "away")
    gone = either.edit()
    assert gone.decision == "deny" and gone.names == ["sign"] and "has seen it" in gone.reason
    (either.root / "away").rename(either.root / ".claude")
    assert "has seen it" not in either.edit().reason
    either.git("commit", "-q", "--allow-empty", "-m", "x")
    either.git("checkout", "-q", "--detach")
    assert either.edit().names == ["sign"]
    either.hook("session-end", reason="other")
    assert either.edit().decision == "allow"
