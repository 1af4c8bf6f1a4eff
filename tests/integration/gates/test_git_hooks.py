"""Commits and pushes are decided by git's own hooks, through the installed launcher, on real repositories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.gates.installed import A, Answer, B, GateProject, Hosts, an_owner

RULES = """
version: "1.0"
inherit: false
requirements:
  review: {enabled: true, scope: single_use, trigger_tools: [{git: [commit, push]}]}
"""
GUARD = """
version: "1.0"
inherit: false
requirements:
  no_main: {enabled: true, type: guard, guard_type: protected_branch, trigger_tools: [{git: commit}]}
"""
MAKEFILE = "ship:\n\t@git add -A && git commit -qm ship\npublish:\n\t@git push -q origin HEAD\n"


class Shell:
    """Shells of one agent's session: they have what its start wrote into the client's environment file."""

    def __init__(self, project: GateProject) -> None:
        self.project, self.env_file = project, project.root.parent / "env.sh"
        self.start()

    def start(self, session: str = A, source: str = "startup", **env: str) -> None:
        self.project.env["CLAUDE_ENV_FILE"] = str(self.env_file)
        self.project.env.update(env)
        self.project.hook("session-start", session, source=source)

    def run(
        self, command: str, *, session: str = A, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """The command as the agent's Bash runs it; without ``session`` as a person does."""
        own = {key: value for key, value in self.project.cli.env.items() if not key.startswith("CONTEXT_")}
        own |= {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        own |= {"GIT_EDITOR": "true", **({"CLAUDE_CODE_SESSION_ID": session} if session else {}), **env}
        line = f". {self.env_file}; {command}" if session else command
        return subprocess.run(
            ["bash", "-c", line],
            cwd=cwd or self.project.root,
            env=own,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def tip(self, cwd: Path | None = None) -> str:
        return self.run("git rev-parse -q --verify HEAD", session="", cwd=cwd).stdout.strip()

    def held(self, command: str, *, cwd: Path | None = None, **more: str) -> bool:
        """Whether the command was refused with its requirement named; a refused one must change nothing."""
        before = self.tip(cwd)
        done = self.run(command, cwd=cwd, **more)
        if "Blocked by a requirement" not in done.stderr:
            assert done.returncode == 0, done.stderr
            return False
        assert done.returncode != 0 and self.tip(cwd) == before
        return True


def write_hook(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def repository(cli: Cli, rules: str = RULES) -> GateProject:
    """A project on feature/x with two commits, a Makefile and a remote."""
    project = GateProject.make(cli, rules)
    (project.root / "Makefile").write_text(MAKEFILE)
    (project.root / "a").write_text("a\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "init")
    origin = project.root.parent / "origin.git"
    project.git("init", "-q", "--bare", str(origin))
    project.git("remote", "add", "origin", str(origin))
    return project


@pytest.fixture
def shell(cli: Cli) -> Iterator[Shell]:
    """An agent's session in a governed project, with an owner."""
    project = repository(cli)
    with an_owner(cli):
        yield Shell(project)


COMMITS = (
    *("git commit -qam x", "make ship", "git commit -qam x --no-verify", "git commit -q --amend -m y"),
    *("python3 -c \"import subprocess as s; s.run(['git', 'commit', '-qam', 'x'], check=True)\"",),
    *("git cherry-pick other", "git revert --no-edit HEAD", "git merge -q --no-ff -m m other"),
    *("git merge -q --no-ff --no-verify -m m other", "git am -q ../0001.patch", "sh -c 'git commit -qam x'"),
)


@pytest.mark.parametrize("command", COMMITS)
def test_every_way_to_commit_is_held_until_the_requirement_is_met(shell: Shell, command: str) -> None:
    root = shell.project.root
    shell.run(
        "git checkout -q -b other; echo o > o; git add o; git commit -qm o;"
        "git format-patch -q -1 -o ..; mv ../0001*.patch ../0001.patch; git checkout -q -;"
        "echo c > c; git add c; git commit -qm c",
        session="",
    )
    if not any(verb in command for verb in ("merge", "cherry-pick", "revert", "am -q")):
        (root / "a").write_text("b\n")
    assert shell.held(command)
    if (root / "a").read_text() == "a\n":
        shell.run("git merge --abort; git am --abort; git reset -q --hard", session="")
    shell.project.req("satisfy", "review", "--session", A)
    assert not shell.held(command)


def test_a_satisfaction_serves_one_commit_however_it_was_made(shell: Shell) -> None:
    """Also where no tool call is known that made it: HEAD has moved."""
    root = shell.project.root
    shell.project.req("satisfy", "review", "--session", A)
    (root / "a").write_text("b\n")
    assert not shell.held("make ship")
    assert shell.held("git commit -q --allow-empty -m again")
    shell.project.req("satisfy", "review", "--session", A)
    twice = shell.run("git commit -q --allow-empty -m 1 && git commit -q --allow-empty -m 2")
    assert "Blocked" in twice.stderr and shell.run("git log -1 --format=%s", session="").stdout == "1\n"


def test_a_commit_that_failed_has_used_nothing(shell: Shell) -> None:
    write_hook(shell.project.root / ".git/hooks/commit-msg", "exit 1")
    shell.project.req("satisfy", "review", "--session", A)
    assert shell.run("git commit -q --allow-empty -m x").returncode == 1
    (shell.project.root / ".git/hooks/commit-msg").unlink()
    assert not shell.held("git commit -q --allow-empty -m x")


def test_a_push_is_used_up_by_the_end_of_the_call_that_made_it(shell: Shell) -> None:
    remote = shell.project.root.parent / "origin.git"
    assert shell.held("make publish")
    shell.project.req("satisfy", "review", "--session", A)
    assert not shell.held("make publish")
    assert (
        shell.run("git rev-parse refs/heads/feature/x", session="", cwd=remote).stdout.strip() == shell.tip()
    )
    shell.project.bash("make publish", verb="post-tool")
    assert shell.held("make publish")


def test_one_satisfaction_does_not_serve_a_commit_and_a_push_at_once(shell: Shell) -> None:
    """The commit waits in a hook of the repository, judged and not yet made, while the push asks."""
    root = shell.project.root
    write_hook(root / ".git/hooks/commit-msg", f"touch {root.parent}/begun; cat {root.parent}/go >/dev/null")
    os.mkfifo(root.parent / "go")
    shell.project.req("satisfy", "review", "--session", A)
    both = shell.run(
        "git commit -q --allow-empty -m x & while [ ! -e ../begun ]; do sleep 0.02; done;"
        "git push -q origin HEAD; code=$?; echo > ../go; wait $!; echo commit $? push $code"
    )
    assert both.stdout == "commit 0 push 1\n" and "Blocked by a requirement" in both.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="no other system shows git's command line")
def test_a_push_that_only_shows_what_it_would_do_passes(shell: Shell) -> None:
    for line in ("git push -q --dry-run origin HEAD", "git -C . push -n origin HEAD"):
        assert not shell.held(line)
    assert shell.held("git push -q origin HEAD:n")


def test_a_person_is_never_asked(shell: Shell) -> None:
    """Not even where the variables are inherited: the session's own is what makes an agent."""
    assert shell.run("git commit -q --allow-empty -m x", session="").returncode == 0
    done = shell.run("env -u CLAUDE_CODE_SESSION_ID git commit -q --allow-empty -m x")
    assert (done.returncode, done.stderr) == (0, "")


def test_another_repository_is_nobodys_business(shell: Shell) -> None:
    for command in (
        'cd "$(mktemp -d)" && git init -q && git commit -q --allow-empty -m x',
        "git clone -q . ../clone && cd ../clone && rm -r .claude && git commit -q --allow-empty -m x",
        "mkdir fixture && cd fixture && git init -q && git commit -q --allow-empty -m x",
        "git init -q ../other && git -C ../other commit -q --allow-empty -m x",
    ):
        assert not shell.held(command, CLAUDE_PROJECT_DIR=str(shell.project.root)), command


def test_where_git_is_told_its_folder_that_one_counts(shell: Shell) -> None:
    root = shell.project.root
    work = root.parent / "work"
    work.mkdir()
    assert shell.held(f"git --git-dir={root}/.git --work-tree={work} commit -q --allow-empty -m x")
    assert shell.held(f"cd {work} && GIT_DIR={root}/.git GIT_WORK_TREE=. git commit -q --allow-empty -m x")
    assert shell.held(f"cd / && git -C {root} commit -q --allow-empty -m x")


def test_a_protected_branch_is_the_one_that_git_commits_to(shell: Shell) -> None:
    shell.project.configure(GUARD)
    shell.run(
        "git commit -qam guard; git branch main; git branch topic; git worktree add -q ../w topic", session=""
    )
    assert shell.held(
        "git checkout -q main && git commit -q --allow-empty -m x || { git checkout -q -; false; }"
    )
    assert not shell.held("git commit -q --allow-empty -m x")
    assert not shell.held("git commit -q --allow-empty -m x", cwd=shell.project.root.parent / "w")


def test_a_linked_worktree_has_its_own_branch(shell: Shell) -> None:
    shell.run("git worktree add -q -b topic ../w", session="")
    worktree = shell.project.root.parent / "w"
    assert "on topic:" in shell.run("git commit -q --allow-empty -m x", cwd=worktree).stderr


def test_a_submodule_belongs_to_its_project(shell: Shell) -> None:
    shell.run(
        "git init -q ../lib && git -C ../lib commit -q --allow-empty -m l &&"
        "git -c protocol.file.allow=always submodule --quiet add ../lib lib && git commit -qm sub",
        session="",
    )
    module = shell.project.root / "lib"
    write_hook(shell.project.root / ".git/modules/lib/hooks/pre-commit", "echo own hook >&2")
    assert shell.held("git commit -q --allow-empty -m x", cwd=module)
    shell.project.req("satisfy", "review", "--session", A)
    done = shell.run("git commit -q --allow-empty -m x", cwd=module)
    assert (done.returncode, done.stderr) == (0, "own hook\n")


def test_worktrees_of_a_bare_repository_are_governed_by_their_own_file(shell: Shell) -> None:
    bare = shell.project.root.parent / "bare.git"
    shell.run(f"git clone -q --bare . {bare} && git -C {bare} worktree add -q ../w feature/x", session="")
    write_hook(bare / "hooks/post-commit", "echo own hook >&2")
    worktree = bare.parent / "w"
    assert shell.held("git commit -q --allow-empty -m x", cwd=worktree)
    assert shell.run("git commit -q --allow-empty -m x", session="", cwd=worktree).stderr == "own hook\n"


# The repository's own hooks

NAMES = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")


def _own_hooks(folder: Path, log: Path) -> None:
    for name in (*NAMES, "pre-push", "post-checkout", "pre-rebase", "reference-transaction"):
        write_hook(folder / name, f'echo "{name} $#" >> {log}; [ -t 0 ] || cat >/dev/null')


def _set_up(shell: Shell, kind: str) -> Path:
    """Own hooks as one of the known tools keeps them; the file that they write to."""
    root = shell.project.root
    log = root.parent / "log"
    folder = {"git": root / ".git/hooks", "husky": root / ".husky/_", "home": root.parent / "own"}.get(kind)
    if kind == "include":
        folder = root.parent / "included"
        (root.parent / "more").write_text(f"[core]\n\thooksPath = {folder}\n")
        shell.run("git config include.path ../../more", session="")
    elif kind == "husky":
        shell.run("git config core.hooksPath .husky/_", session="")
    elif kind == "home":
        shell.run(f"git config --global core.hooksPath {folder}", session="")
    elif kind == "worktree":
        folder = root.parent / "per-worktree"
        shell.run("git config extensions.worktreeConfig true", session="")
        shell.run(f"git config --worktree core.hooksPath {folder}", session="")
    elif kind == "variable":
        folder = root.parent / "by-variable"
    assert folder is not None
    _own_hooks(folder, log)
    return log


@pytest.mark.parametrize("kind", ["git", "husky", "home", "include", "worktree", "variable"])
def test_own_hooks_run_as_without_us(shell: Shell, kind: str) -> None:
    """The same ones, in the same order, once, with the same arguments; also installed after the start."""
    log = _set_up(shell, kind)
    setting = {}
    if kind == "variable":
        setting = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath"}
        setting["GIT_CONFIG_VALUE_0"] = str(log.parent / "by-variable")
    line = "git commit -q --allow-empty -m x; git commit -q --amend --allow-empty -m y"
    line += "; git push -q -f origin HEAD; git checkout -q -b topic; git checkout -q feature/x"
    shell.run(line, session="", **setting)
    alone = log.read_text()
    shell.run("git branch -D topic", session="")
    log.unlink()
    shell.project.configure(RULES.replace("enabled: true", "enabled: false"))
    # What runs before any hook of ours may pass one of these on only from the second time on.
    shell.run("git commit -q --allow-empty -m x", **setting)
    log.unlink(missing_ok=True)
    shell.run(line, **setting)
    assert log.read_text() == alone and "reference-transaction" in alone


def test_an_own_hook_that_refuses_still_does(shell: Shell) -> None:
    write_hook(shell.project.root / ".git/hooks/pre-commit", "echo no >&2; exit 7")
    shell.project.req("satisfy", "review", "--session", A)
    shell.start(source="resume")
    done = shell.run("git commit -q --allow-empty -m x")
    assert (done.returncode, done.stderr) == (1, "no\n")


def test_an_own_hook_of_a_moment_ago_is_not_passed_over(shell: Shell) -> None:
    """git has looked in our folder already, where it was not: the commit is made with it, or not at all."""
    shell.project.req("satisfy", "review", "--branch", "feature/x")
    line = "git commit -q --allow-empty -m x"
    write_hook(shell.project.root / ".git/hooks/pre-commit", "echo own hook >&2")
    for session in (A, ""):
        shutil.rmtree(shell.project.data / "git-hooks")
        shell.start(source="resume")
        (shell.project.data / "git-hooks/pre-commit").unlink()
        tip = shell.tip()
        done = shell.run(f". {shell.env_file}; {line}", session=session)
        assert done.returncode == 1 and "run the same command again" in done.stderr, done
        assert shell.tip() == tip
        done = shell.run(f". {shell.env_file}; {line}", session=session)
        assert (done.returncode, done.stderr) == (0, "own hook\n")


@pytest.mark.parametrize("line", ["git commit -qnm x --allow-empty", "git cherry-pick --allow-empty other"])
def test_what_runs_no_such_hook_goes_on_without_it(shell: Shell, line: str) -> None:
    shell.project.req("satisfy", "review", "--branch", "feature/x")
    shell.run(
        "git switch -qc other && git commit -q --allow-empty -m o && git switch -q feature/x", session=""
    )
    write_hook(shell.project.root / ".git/hooks/pre-commit", "echo own hook >&2")
    assert not shell.held(line)


def test_an_own_hook_reads_what_git_gives_it(shell: Shell) -> None:
    root = shell.project.root
    write_hook(root / ".git/hooks/pre-push", f"cat > {root.parent}/refs; pwd > {root.parent}/where")
    shell.project.req("satisfy", "review", "--session", A)
    assert not shell.held("git push -q origin HEAD", CLAUDE_PROJECT_DIR="/")
    assert (root.parent / "refs").read_text().startswith("HEAD ")
    assert (root.parent / "where").read_text() == f"{root}\n"


def test_ours_asks_before_a_slow_own_hook_runs(shell: Shell) -> None:
    write_hook(shell.project.root / ".git/hooks/pre-commit", "touch ran")
    assert shell.held("git commit -q --allow-empty -m x")
    assert not (shell.project.root / "ran").exists()


# The environment file


def test_the_settings_stand_behind_those_that_are_there_and_once(shell: Shell) -> None:
    before = shell.env_file.read_text()
    for source in ("resume", "clear", "compact", "fork"):
        shell.start(B if source == "clear" else A, source)
    assert shell.env_file.read_text() == before
    count = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.nickname", "GIT_CONFIG_VALUE_0": "kept"}
    read = f"git config user.nickname; . {shell.env_file}; git config core.hooksPath; echo $GIT_CONFIG_COUNT"
    folder = shell.project.data / "git-hooks"
    assert shell.run(read, **count).stdout.split() == ["kept", str(folder), "2"]
    for program in ("dash", "zsh"):
        line = f". {shell.env_file} && git config core.hooksPath"
        done = shell.run(f"command -v {program} >/dev/null || exit 9; exec {program} -c '{line}'", session="")
        assert done.returncode == 9 or done.stdout == f"{folder}\n"


def test_another_start_writes_no_such_file(cli: Cli) -> None:
    """Without requirements git is left alone."""
    project = repository(cli)
    (project.root / ".claude/requirements.yaml").unlink()
    with an_owner(cli):
        shell = Shell(project)
    assert not shell.env_file.exists()


def test_a_folder_that_an_installer_wrote_into_is_put_right(shell: Shell) -> None:
    """What it wrote is moved to where it meant to write."""
    folder = shell.project.data / "git-hooks"
    folder.chmod(0o700)
    (folder / "prepare-commit-msg").unlink()
    write_hook(folder / "pre-commit", "echo installed >&2")
    assert not shell.held("git commit -q --allow-empty -m x")
    shell.start(source="resume")
    assert shell.held("git commit -q --allow-empty -m x")
    assert folder.stat().st_mode & 0o222 == 0
    assert shell.run("git commit -q --allow-empty -m x", session="").stderr == "installed\n"


# Hooks in the repository itself, for other hosts


@pytest.fixture
def installed(cli: Cli) -> Iterator[Shell]:
    """A session without an environment file, in a repository with our hooks and an own one."""
    project = repository(cli)
    write_hook(project.root / ".git/hooks/prepare-commit-msg", "echo own $# >&2")
    project.hosts = Hosts()  # the client is no ancestor of a person's shells
    try:
        with an_owner(cli):
            shell = Shell(project)
            shell.env_file.write_text("")
            project.req("git-hooks", "install")
            yield shell
    finally:
        project.hosts.close()


def test_installed_hooks_ask_an_agent_and_run_what_was_there(installed: Shell) -> None:
    assert installed.held("git commit -q --allow-empty -m x")
    assert installed.run("git commit -q --allow-empty -m x", session="").stderr == "own 2\n"
    installed.project.req("git-hooks", "install")
    installed.project.req("satisfy", "review", "--session", A)
    assert installed.run("git commit -q --allow-empty -m x").stderr == "own 2\n"


def test_installed_hooks_survive_the_pre_commit_framework(installed: Shell) -> None:
    """It moves the hook that it finds to NAME.legacy, and calls that."""
    hook = installed.project.root / ".git/hooks/prepare-commit-msg"
    hook.rename(hook.with_suffix(".legacy"))
    write_hook(hook, '"$0.legacy" "$@" || exit 1; echo framework >&2')
    assert installed.held("git commit -q --allow-empty -m x")
    assert installed.run("git commit -q --allow-empty -m x", session="").stderr == "own 2\nframework\n"
    installed.project.req("git-hooks", "install")
    assert "framework" in hook.read_text()
    installed.project.req("git-hooks", "remove")
    assert installed.run("git commit -q --allow-empty -m x").stderr == "own 2\nframework\n"


def test_removed_hooks_leave_the_folder_as_it_was(installed: Shell) -> None:
    folder = installed.project.root / ".git/hooks"
    refused = installed.project.req("git-hooks", "remove", code=1, CLAUDECODE="1")
    assert "by a person" in refused and (folder / "pre-push").exists()
    installed.project.req("git-hooks", "remove")
    assert {path.name for path in folder.iterdir() if path.suffix != ".sample"} == {"prepare-commit-msg"}
    assert installed.run("git commit -q --allow-empty -m x").stderr == "own 2\n"


def test_hooks_in_the_working_tree_are_not_touched(shell: Shell) -> None:
    shell.run("git config core.hooksPath hooks", session="")
    assert "|| exit 1" in shell.project.req("git-hooks", "install", code=1)
    assert not (shell.project.root / "hooks").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells a process's ancestors here")
@pytest.mark.parametrize("env_file", [True, False])
def test_a_hook_in_the_working_tree_that_asks_as_it_was_told_to(cli: Cli, env_file: bool) -> None:
    """Once for each commit, in a session whose git asks anyway, and in one of a host where it does not."""
    project = repository(cli)
    project.hosts = Hosts()  # the client is no ancestor of a person's shells
    try:
        with an_owner(cli):
            shell = Shell(project)
            if not env_file:
                shell.env_file.write_text("")
            _asks_from_the_working_tree(shell)
    finally:
        project.hosts.close()


def _asks_from_the_working_tree(shell: Shell) -> None:
    shell.run("git config core.hooksPath hooks", session="")
    advice = shell.project.req("git-hooks", "install", code=1).split("pre-push: ")[1].strip()
    line = advice.replace("context-graph-cli", str(shell.project.cli.launcher))
    path = shell.project.root / "hooks/prepare-commit-msg"
    write_hook(path, f"echo own >&2\n{line.replace('NAME', path.name)}\nexit 0")
    assert shell.held("git commit -q --allow-empty -m x")
    assert shell.run("git commit -q --allow-empty -m x", session="").stderr == "own\n"
    shell.project.req("satisfy", "review", "--session", A)
    done = shell.run("git commit -q --allow-empty -m x")
    assert (done.returncode, done.stderr.count("own\n")) == (0, 1)
    assert shell.held("git commit -q --allow-empty -m x")


def test_a_host_that_names_no_session_is_known_by_its_process(installed: Shell) -> None:
    """A shell below the client's process, without any variable of ours."""
    project = installed.project
    assert project.hosts is not None
    line = "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m x"
    done = project.hosts.run(A, ["sh", "-c", line], "", project.cli.env, project.root)
    assert done.returncode == 1 and "Blocked by a requirement" in done.stderr


# Commits that no hook was asked about

PLUMBING = "git update-ref HEAD $(git commit-tree -p HEAD -m x $(git write-tree))"
BY_HAND = "git -c core.hooksPath=/dev/null commit -q --allow-empty -m x"


def _call(shell: Shell, command: str, session: str = A) -> Answer:
    """The whole call, as far as the text lets it run: what its end tells."""
    project, name = shell.project, f"toolu_{command}"
    given = {"tool_name": "mcp__shell__run", "tool_input": {"line": command}, "tool_use_id": name}
    assert project.hook("pre-tool", session, **given).decision == "allow"
    done = shell.run(command, session=session)
    return project.hook("post-tool", session, **given, tool_response={"stdout": done.stdout})


@pytest.mark.parametrize("command", [PLUMBING, BY_HAND])
def test_a_commit_past_the_hooks_is_told_and_held_against_the_stop(shell: Shell, command: str) -> None:
    answer = _call(shell, command)
    tip = shell.tip()[:8]
    for text in (answer.message, answer.context):
        assert tip in text and "review was not asked for" in text
    assert shell.project.stop().names == ["review"]
    assert _call(shell, "true").message == "", "told once"
    shell.project.req("satisfy", "review", "--session", A)
    assert shell.project.stop().decision == "allow"


def test_such_a_commit_uses_up_what_was_met_for_one(shell: Shell) -> None:
    shell.project.req("satisfy", "review", "--session", A)
    assert _call(shell, PLUMBING).message == "", "it was met"
    assert shell.held("git commit -q --allow-empty -m x")


@pytest.mark.parametrize(
    "command",
    [
        *("git checkout -q -b next", "git reset -q --hard HEAD~1", "git merge -q --ff-only later"),
        *(
            "git rebase -q --onto later HEAD~1",
            "git fetch -q . later:other",
            "git stash -q; git stash pop -q",
        ),
        *("git pull -q . later", "git branch -f other later", "git notes add -m n", "true"),
    ],
)
def test_what_moves_head_without_a_commit_is_not_told(shell: Shell, command: str) -> None:
    shell.run("git commit -q --allow-empty -m 1; git branch later", session="")
    shell.run("git checkout -q later; echo l > l; git add l; git commit -qm l; git checkout -q -", session="")
    (shell.project.root / "a").write_text("changed\n") if "stash" in command else None
    if "rebase" in command:
        shell.run("echo n > n; git add n; git commit -qm n", session="")
    assert _call(shell, command).document == {}
    assert shell.project.stop().decision == "allow"


def test_a_persons_commit_between_two_calls_is_not_told(shell: Shell) -> None:
    assert _call(shell, "true").document == {}
    shell.run("git commit -q --allow-empty -m mine", session="")
    assert _call(shell, "true").document == {}


def test_a_commit_that_a_hook_was_asked_about_is_not_told(shell: Shell) -> None:
    shell.project.req("satisfy", "review", "--session", A)
    for line in ("git commit -q --allow-empty -m 1; git commit -q --allow-empty -m 2", "true"):
        assert "past" not in _call(shell, line).message


# What is said where nothing can decide


def _without_anybody(shell: Shell) -> dict[str, str]:
    """The environment in which no owner can be had."""
    shell.project.cli.stop_owner()
    return {"CONTEXT_GRAPH_PYTHON": "/bin/false"}


def test_git_goes_on_aloud_where_nothing_can_decide(shell: Shell) -> None:
    env = _without_anybody(shell)
    done = shell.run("git commit -q --allow-empty -m x", **env)
    assert done.returncode == 0 and "the requirement gates could not be checked" in done.stderr


def test_with_strict_gates_it_is_held_back(shell: Shell) -> None:
    env = _without_anybody(shell)
    settings = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "onFailure": "block"}]}]}}
    (shell.project.root / ".claude/settings.json").write_text(json.dumps(settings, indent=2))
    done = shell.run("git commit -q --allow-empty -m x", **env)
    assert done.returncode == 1 and "held back (strict gates)" in done.stderr


