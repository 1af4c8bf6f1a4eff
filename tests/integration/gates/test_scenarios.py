"""Behaviour of the gates as users meet it, scenario by scenario, with an owner and from files alone.

A step's word is a method of World or a function of EXTRA; the scenarios are in tests.support.gates.scenarios.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.gates.installed import GateProject, Hosts, an_owner
from tests.support.gates.scenarios import PLAN, SCENARIOS, VERIFY, rules


@dataclass
class World:
    """One scenario's repository, and what its steps do to it."""

    project: GateProject
    name: str
    folder: Path
    cwd: Path | None = None

    def id(self, letter: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.name}.{letter}"))

    def words(self, text: str) -> str:
        """``text`` with $REPO, $HOME, $OUT and the sessions ($A, $A8) filled in."""
        for letter in "ABC":
            text = text.replace(f"${letter}8", self.id(letter)[:8]).replace(f"${letter}", self.id(letter))
        text = text.replace("$REPO", str(self.project.root)).replace("$OUT", str(self.folder / "out"))
        return text.replace("$HOME", self.project.cli.env["HOME"])

    def before(self, session: str, tool: str, given: dict[str, str], expected: object) -> None:
        """PreToolUse; expected is "allow" or the names in the refusal."""
        filled = {key: self.words(value) for key, value in given.items()}
        answer = self.project.hook(
            "pre-tool", self.id(session), tool_name=tool, tool_input=filled, cwd=self.cwd
        )
        found = "allow" if answer.decision == "allow" else answer.names
        assert found == (expected if isinstance(expected, str) else sorted(expected)), (tool, given)  # type: ignore[call-overload]

    def edit(self, session: str, expected: object, path: str = "$REPO/src/a.py") -> None:
        self.before(session, "Edit", {"file_path": path}, expected)

    def bash(self, session: str, command: str, expected: object) -> None:
        self.before(session, "Bash", {"command": command}, expected)

    def tool(self, session: str, tool: str, expected: object) -> None:
        self.before(session, tool, {}, expected)

    def ran(self, session: str, tool: str, given: dict[str, str]) -> None:
        """PostToolUse."""
        self.project.hook("post-tool", self.id(session), tool_name=tool, tool_input=given, cwd=self.cwd)

    def failed(self, session: str, tool: str, given: dict[str, str]) -> None:
        body = {"tool_name": tool, "tool_input": given, "error": "x"}
        self.project.hook("post-tool-failure", self.id(session), cwd=self.cwd, **body)

    def stop(self, session: str, expected: object, active: bool = False) -> None:
        answer = self.project.hook("stop", self.id(session), stop_hook_active=active, cwd=self.cwd)
        assert ("allow" if answer.decision == "allow" else answer.names) == expected

    def start(self, session: str, source: str, told: bool = True) -> None:
        answer = self.project.hook("session-start", self.id(session), source=source, cwd=self.cwd)
        assert ("requirement" in answer.context.lower()) is told

    def end(self, session: str) -> None:
        self.project.hook("session-end", self.id(session), reason="other", cwd=self.cwd)

    def req(self, *args: str, code: int = 0) -> None:
        self.project.req(*(self.words(arg) for arg in args), code=code)

    def fails(self, *args: str) -> None:
        self.req(*args, code=1)

    def mistypes(self, *args: str) -> None:
        self.req(*args, code=2)

    def host(self, session: str, *args: str) -> None:
        """A command of the session's own shell."""
        self.project.req(*args, CLAUDE_CODE_SESSION_ID=self.id(session))

    def dies(self, session: str) -> None:
        """The client's process is gone, without a SessionEnd."""
        assert self.project.hosts is not None
        self.project.hosts.kill(self.id(session))

    def satisfied(self, name: str, session: str, expected: bool) -> None:
        shown = json.loads(self.project.req("status", "--json", "--session", self.id(session)))
        assert shown["requirements"][name]["satisfied"] is expected

    def git(self, *args: str) -> None:
        self.project.git(*args)

    def clock(self, seconds: int) -> None:
        """Later from here on, for hooks and commands alike."""
        self.project.later(seconds)

    def write(self, path: str, text: str) -> None:
        place = Path(self.words(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.words(text))

    def remove(self, path: str) -> None:
        Path(self.words(path)).unlink()

    def go(self, path: str) -> None:
        """The session's shell moves: the next hooks come from there."""
        self.cwd = Path(self.words(path))
        self.cwd.mkdir(parents=True, exist_ok=True)

    def worktree(self, branch: str) -> None:
        self.project.git("worktree", "add", "-q", "-b", branch, str(self.folder / "out" / "wt"))


@pytest.fixture(scope="module")
def module_cli(shared_cli: Cli) -> Iterator[Cli]:
    """One home, data root and owner for all scenarios."""
    with an_owner(shared_cli):
        yield shared_cli


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    """A process for each session."""
    made = Hosts()
    yield made
    made.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(module_cli: Cli, hosts: Hosts, tmp_path: Path, name: str) -> None:
    """See the scenario's name."""
    config, steps = SCENARIOS[name]
    project = GateProject(replace(module_cli, project=tmp_path / "repo"), hosts=hosts)
    (project.root / "src").mkdir(parents=True)
    (project.root / "src" / "a.py").write_text("a\n")
    project.git("init", "-q", "-b", "main")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "init")
    project.git("checkout", "-q", "-b", "feature/x")
    project.configure(config)
    world = World(project, name, tmp_path)
    for number, (word, *args) in enumerate(steps, 1):
        try:
            (EXTRA[word](world, *args) if word in EXTRA else getattr(world, word)(*args))
        except AssertionError as error:
            raise AssertionError(f"step {number}, {word} {args}: {error}") from error


