"""Files of every kind damaged in every way: no hook fails or hangs, and what can be told apart is not lost.

For each case a project with sessions and memories is copied back, one of its files broken, and hooks and
commands go on. If the store still opens, it must have all that was acknowledged. If it does not, that is
said, the events wait in the log, and they are applied once the database is restored from its copy.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faults.damage import Case, cases, replace_tree
from tests.faults.world import World

SESSIONS = ("damage-0", "damage-1")
REQUIREMENTS = """
version: "1.0"
inherit: false
requirements:
  plan: {enabled: true}
"""


@dataclass
class Template:
    """What each case begins with."""

    folders: dict[str, Path]
    """As they are in use."""
    kept: dict[str, Path]
    """Their copies."""
    world: World

    @classmethod
    def make(cls, world: World, place: Path) -> Template:
        """Sessions and memories: a part in tables, a part only in the log, a part in the event log."""
        _write_settings(world)
        for session in SESSIONS:
            world.start(session)
        for number in range(6):
            world.hook(SESSIONS[number % 2], f"toolu_before_{number}")
            assert (
                world.remember(f"Before the damage: bucket {number} holds {number * 11} tokens") is not None
            )
        assert world.cli.run("owner", "stop").returncode == 0
        world.start(SESSIONS[0])
        for number in range(4):
            world.hook(SESSIONS[0], f"toolu_log_{number}")
            assert world.remember(f"In the log: bucket {number} leaks {number * 13} tokens") is not None
        pid = world.signal_owner(signal.SIGSTOP)
        world.hook(SESSIONS[1], "toolu_waits")
        world.signal_owner(signal.SIGKILL)
        assert pid is not None
        folders = {"root": world.root, "project": world.cli.project, "home": Path(world.cli.env["HOME"])}
        kept = {name: place / name for name in ("root", "project")}
        kept["config"] = place / "config"
        for name in ("root", "project"):
            replace_tree(folders[name], kept[name])
        replace_tree(folders["home"] / ".config", kept["config"])
        return cls(folders, kept, world)

    def back(self) -> World:
        """Everything as it was; a world with the ledger of then."""
        for name in ("root", "project"):
            replace_tree(self.kept[name], self.folders[name])
        replace_tree(self.kept["config"], self.folders["home"] / ".config")
        first = self.world
        return World(
            first.cli, first.row, first.log, copy.deepcopy(first.sent), copy.deepcopy(first.acknowledged),
            dict(first.memories),
        )  # fmt: skip


def _write_settings(world: World) -> None:
    folder = world.cli.project / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "context-graph.toml").write_text('identity_lines = "always"\nmemory_floor = 0.4\n')
    (folder / "requirements.yaml").write_text(REQUIREMENTS)
    user = Path(world.cli.env["HOME"]) / ".config" / "context-graph-cli"
    user.mkdir(parents=True, exist_ok=True)
    (user / "config.toml").write_text("dream = false\n")


def _live_on(world: World, number: int) -> bool:
    """Hooks and commands with the damage; whether the store still opens."""
    world.start(SESSIONS[0])
    for session in SESSIONS:
        for verb in ("pre-tool", "post-tool"):
            world.hook(session, f"toolu_{number}_{session}_{verb}", verb)
    world.remember(f"After the damage: case {number}")
    for words in (
        ("memory", "recall", "bucket tokens"),
        ("memory", "stats"),
        ("req", "status"),
        ("owner", "status"),
    ):
        done = world.command(*words)
        said = (done.stdout + done.stderr).decode(errors="replace") if done else ""
        assert "Traceback" not in said, said
    shown = world.cli.run("session", "show", "--session-id", SESSIONS[0], "--json", timeout=90)
    stored = world.cli.run("memory", "list", "--format", "json", timeout=90)
    if shown.returncode == 0 and stored.returncode == 0 and json.loads(shown.stdout)["events_waiting"] == 0:
        return True
    world.log("refused", said=(shown.stderr + stored.stderr)[:600])
    assert shown.stderr or stored.stderr or json.loads(shown.stdout)["events_waiting"], (
        "it failed without a word"
    )
    return False


def _restore(template: Template, world: World) -> None:
    """Database, settings and the owner's own files from their copies; the event log has what came since."""
    world.cli.run("owner", "stop")
    world.signal_owner(signal.SIGKILL)
    (store,) = (template.kept["root"] / "stores").iterdir()
    replace_tree(store / "db", world.store / "db")
    replace_tree(template.kept["root"] / "run", world.root / "run")
    replace_tree(template.kept["root"] / "cache", world.root / "cache")
    for name in ("memory.index", "memory.figures"):
        target = world.store / name
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)


def _one(template: Template, case: Case, number: int, rng: random.Random) -> None:
    world = template.back()
    before = (world.row.lost, set(world.memories))
    broken = case.do(template.folders, rng)
    if broken is None:
        world.log("no such file", case=case.name)
        return
    world.fault("damage", case=case.name, file=broken.name)
    opened = _live_on(world, number)
    if not opened:
        _restore(template, world)
    world.log("case", case=case.name, opened=opened)
    if opened and case.may_lose:
        _forgive(world)
    world.judge()
    assert world.row.lost == before[0], case.name


def _forgive(world: World) -> None:
    """Leave what only the damaged file held out of the ledger; all else is still judged."""
    for names in world.acknowledged.values():
        names -= {name for name in names if name.startswith(("toolu_log_", "toolu_waits"))}
    world.memories = {key: text for key, text in world.memories.items() if not text.startswith("In the log")}


def _torture(world: World, place: Path, count: int | None) -> None:
    rng = random.Random(world.row.seed)
    template = Template.make(world, place)
    failed = []
    for number, case in enumerate(cases(rng, count)):
        try:
            _one(template, case, number, rng)
        except AssertionError as error:
            world.log("failed", case=case.name, error=str(error)[:2000])
            failed.append(f"{case.name}: {str(error)[:700]}")
        finally:
            world.cli.run("owner", "stop")
    assert not failed, "\n\n".join(failed)


@pytest.mark.timeout(900)
def test_damage_short(make_world: Callable[..., World], tmp_path: Path, rounds: Callable[[int], int]) -> None:
    """A handful of the cases."""
    _torture(make_world(), tmp_path / "kept", rounds(5))


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_damage(make_world: Callable[..., World], tmp_path: Path) -> None:
    """All kinds of files, all ways."""
    _torture(make_world(), tmp_path / "kept", None)
