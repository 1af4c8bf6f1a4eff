"""Which project and branch a call is held to: the checkout that its file lies in, or its command runs in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.gates.in_process import A, B, Gate, git, named

from context_graph.gates.commands import commands

GUARD = {"pb": {"type": "guard", "guard_type": "protected_branch"}}
COMMIT = [{"tool": "Bash", "command_pattern": r"git\b.*\bcommit"}]


def _gate(base: Path, requirements: dict[str, Any], *, tracked: bool) -> Gate:
    """A repository on main, its configuration in git or ignored."""
    made = Gate(base, branch="main")
    if not tracked:
        (made.repo / ".gitignore").write_text(".claude/\n")
    made.config(requirements)
    git(made.repo, "add", "-A")
    git(made.repo, "commit", "-q", "-m", "config")
    return made


def _worktree(gate: Gate, name: str = "w") -> Path:
    """Where the client's EnterWorktree puts one."""
    folder = gate.repo / ".claude" / "worktrees" / name
    git(gate.repo, "worktree", "add", "-q", "-b", f"worktree-{name}", str(folder))
    return folder


def _edit(gate: Gate, path: Path | str, cwd: Path | None = None, **more: Any) -> Any:
    given = {"tool_name": "Edit", "tool_input": {"file_path": str(path)}, **more}
    return gate.event("PreToolUse", cwd=str(cwd or gate.repo), **given)


@pytest.mark.parametrize("tracked", [True, False])
def test_a_file_is_held_to_the_branch_of_its_own_checkout(tmp_path: Path, tracked: bool) -> None:
    gate = _gate(tmp_path, GUARD, tracked=tracked)
    wt = _worktree(gate)
    for cwd in (gate.repo, wt, wt / "src", tmp_path):
        assert named(_edit(gate, gate.repo / "src/a.py", cwd)) == {"pb"}, cwd
        assert _edit(gate, wt / "src/a.py", cwd).decision == "", cwd
    assert named(_edit(gate, "../../../src/a.py", wt)) == {"pb"}
    assert _edit(gate, ".claude/worktrees/w/src/a.py").decision == ""
    link = tmp_path / "link"
    link.symlink_to(gate.repo)
    assert named(_edit(gate, link / "src/a.py", wt)) == {"pb"}


def test_what_a_session_met_on_its_branch_counts_in_another_checkout_unless_it_is_the_branch_s(
    tmp_path: Path,
) -> None:
    gate = _gate(tmp_path, {"plan": {}, "review": {"scope": "branch"}}, tracked=False)
    wt = _worktree(gate)
    commands.satisfy(gate.place(), ["plan", "review"], session=A)
    assert _edit(gate, gate.repo / "src/a.py").decision == ""
    assert named(_edit(gate, wt / "src/a.py")) == {"review"}


@pytest.mark.parametrize("where", ["below", "beside"])
def test_a_worktree_without_a_file_is_governed_by_the_main_checkouts(tmp_path: Path, where: str) -> None:
    """Its branch and its satisfactions are its own, and the command in the denial works there."""
    gate = _gate(tmp_path, {"plan": {}, "verify": {"stop_only": True}}, tracked=False)
    wt = tmp_path / "wt" if where == "beside" else gate.repo / ".claude/worktrees/w"
    git(gate.repo, "worktree", "add", "-q", "-b", "topic", str(wt))
    for hint in (str(gate.repo), str(wt), ""):
        found = _edit(gate, wt / "src/a.py", wt, project_dir=hint)
        assert named(found) == {"plan"} and found.branch == "topic"
    place = gate.place(cwd=wt)
    assert commands.status(place)["branch"] == "topic" and place.governed
    commands.satisfy(place, ["plan"], session=A)
    assert _edit(gate, wt / "src/a.py", wt).decision == ""
    assert _edit(gate, wt / "src/a.py", wt, session=B).decision == "deny"
    assert "plan" in gate.event("SessionStart", B, source="startup", cwd=str(wt)).context
    for cwd in (wt, gate.repo, tmp_path):
        stopped = gate.stop(cwd=str(cwd))
        assert stopped.decision == "block" and named(stopped) == {"verify"}, "wherever the session has gone"


def test_leaving_for_a_worktree_does_not_leave_the_gate(tmp_path: Path) -> None:
    """Commits there are held, and Stop there still knows what was armed before."""
    gate = _gate(
        tmp_path,
        {"verify": {"stop_only": True}, "rev": {"scope": "single_use", "trigger_tools": COMMIT}},
        tracked=False,
    )
    assert gate.edit().decision == ""
    wt = _worktree(gate)
    assert gate.stop(cwd=str(wt)).decision == "block"
    assert named(gate.bash("git commit -m x", cwd=str(wt))) == {"rev"}


def test_a_client_above_the_repository_is_governed_by_the_files_own(tmp_path: Path) -> None:
    gate = _gate(tmp_path, {"plan": {}, "verify": {"stop_only": True}}, tracked=True)
    above = {"cwd": tmp_path, "project_dir": str(tmp_path)}
    assert named(_edit(gate, gate.repo / "src/a.py", **above)) == {"plan"}
    assert _edit(gate, tmp_path / "notes.md", **above).decision == ""
    place = gate.place(cwd=tmp_path, CLAUDE_CODE_SESSION_ID=A, CLAUDE_PROJECT_DIR=str(tmp_path))
    assert commands.satisfy(place, ["plan"])["branches"] == ["main"], "the command that the denial named"
    assert _edit(gate, gate.repo / "src/a.py", **above).decision == ""
    stopped = gate.stop(cwd=str(tmp_path), project_dir=str(tmp_path))
    assert named(stopped) == {"verify"}