def conflict(world: World, how: str) -> None:
    """A merge or rebase that stops in its middle."""
    for branch, text in (("other", "o\n"), ("feature/x", "f\n")):
        world.git("checkout", "-q", *(["-b", branch, "main"] if branch == "other" else [branch]))
        world.write("$REPO/src/a.py", text)
        world.git("commit", "-qam", branch)
    with pytest.raises(subprocess.CalledProcessError):
        world.git(how, "other")


def there(world: World, path: str) -> None:
    assert Path(world.words(path)).exists()


def odd_session(world: World, session: str) -> None:
    """An id that would be dangerous as a file's name gates like any other; nothing is written elsewhere."""
    before = {path for path in world.folder.rglob("*") if world.project.root / ".git" not in path.parents}
    assert world.project.edit(session).names == ["plan"]
    world.project.req("satisfy", "plan", "--session", session)
    assert world.project.edit(session).decision == "allow"
    assert world.project.stop(session).decision == "block"
    after = {path for path in world.folder.rglob("*") if world.project.root / ".git" not in path.parents}
    assert after == before


def damage(world: World, text: str) -> None:
    """Every state file of the repository becomes ``text``."""
    found = [*(world.project.root / ".git" / "requirements").glob("*.json")]
    assert found
    for path in found:
        path.write_text(text)


EXTRA: dict[str, Callable[..., None]] = {
    "conflict": conflict,
    "there": there,
    "odd_session": odd_session,
    "damage": damage,
}


def test_no_folder_of_git_means_nothing_is_enforced_and_nothing_is_made(
    module_cli: Cli, hosts: Hosts, tmp_path: Path
) -> None:
    """Show 5: without a repository there is no branch to hold anything to; no bogus .git appears."""
    project = GateProject(replace(module_cli, project=tmp_path / "plain"), hosts=hosts)
    project.root.mkdir()
    project.configure(rules(PLAN, VERIFY))
    assert project.edit().decision == "allow"
    assert project.stop().decision == "allow"
    project.hook("session-end", reason="other")
    assert sorted(path.name for path in project.root.iterdir()) == [".claude"]


def test_a_repository_that_can_t_be_written_gates_all_the_same(
    module_cli: Cli, hosts: Hosts, tmp_path: Path
) -> None:
    """Show 5: a file where the state's folder would be; what can't be kept is said, what is unmet refused."""
    project = GateProject(replace(module_cli, project=tmp_path / "repo"), hosts=hosts)
    project.root.mkdir()
    project.git("init", "-q", "-b", "feature/x")
    project.configure(rules(PLAN, VERIFY))
    (project.root / ".git" / "requirements").write_text("in the way")
    assert project.edit().names == ["plan"]
    said = project.req("satisfy", "plan", "--session", "s", code=1)
    assert "can't be written" in said
    shutil.rmtree(project.root)
