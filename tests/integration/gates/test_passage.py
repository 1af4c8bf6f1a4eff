"""What a call that was let through does once it ended: one that failed, was refused, or was never heard of
again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.gates.in_process import A, Gate, git, named

from context_graph.gates.commands import commands

COMMIT = [{"tool": "Bash", "command_pattern": r"git\s+commit"}]
REVIEW = {"rev": {"scope": "single_use", "trigger_tools": COMMIT}}
LINE = "git commit --allow-empty -m x && false"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    made = Gate(tmp_path)
    made.config(REVIEW)
    return made


def _satisfy(gate: Gate, name: str = "rev") -> None:
    commands.satisfy(gate.place(), [name], session=A)
    gate.later(1)


def _call(gate: Gate, name: str, command: str = LINE, use: str = "t1", **more: Any) -> Any:
    gate.later(1)
    success = name == "PostToolUse"
    given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": use, "success": success}
    return gate.event(name, **{**given, **more})


def _commit(gate: Gate, *more: str) -> None:
    git(gate.repo, "commit", "-q", "--allow-empty", "-m", "x", *more)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("end", ["PostToolUseFailure", "PostToolUse", None])
def test_a_commit_that_was_made_has_used_its_review_however_the_call_ended(
    gate: Gate, end: str | None, packed: bool
) -> None:
    _satisfy(gate)
    if packed:
        git(gate.repo, "pack-refs", "--all")
    assert _call(gate, "PreToolUse").decision == ""
    _commit(gate, "--amend") if packed else _commit(gate)
    if end:
        _call(gate, end)
    assert named(_call(gate, "PreToolUse", "git commit -m y", "t2")) == {"rev"}
    _satisfy(gate)
    assert _call(gate, "PreToolUse", "git commit -m y", "t3").decision == ""


def test_a_commit_that_failed_leaves_its_review(gate: Gate) -> None:
    _satisfy(gate)
    for use in ("t1", "t2"):
        assert _call(gate, "PreToolUse", use=use).decision == ""
        _call(gate, "PostToolUseFailure", use=use)
    git(gate.repo, "checkout", "-q", "-b", "other")
    git(gate.repo, "checkout", "-q", "feature/auth")
    assert _call(gate, "PreToolUse", use="t3").decision == ""


def test_a_checkout_is_no_commit(gate: Gate) -> None:
    git(gate.repo, "branch", "other", "main")
    _commit(gate)
    _satisfy(gate)
    line = "git checkout other && git commit -m x"
    assert _call(gate, "PreToolUse", line).decision == ""
    git(gate.repo, "checkout", "-q", "other")
    _call(gate, "PostToolUseFailure", line)
    git(gate.repo, "checkout", "-q", "feature/auth")
    assert _call(gate, "PreToolUse", use="t2").decision == "", "nothing was committed"
    git(gate.repo, "checkout", "-q", "other")
    _commit(gate, "-m", "another")
    _call(gate, "PostToolUseFailure", use="t2")
    git(gate.repo, "checkout", "-q", "feature/auth")
    assert named(_call(gate, "PreToolUse", use="t3")) == {"rev"}


def test_a_first_commit_and_one_in_a_worktree(gate: Gate, tmp_path: Path) -> None:
    git(gate.repo, "add", "-A")
    git(gate.repo, "commit", "-q", "-m", "config")
    wt = tmp_path / "wt"
    git(gate.repo, "worktree", "add", "-q", "-b", "topic", str(wt))
    commands.satisfy(gate.place(cwd=wt), ["rev"], session=A)
    assert _call(gate, "PreToolUse", cwd=str(wt)).decision == ""
    git(wt, "commit", "-q", "--allow-empty", "-m", "x")
    _call(gate, "PostToolUseFailure", cwd=str(wt))
    assert named(_call(gate, "PreToolUse", use="t2", cwd=str(wt))) == {"rev"}
    git(gate.repo, "checkout", "-q", "--orphan", "fresh")
    _satisfy(gate)
    assert _call(gate, "PreToolUse", use="t3").decision == ""
    _commit(gate)
    assert named(_call(gate, "PreToolUse", "git commit -m z", "t4")) == {"rev"}


def test_a_search_for_the_words_uses_nothing_up(gate: Gate) -> None:
    _satisfy(gate)
    for line in ('grep -rn "git commit" docs', "git log --grep 'git commit' | head", "echo 'git commit'"):
        assert _call(gate, "PreToolUse", line).decision == ""
        _call(gate, "PostToolUse", line)
    assert _call(gate, "PreToolUse", use="t9").decision == ""
    _call(gate, "PostToolUse", use="t9")
    assert named(_call(gate, "PreToolUse", use="t10")) == {"rev"}


def test_a_second_commit_does_not_pass_on_the_first_ones_review(gate: Gate) -> None:
    _satisfy(gate)
    assert _call(gate, "PreToolUse", "git commit -m a", "t1").decision == ""
    second = _call(gate, "PreToolUse", "git commit -m b", "t2")
    assert named(second) == {"rev"} and "has not ended" in second.reason
    _call(gate, "PostToolUseFailure", "git commit -m a", "t1")
    assert _call(gate, "PreToolUse", "git commit -m b", "t3").decision == ""
    _commit(gate)
    _call(gate, "PostToolUse", "git commit -m b", "t3")
    assert named(_call(gate, "PreToolUse", "git commit -m c", "t4")) == {"rev"}


@pytest.mark.parametrize("freed_by", ["UserPromptSubmit", "Stop", "dialog", "satisfy", "time", "same"])
def test_a_call_whose_end_is_never_heard_does_not_keep_the_review_for_good(gate: Gate, freed_by: str) -> None:
    _satisfy(gate)
    assert _call(gate, "PreToolUse", "git commit -m a", "t1").decision == ""
    if freed_by == "dialog":
        _call(gate, "PermissionRequest", "git commit -m a", "")
    elif freed_by == "satisfy":
        gate.later(2)
        _satisfy(gate)
    elif freed_by == "time":
        gate.later(601)
    elif freed_by != "same":
        gate.event(freed_by, prompt="x")
    again = "git commit -m a" if freed_by == "same" else "git commit -m b"
    assert _call(gate, "PreToolUse", again, "t2").decision == ""


def test_other_tools_use_theirs_up_by_success_alone(gate: Gate) -> None:
    gate.config(
        {
            "rev": {
                "scope": "single_use",
                "trigger_tools": [{"tool": "Bash", "command_pattern": "npm publish"}],
            }
        }
    )
    _satisfy(gate)
    line = "git commit -m x; npm publish"
    assert _call(gate, "PreToolUse", line).decision == ""
    _commit(gate)
    _call(gate, "PostToolUseFailure", line)
    assert _call(gate, "PreToolUse", line, "t2").decision == "", "nothing was published"
    _call(gate, "PostToolUse", line, "t2")
    assert named(_call(gate, "PreToolUse", line, "t3")) == {"rev"}


VERIFY = {"verify": {"stop_only": True}}


def _edit(gate: Gate, name: str, use: str = "e1", **more: Any) -> Any:
    given = {
        "tool_name": "Edit",
        "tool_input": {"file_path": str(gate.repo / "src/a.py")},
        "tool_use_id": use,
    }
    return gate.event(name, **{**given, **more})


@pytest.mark.parametrize("end", ["PostToolUseFailure", "PermissionDenied"])
def test_an_edit_that_failed_or_was_refused_arms_nothing(gate: Gate, end: str) -> None:
    gate.config(VERIFY)
    _edit(gate, "PreToolUse")
    _edit(gate, end)
    assert gate.stop().decision == ""
    _edit(gate, "PreToolUse", "e2")
    _edit(gate, "PreToolUse", "e3")
    _edit(gate, end, "e3")
    assert gate.stop().decision == "block", "e2 may have been made: its end was lost"


def test_an_edit_that_succeeded_stays_armed(gate: Gate) -> None:
    gate.config(VERIFY)
    for use, end in (("e1", "PostToolUse"), ("e2", "PostToolUseFailure")):
        _edit(gate, "PreToolUse", use)
        _edit(gate, end, use, success=end == "PostToolUse")
    assert gate.stop().decision == "block"
    assert not list((gate.state_folder / "sessions").glob("*.now")), "nothing is kept of calls that ended"


def test_an_edit_that_the_user_refused_arms_nothing(gate: Gate) -> None:
    """The client sends PreToolUse and PermissionRequest for it, and nothing more."""
    gate.config(VERIFY)
    gate.clock += 3600  # the file was last changed before
    _edit(gate, "PreToolUse")
    _edit(gate, "PermissionRequest", "")
    assert gate.stop().decision == ""


def test_an_edit_that_was_asked_for_and_made_is_armed_although_its_end_was_lost(gate: Gate) -> None:
    gate.config(VERIFY)
    _edit(gate, "PreToolUse")
    _edit(gate, "PermissionRequest", "")
    (gate.repo / "src/a.py").write_text("changed\n")
    assert gate.stop().decision == "block"


def test_a_command_that_failed_has_run(gate: Gate) -> None:
    gate.config({"verify": {"stop_only": True, "trigger_tools": ["Bash"]}})
    _call(gate, "PreToolUse", "make")
    _call(gate, "PostToolUseFailure", "make")
    assert gate.stop().decision == "block"


def test_stop_waits_for_what_runs_in_the_background(gate: Gate) -> None:
    gate.config(VERIFY)
    _edit(gate, "PreToolUse")
    agent, shell, other = (
        [{"type": kind, "id": key, "status": "running"}]
        for kind, key in (("subagent", "a1"), ("shell", "b1"), ("shell", "b2"))
    )
    for _ in range(3):
        assert gate.stop(background_tasks=agent).decision == ""
    assert gate.stop().decision == "block"
    assert gate.stop(background_tasks=shell).decision == ""
    assert gate.stop(background_tasks=shell).decision == "block", "a server never ends"
    assert gate.stop(background_tasks=[*shell, *other]).decision == ""


def test_a_skill_that_the_user_types_satisfies(gate: Gate) -> None:
    """Seed 004 section 5 begins with it."""
    gate.config(
        {
            "commit_plan": {},
            "own": {"satisfied_by_skill": "planner"},
            "h": {"human_only": True, "satisfied_by_skill": "planner"},
        }
    )
    gate.event("UserPromptExpansion", command_name="planner", prompt="/planner do it")
    gate.event("UserPromptExpansion", command_name="requirements-framework:arch-review")
    assert named(gate.edit()) == {"h"}
    document = json.loads(next(gate.state_folder.glob("*.json")).read_text())
    assert document["requirements"]["own"]["sessions"][A]["satisfied_by"] == "skill"


@pytest.mark.parametrize("event", ["UserPromptSubmit", "UserPromptExpansion"])
def test_who_types_a_skill_of_the_original_may_leave_its_plugin_out(gate: Gate, event: str) -> None:
    """Seed 004 section 5: "User runs /arch-review"."""
    gate.config({"commit_plan": {}, "codex_reviewer": {}})
    gate.event("PostToolUse", tool_name="Skill", tool_input={"skill": "arch-review"}, success=True)
    assert named(gate.edit()) == {"commit_plan", "codex_reviewer"}, "the model names skills in full"
    gate.event(event, prompt="/arch-review", command_name="arch-review" if "Exp" in event else "")
    assert named(gate.edit()) == {"codex_reviewer"}


@pytest.mark.parametrize("prompt", ["/planner do it", "/planner", " /planner\nthe cache"])
def test_a_client_that_names_the_skill_in_the_prompt_alone_is_understood(gate: Gate, prompt: str) -> None:
    gate.config({"own": {"satisfied_by_skill": "planner"}})
    for other in ("run /planner", "/planner2 x", "/usr/bin/planner is slow", "planner"):
        gate.event("UserPromptSubmit", prompt=other)
    gate.event("UserPromptSubmit", prompt=prompt, source="task")
    gate.event("UserPromptSubmit", prompt=f"<task-notification>{prompt}</task-notification>")
    assert named(gate.edit()) == {"own"}
    said = gate.event("UserPromptSubmit", prompt=prompt)
    assert [record["kind"] for record in said.records] == ["satisfied"]
    assert gate.event("UserPromptExpansion", command_name="planner", prompt=prompt).records == []
    assert named(gate.edit()) == set()


def test_a_pipe_in_git_s_folder_holds_no_call_up(gate: Gate) -> None:
    """A repository may have come from anybody; git itself is not asked here."""
    _satisfy(gate)
    git(gate.repo, "pack-refs", "--all")
    place = gate.repo / ".git" / "packed-refs"
    place.unlink()
    os.mkfifo(place)
    assert _call(gate, "PreToolUse").decision == ""
    assert _call(gate, "PostToolUseFailure").decision == ""
