"""Commands that reach what only a person may change, and the many more that do not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.gates.commands_allowed import LEAVES_ALONE
from tests.support.gates.commands_denied import TAKES_AWAY
from tests.support.gates.commands_disguised import DISGUISED
from tests.support.gates.commands_lookalike import LOOKALIKE

from context_graph.gates.decide.touching import Touch, touch
from context_graph.gates.shell.protected import Protected
from context_graph.gates.state.project import Project
from context_graph.git.repository import find_repo


class Place:
    """A repository with a requirements file, a home beside it, and a folder of somebody else's."""

    def __init__(self, base: Path) -> None:
        self.root, self.home, self.other = base / "repo", base / "home", base / "other"
        for folder in (self.root / ".claude" / "skills", self.home / ".claude", self.other / ".git"):
            folder.mkdir(parents=True)
        for folder in (self.root / ".git" / "objects", self.root / ".git" / "refs", self.root / "src"):
            folder.mkdir(parents=True)
        (self.root / ".git" / "HEAD").write_text("ref: refs/heads/x\n")
        (self.root / ".claude" / "requirements.yaml").write_text("requirements: {}\n")
        (self.root / "link").symlink_to(self.root / ".claude")
        project = Project(str(self.root), find_repo(str(self.root)))
        self.ours = Protected(project, str(self.home / ".claude"), str(base / "data" / "cache"))

    def touch(self, command: str, cwd: str = "") -> Touch:
        text = command.replace("@", str(self.root)).replace("%", str(self.other))
        return touch(text, ["sign", "deploy"], self.ours, cwd or str(self.root), str(self.home))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("touching"))


@pytest.mark.parametrize("command", [*TAKES_AWAY, *DISGUISED])
def test_what_takes_the_gates_files_away_is_held(place: Place, command: str) -> None:
    found = place.touch(command)
    assert found.why and found.names == ["sign", "deploy"]


@pytest.mark.parametrize("command", [*LEAVES_ALONE, *LOOKALIKE])
def test_reading_and_plain_work_pass(place: Place, command: str) -> None:
    found = place.touch(command)
    assert not found.why, (found.why, found.names)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("context-graph-cli req satisfy deploy commit_plan", ["deploy"]),
        ("context-graph-cli req satisfy commit_plan; context-graph-cli req approve sign", ["sign"]),
        ("context-graph-cli req satisfy sign deploy", ["sign", "deploy"]),
        ("context-graph-cli req clear --all", ["sign", "deploy"]),
        ("context-graph-cli req $V sign", ["sign", "deploy"]),
        ("context-graph-cli req satisfy $N", ["sign", "deploy"]),
        ("echo sign | xargs context-graph-cli req satisfy", ["sign", "deploy"]),
        ("context-graph-cli req disable", ["sign", "deploy"]),
        ("context-graph-cli req disable sign", ["sign"]),
        ("script -qc 'context-graph-cli req satisfy sign' /dev/null", ["sign"]),
        ("at now <<< 'context-graph-cli req satisfy sign'", ["sign"]),
        ("tmux new -d 'context-graph-cli req satisfy sign'", ["sign"]),
        ("python3 -m context_graph.cli req satisfy sign", ["sign"]),
        ("expect -c 'spawn context-graph-cli req satisfy sign'", ["sign"]),
    ],
)
def test_only_what_is_named_counts(place: Place, command: str, names: list[str]) -> None:
    """Client defect 15: a plain requirement's satisfaction was refused because another is human_only."""
    found = place.touch(command)
    assert found.why and found.names == names


@pytest.mark.parametrize(
    "piece",
    [
        "read a;",
        "x < <(y);",
        "read a; x < <(y);",
        "while read a; do rm $a; done < l;",
        "a=$a$(git ls-files);",
    ],
)
def test_following_lists_takes_no_longer_than_the_line_is_long(place: Place, piece: str) -> None:
    began = time.thread_time()
    place.touch("git ls-files > l;" + piece * (100_000 // len(piece)) + "read a;" * 100 + "x < <(y);" * 200)
    assert time.thread_time() - began < 10
