"""Repositories of every shape: issue C, "what it must show" 5. Real git makes them, no git reads them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.support.gates.in_process import A, B, Gate, git, named

from context_graph.errors import UsageError
from context_graph.gates.commands import commands, upkeep
from context_graph.git.repository import branch_names, find_repo, read_head

PLAN = {"plan": {}}


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    made = Gate(tmp_path)
    made.config(PLAN)
    git(made.repo, "add", "-A")
    git(made.repo, "commit", "-q", "-m", "config")
    return made


@pytest.fixture(autouse=True)
def no_git_at_all(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a hook asks git, it would not find it: hook paths read files alone."""
    real = os.environ["PATH"]

    def asked(self: Gate, name: str, session: str = A, **fields: object) -> object:
        monkeypatch.setenv("PATH", "/nonexistent")
        try:
            return _event(self, name, session, **fields)
        finally:
            monkeypatch.setenv("PATH", real)

    _event = Gate.event
    monkeypatch.setattr(Gate, "event", asked)


def _satisfy(gate: Gate, branch: str) -> None:
    commands.satisfy(gate.place(), ["plan"], branch=branch)


def test_a_subfolder_is_governed(gate: Gate) -> None:
    """In the original one `cd src` switched everything off."""
    deep = gate.repo / "src" / "deep"
    deep.mkdir()
    assert named(gate.edit(cwd=str(deep))) == named(gate.edit(cwd=str(deep), project_dir="")) == {"plan"}
    assert named(gate.edit(cwd=str(gate.repo / ".git"), project_dir="")) == {"plan"}
    assert named(gate.edit(cwd=str(gate.repo / ".git" / "hooks"), project_dir="")) == {"plan"}


