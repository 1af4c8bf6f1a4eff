"""The gate's decisions: what is denied, what arms, what Stop holds back, what satisfies and for how long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.gates.in_process import A, B, Gate, clients, gate_event, git, named

from context_graph.gates.commands import commands
from context_graph.gates.decide.hooks import decide
from context_graph.gates.event import GateResult
from context_graph.gates.state import journal

COMMIT = {"tool": "Bash", "command_pattern": r"git\s+commit"}


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


@pytest.fixture
def client() -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    with clients() as start:
        yield start


def _allowed(result: GateResult) -> bool:
    assert not [one for one in result.records if one["kind"] == "error"], result.records
    return result.decision == ""


def test_one_denial_names_all_and_ends_with_the_escape_command(gate: Gate) -> None:
    """One batched deny, what would satisfy each, the escape command last."""
    gate.config(
        {
            "plan": {"message": "Plan first.", "satisfied_by_skill": "my:planner"},
            "adr": {},
            "t": {"scope": "branch"},
        }
    )
    result = gate.edit()
    assert result.decision == "deny" and named(result) == {"plan", "adr", "t"} == set(result.requirements)
    assert "Plan first." in result.reason and "my:planner" in result.reason
    assert result.reason.splitlines()[-1].endswith("`context-graph-cli req satisfy plan adr t`")
    commands.satisfy(gate.place(), ["plan", "adr"], session=A[:8])
    assert named(gate.edit()) == {"t"}


def test_a_satisfaction_is_the_session_s_own(gate: Gate) -> None:
    """Seed 004 section 3: session scope."""
    gate.config({"plan": {}})
    gate.edit()
    commands.satisfy(gate.place(), ["plan"], session=A[:8])
    assert _allowed(gate.edit()) and named(gate.edit(B)) == {"plan"}


def test_an_allowed_call_says_nothing_at_all(gate: Gate) -> None:
    gate.config({"plan": {}})
    commands.satisfy(gate.place(), ["plan"], session=A)
    result = gate.edit()
    assert _allowed(result) and not (result.context or result.system_message or result.reason)


def test_branch_and_permanent_scope_hold_for_every_session_on_the_branch_alone(gate: Gate) -> None:
    gate.config({"b": {"scope": "branch"}, "p": {"scope": "permanent"}})
    commands.satisfy(gate.place(), ["b", "p"], session=A)
    assert _allowed(gate.edit(B))
    git(gate.repo, "checkout", "-q", "-b", "feature/two")
    assert named(gate.edit(A)) == {"b", "p"}


def test_an_override_for_the_branch_serves_every_session_until_it_expires(gate: Gate) -> None:
    """Seed 004 section 3: branch-level override; afterwards the session's own record counts."""
    gate.config({"s": {}, "u": {"scope": "single_use"}})
    commands.satisfy(gate.place(), ["s", "u"], branch="feature/auth", ttl=60)
    assert _allowed(gate.edit(A)) and _allowed(gate.edit(B))
    gate.after("Edit", {"file_path": "x"})
    assert _allowed(gate.edit(A)), "single_use must not consume the branch's override"
    commands.satisfy(gate.place(), ["s"], session=A)
    gate.later(61)
    assert named(gate.edit(A)) == {"u"} and named(gate.edit(B)) == {"s", "u"}


@pytest.mark.parametrize(
    ("tool", "trigger", "tool_input"),
    [
        ("Bash", COMMIT, {"command": "git commit -m x"}),
        ("Edit", "Edit", {"file_path": "src/a.py"}),
        ("mcp__db__drop", "mcp__db__*", {"table": "t"}),
    ],
)
def test_single_use_is_used_up_by_a_success_of_any_tool(
    gate: Gate, tool: str, trigger: Any, tool_input: dict[str, str]
) -> None:
    """Single_use consumption for any tool; a failure consumes nothing."""
    gate.config({"rev": {"scope": "single_use", "trigger_tools": [trigger]}})

    def ask() -> GateResult:
        return gate.event("PreToolUse", tool_name=tool, tool_input=tool_input)

    assert named(ask()) == {"rev"}
    commands.satisfy(gate.place(), ["rev"], session=A)
    assert _allowed(ask())
    gate.event("PostToolUseFailure", tool_name=tool, tool_input=tool_input, success=False)
    gate.after(tool, tool_input, success=False)
    gate.after("Read", tool_input)
    assert _allowed(ask())
    assert [one["kind"] for one in gate.after(tool, tool_input).records] == ["consumed"]
    assert named(ask()) == {"rev"}
    assert gate.after(tool, tool_input).records == [], "looking twice at one event consumes once"


