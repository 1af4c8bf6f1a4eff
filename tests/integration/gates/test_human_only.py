"""Requirements that only a person may satisfy, and the ways an agent might try."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.gates.in_process import A, B, Gate, git, named

from context_graph.errors import UsageError
from context_graph.gates.commands import commands, setup
from context_graph.gates.event import GateResult
from context_graph.gates.human_only import HUMAN, MARK


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    made = Gate(tmp_path)
    made.config({"sign": {"human_only": True, "satisfied_by_skill": "signer"}, "plan": {}})
    return made


def test_a_person_in_a_terminal_satisfies_it(gate: Gate) -> None:
    """Human_only."""
    reason = gate.edit().reason
    assert named(gate.edit()) == {"sign", "plan"}
    assert "Ask the user to run in a terminal: `context-graph-cli req satisfy sign`" in reason
    assert reason.splitlines()[-1] == "When this is done: `context-graph-cli req satisfy plan`"
    commands.satisfy(gate.place(terminal=True), ["sign", "plan"], session=A)
    assert not gate.edit().decision
    assert commands.status(gate.place(), session=A)["requirements"]["sign"]["satisfied_by"] == HUMAN


def test_without_a_terminal_or_from_a_tool_call_it_is_refused(gate: Gate) -> None:
    with pytest.raises(UsageError, match="in a terminal"):
        commands.satisfy(gate.place(), ["plan", "sign"], session=A)
    for env in ({"CLAUDECODE": "1"}, {"CLAUDE_CODE_SESSION_ID": A}):
        with pytest.raises(UsageError, match="by a person only"):
            commands.satisfy(gate.place(terminal=True, **env), ["sign"], session=A)
        with pytest.raises(UsageError, match="by a person only"):
            commands.clear(gate.place(terminal=True, **env), ["sign"], session=A)
        with pytest.raises(UsageError, match="by a person only"):
            setup.set_enabled(gate.place(terminal=True, **env), "sign", False)
        with pytest.raises(UsageError, match="by a person only"):
            setup.set_enabled(gate.place(terminal=True, **env), "", False)
    assert named(gate.edit()) == {"sign", "plan"}, "and nothing of the refused command was applied"


def test_unsetting_the_variable_does_not_hide_the_client(gate: Gate) -> None:
    """The shell that a tool call runs in keeps its environment in /proc."""
    child = subprocess.Popen(
        ["sh", "-c", "env -u CLAUDECODE sleep 30 & echo $!; wait"],
        env={**os.environ, "CLAUDECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        inner = int(child.stdout.readline())
        with pytest.raises(UsageError, match="by a person only"):
            commands.satisfy(gate.place(terminal=True, pid=inner), ["sign"], session=A)
    finally:
        child.kill()
        os.kill(inner, 9)
        child.communicate()


def test_a_registered_client_among_the_ancestors_is_noticed(gate: Gate) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    ) as child:
        gate.edit(A, pid=os.getpid())
        with pytest.raises(UsageError, match="by a person only"):
            commands.satisfy(gate.place(terminal=True, pid=child.pid), ["sign"], session=B)


def test_no_other_satisfaction_counts(gate: Gate) -> None:
    gate.after("Skill", {"skill": "signer"})
    state = gate.place().files

    def forge(found: object) -> None:
        found.satisfy("sign", A, scope="session", now=gate.clock, by="cli")  # type: ignore[attr-defined]

    state.change("feature/auth", gate.clock, forge)
    result = gate.edit()
    assert named(result) == {"sign", "plan"} and "only a person's own" in result.reason


@pytest.mark.parametrize(
    "what", ["no mark", "another mark", "another session's", "another branch's", "later"]
)
def test_writing_the_state_file_is_no_person_s_word(gate: Gate, what: str) -> None:
    """A person's satisfaction is signed with a key of the data root, for that session, branch and time."""
    gate.config({"sign": {"human_only": True}})
    commands.satisfy(gate.place(terminal=True), ["sign"], session=A, ttl=60)
    assert not gate.edit().decision and (gate.home.parent / "gates.key").stat().st_mode & 0o777 == 0o600
    (path,) = gate.state_folder.glob("feature-auth.json")
    state = json.loads(path.read_text())
    sessions = state["requirements"]["sign"]["sessions"]
    if what == "no mark":
        sessions[A]["metadata"] = {}
    elif what == "another mark":
        sessions[A]["metadata"][MARK] = "0" * 64
    elif what == "another session's":
        sessions[B] = sessions[A]
    elif what == "later":
        sessions[A]["expires_at"] += 3600
    else:
        git(gate.repo, "checkout", "-q", "-b", "other")
        path, state["branch"] = path.with_name("other.json"), "other"
    path.write_text(json.dumps(state))
    result = gate.edit(B if what == "another session's" else A)
    assert named(result) == {"sign"} and "only a person's own" in result.reason


