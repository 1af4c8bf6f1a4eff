"""Which project and branch a call is held to: the checkout that its file lies in, or its command runs in."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.gates.in_process import A, B, Gate, git, named

from context_graph.gates.commands import commands
from context_graph.gates.decide.tool_call import command_folders

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
        ("cd /nowhere; git commit -m x", True),
        ("(cd {wt} && git commit -m x)", False),
        ("(cd {wt} && true); git commit -m x", True),
        ("bash -c 'cd {wt} && git commit -m x'", False),
        ("cd {wt} || exit 1; git commit -m x", False),
        ("pushd {wt}; git status; popd; git commit -m x", True),
        ("cd {wt} && (cd {repo} && git commit -m x)", True),
        ("git -C {wt} commit -m \"$(cat <<'EOF'\nwhy\nEOF\n)\"", False),
        ('cd {wt} && git -C {repo} commit -m "$(date)"', True),
        ('x={wt}; cd "$x" && git commit -m x', False),
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


def test_folders_of_commands(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    here = str(tmp_path)
    assert command_folders("cd 'a b' && git x", here) == [(f"{here}/a b", "git x")]
    assert command_folders("cd a\\ b && git x", here)[0][0] == f"{here}/a b"
    assert command_folders("cd a b && git x", here)[-1][0] == here, "the shell would refuse it"
    assert command_folders("cd $X && git x", here) == [(here, "git x")]
    assert command_folders("cd 'a b' || git x", here)[-1][0] == here
    assert command_folders('git commit -m "$(cat <<EOF', here)[-1][0] == here
    assert command_folders("git commit -m 'it'\\''s'", here) == [(here, """git commit -m 'it'"'"'s'""")]
    assert len(command_folders("git x;" * 1000, here)) <= 201
    assert command_folders("git " + "a" * 100_000, here)[0][0] == here


ABOVE = [
    *("cd repo && git commit -m x", "for d in repo other; do (cd $d && git commit -m x); done"),
    *("for d in other repo; do cd $d; git commit -m x; cd ..; done", "env -C repo git commit -m x"),
    *(
        "for d in repo other; do git -C $d commit -m x; done",
        "for d in other repo; do git -C $d commit; done",
    ),
    *("for d in a b c d e f repo; do (cd $d && git commit -m x); done", "cd repo; time -p git commit"),
    *("for d in repo other; do x=$d; git -C $x commit; done", "env -C repo bash -c 'git commit -m x'"),
    *("sudo -D repo git commit -m x", "sudo --chdir=repo git commit", "env --chdir repo git commit"),
    *(
        "env GIT_DIR=repo/.git git commit -m x",
        "export GIT_DIR=repo/.git; git commit",
        "sudo GIT_DIR=repo/.git git commit",
    ),
    *("GIT_DIR=repo/.git sudo git commit", "GIT_DIR=repo/.git; export GIT_DIR; git commit"),
    *("GIT_DIR=repo/.git GIT_WORK_TREE=other git commit", "GIT_DIR=repo/.git bash -c 'git commit'"),
    *(
        "export GIT_DIR=repo/.git; (cd other; true); bash -c 'git commit'",
        "systemd-run --working-directory=repo git commit",
    ),
    *("true;" * 250 + "cd repo; git commit -m x", "cd other;" * 500 + "cd ../repo; git commit -m x"),
    *("true;" * 250 + "git -C repo commit", "cd other; " + "git status;" * 250 + "cd ../repo && git commit"),
    *(
        "function f { cd repo; git commit; }; f",
        "env -C . env -C repo git commit",
        "pushd repo; git commit",
        "cd repo; cd ../other; cd -; git commit",
    ),
    *('for d in */; do git -C "$d" commit -m x; done', "for d in *; do (cd $d && git commit -m x); done"),
    *("for d in ./re*/; do cd $d; git commit; cd ..; done", "git -C r* commit", "cd */sub && git commit"),
    *("for d in $(ls); do git -C $d commit; done", "ls | while read d; do (cd $d && git commit); done"),
    *('while read d; do git -C "$d" commit; done <<< repo', "while read d; do git -C $d commit; done < list"),
    *("find . -name x -execdir git commit -m x \\;", "find other . -type d -okdir git commit \\;"),
    *("find . -type d -exec git -C {} commit \\;", "find . -type d -exec sh -c 'cd {} && git commit' \\;"),
    *("ls | xargs -I{} git -C {} commit -m x", "ls | xargs -I % sh -c 'cd % && git commit'"),
    *("ls | xargs -i git -C ./{} commit", "ls | xargs --replace=@ git -C @ commit", "pushd $X; git commit"),
    *("fd -t d -x git -C {} commit", "parallel git -C {} commit ::: repo", "env -C re* git commit"),
    *("cd $OLDPWD/sub && git commit", 'git -C "$X" commit', "GIT_DIR=$X/.git git commit"),
    *("cd $(mktemp -d -p repo) && git commit", "cd $(mktemp -d --tmpdir=repo) && git commit"),
    *("cd $(mktemp -d repo/x.XXX) && git commit", "cd $(mktemp -d re*/x.XXX) && git commit"),
    *("TMPDIR=repo; cd `mktemp -d`; git commit", "cd $(mktemp -d); cd -; cd repo; git commit"),
    *("cd $(mktemp -du); cd repo; git commit", "git -C $(mktemp) commit; git -C repo commit"),
    *(
        'dirs=(other repo); for d in "${dirs[@]}"; do git -C $d commit; done',
        "cd $(mktemp -d $X) && git commit",
    ),
    *("git --git-dir=re*/.git commit", "cd no$X/../repo && git commit", "git -C ${X}po commit"),
]


@pytest.mark.parametrize("command", ABOVE, ids=lambda text: text[-60:])
@pytest.mark.parametrize("trigger", [{"git": "commit"}, COMMIT[0]], ids=["git", "pattern"])
def test_from_above_a_repository_every_way_into_it_counts(
    tmp_path: Path, command: str, trigger: dict[str, str]
) -> None:
    gate = _gate(tmp_path, {"plan": {"trigger_tools": [trigger]}}, tracked=True)
    (tmp_path / "other").mkdir()
    (gate.repo / "sub").mkdir()
    assert named(gate.bash(command, cwd=str(tmp_path), project_dir="")) == {"plan"}


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git commit -m x",
            "cd other && git commit",
        ),
        *("true", "export GIT_DIR=repo/.git; unset GIT_DIR; git commit"),
        *(
            "true;" * 250 + "git commit",
            "(export GIT_DIR=repo/.git); git commit",
        ),
        *(
            "(cd repo && true); git commit",
            "bash -c 'cd repo && make'; git commit",
            "echo $(cd repo && make); git commit",
            "for d in */; do (cd $d && make); done; git commit",
        ),
        *(
            "git -C o* commit",
            "for d in ot*/; do (cd $d && git commit); done",
            "find other -name x -execdir git commit \\;",
            "for d in */; do git -C $d status; done",
            "ls | xargs -I{} git -C {} log",
            "git -C other$X commit",
        ),
        *(
            'cd "$(mktemp -d)" && git init && git commit -m x',
            "d=`mktemp -d`; git -C $d commit -m x",
            "(cd $(mktemp -dq -t x.XXXX 2>/dev/null || mktemp -d) && git init -q && git commit)",
            "T=$(mktemp -d -p /tmp); mkdir $T/a && cd $T/a && git init && git commit -m x",
            "export T=$(mktemp -d); trap 'rm -rf $T' EXIT; cd $T/x; git commit",
            "git -C $(mktemp -d --tmpdir x.XXX)/sub commit",
            'dirs=(other); for d in "${dirs[@]}"; do git -C $d commit; done',
        ),
    ],
    ids=lambda text: text[-60:],
)
def test_from_above_a_repository_what_stays_outside_is_free(tmp_path: Path, command: str) -> None:
    gate = _gate(tmp_path, {"plan": {"trigger_tools": [{"git": "commit"}]}}, tracked=True)
    (tmp_path / "other").mkdir()
    assert gate.bash(command, cwd=str(tmp_path), project_dir="").decision == ""


@pytest.mark.parametrize("place", [".w", "a/b/c/d/e/f", "a/.b/c/.d/e", "x y"])
@pytest.mark.parametrize(
    "command",
    [
        'ls | xargs -I{} git -C "{}" commit',
        'git -C "$X" commit',
        "while read d; do (cd $d && git commit); done",
    ],
)
def test_a_repository_counts_however_deep_or_hidden_it_lies(tmp_path: Path, place: str, command: str) -> None:
    gate = _gate(tmp_path / place, {"plan": {"trigger_tools": [{"git": "commit"}]}}, tracked=True)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "node_modules" / "m").mkdir(parents=True)
    assert named(gate.bash(command, cwd=str(tmp_path), project_dir="")) == {"plan"}


@pytest.mark.parametrize(
    "command",
    [
        "git -C @/*/ commit",
        "git -C @/re* commit",
        "git -C @/$X commit",
        "cd @/$X/sub && git commit",
        "cd @/*; git commit",
        "for d in @/*; do (cd $d && git commit); done",
        "ls @ | xargs -I{} git -C @/{} commit",
    ],
)
def test_an_absolute_folder_is_looked_up_from_anywhere(tmp_path: Path, command: str) -> None:
    gate = _gate(tmp_path / "base", {"plan": {"trigger_tools": [{"git": "commit"}]}}, tracked=True)
    (gate.repo / "sub").mkdir()
    (tmp_path / "elsewhere").mkdir()
    text = command.replace("@", str(tmp_path / "base"))
    assert named(gate.bash(text, cwd=str(tmp_path / "elsewhere"), project_dir="")) == {"plan"}


@pytest.mark.parametrize(
    "piece", ["cd ..;", "cd {a,b,c,d,e};", "git -C . x;", "for a in b c;do cd $a;", "env -C a git x;"]
)
def test_following_folders_takes_no_longer_than_the_line_is_long(tmp_path: Path, piece: str) -> None:
    for name in "abcde":
        (tmp_path / name).mkdir()
    began = time.thread_time()
    command_folders("git x;" + piece * (100_000 // len(piece)), str(tmp_path))
    assert time.thread_time() - began < 10


def test_a_large_tree_makes_nobody_wait(tmp_path: Path) -> None:
    """Folders are looked for among the nearest ones, however many there are, and however often."""
    for at in range(40):
        for below in range(40):
            (tmp_path / f"a{at}" / f"b{below}" / "c").mkdir(parents=True)
    line = "".join(f"git -C a$X{at}*/$Y commit; cd {at}*$Z; " for at in range(200))
    began = time.thread_time()
    command_folders(line.replace("$X", "$X/"), str(tmp_path))
    command_folders(
        "a" * 100 + "".join(f'; git -C "{"a?" * 100}$X{at}" x' for at in range(200)), str(tmp_path)
    )
    assert time.thread_time() - began < 5