def test_a_satisfaction_younger_than_the_call_is_not_used_up_by_it(gate: Gate) -> None:
    gate.config({"rev": {"scope": "single_use"}})
    commands.satisfy(gate.place(), ["rev"], session=A)
    gate.after("Edit", {"file_path": "x"}, at=gate.clock - 30)
    assert _allowed(gate.edit())


def test_single_use_is_used_up_on_the_branch_that_let_the_call_pass(gate: Gate) -> None:
    gate.config({"rev": {"scope": "single_use", "trigger_tools": [COMMIT]}})
    commands.satisfy(gate.place(), ["rev"], session=A)
    command = "git checkout -b other && git commit -m x"
    assert _allowed(gate.bash(command))
    git(gate.repo, "checkout", "-q", "-b", "other")
    gate.after("Bash", {"command": command})
    git(gate.repo, "checkout", "-q", "feature/auth")
    assert named(gate.bash("git commit -m y")) == {"rev"}


def test_stop_asks_for_what_an_allowed_call_armed_and_once_only(gate: Gate) -> None:
    """Seed 004 section 7: stop_hook_active lets go; Armed only by allowed calls."""
    gate.config({"verify": {"stop_only": True}, "plan": {}})
    assert _allowed(gate.stop())
    assert named(gate.edit()) == {"plan"}
    assert _allowed(gate.stop()), "a denied call must not arm"
    commands.satisfy(gate.place(), ["plan"], session=A)
    assert _allowed(gate.edit())
    result = gate.stop()
    assert result.decision == "block" and named(result) == {"verify"}
    assert _allowed(gate.stop(stop_hook_active=True)) and gate.stop().decision == "block"
    assert _allowed(gate.stop(B)), "a session that changed nothing may stop"
    commands.satisfy(gate.place(), ["verify"], session=A)
    assert _allowed(gate.stop())


def test_stop_blocks_when_a_satisfaction_expired_in_between(gate: Gate) -> None:
    gate.config({"plan": {"satisfied_by_skill": "planner", "replan_ttl": 60}})
    gate.after("Skill", {"skill": "planner"})
    assert _allowed(gate.edit())
    gate.later(120)
    assert named(gate.stop()) == {"plan"}


def test_verify_scopes_and_arming_are_per_session_for_branch_scope_too(gate: Gate) -> None:
    """The original blocked every session of the branch once one had armed it."""
    gate.config({"t": {"scope": "branch", "stop_only": True}}, hooks={"stop": {"verify_scopes": ["branch"]}})
    gate.edit(A)
    assert named(gate.stop(A)) == {"t"} and _allowed(gate.stop(B))
    gate.config({"t": {"scope": "branch", "stop_only": True}})
    assert _allowed(gate.stop(A))


def test_verify_requirements_false_switches_stop_off(gate: Gate) -> None:
    gate.config({"v": {"stop_only": True}}, hooks={"stop": {"verify_requirements": False}})
    gate.edit()
    assert _allowed(gate.stop())


def test_leaving_the_branch_does_not_lose_what_it_armed(gate: Gate) -> None:
    """The original forgot: state is per branch, so a checkout before stopping evaded every check."""
    gate.config({"verify": {"stop_only": True}})
    gate.edit()
    git(gate.repo, "checkout", "-q", "-b", "other")
    result = gate.stop()
    assert named(result) == {"verify"} and "feature/auth" in result.reason
    git(gate.repo, "checkout", "-q", "--detach")
    assert named(gate.stop()) == {"verify"}
    git(gate.repo, "checkout", "-q", "other")
    commands.satisfy(gate.place(), ["verify"], session=A)
    assert _allowed(gate.stop())


def test_pause_lifts_both_gates_for_one_session_by_full_or_short_id(gate: Gate) -> None:
    """The original did not normalise the id, so a full one paused nothing."""
    gate.config({"plan": {}, "verify": {"stop_only": True}})
    for given in (A, A[:8]):
        commands.pause(gate.place(), session=given)
        assert _allowed(gate.edit()) and _allowed(gate.stop()) and named(gate.edit(B)) == {"plan"}
        assert commands.resume(gate.place(), session=A)["was_paused"]
        assert named(gate.edit()) == {"plan"}


