"""Edits that no edit tool made: what commands of a turn have changed counts at Stop and in git's hook."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.gates.in_process import A, Gate, gate_event, git, named

from context_graph.gates.commands import commands
from context_graph.gates.decide.hooks import decide
from context_graph.gates.event import GateResult, GitHook


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    made = Gate(tmp_path)
    made.config({"plan": {}, "verified": {"stop_only": True}})
    (made.repo / ".gitignore").write_text(".claude\nbuild\n")
    git(made.repo, "add", "-A")
    git(made.repo, "commit", "-q", "-m", "config")
    return made


def _turn(gate: Gate, *lines: str) -> None:
    """A prompt, then commands that the agent runs one after the other."""
    gate.event("UserPromptSubmit", prompt="Do it.")
    for line in lines:
        assert not gate.bash(line).decision
        subprocess.run(["bash", "-c", line], cwd=gate.repo, check=True, timeout=30)
        gate.after("Bash", {"command": line})


def _commits(gate: Gate) -> GateResult:
    event = gate_event(
        "PreToolUse",
        session_id=A,
        cwd=str(gate.repo),
        project_dir=str(gate.repo),
        home=str(gate.home),
        config_dir=str(gate.claude),
        at=gate.clock,
        cache_dir=str(gate.home / "cache"),
        tool_name="git commit",
    )
    event.git = GitHook("prepare-commit-msg", [], "", "", 0)
    return decide(event, gate.cache)


CHANGES = [
    "sed -i s/a/b/ src/a.py",
    "cat > src/b.py <<EOF\nx\nEOF",
    "python3 -c \"open('src/c.py', 'w').write('c')\"",
    "git mv src/a.py src/z.py",
    "rm src/a.py",
]
HARMLESS = [
    *("ls", "cat src/a.py", "true", "mkdir -p build && echo x > build/out", "touch src/a.py", "git status"),
    *("mkdir -p docs/plans && echo x > docs/plans/p.md", "git switch -q -c other && git switch -q -"),
    "git stash -q || true; git reset -q --hard",
]


@pytest.mark.parametrize("line", CHANGES)
def test_a_session_that_edits_by_commands_alone_is_held_at_stop_and_at_commit(gate: Gate, line: str) -> None:
    _turn(gate, "ls", line)
    assert _commits(gate).requirements == ["plan"]
    assert named(gate.stop()) == {"plan", "verified"}
    commands.satisfy(gate.place(), ["plan", "verified"], session=A)
    assert not _commits(gate).decision and not gate.stop().decision


@pytest.mark.parametrize("line", HARMLESS)
def test_what_changes_no_file_of_the_project_arms_nothing(gate: Gate, line: str) -> None:
    _turn(gate, "ls", line)
    assert not _commits(gate).decision and not gate.stop().decision


def test_a_file_that_was_changed_before_and_is_changed_again_counts(gate: Gate) -> None:
    (gate.repo / "src" / "a.py").write_text("mine\n")
    _turn(gate, "true")
    assert not gate.stop().decision, "what was changed before the turn is not the agent's"
    _turn(gate, "echo more >> src/a.py")
    assert named(gate.stop()) == {"plan", "verified"}


def test_a_commit_of_the_turn_counts_and_what_is_pulled_does_not(gate: Gate, tmp_path: Path) -> None:
    _turn(gate, "echo b > src/b.py && git add -A && git -c user.name=t -c user.email=t@t commit -qm b")
    assert named(gate.stop()) == {"plan", "verified"}
    commands.clear(gate.place(), ["plan"], session=A)
    gate.event("SessionEnd", reason="other")
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(gate.repo), str(other))
    (other / "new.py").write_text("n\n")
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "theirs")
    session = "08345d22-5b1c-4f0e-8d2a-7f6a1c2b3d4e"
    gate.event("UserPromptSubmit", session, prompt="Pull.")
    line = f"git pull -q --ff-only {other} HEAD"
    assert not gate.bash(line, session).decision
    git(gate.repo, "pull", "-q", "--ff-only", str(other), "HEAD")
    assert not gate.stop(session).decision


def test_edits_tools_leaves_it_at_the_edit_tools(gate: Gate) -> None:
    gate.config({"plan": {"edits": "tools"}, "other": {"edits": "tols"}})
    assert commands.status(gate.place(), session=A)["problems"], "a wrong value is told"
    _turn(gate, "echo b > src/b.py")
    assert gate.stop().requirements == ["other"], "and counts as any"


def test_a_folder_without_status_in_time_is_not_watched(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    from context_graph.gates.decide import unasked

    monkeypatch.setattr(unasked, "snapshot", lambda repo: None)
    _turn(gate, "echo b > src/b.py")
    assert not gate.stop().decision