def test_what_is_denied_in_another_checkout_is_satisfied_from_here(tmp_path: Path) -> None:
    gate = _gate(tmp_path, {"plan": {}}, tracked=True)
    wt = _worktree(gate)
    assert named(_edit(gate, wt / "src/a.py")) == {"plan"}
    done = commands.satisfy(gate.place(), ["plan"], session=A)
    assert set(done["branches"]) == {"main", "worktree-w"}
    assert _edit(gate, wt / "src/a.py").decision == ""


def test_somebody_elses_file_below_the_target_is_not_obeyed(tmp_path: Path) -> None:
    gate = _gate(tmp_path, {"plan": {}}, tracked=True)
    other = tmp_path / "other"
    shutil.copytree(gate.repo, other)
    import os

    for folder, _, names in os.walk(other):
        for path in (folder, *(f"{folder}/{name}" for name in names)):
            os.lchown(path, 4711, 4711)
    assert _edit(gate, other / "src/a.py", tmp_path, project_dir="").decision == ""


@pytest.mark.parametrize(
    ("command", "held"),
    [
        ("git commit -m x", True),
        ("cd {wt} && git commit -m x", False),
        ("git -C {wt} commit -m x", False),
        ("git -C {wt} status && git commit -m x", True),
        ("cd {wt} && git add -A; git commit -m 'a; b'", False),
        ("cd {wt} && cd {repo} && git commit -m x", True),
        ("(cd {wt} && git commit -m x)", False),
        ("(cd {wt} && true); git commit -m x", True),
        ("bash -c 'cd {wt} && git commit -m x'", False),
        ("cd {wt} || exit 1; git commit -m x", False),
        ("pushd {wt}; git status; popd; git commit -m x", True),
        ("cd {wt} && (cd {repo} && git commit -m x)", True),
        ("git -C {wt} commit -m \"$(cat <<'EOF'\nwhy\nEOF\n)\"", False),
        ('cd {wt} && git -C {repo} commit -m "$(date)"', True),
        ("sudo git -C {wt} commit -m x", False),
        ("GIT_DIR={repo}/.git git commit -m x", True),
        ("FOO=1 git -c a=b -C {wt} commit", False),
        ("git --git-dir={repo}/.git commit", True),
    ],
)
def test_a_command_is_held_to_the_branch_of_the_folder_it_runs_in(
    tmp_path: Path, command: str, held: bool
) -> None:
    gate = _gate(tmp_path, {"pb": {**GUARD["pb"], "trigger_tools": COMMIT}}, tracked=False)
    wt = _worktree(gate)
    result = gate.bash(command.format(wt=wt, repo=gate.repo))
    assert named(result) == ({"pb"} if held else set())


INTO = [
    "cd repo && git commit -m x",
    "git -C repo commit",
    "(cd other; true); cd repo/sub && git commit -m x",
]
OUTSIDE = [
    *("git commit -m x", "cd other && git commit", "(cd repo && true); git commit", "true"),
    *('cd "$(mktemp -d)" && git init && git commit -m x', "git -C $(mktemp -d) commit -m x"),
]


@pytest.mark.parametrize("trigger", [{"git": "commit"}, COMMIT[0]], ids=["git", "pattern"])
def test_from_above_a_repository_the_plain_ways_into_it_count(
    tmp_path: Path, trigger: dict[str, str]
) -> None:
    gate = _gate(tmp_path, {"plan": {"trigger_tools": [trigger]}}, tracked=True)
    (tmp_path / "other").mkdir()
    (gate.repo / "sub").mkdir()
    for command in INTO:
        assert named(gate.bash(command, cwd=str(tmp_path), project_dir="")) == {"plan"}, command
    for command in OUTSIDE:
        assert gate.bash(command, cwd=str(tmp_path), project_dir="").decision == "", command


@pytest.mark.parametrize(
    "command",
    [
        "cd ../other && git commit -m x",
        "git -C ../other commit -m x",
        "git -C {other} push",
        'cd "$(mktemp -d)" && git init -q && git commit -q --allow-empty -m init',
        "git clone {other} y && cd y && git commit -m x",
        "mkdir -p fx && cd fx && git init -q . && git commit -qm init",
        "cd sub && git commit -m x",
    ],
)
def test_a_commit_in_another_repository_is_its_own_matter(tmp_path: Path, command: str) -> None:
    """As in the real client, which always names the project's folder."""
    gate = _gate(tmp_path, {"plan": {"trigger_tools": [{"git": ["commit", "push"]}]}}, tracked=True)
    for place in (tmp_path / "other", gate.repo / "sub"):
        place.mkdir()
        git(place, "init", "-q")
    assert named(gate.bash("git commit -m x")) == {"plan"}
    assert gate.bash(command.format(other=tmp_path / "other")).decision == ""