@pytest.mark.parametrize(
    "command",
    [
        "context-graph-cli req pause",
        f"context-graph-cli req pause --reason 'lunch & rest' --session {A}",
        'req resume --reason "back"',
        "context-graph-cli req satisfy x --session abc",
        "  req status  ",
        "context-graph-cli req satisfy x 2>&1",
        "context-graph-cli req satisfy x >/dev/null 2>&1",
        "context-graph-cli req status 2>/dev/null",
        "context-graph-cli req keys",
        "context-graph-cli req config show --sources",
        "cd /tmp && context-graph-cli req satisfy x",
        'cd "$HOME/a b" && context-graph-cli req pause',
        "context-graph-cli req satisfy x && context-graph-cli req status",
        "/nowhere/bin/context-graph-cli req satisfy x",
        f"{Path(sys.executable).parent}/context-graph-cli req satisfy x",
        "context-graph-cli req \\\n satisfy x",
    ],
)
def test_our_own_commands_pass_a_gate_on_every_bash_call(gate: Gate, command: str) -> None:
    gate.config({"x": {"trigger_tools": ["Bash"]}})
    assert _allowed(gate.bash(command))


@pytest.mark.parametrize(
    "command",
    [
        "echo req pause; git commit -m x",
        "context-graph-cli req pause; git commit",
        "context-graph-cli req pause && rm x",
        "context-graph-cli req pause\ngit commit",
        "context-graph-cli req pause $(git commit)",
        'context-graph-cli req pause --reason "`git commit`"',
        "context-graph-cli req pause > /etc/x",
        "context-graph-cli req pause & git commit",
        "./context-graph-cli req pause",
        "/tmp/req pause",
        "{tmp}/context-graph-cli req pause",
        "cd /tmp && git commit && context-graph-cli req pause",
        "cd $(git commit) && context-graph-cli req pause",
        "context-graph-cli req pause | sh",
        "git commit | context-graph-cli req pause",
        "(context-graph-cli req pause; git commit)",
        "context-graph-cli req pause 2>&1 | tee x",
        "context-graph-cli req pause <<< x",
        "cd /tmp && ls",
        "PATH=. req pause",
        "context-graph-cli owner stop",
        "context-graph-cli req disable x",
        "context-graph-cli req config",
        "req",
        "context-graph-cli req pause 'unclosed",
        "context-graph-cli req paus",
    ],
)
def test_nothing_else_rides_on_that_exemption(gate: Gate, command: str) -> None:
    """`echo req pause; git commit` must not open a gate."""
    gate.config({"x": {"trigger_tools": ["Bash"]}})
    (gate.home / "context-graph-cli").write_text("#!/bin/sh\n")
    assert named(gate.bash(command.format(tmp=gate.home))) == {"x"}


def test_protected_branches_are_guarded_by_name_and_glob(gate: Gate) -> None:
    gate.config({"pb": {"type": "guard", "guard_type": "protected_branch"}})
    assert _allowed(gate.edit())
    git(gate.repo, "checkout", "-q", "main")
    assert named(gate.edit()) == {"pb"}
    commands.satisfy(gate.place(), ["pb"], session=A)
    assert _allowed(gate.edit(A)) and named(gate.edit(B)) == {"pb"}
    gate.config(
        {"pb": {"type": "guard", "guard_type": "protected_branch", "protected_branches": ["rel/*", "v[0-9]"]}}
    )
    git(gate.repo, "checkout", "-q", "-b", "rel/1")
    assert named(gate.edit(B)) == {"pb"}
    git(gate.repo, "checkout", "-q", "-b", "v7")
    assert named(gate.edit(B)) == {"pb"}
    git(gate.repo, "checkout", "-q", "-b", "vx")
    assert _allowed(gate.edit(B))


def test_a_guard_of_an_unknown_kind_passes(gate: Gate) -> None:
    gate.config({"g": {"type": "guard", "guard_type": "weekday"}})
    assert _allowed(gate.edit())