def test_an_owner_that_is_gone_is_started(shell: Shell) -> None:
    shell.project.cli.stop_owner()
    assert shell.held("git commit -q --allow-empty -m x")


def test_where_our_program_is_gone_git_is_left_alone(shell: Shell) -> None:
    write_hook(shell.project.root / ".git/hooks/pre-commit", "echo own hook >&2")
    text = shell.env_file.read_text()
    shell.env_file.write_text(
        text.replace(os.fspath(shell.project.cli.launcher), "/nowhere/context-graph-cli")
    )
    assert shell.env_file.read_text() != text
    assert shell.run("git commit -q --allow-empty -m x").stderr == "own hook\n"


def test_a_program_whose_path_no_first_line_takes_is_called_by_a_shell(cli: Cli, tmp_path: Path) -> None:
    """Such as one with a space in it."""
    project = repository(cli)
    folder = tmp_path / "a b"
    folder.mkdir()
    launcher = Path(shutil.copy(cli.launcher, folder / "context-graph-cli"))
    project.cli = replace(cli, launcher=launcher)
    with an_owner(cli):
        shell = Shell(project)
        hook = project.data / "git-hooks/prepare-commit-msg"
        assert hook.read_text().startswith("#!/bin/sh")
        assert shell.held("git commit -q --allow-empty -m x")


def test_a_dynamic_requirement_is_computed_for_the_index_that_is_committed(shell: Shell) -> None:
    """Its command sees what git would commit, also with `-a`."""
    shell.project.configure(
        textwrap.dedent("""
            version: "1.0"
            inherit: false
            requirements:
              size:
                enabled: true
                type: dynamic
                command: "git diff --cached --numstat | wc -l"
                cache_ttl: 0
                thresholds: {block: 1}
                trigger_tools: [{git: commit}]
        """)
    )
    assert not shell.held("git commit -q --allow-empty -m x")
    (shell.project.root / "a").write_text("b\n")
    assert shell.held("git commit -qam x")