def test_an_agent_s_pause_spares_it_and_a_person_s_does_not(gate: Gate) -> None:
    found = commands.pause(gate.place(CLAUDECODE="1"), session=A)
    assert found["still_enforced"] == ["sign"] and named(gate.edit()) == {"sign"}
    commands.pause(gate.place(), session=A)
    assert not gate.edit().decision


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "git commit -m 'require signing'",
        "context-graph-cli req status",
        "context-graph-cli req satisfy plan --session x",
        "context-graph-cli req clear plan",
        "context-graph-cli req pause --reason lunch",
        "context-graph-cli req resume",
        "context-graph-cli req config show",
        "cat .claude/requirements.yaml",
        "git diff .claude/requirements.yaml",
        "pip install -r requirements.txt",
        "grep -rn 'requests' src | head",
        "curl https://example.org/requirements/list",
        "npm run request-types",
    ],
)
def test_everyday_commands_pass(gate: Gate, command: str) -> None:
    assert not gate.bash(command).decision, command


@pytest.mark.parametrize("tool", ["Edit", "Write", "MultiEdit", "NotebookEdit", "mcp__fs__write_file"])
def test_no_file_tool_writes_the_gates_files(gate: Gate, tool: str) -> None:
    gate.config({"sign": {"human_only": True, "trigger_tools": ["Task"]}})
    link = gate.repo / "innocent"
    link.symlink_to(gate.repo / ".claude")
    for path in (
        gate.common / "requirements" / "feature-auth.json",
        gate.repo / ".claude" / "requirements.yaml",
        gate.repo / ".claude" / "requirements.local.yaml",
        gate.repo / "src" / ".." / ".claude" / "requirements.yaml",
        link / "requirements.yaml",
        gate.claude / "requirements.yaml",
        gate.claude / "sessions.json",
    ):
        for key in ("file_path", "path"):
            result = gate.event("PreToolUse", tool_name=tool, tool_input={key: str(path)})
            assert result.decision == "deny", (path, key)
    assert not gate.event(
        "PreToolUse", tool_name=tool, tool_input={"file_path": str(gate.repo / "x")}
    ).decision


def _mcp(gate: Gate, tool: str, **given: object) -> GateResult:
    return gate.event("PreToolUse", tool_name=f"mcp__files__{tool}", tool_input=given)


