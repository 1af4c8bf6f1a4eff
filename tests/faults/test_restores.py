"""kill -9 of `restore`: the store is wholly the one before or wholly the backup, and nothing is lost."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.faults.report import Log, Row
from tests.faults.steps import Steps
from tests.faults.world import LONG, SEED
from tests.support.cli import Cli
from tests.support.sessions import hook, memory, remember

from context_graph.cli.backup.make import probe
from context_graph.config import data_root, store_dir

FACT = "Rate limits count per API key, not per IP"
LATE = "Staging listens on port 8443 since the move"
LONGEST_S = 1.6
"""A restore of these few memories takes some 0.8 s, on a busy machine twice that."""


@dataclass
class Trial:
    """A store whose last memory is younger than its backup, as it was, and what restores made of it."""

    cli: Cli
    steps: Steps
    backup: Path
    kept: Path
    row: Row
    log: Log
    found: dict[str, int] = field(default_factory=lambda: {"before": 0, "after": 0})

    @classmethod
    def make(cls, cli: Cli, folder: Path, row: Row) -> Trial:
        steps = Steps.build(folder)
        remember(cli, FACT)
        hook(cli, "session-start", "first-session", source="startup")
        done = cli.run("backup", str(folder / "backup"))
        assert done.returncode == 0, done.stderr
        remember(cli, LATE)
        assert cli.run("owner", "stop").returncode == 0
        made = cls(cli, steps, folder / "backup", folder / "kept", row, Log(row.scenario, SEED))
        shutil.copytree(made.store, made.kept)
        return made

    @property
    def store(self) -> Path:
        return store_dir(data_root(self.cli.env), self.cli.project)

    def reset(self) -> None:
        """The store as it was, without an owner."""
        self.cli.run("owner", "stop")
        shutil.rmtree(self.store)
        shutil.copytree(self.kept, self.store)

    def calls(self, *, exchanges: bool) -> list[str]:
        """The calls of a restore that nobody kills."""
        self.reset()
        done = self.steps.run(self.cli, *self._words, exchanges=exchanges)
        assert done.returncode == 0, done.stderr
        return self.steps.calls

    def die_at(self, number: int, *, exchanges: bool) -> None:
        """Kill a restore before that call of it, and judge."""
        self.reset()
        done = self.steps.run(self.cli, *self._words, die_at=number, exchanges=exchanges)
        assert done.returncode == -9, (number, done)
        self._judge(f"call {number}, after {self.steps.calls[-1:]}, exchanges: {exchanges}")

    def die_after(self, seconds: float, *, owner: bool) -> None:
        """Kill one that long after its start, and judge; with ``owner`` one has the store open then."""
        self.reset()
        if owner:
            assert _texts(self.cli) == [FACT, LATE]
        process = self.steps.start(self.cli, *self._words)
        try:
            process.communicate(timeout=seconds)  # the random moment of the kill
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        self._judge(f"after {seconds:.3f} s, ended with {process.returncode}, owner: {owner}")

    @property
    def _words(self) -> tuple[str, ...]:
        return "restore", str(self.backup), "--yes", "--json"

    def _judge(self, moment: str) -> None:
        self.row.faults += 1
        state = {(FACT, LATE): "before", (FACT,): "after"}.get(tuple(_texts(self.cli)), "neither")
        self.log("restore killed", moment=moment, state=state)
        assert state != "neither", (moment, _texts(self.cli))
        self.found[state] += 1
        # Nor half: its sessions are there, and its index is of this database and no other.
        assert json.loads(self.cli.run("session", "list", "--json").stdout)["total"] == 1, moment
        hit = memory(self.cli, "recall", "port of staging since the move")["nodes"]
        assert (LATE in {node["content"] for node in hit}) == (state == "before"), moment
        assert state == "before" or self._old_databases() == 1, moment
        self._finish(moment)

    def _finish(self, moment: str) -> None:
        """A second restore comes to its end, and takes away what the first has left."""
        done = self.cli.run(*self._words)
        assert done.returncode == 0, (moment, done.stderr)
        assert _texts(self.cli) == [FACT], moment
        assert self._old_databases() == 1, moment
        hidden = [path.name for path in self.store.iterdir() if path.name.startswith(".")]
        assert [name for name in hidden if name != ".restore.lock"] == [], moment
        assert all(any(path.iterdir()) for path in self.store.glob("before-restore-*")), moment

    def _old_databases(self) -> int:
        """How many folders that the user is told of hold the database that was there before."""
        kept = self.store.glob("before-restore-*/db")
        return sum(probe(path)["memories"] == 2 for path in kept)


def _texts(cli: Cli) -> list[str]:
    """What the next command finds in the store."""
    return sorted(node["content"] for node in memory(cli, "list")["nodes"])


def _takes_place(calls: list[str]) -> list[int]:
    """The numbers of the last two renames, and of the call behind them."""
    renames = [number for number, call in enumerate(calls, 1) if call.startswith("rename")]
    return [*renames[-2:], renames[-1] + 1]


def _copying_ends(calls: list[str]) -> int:
    """The number of the first call that concerns what is in the store: before, only a draft is written."""
    return next(number for number, call in enumerate(calls, 1) if "mkdir" in call and "before-" in call)


@pytest.fixture
def trial(cli: Cli, tmp_path: Path, request: pytest.FixtureRequest) -> Trial:
    return Trial.make(cli, tmp_path, Row(request.node.name.removeprefix("test_"), SEED))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("exchanges", [True, False])
def test_a_restore_killed_while_it_takes_its_place_short(
    trial: Trial, exchanges: bool, rounds: Callable[[int], int]
) -> None:
    """Before the last renames and after them, where two names can be exchanged in one step and where not."""
    calls = trial.calls(exchanges=exchanges)
    places = _takes_place(calls)
    if rounds(3) == 1:  # the first leaves what was there, the last what comes: one way has this, one that
        places = places[:1] if exchanges else places[-1:]
    for number in places:
        trial.die_at(number, exchanges=exchanges)
    expected = {"before", "after"} if rounds(3) > 1 else {"before" if exchanges else "after"}
    assert {state for state, count in trial.found.items() if count} == expected, (trial.found, calls)


@pytest.mark.timeout(600)
def test_a_restore_killed_while_it_copies_short(trial: Trial) -> None:
    """One call among those before the first that concerns the store itself."""
    early = _copying_ends(trial.calls(exchanges=True))
    trial.die_at(random.Random(SEED).randrange(1, early), exchanges=True)
    assert trial.found["after"] == 0


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("exchanges", [True, False])
def test_a_restore_killed_before_every_call(
    trial: Trial, exchanges: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them, from the first to the last."""
    for number in range(1, len(trial.calls(exchanges=exchanges)) + 1):
        trial.die_at(number, exchanges=exchanges)
    with capsys.disabled():
        print(f"\n{trial.row.faults} calls: {trial.found}")


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_a_restore_killed_at_random_moments(trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    """By the clock, half of the time with an owner that has the store open."""
    rng = random.Random(SEED)
    for _ in range(LONG):
        trial.die_after(rng.uniform(0, LONGEST_S), owner=rng.random() < 0.5)
    with capsys.disabled():
        print(f"\nseed {SEED}, {LONG} moments: {trial.found}")