@pytest.mark.parametrize("where", ["tmp", "relative", "vanished", "", "nul\0", "/"])
def test_a_folder_elsewhere_is_governed_by_the_project_the_client_was_started_in(
    gate: Gate, tmp_path: Path, where: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cwd = {"tmp": str(elsewhere), "vanished": str(tmp_path / "gone"), "nul\0": "/a\0b"}.get(where, where)
    assert named(gate.edit(cwd=cwd)) == {"plan"}


def test_another_repository_without_a_file_does_not_leave_the_gate(gate: Gate, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    assert named(gate.edit(cwd=str(other))) == {"plan"}
    assert gate.edit(cwd=str(other), project_dir="").decision == ""


def test_a_nested_repository_and_a_submodule_do_not_leave_the_gate(gate: Gate, tmp_path: Path) -> None:
    nested = gate.repo / "vendor"
    nested.mkdir()
    git(nested, "init", "-q")
    assert named(gate.edit(cwd=str(nested), project_dir="")) == {"plan"}
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q")
    git(origin, "commit", "-q", "--allow-empty", "-m", "x")
    git(gate.repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(origin), "sub")
    sub = gate.repo / "sub"
    assert (sub / ".git").is_file()
    result = gate.edit(cwd=str(sub), project_dir="")
    assert named(result) == {"plan"} and result.branch == "feature/auth"


def test_a_submodule_with_a_file_of_its_own_has_state_of_its_own(gate: Gate, tmp_path: Path) -> None:
    test_a_nested_repository_and_a_submodule_do_not_leave_the_gate(gate, tmp_path)
    sub = gate.repo / "sub"
    git(sub, "checkout", "-q", "-b", "topic")
    shutil.copytree(gate.repo / ".claude", sub / ".claude")
    result = gate.edit(cwd=str(sub))
    assert result.project == str(sub) and result.branch == "topic"
    commands.satisfy(gate.place(cwd=sub), ["plan"], branch="topic")
    assert gate.edit(cwd=str(sub)).decision == ""
    assert (gate.common / "modules" / "sub" / "requirements" / "topic.json").is_file()


def test_a_worktree_shares_state_and_keeps_its_own_branch(gate: Gate, tmp_path: Path) -> None:
    wt = tmp_path / "wt"
    git(gate.repo, "worktree", "add", "-q", "-b", "feature/wt", str(wt))
    assert named(gate.edit(cwd=str(wt / "src"))) == {"plan"}
    _satisfy(gate, "feature/wt")
    assert gate.edit(cwd=str(wt)).decision == "" and named(gate.edit()) == {"plan"}
    assert (gate.state_folder / "feature-wt.json").is_file() and not (wt / ".git").is_dir()
    shutil.rmtree(wt / ".claude")
    inside = {"tool_name": "Write", "tool_input": {"file_path": str(wt / "x")}}
    assert gate.event("PreToolUse", cwd=str(wt), **inside).decision == "", "met for its branch"
    assert named(gate.event("PreToolUse", B, cwd=str(gate.repo), **inside)) == set()


def test_a_worktree_of_a_bare_repository(gate: Gate, tmp_path: Path) -> None:
    bare, wt = tmp_path / "bare.git", tmp_path / "wt"
    git(gate.repo, "clone", "-q", "--bare", str(gate.repo), str(bare))
    git(bare, "worktree", "add", "-q", "-b", "topic", str(wt), "feature/auth")
    assert named(gate.edit(cwd=str(wt), project_dir="")) == {"plan"}
    commands.satisfy(gate.place(cwd=wt), ["plan"], branch="topic")
    assert gate.edit(cwd=str(wt), project_dir="").decision == ""
    assert (bare / "requirements" / "topic.json").is_file()


def test_a_bare_repository_itself(gate: Gate, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(gate.repo, "clone", "-q", "--bare", str(gate.repo), str(bare))
    assert gate.edit(cwd=str(bare), project_dir="").decision == ""
    assert named(gate.edit(cwd=str(bare))) == {"plan"}
    shutil.copytree(gate.repo / ".claude", bare / ".claude")
    assert named(gate.edit(cwd=str(bare), project_dir="")) == {"plan"}
    found = find_repo(str(bare))
    assert found is not None and found.bare


def test_a_detached_head_is_not_held_to_any_branch(gate: Gate) -> None:
    git(gate.repo, "checkout", "-q", "--detach")
    assert gate.edit().decision == "" and gate.stop().decision == ""
    with pytest.raises(UsageError, match="detached"):
        commands.status(gate.place())


def _diverge(gate: Gate) -> None:
    """The branch and another one change the same line."""
    git(gate.repo, "checkout", "-q", "-b", "other")
    (gate.repo / "src" / "a.py").write_text("o\n")
    git(gate.repo, "commit", "-q", "-a", "-m", "o")
    git(gate.repo, "checkout", "-q", "feature/auth")
    (gate.repo / "src" / "a.py").write_text("f\n")
    git(gate.repo, "commit", "-q", "-a", "-m", "f")


@pytest.mark.parametrize("how", ["merge", "apply", "i"])
def test_a_rebase_is_held_to_the_branch_that_is_rebased(gate: Gate, how: str) -> None:
    """The original enforced nothing in the middle of a rebase."""
    _diverge(gate)
    backend = {"merge": ["--merge"], "apply": ["--apply"], "i": ["-i"]}[how]
    git(gate.repo, "-c", "sequence.editor=true", "rebase", *backend, "other", check=False)
    head = read_head(find_repo(str(gate.repo)))  # type: ignore[arg-type]
    assert (head.branch, head.state) == ("feature/auth", "rebase")
    assert named(gate.edit()) == {"plan"}
    _satisfy(gate, "feature/auth")
    assert gate.edit().decision == ""


def test_a_merge_in_progress_is_enforced(gate: Gate) -> None:
    _diverge(gate)
    git(gate.repo, "merge", "other", check=False)
    assert (gate.common / "MERGE_HEAD").exists() and named(gate.edit()) == {"plan"}


def test_an_unborn_branch_is_enforced(tmp_path: Path) -> None:
    made = Gate(tmp_path / "unborn", repo=False)
    git(made.repo, "init", "-q", "-b", "fresh")
    made.config(PLAN)
    assert named(made.edit()) == {"plan"}
    _satisfy(made, "fresh")
    assert made.edit().decision == ""
    assert upkeep.prune(made.place())["pruned"] == [], "a branch without commits is there"


def test_without_git_nothing_is_enforced_and_nothing_is_made(tmp_path: Path) -> None:
    """The original made a bogus .git folder."""
    made = Gate(tmp_path / "plain", repo=False)
    made.config(PLAN)
    for name in ("PreToolUse", "Stop", "SessionEnd", "UserPromptSubmit", "PreCompact"):
        assert made.event(name, tool_name="Edit", tool_input={}).decision == ""
    assert "no git repository" in made.event("SessionStart", source="startup").context
    assert not (made.repo / ".git").exists()
    with pytest.raises(UsageError, match="no git repository"):
        made.place()


def test_a_project_through_a_symbolic_link_is_the_same_project(gate: Gate, tmp_path: Path) -> None:
    link, inner = tmp_path / "link", tmp_path / "inner"
    link.symlink_to(gate.repo)
    inner.symlink_to(gate.repo / "src")
    _satisfy(gate, "feature/auth")
    for place in (link, link / "src", inner):
        result = gate.edit(cwd=str(place), project_dir="")
        assert result.decision == "" and result.project == str(gate.repo)


def test_git_folder_elsewhere(gate: Gate, tmp_path: Path) -> None:
    apart, store = tmp_path / "apart", tmp_path / "store"
    apart.mkdir()
    git(apart, "init", "-q", "-b", "topic", f"--separate-git-dir={store}")
    shutil.copytree(gate.repo / ".claude", apart / ".claude")
    assert named(gate.edit(cwd=str(apart), project_dir="")) == {"plan"}
    commands.satisfy(gate.place(cwd=apart), ["plan"], branch="topic")
    assert gate.edit(cwd=str(apart), project_dir="").decision == ""
    assert (store / "requirements" / "topic.json").is_file()


def test_branches_of_the_same_flat_name_are_two(gate: Gate) -> None:
    git(gate.repo, "checkout", "-q", "-b", "feature-auth")
    _satisfy(gate, "feature/auth")
    assert named(gate.edit()) == {"plan"}
    _satisfy(gate, "feature-auth")
    assert gate.edit().decision == ""


@pytest.mark.parametrize(
    "branch", ["ünï/cødé", "a" * 200, "x.lock-y", "-".join("abc"), "weird'$name", "a\\b"]
)
def test_branch_names(gate: Gate, branch: str) -> None:
    if (
        git(gate.repo, "checkout", "-q", "-b", branch, check=False)
        or read_head(
            find_repo(str(gate.repo))  # type: ignore[arg-type]
        ).branch
        != branch
    ):
        pytest.skip("git does not take this name")
    assert named(gate.edit()) == {"plan"}
    _satisfy(gate, branch)
    assert gate.edit().decision == "" and upkeep.prune(gate.place())["pruned"] == []


def test_a_head_that_can_t_be_read_is_no_branch(gate: Gate) -> None:
    for text in ("", "ref:", "ref: ", "nonsense"):
        (gate.common / "HEAD").write_text(text)
        assert gate.edit().decision == ""


def test_the_client_s_own_folder_is_no_project(gate: Gate) -> None:
    """A home kept in git: its global file must not become a project's."""
    git(gate.home, "init", "-q", "-b", "x")
    gate.everywhere({"requirements": {"g": {"enabled": True}}})
    assert gate.edit(cwd=str(gate.home), project_dir="").decision == ""


@pytest.mark.root
def test_a_file_of_somebody_else_above_is_not_obeyed(gate: Gate) -> None:
    inner = gate.repo / "theirs"
    inner.mkdir()
    os.chown(inner, 12345, 12345)
    assert gate.edit(cwd=str(inner), project_dir="").decision == ""
    assert named(gate.edit(cwd=str(inner))) == {"plan"}, "unless the client was started there"


def test_prune_removes_the_state_of_vanished_branches_alone(gate: Gate) -> None:
    """The original removed every other JSON file of the folder as well."""
    for branch in ("feature/auth", "feature/gone", "feature-gone", "packed"):
        _satisfy(gate, branch)
    git(gate.repo, "branch", "packed")
    git(gate.repo, "pack-refs", "--all")
    assert not (gate.common / "refs" / "heads" / "packed").exists()
    for name, text in (("learning_history.json", '{"a": 1}'), ("other.json", "["), ("note.txt", "x")):
        (gate.state_folder / name).write_text(text)
    found = {one["branch"]: one["exists"] for one in upkeep.branches(gate.place())}
    assert found == {"feature/auth": True, "feature/gone": False, "feature-gone": False, "packed": True}
    assert sorted(upkeep.prune(gate.place(), preview=True)["pruned"]) == ["feature-gone", "feature/gone"]
    assert sorted(upkeep.prune(gate.place())["pruned"]) == ["feature-gone", "feature/gone"]
    left = {path.name for path in gate.state_folder.iterdir()}
    assert left >= {"feature-auth.json", "packed.json", "learning_history.json", "other.json", "note.txt"}
    assert not any(name.startswith("feature-gone") for name in left)
    assert upkeep.prune(gate.place())["pruned"] == []


def test_branch_names_are_those_git_lists(gate: Gate, tmp_path: Path) -> None:
    git(gate.repo, "branch", "a/b/c")
    git(gate.repo, "worktree", "add", "-q", "-b", "linked", str(tmp_path / "wt2"))
    git(gate.repo, "pack-refs", "--all")
    git(gate.repo, "branch", "loose")
    repo = find_repo(str(gate.repo))
    assert repo is not None
    assert branch_names(repo) == set(git(gate.repo, "branch", "--format=%(refname:short)").splitlines())


def test_sessions_of_sibling_worktrees_do_not_lock_each_other(gate: Gate, tmp_path: Path) -> None:
    gate.config({"one": {"type": "guard", "guard_type": "single_session"}})
    git(gate.repo, "commit", "-q", "-a", "-m", "guard")
    wt = tmp_path / "wt"
    git(gate.repo, "worktree", "add", "-q", "-b", "feature/wt", str(wt))
    assert gate.edit(A, pid=os.getpid()).decision == ""
    assert gate.edit(B, pid=os.getppid(), cwd=str(wt)).decision == ""