def test_no_mcp_tool_writes_the_gates_files_by_whatever_argument(gate: Gate) -> None:
    """`move_file` with source and destination, `relative_path`, `filePath`, `paths`, `uri`."""
    gate.config({"sign": {"human_only": True, "trigger_tools": ["Task"]}})
    folder = gate.repo / ".claude"
    ours = folder / "requirements.yaml"
    for tool, given in (
        ("move_file", {"source": str(ours), "destination": "/tmp/x"}),
        ("move_file", {"source": "/tmp/x", "destination": str(ours)}),
        ("move_file", {"source": str(folder), "destination": "/tmp/x"}),
        ("move_file", {"source": str(gate.repo), "destination": "/tmp/x"}),
        ("delete_directory", {"path": str(gate.repo / ".claude")}),
        ("replace_regex", {"relative_path": ".claude/requirements.yaml", "regex": "x", "repl": "y"}),
        ("write", {"filePath": str(ours)}),
        ("delete_files", {"paths": ["/tmp/x", str(ours)]}),
        ("write_resource", {"uri": ours.as_uri()}),
        ("write_resource", {"uri": "file://localhost" + str(ours)}),
        ("write_resource", {"uri": f"file://{folder}/%72equirements.yaml"}),
        ("batch", {"edits": [{"file": {"name": str(ours)}, "new": "x"}]}),
        ("write", {"target": str(gate.claude / "requirements.yaml")}),
        ("write", {"anything": str(folder / "settings.json")}),
        ("editFile", {"p": "src/../.claude/requirements.local.yaml"}),
    ):
        result = _mcp(gate, tool, **given)
        assert result.decision == "deny" and result.requirements == ["sign"], (tool, given)
    for tool, given in (
        ("read_file", {"path": str(ours)}),
        ("read_multiple_files", {"paths": [str(ours)]}),
        ("list_directory", {"path": str(folder)}),
        ("getFileInfo", {"uri": ours.as_uri()}),
        ("move_file", {"source": "a.py", "destination": "b.py"}),
        ("write_file", {"path": str(folder / "skills" / "x.md"), "content": f"see {ours}"}),
        ("git_commit", {"repo_path": str(gate.repo), "message": "x"}),
        ("start_process", {"command": "cat .claude/requirements.yaml 2>&1"}),
        ("executeCode", {"code": "import this\nprint('.claude/skills/x')"}),
        ("write", {"n": 7, "flag": True, "none": None, "text": "x" * 100_000, "odd": "a\0b"}),
    ):
        assert not _mcp(gate, tool, **given).decision, (tool, given)


def test_the_client_s_settings_are_the_gates_too(gate: Gate) -> None:
    """Without our hooks in them no gate is asked."""
    gate.config({"sign": {"human_only": True, "trigger_tools": ["Task"]}})
    for path in (".claude/settings.json", ".claude/settings.local.json"):
        assert gate.edit(path=path).decision == "deny"
    for path in (
        ".claude/skills/x.md",
        ".claude/plans/p.md",
        ".claude/agents/a.md",
        ".mcp.json",
        "settings.json",
    ):
        assert not gate.edit(path=path).decision


def test_a_refusal_says_plainly_what_is_the_matter(gate: Gate) -> None:
    gate.config({"sign": {"human_only": True, "trigger_tools": ["Task"]}})
    result = gate.edit(path=".claude/requirements.yaml")
    assert "decides what the requirements ask" in result.reason and "Ask the user" in result.reason
    assert "sign" in result.reason and "req satisfy" not in result.reason


def test_a_project_without_such_requirements_has_none_of_these_checks(gate: Gate) -> None:
    gate.config({"plan": {"trigger_tools": ["Task"]}})
    assert not gate.edit(path=".claude/requirements.yaml").decision


def _lose(gate: Gate, how: str) -> None:
    folder = gate.repo / ".claude"
    config = folder / "requirements.yaml"
    if how == "moved":
        folder.rename(gate.repo / "away")
    elif how == "removed":
        config.unlink()
    elif how == "broken":
        config.write_text("requirements: [\n")
    elif how == "unreadable":
        config.unlink()
        config.mkdir()
    elif how == "no git":
        gate.common.rename(gate.repo / "git-away")
    elif how == "no HEAD":
        (gate.common / "HEAD").write_text("")
    elif how == "detached":
        git(gate.repo, "checkout", "-q", "--detach")
    else:
        git(gate.repo, "checkout", "-q", "-b", "other")
        gate.config({"plan": {"trigger_tools": ["Task"]}})


