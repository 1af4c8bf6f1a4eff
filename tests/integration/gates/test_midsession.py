"""A configuration that goes or breaks while a session is at work, and what one session hands to another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.gates.in_process import A, B, Gate, clients, git, named

from context_graph.gates.commands import commands

RULES = {"plan": {}, "verify": {"stop_only": True, "trigger_tools": ["Bash"]}}
GONE, BROKEN = "gone", "requirements: [\n"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    made = Gate(tmp_path)
    made.config(RULES)
    return made


def _spoil(gate: Gate, how: str) -> None:
    path = gate.repo / ".claude" / "requirements.yaml"
    if how == GONE:
        path.unlink()
    elif how == "link":
        path.unlink()
        (path.parent / "nowhere.yaml").unlink(missing_ok=True)
        path.symlink_to("nowhere.yaml")
    else:
        path.write_text(how)


@pytest.mark.parametrize("how", [GONE, BROKEN, "link", "requirements: {plan: 7}\n"])
@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit"])
def test_it_is_said_once_at_the_next_event_whatever_it_is(gate: Gate, how: str, event: str) -> None:
    assert gate.bash("ls").decision == ""
    _spoil(gate, how)
    said = gate.event(event, tool_name="Read", tool_input={"file_path": "/x"}, prompt="go on")
    assert "requirement" in said.context.lower() and said.system_message
    again = gate.event(event, tool_name="WebSearch", tool_input={}, prompt="go on")
    assert not again.context and not again.system_message, "once, not with each call"
    gate.config(RULES)
    assert "again" in gate.bash("ls").context
    assert not gate.bash("ls").context and named(gate.edit()) == {"plan"}
    _spoil(gate, how)
    assert gate.bash("ls").context, "a new change is said anew"


@pytest.mark.parametrize("how", [GONE, BROKEN])
def test_what_was_armed_is_still_held_at_stop(gate: Gate, how: str) -> None:
    gate.bash("make")
    _spoil(gate, how)
    held = gate.stop()
    assert held.decision == "block" and named(held) == {"verify"} and held.system_message
    assert gate.stop(stop_hook_active=True).decision == ""
    assert gate.bash("ls").context, "the model has not been told by a Stop"
    commands.satisfy(gate.place(), ["verify"], session=A)
    assert gate.stop().decision == ""


@pytest.mark.parametrize("how", [GONE, BROKEN])
def test_a_guard_is_nothing_that_is_left_open(gate: Gate, how: str) -> None:
    gate.config({"pb": {"type": "guard", "guard_type": "protected_branch"}})
    assert gate.edit().decision == ""
    _spoil(gate, how)
    assert gate.stop().decision == ""


def test_a_resumed_session_is_told_that_the_file_is_gone(gate: Gate) -> None:
    gate.bash("ls")
    gate.event("SessionEnd", reason="other")
    _spoil(gate, GONE)
    assert "gone" in gate.event("SessionStart", source="resume").context
    assert not gate.event("SessionStart", B, source="resume").context


def test_what_was_said_at_the_start_is_not_said_again(gate: Gate) -> None:
    gate.config(BROKEN)
    assert "can't be used" in gate.event("SessionStart", source="startup").context
    assert not gate.bash("ls").context


def test_nothing_is_carried_from_a_session_at_work(gate: Gate) -> None:
    """Seed 004 section 5: other sessions on the branch are unaffected."""
    with clients() as client:
        pid = client().pid
        gate.event("SessionStart", source="startup", pid=pid)
        commands.satisfy(gate.place(), ["plan"], session=A)
        gate.event("SessionStart", B, source="startup")
        assert named(gate.edit(B)) == {"plan"}
        gate.event("SessionStart", "c0ffee00-fork", source="fork", pid=os.getppid())
        assert gate.edit("c0ffee00-fork", pid=os.getppid()).decision == "", (
            "a fork goes on with what its parent had"
        )
    gate.event("SessionStart", B, source="startup")
    assert gate.edit(B).decision == "", "its client is dead"


def test_clear_and_fork_in_one_process_inherit(gate: Gate) -> None:
    gate.event("SessionStart", source="startup")
    commands.satisfy(gate.place(), ["plan"], session=A)
    gate.event("SessionStart", B, source="clear")
    assert gate.edit(B).decision == ""
    gate.later(5000)
    gate.event("SessionStart", "c0ffee00-fork", source="fork")
    assert gate.edit("c0ffee00-fork").decision == "", "however long ago its parent met it"


def test_a_repeated_key_is_named(gate: Gate) -> None:
    gate.config(
        "requirements:\n  plan: {enabled: true}\n  other: {enabled: true}\n  plan: {enabled: false}\n"
    )
    told = gate.place().rules.problem_texts("error")
    assert any("line 4" in text and "'plan'" in text and "line 2" in text for text in told), told
    assert "line 4" in gate.event("SessionStart", source="startup").context


def test_a_branch_that_is_a_requirement_is_taken_for_it(gate: Gate) -> None:
    """Seed 004 section 3 writes `req satisfy --branch commit_plan`."""
    done = commands.satisfy(gate.place(), [], branch="plan")
    assert done["satisfied"] == ["plan"] and done["branches"] == ["feature/auth"] and "plan" in done["took"]
    assert gate.edit(B).decision == ""
    git(gate.repo, "branch", "verify")
    from context_graph.errors import UsageError

    with pytest.raises(UsageError, match="name the requirements"):
        commands.satisfy(gate.place(), [], branch="verify")


def test_check_says_what_the_gate_would(gate: Gate, tmp_path: Path) -> None:
    wt = tmp_path / "wt"
    git(gate.repo, "worktree", "add", "-q", "-b", "topic", str(wt))
    given = {"file_path": str(wt / "x")}
    found = commands.check(gate.place(), "Edit", given, session=A)
    assert (found["decision"], found["requirements"], found["branch"]) == ("deny", ["plan"], "topic")
    assert commands.check(gate.place(), "Read", given, session=A)["decision"] == "allow"
    assert not gate.state_folder.exists(), "nothing is armed or recorded"