def test_single_session_goes_to_the_first_comer_until_its_process_ends(
    gate: Gate, client: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """In the original the second session's attempt blocked the first one too."""
    gate.config({"one": {"type": "guard", "guard_type": "single_session"}})
    first, second = client(), client()
    assert _allowed(gate.edit(A, pid=first.pid))
    result = gate.edit(B, pid=second.pid)
    assert named(result) == {"one"} and A in result.reason
    assert _allowed(gate.edit(A, pid=first.pid)), "the first comer keeps it"
    first.kill()
    first.wait()
    assert _allowed(gate.edit(B, pid=second.pid))
    third = client()
    assert named(gate.edit(A, pid=third.pid)) == {"one"}, "who comes back comes last"
    gate.event("SessionEnd", B, reason="other")
    assert _allowed(gate.edit(A, pid=third.pid))


def test_a_cleared_session_does_not_block_its_successor_in_the_same_client(
    gate: Gate, client: Callable[[], subprocess.Popen[bytes]]
) -> None:
    gate.config({"one": {"type": "guard", "guard_type": "single_session"}})
    pid = client().pid
    assert _allowed(gate.edit(A, pid=pid)) and _allowed(gate.edit(B, pid=pid))


def test_a_skill_satisfies_what_names_it_and_tells_whence(gate: Gate) -> None:
    """Seed 004 section 5, with provenance."""
    gate.config(
        {
            "plan": {"satisfied_by_skill": "my:planner"},
            "adr": {"satisfied_by_skill": ["other", "/my:planner"], "scope": "branch"},
            "off": {"satisfied_by_skill": "my:planner", "enabled": False},
            "rest": {},
        }
    )
    assert gate.after("Skill", {"skill": "someone:else"}).records == []
    gate.event("PostToolUseFailure", tool_name="Skill", tool_input={"skill": "my:planner"})
    assert named(gate.edit()) == {"plan", "adr", "rest"}
    gate.after("Skill", {"skill": "my:planner"})
    assert named(gate.edit()) == {"rest"} and named(gate.edit(B)) == {"plan", "rest"}
    shown = commands.status(gate.place(), session=A)["requirements"]
    assert shown["plan"]["satisfied_by"] == "skill"
    kept = gate.place().files.load("feature/auth", gate.clock)
    assert kept.record("plan", A)["metadata"] == {"skill": "my:planner"} and kept.entry("off") == {}


def test_the_original_s_own_skills_satisfy_what_they_satisfy_there(gate: Gate) -> None:
    """Seed 004, section 5: no configuration names them; a person's word they can't replace."""
    planned = ("commit_plan", "adr_reviewed", "tdd_planned", "solid_reviewed")
    gate.config(
        {
            **{name: {} for name in planned},
            "pre_pr_review": {"scope": "branch"},
            "codex_reviewer": {"human_only": True},
            "own": {},
        }
    )
    gate.after("Skill", {"skill": "arch-review"})
    gate.after("Skill", {"skill": "requirements-framework:unheard-of"})
    gate.after("Skill", {"skill": "requirements-framework:codex-review"})
    assert named(gate.edit()) == {*planned, "pre_pr_review", "codex_reviewer", "own"}
    gate.after("Skill", {"skill": "requirements-framework:arch-review"})
    assert named(gate.edit()) == {"pre_pr_review", "codex_reviewer", "own"}
    gate.after("Skill", {"skill": "/requirements-framework:deep-review"})
    assert named(gate.edit()) == {"codex_reviewer", "own"}
    assert named(gate.edit(B)) == {*planned, "codex_reviewer", "own"}


def test_evidence_is_wanted_beside_the_flag(gate: Gate) -> None:
    wanted = {"dirs": [".claude/plans"], "require_markers": ["## Plan"], "require_verdict": "APPROVED"}
    gate.config({"plan": {"evidence": {**wanted, "max_age_seconds": 3600}}})
    commands.satisfy(gate.place(), ["plan"], session=A)
    assert "no Markdown file" in gate.edit().reason
    plan = gate.repo / ".claude" / "plans" / "deep" / "p.md"
    plan.parent.mkdir(parents=True)
    for text, lack in (
        ("## Verdict\napproved\n", "lacks"),
        ("## Plan\n## Verdict\nblocked\n## Notes\napproved\n", "Verdict"),
        ("## Plan\nAPPROVED\n", "Verdict"),
        ("## Plan\n## Verdict\nunapproved\n", "Verdict"),
    ):
        plan.write_text(text)
        assert lack in gate.edit().reason
    for text in (
        "## Plan\n## Verdict\n**Approved** by B.\n",
        "## Plan\n## Verdict: APPROVED\n",
        "## Plan\n## Verdict\nno\n## Notes\n## Verdict (second round)\n### By B\n> approved\n",
    ):
        plan.write_text(text)
        assert _allowed(gate.edit()), text
    gate.later(7200)
    assert "older" in gate.edit().reason


def test_plans_may_be_written_in_the_project_and_at_home_but_nowhere_else(gate: Gate, tmp_path: Path) -> None:
    """The original let any path with /docs/plans/ in it pass, outside the project too."""
    gate.config({"plan": {}})

    def write(path: str) -> GateResult:
        return gate.event("PreToolUse", tool_name="Write", tool_input={"file_path": path})

    for path in (
        f"{gate.repo}/docs/plans/p.md",
        f"{gate.repo}/.claude/plans/x/p.md",
        f"{gate.claude}/plans/p.md",
        "docs/plans/p.md",
    ):
        assert _allowed(write(path)), path
    (gate.repo / "docs" / "plans").mkdir(parents=True)
    (gate.repo / "docs" / "plans" / "out").symlink_to(gate.repo / "src")
    for path in (
        f"{tmp_path}/elsewhere/docs/plans/p.md",
        f"{gate.repo}/src/docs/plans/p.md",
        f"{gate.repo}/docs/plans/../../src/a.py",
        f"{gate.repo}/docs/plans/out/a.py",
        f"{gate.repo}/docs/plansx/a.py",
        "",
    ):
        assert named(write(path)) == {"plan"}, path


def test_the_client_may_write_its_own_memory(gate: Gate, tmp_path: Path) -> None:
    """Its memory folder, a team's and an agent's are no part of the project's work."""
    gate.config({"plan": {}})
    elsewhere = tmp_path / "notes"
    gate.claude.joinpath("settings.json").write_text(json.dumps({"autoMemoryDirectory": f"{elsewhere}"}))

    def write(path: str) -> GateResult:
        return gate.event("PreToolUse", tool_name="Write", tool_input={"file_path": path})

    own = f"{gate.claude}/projects/-home-u-proj/memory"
    for path in (
        f"{own}/MEMORY.md",
        f"{own}/team/style.md",
        f"{gate.claude}/agent-memory/reviewer/MEMORY.md",
        f"{gate.repo}/.claude/agent-memory-local/reviewer/MEMORY.md",
        f"{elsewhere}/tabs.md",
    ):
        assert _allowed(write(path)), path
    Path(own).mkdir(parents=True)
    (Path(own) / "out").symlink_to(gate.repo / "src")
    for path in (
        f"{own}/out/a.py",
        f"{own}/../transcript.jsonl",
        f"{gate.claude}/projects/memory/x.md",
        f"{gate.claude}/settings.json",
        f"{gate.repo}/projects/x/memory/a.py",
        f"{gate.repo}/.claude/projects/-x/memory/a.py",
        f"{elsewhere}-more/x.md",
    ):
        assert named(write(path)) == {"plan"}, path


def test_a_memory_folder_that_an_agent_could_choose_opens_no_project(gate: Gate) -> None:
    gate.config({"plan": {}})
    for folder in ("/", str(gate.repo.parent), str(gate.repo), f"{gate.repo}/src"):
        chosen = json.dumps({"autoMemoryDirectory": folder})
        for file in (gate.claude / "settings.json", gate.repo / ".claude" / "settings.local.json"):
            file.write_text(chosen)
        assert named(gate.edit()) == {"plan"}, folder
    for damaged in ("{", '{"autoMemoryDirectory": 5}', '["autoMemoryDirectory"]'):
        (gate.claude / "settings.json").write_text(damaged)
        assert named(gate.edit()) == {"plan"}


def test_settings_that_are_a_pipe_hold_no_gate_up(gate: Gate) -> None:
    """A project's settings may be anything: the gates read them for the client's memory and plans."""
    gate.config({"plan": {}})
    os.mkfifo(gate.repo / ".claude" / "settings.local.json")
    os.mkfifo(gate.claude / "settings.json")
    assert named(gate.edit()) == {"plan"}
    assert named(_write(gate, f"{gate.repo}/notes.md")) == {"plan"}


def _write(gate: Gate, path: str, tool: str = "Write", key: str = "file_path") -> GateResult:
    return gate.event("PreToolUse", tool_name=tool, tool_input={key: path})


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json", ""])
def test_a_plan_may_lie_where_the_client_s_setting_says(gate: Gate, file: str) -> None:
    """`plansDirectory`; only Markdown counts there, and the project itself is no such folder."""
    gate.config({"plan": {}})
    settings = gate.repo / ".claude" / file if file else gate.claude / "settings.json"
    settings.write_text('{"plansDirectory": "./notes/plans"}')
    assert _allowed(_write(gate, f"{gate.repo}/notes/plans/p.md")) and _allowed(
        _write(gate, "notes/plans/x/p.md")
    )
    for path in (
        "notes/plans/p.py",
        "notes/p.md",
        "src/p.md",
        "notes/plans/../../src/a.md",
        "notes/plansx/p.md",
    ):
        assert named(_write(gate, f"{gate.repo}/{path}")) == {"plan"}, path
    for given in (".", "..", "/", "", "src/..", 7, None):
        settings.write_text(json.dumps({"plansDirectory": given}))
        assert named(_write(gate, f"{gate.repo}/p.md")) == {"plan"}, given
    settings.write_text("{")
    assert named(_write(gate, f"{gate.repo}/notes/plans/p.md")) == {"plan"}


@pytest.mark.parametrize("linked", [".claude", "docs/plans", "docs"])
def test_a_plan_may_lie_behind_a_link_and_a_source_may_not(gate: Gate, tmp_path: Path, linked: str) -> None:
    gate.config({"plan": {}})
    place, real = gate.repo / linked, tmp_path / "kept"
    if place.exists():
        place.rename(real)
    else:
        real.mkdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(real)
    folder = ".claude/plans" if linked == ".claude" else "docs/plans"
    assert _allowed(_write(gate, f"{gate.repo}/{folder}/p.md")) and _allowed(_write(gate, f"{folder}/p.md"))
    assert named(_write(gate, f"{gate.repo}/{folder}/p.py")) == {"plan"}
    (gate.repo / folder).mkdir(exist_ok=True)
    (gate.repo / folder / "out.md").symlink_to(gate.repo / "src" / "a.py")
    assert named(_write(gate, f"{gate.repo}/{folder}/out.md")) == {"plan"}


@pytest.mark.parametrize("key", ["path", "file_path", "filePath", "relative_path", "uri", "paths"])
def test_an_mcp_editor_writes_a_plan_too(gate: Gate, key: str) -> None:
    gate.config({"plan": {"trigger_tools": ["mcp__*", "Edit"]}})
    tool = "mcp__editor__create_text_file"

    def given(path: str) -> object:
        path = path if key == "relative_path" else f"{gate.repo}/{path}"
        return {key: [path] if key == "paths" else f"file://{path}" if key == "uri" else path, "content": "x"}

    def call(tool_input: object, cwd: str = "") -> GateResult:
        return gate.event("PreToolUse", tool_name=tool, tool_input=tool_input, cwd=cwd or str(gate.repo))

    assert _allowed(call(given("docs/plans/p.md"))) and _allowed(
        call(given(".claude/plans/p.md"), f"{gate.repo}/src")
    )
    assert named(call(given("src/a.py"))) == {"plan"}
    assert named(call({**given("docs/plans/p.md"), "command": "git commit"})) == {"plan"}  # type: ignore[dict-item]
    assert named(call({**given("docs/plans/p.md"), "destination": f"{gate.repo}/src/a.py"})) == {"plan"}  # type: ignore[dict-item]
    assert named(call({"content": "x"})) == {"plan"}


@pytest.mark.parametrize(
    "more",
    [
        {"source": "docs/plans/p.md", "dest": "src/a.py"},
        {"file": "docs/plans/p.md", "new_path": "src/a.py"},
        {"target": "src/a.py"},
        {"target": "Makefile"},
        {"edits": [{"file": "src/a.py", "new_text": "x"}]},
        {"edits": {"src/a.py": "x"}},
        {"cmd": "rm -rf src"},
        {"code": "import shutil"},
        {"script": "x", "content": "x"},
        {"uri": "sftp://host/src/a.py"},
        {"files": [{"path": "src/a.py"}]},
        {"files": ["docs/plans/p.md", {"path": "src/a.py"}]},
        {"mode": "src/a.py"},
        {"args": ["-rf", "src"]},
    ],
)
def test_an_mcp_call_with_more_than_a_plan_s_text_is_no_plan(gate: Gate, more: dict[str, object]) -> None:
    gate.config({"plan": {"trigger_tools": ["mcp__*"]}})
    result = gate.event(
        "PreToolUse", tool_name="mcp__fs__any", tool_input={"path": "docs/plans/p.md", **more}
    )
    assert named(result) == {"plan"}


@pytest.mark.parametrize(
    "more",
    [
        {"content": "see src/a.py, or run `rm -rf src`"},
        {"edits": [{"oldText": "src/a.py", "newText": "src/b.py"}], "dryRun": False},
        {"old_string": "a/b", "new_string": "c/d", "expected_replacements": 1},
        {"regex": "src/.*", "repl": "x", "allow_multiple_occurrences": True},
        {"file_text": "x" * 100_000, "encoding": "utf-8", "mode": "append", "code": "", "owner": None},
        {"contents": ["a/b", "c/d"], "paths": ["docs/plans/q.md"]},
    ],
)
def test_an_mcp_call_that_only_writes_a_plan_passes(gate: Gate, more: dict[str, object]) -> None:
    gate.config({"plan": {"trigger_tools": ["mcp__*"]}})
    assert _allowed(
        gate.event("PreToolUse", tool_name="mcp__fs__any", tool_input={"path": "docs/plans/p.md", **more})
    )


def test_the_skip_switch_of_the_client_s_environment(gate: Gate) -> None:
    gate.config({"plan": {}, "v": {"stop_only": True}})
    skip = {"CLAUDE_SKIP_REQUIREMENTS": "1"}
    assert _allowed(gate.edit(env=skip)) and _allowed(gate.stop(env=skip))
    assert "SKIP" in gate.event("SessionStart", source="startup", env=skip).context
    assert named(gate.edit(env={"CLAUDE_SKIP_REQUIREMENTS": ""})) == {"plan"}


def test_state_that_can_t_be_read_gates_on(gate: Gate) -> None:
    """The original failed open until the file was removed."""
    gate.config({"plan": {}})
    gate.state_folder.mkdir()
    (gate.state_folder / "feature-auth.json").write_text("[]")
    assert named(gate.edit()) == {"plan"}
    commands.satisfy(gate.place(), ["plan"], session=A)
    assert _allowed(gate.edit())


def test_state_that_can_t_be_written_decides_all_the_same_and_says_so(gate: Gate) -> None:
    """A read-only .git. A file in the folder's place stops root as well."""
    gate.config({"plan": {}, "pb": {"type": "guard", "guard_type": "protected_branch"}})
    gate.state_folder.write_text("in the way")
    assert gate.edit().decision == "deny"
    with pytest.raises(Exception, match="can't be written"):
        commands.satisfy(gate.place(), ["plan"], session=A)
    gate.config({"pb": {"type": "guard", "guard_type": "protected_branch"}})
    result = gate.edit()
    assert result.decision == "" and "can't be written" in result.system_message


def test_every_refusal_and_satisfaction_is_in_the_journal(gate: Gate) -> None:
    """Every refusal and satisfaction is recorded; the same records are in the result."""
    gate.config({"plan": {"satisfied_by_skill": "p"}})
    records = [*gate.edit().records, *gate.after("Skill", {"skill": "p"}).records]
    records += commands.clear(gate.place(), ["plan"], session=A)["records"]
    assert [one["kind"] for one in records] == ["denied", "satisfied", "cleared"]
    assert journal.read(str(gate.common)) == records
    assert all(one["session_id"] == A and one["branch"] == "feature/auth" for one in records)
    assert [one["kind"] for one in commands.log(gate.place(), session=A[:8], kind="denied")] == ["denied"]


def test_the_journal_is_bounded(gate: Gate) -> None:
    gate.state_folder.mkdir()
    line = journal.record("denied", ["x" * 90] * 40, at=1, session_id=A)
    for _ in range(1000):
        journal.append(str(gate.common), [line])
    sizes = [path.stat().st_size for path in gate.state_folder.iterdir()]
    assert len(sizes) == 2 and max(sizes) < journal.LIMIT + 10_000 and sum(sizes) > journal.LIMIT


def test_an_untriggered_tool_leaves_no_trace(gate: Gate) -> None:
    gate.config({"plan": {}})
    gate.event("PreToolUse", tool_name="Read", tool_input={"file_path": "x"})
    gate.event("PostToolUse", tool_name="Read", tool_input={"file_path": "x"})
    assert not gate.state_folder.exists() and not (gate.claude / "sessions.json").exists()


def test_messages_are_short_and_their_placeholders_filled(gate: Gate) -> None:
    gate.config(
        {
            "plan": {
                "message": "Run {auto_resolve_skill} on {branch} for {session_id}; {unknown}",
                "auto_resolve_skill": "/p",
            },
            "long": {"message": "x" * 5000, "checklist": [f"item {n}" for n in range(40)]},
        }
    )
    reason = gate.edit().reason
    assert f"Run /p on feature/auth for {A}; {{unknown}}" in reason
    assert len(reason) < 2500


@pytest.mark.parametrize(
    ("entry", "said", "way_out"),
    [
        ({}, "do what its name asks first", "When this is done: `context-graph-cli req satisfy r`"),
        ({"satisfied_by_skill": "planner"}, "run the skill planner first", "When this is done: `"),
        (
            {"evidence": {"dirs": ["docs"], "require_markers": ["## Risks"], "require_verdict": "APPROVED"}},
            "a Markdown file in docs, with '## Risks', with '## Verdict' of APPROVED",
            "When this is done: `",
        ),
        ({"human_only": True}, "a person has to look at this first", "Ask the user to run in a terminal: `"),
        (
            {"type": "dynamic", "command": "echo 9", "thresholds": {"block": 3}},
            "it is 9, the limit is 3: bring it down, or ask the user to approve",
            "Only if the user says so: `context-graph-cli req satisfy r`",
        ),
    ],
)
def test_without_a_message_its_type_says_what_is_asked_and_how_it_is_met(
    gate: Gate, entry: dict[str, Any], said: str, way_out: str
) -> None:
    gate.config({"r": entry})
    lines = gate.edit().reason.splitlines()
    assert len(lines) == 3 and said in lines[1] and lines[2].startswith(way_out), lines


def test_what_a_user_approves_is_not_the_models_to_mark_as_met(gate: Gate) -> None:
    gate.config({"plan": {}, "n": {"type": "dynamic", "command": "echo 9", "thresholds": {"block": 3}}})
    way_out = gate.edit().reason.splitlines()[-1]
    assert way_out == "When this is done, and the user approves n: `context-graph-cli req satisfy plan n`"


def test_a_requirement_whose_name_needs_quotes_is_quoted_in_the_escape(gate: Gate) -> None:
    gate.config({"two words": {}})
    assert "req satisfy 'two words'`" in gate.edit().reason


def test_a_call_without_a_session_is_held_to_the_branch(gate: Gate) -> None:
    gate.config({"plan": {}})
    assert "--branch feature/auth" in gate.edit("").reason
    commands.satisfy(gate.place(), ["plan"], branch="feature/auth")
    assert _allowed(gate.edit(""))


def test_a_hostile_session_id_writes_nowhere_else(gate: Gate, tmp_path: Path) -> None:
    """A session id `../../evil`."""
    gate.config({"plan": {}, "v": {"stop_only": True}})
    evil = "../../evil"
    assert named(gate.edit(evil)) == {"plan"}
    commands.satisfy(gate.place(), ["plan"], session=evil)
    assert _allowed(gate.edit(evil))
    commands.pause(gate.place(), session=evil)
    assert _allowed(gate.stop(evil))
    gate.event("SessionEnd", evil, reason="other")
    assert named(gate.stop(evil)) == {"v"}
    found = [path for path in tmp_path.rglob("*") if "evil" in path.name]
    assert [(path.parent, path.suffix) for path in found] == [(gate.state_folder / "sessions", ".json")], (
        "the pause marker is gone; its numbers lie where every session's do"
    )


def test_a_failure_of_ours_lets_the_call_pass_and_says_so_loudly(gate: Gate) -> None:
    """Never allow in silence."""
    gate.config({"plan": {}})

    class Broken(dict[str, str]):
        def get(self, *args: Any) -> Any:
            raise RuntimeError("broken")

    event = gate_event("PreToolUse", tool_name="Edit", cwd=str(gate.repo), session_id=A)
    event.env = Broken()
    result = decide(event, gate.cache)
    assert result.decision == "" and "NOT checked" in result.system_message and result.context
    assert [one["kind"] for one in result.records] == ["error"]


def test_a_file_that_can_t_be_used_is_told_when_files_change(gate: Gate) -> None:
    gate.config("requirements: [")
    assert "No requirement is enforced" in gate.edit().context
    assert gate.bash("ls").context == ""
    assert gate.edit().context == "", "told once an hour"


def test_a_denial_of_many_long_texts_keeps_every_name_and_its_last_line(gate: Gate) -> None:
    """The client cuts long texts; the way out must not be what is cut."""
    gate.config({f"r{n}": {"message": "x" * 5000, "checklist": ["y" * 900] * 9} for n in range(40)})
    result = gate.edit()
    assert len(result.reason) < 9000 and named(result) == {f"r{n}" for n in range(40)}


def test_a_dangling_link_for_a_file_is_told_not_passed_over(gate: Gate) -> None:
    (gate.repo / ".claude").mkdir()
    (gate.repo / ".claude" / "requirements.yaml").symlink_to("/nowhere/requirements.yaml")
    assert "No requirement is enforced" in gate.edit().context