WAYS = ["moved", "removed", "broken", "unreadable", "no git", "no HEAD", "detached", "other branch"]


@pytest.mark.parametrize("how", WAYS)
def test_what_a_session_has_seen_holds_when_the_file_is_out_of_sight(gate: Gate, how: str) -> None:
    """Moved away, broken, HEAD detached: each lifted human_only."""
    gate.config({"sign": {"human_only": True}})
    assert named(gate.edit()) == {"sign"}
    _lose(gate, how)
    result = gate.edit()
    assert result.decision == "deny" and result.requirements == ["sign"]
    assert not gate.event("PreToolUse", tool_name="Read", tool_input={"file_path": "x"}).decision
    assert not gate.bash("git status").decision and not gate.bash("ls -la").decision
    assert not gate.edit(B).decision, "another session has not seen it"
    gate.event("SessionEnd", reason="other")
    assert not gate.edit().decision and not list((gate.home / "cache").glob("held/*"))


@pytest.mark.parametrize("how", WAYS)
def test_any_call_is_enough_to_have_seen_it(gate: Gate, how: str) -> None:
    gate.config({"sign": {"human_only": True}})
    assert not gate.bash("ls").decision
    _lose(gate, how)
    assert gate.edit().requirements == ["sign"]


@pytest.mark.parametrize("how", WAYS)
def test_a_session_has_seen_it_from_its_start(gate: Gate, how: str) -> None:
    gate.config({"sign": {"human_only": True}})
    gate.event("SessionStart", source="startup")
    _lose(gate, how)
    assert gate.edit().requirements == ["sign"]


@pytest.mark.parametrize("how", ["removed", "broken", "detached"])
def test_what_a_person_has_satisfied_stays_satisfied(gate: Gate, how: str) -> None:
    gate.config({"sign": {"human_only": True}})
    gate.edit()
    commands.satisfy(gate.place(terminal=True), ["sign"], session=A)
    _lose(gate, how)
    assert not gate.edit().decision


RELAXED = {
    "human_only: false": {"sign": {"satisfied_by_skill": "signer"}},
    "not enabled": {"sign": {"human_only": True, "enabled": False}},
    "no requirement": {"plan": {"trigger_tools": ["Task"]}},
    "another trigger": {"sign": {"human_only": True, "trigger_tools": ["Task"]}},
    "at Stop only": {"sign": {"human_only": True, "stop_only": True}},
}


@pytest.mark.parametrize("how", RELAXED)
def test_a_file_that_asks_for_less_is_told_once_and_not_taken(gate: Gate, how: str) -> None:
    """On the same branch too: a script may have written it. What the agent satisfies then lifts nothing."""
    gate.config({"sign": {"human_only": True}})
    assert named(gate.edit()) == {"sign"}
    gate.config(RELAXED[how])
    after = gate.after("Bash", {"command": "python3 relax.py"})
    assert "ask for less than this session has seen" in after.context and "req accept" in after.system_message
    assert not gate.after("Bash", {"command": "ls"}).context, "once"
    result = gate.edit()
    assert result.requirements == ["sign"] and "until a person accepts the change" in result.reason
    with pytest.raises(UsageError, match="by a person only"):
        commands.satisfy(gate.place(CLAUDECODE="1"), ["sign"], session=A)
    assert gate.edit().requirements == ["sign"]
    with pytest.raises(UsageError, match="by a person only"):
        commands.accept(gate.place(CLAUDECODE="1", terminal=True))
    with pytest.raises(UsageError, match="in a terminal"):
        commands.accept(gate.place())
    assert commands.accept(gate.place(terminal=True))["accepted"] == ["sign"]
    result = gate.edit()
    assert "enforced again" in result.context and bool(result.decision) == (how == "human_only: false")


def test_what_else_the_file_asks_is_kept_too(gate: Gate) -> None:
    """Who may not change the file may not drop its other requirements either."""
    assert set(gate.edit().requirements) == {"sign", "plan"}
    gate.config({"sign": {"human_only": True, "satisfied_by_skill": "signer"}, "plan": {"enabled": False}})
    assert "plan holds as it was" in gate.after("Bash", {"command": "python3 relax.py"}).context
    assert set(gate.edit().requirements) == {"sign", "plan"}
    commands.accept(gate.place(terminal=True))
    assert gate.edit().requirements == ["sign"]


def test_a_file_that_asks_for_more_is_taken(gate: Gate) -> None:
    gate.config({"sign": {"human_only": True, "message": "Look."}})
    assert named(gate.edit()) == {"sign"}
    more = {"human_only": True, "trigger_tools": ["Edit", "Write", "MultiEdit", "NotebookEdit", "Task"]}
    gate.config({"sign": {**more, "message": "Look twice."}, "second": {"human_only": True}})
    assert not gate.after("Bash", {"command": "ls"}).context
    result = gate.edit()
    assert named(result) == {"sign", "second"} and "Look twice." in result.reason
    gate.config({"sign": {"human_only": True}})
    assert named(gate.edit()) == {"sign", "second"}, "and holds from then on"


def test_what_stop_asks_of_a_person_is_not_switched_off_either(gate: Gate) -> None:
    gate.config({"sign": {"human_only": True, "stop_only": True}})
    assert not gate.edit().decision
    gate.config(
        {"sign": {"human_only": True, "stop_only": True}}, hooks={"stop": {"verify_requirements": False}}
    )
    assert named(gate.stop()) == {"sign"}


@pytest.mark.parametrize("where", ["project", "client"])
def test_a_change_of_the_client_s_hooks_is_told_once(gate: Gate, where: str) -> None:
    gate.config({"sign": {"human_only": True, "trigger_tools": ["Task"]}})
    path = (gate.repo / ".claude" if where == "project" else gate.claude) / "settings.json"
    path.write_text('{"hooks": {"PreToolUse": []}, "model": "x"}')
    gate.event("SessionStart", source="startup")
    path.write_text('{"hooks": {"PreToolUse": []}, "model": "y"}')
    assert not gate.after("Bash", {"command": "ls"}).context, "what else they say is the user's matter"
    path.write_text("{}")
    told = gate.after("Bash", {"command": "ls"})
    assert f"{path} was changed" in told.system_message and str(path) in told.context
    assert not gate.after("Bash", {"command": "ls"}).context


def test_another_branch_is_no_change_of_the_state_that_was_left(gate: Gate) -> None:
    gate.config({"plan": {}, "h": {"human_only": True, "trigger_tools": ["Never"]}})
    gate.event("SessionStart", source="startup")
    commands.satisfy(gate.place(), ["plan"], session=A)
    gate.after("Bash", {"command": "ls"})
    path = next(gate.state_folder.glob("*.json"))
    git(gate.repo, "switch", "-q", "-c", "other")
    gate.edit()
    assert not gate.after("Bash", {"command": "git switch -c other"}).context
    path.unlink()
    assert f"{path} was changed" in gate.after("Bash", {"command": "rm"}).context


def test_settings_that_were_not_there_are_told_if_they_speak_of_hooks(gate: Gate) -> None:
    path = gate.repo / ".claude" / "settings.local.json"
    gate.event("SessionStart", source="startup")
    path.write_text('{"permissions": {}}')
    assert not gate.after("Bash", {"command": "ls"}).context
    path.write_text('{"disableAllHooks": true}')
    told = gate.after("Bash", {"command": "ls"})
    assert f"{path} was changed" in told.system_message and str(path) in told.context


OURS = {
    name: [{"hooks": [{"type": "command", "command": f"context-graph-cli hooks {name}"}]}]
    for name in ("PreToolUse", "PostToolUse", "Stop")
}
DROPPED = ("{}", "not JSON", None, json.dumps({"hooks": OURS, "disableAllHooks": True}))


def _changed(gate: Gate, path: Path, content: object) -> GateResult:
    """What the client's ConfigChange is answered after the settings became ``content``."""
    if content is None:
        path.unlink()
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    source = "user_settings" if path.parent == gate.claude else "project_settings"
    return gate.event("ConfigChange", source=source)


@pytest.mark.parametrize("content", DROPPED)
@pytest.mark.parametrize("where", ["project", "client"])
def test_a_change_that_drops_our_hooks_does_not_reach_the_session(
    gate: Gate, where: str, content: str | None
) -> None:
    """As often as it is tried, and until a person accepts it; other changes are the user's matter."""
    path = (gate.repo / ".claude" if where == "project" else gate.claude) / "settings.json"
    path.write_text(json.dumps({"hooks": OURS}))
    gate.event("SessionStart", source="startup")
    assert not _changed(gate, path, {"hooks": OURS, "model": "y"}).decision
    for _ in range(2):
        held = _changed(gate, path, content)
        assert held.decision == "block" and held.requirements == ["sign"]
        assert "PostToolUse, PreToolUse, Stop" in held.reason and "req accept" in held.system_message
        path.write_text(json.dumps({"hooks": OURS}))
        gate.after("Bash", {"command": "ls"})
    commands.accept(gate.place(terminal=True))
    assert not _changed(gate, path, content).decision


def test_a_plugin_of_ours_is_not_switched_off_either(gate: Gate) -> None:
    path = gate.claude / "settings.json"
    path.write_text('{"enabledPlugins": {"context-graph@team": true}}')
    gate.event("SessionStart", source="startup")
    assert _changed(gate, path, {"enabledPlugins": {"context-graph@team": False}}).decision == "block"


@pytest.mark.parametrize("requirement", [{"human_only": True, "enabled": False}, {"human_only": False}])
def test_settings_change_freely_where_no_person_must_decide(gate: Gate, requirement: dict[str, bool]) -> None:
    gate.config({"sign": requirement})
    path = gate.repo / ".claude" / "settings.json"
    path.write_text(json.dumps({"hooks": OURS}))
    gate.event("SessionStart", source="startup")
    assert not _changed(gate, path, "{}").decision


def test_a_policy_and_a_skill_change_freely(gate: Gate) -> None:
    path = gate.repo / ".claude" / "settings.json"
    path.write_text(json.dumps({"hooks": OURS}))
    gate.event("SessionStart", source="startup")
    path.write_text("{}")
    for source in ("policy_settings", "skills"):
        assert not gate.event("ConfigChange", source=source).decision


def test_another_project_is_another(gate: Gate, tmp_path: Path) -> None:
    gate.config({"sign": {"human_only": True}})
    assert named(gate.edit()) == {"sign"}
    (gate.repo / ".claude").rename(gate.repo / "away")
    other = Gate(tmp_path / "second")
    other.config({"plan": {"trigger_tools": ["Task"]}})
    given = {"cwd": str(other.repo), "project_dir": str(other.repo), "home": str(gate.home)}
    assert not gate.event(
        "PreToolUse", tool_name="Edit", tool_input={"file_path": str(other.repo / "x")}, **given
    ).decision
    (gate.repo / "away").rename(gate.repo / ".claude")
    assert gate.edit().reason.startswith("Blocked by a requirement")


def test_memory_that_is_damaged_or_can_t_be_written_stops_nothing(gate: Gate) -> None:
    gate.config({"sign": {"human_only": True, "trigger_tools": ["Task"]}})
    assert not gate.edit().decision
    (kept,) = (gate.home / "cache" / "held").iterdir()
    for damage in ("", "[]", '{"projects": 7}', '{"projects": {"/x": 3}}', "\0"):
        kept.write_text(damage)
        assert not gate.edit().decision
    kept.unlink()
    kept.parent.rmdir()
    kept.parent.write_text("in the way")
    assert not gate.edit().decision and not gate.edit().system_message
