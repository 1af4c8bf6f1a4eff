"""Six machines, a hub and a folder, and everything that goes wrong at once: one state, nothing lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.integration.sync.test_merge import state
from tests.support.exchange.network import Cable
from tests.support.exchange.postgres import Postgres, Team, started, team
from tests.support.memories import open_memex

from context_graph.memory.memex import Memex
from context_graph.sync.change import MEMORY
from context_graph.sync.exchange import Exchange, OpenStore
from context_graph.sync.folder import Folder
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import exchange
from context_graph.sync.transport import ConflictError

YEAR_MS = 31_536_000_000
MACHINES = 6
ROOT = Path(__file__).parents[3]


@dataclass
class Chaos:
    """The machines and what happens to them."""

    folder: Path
    server: Postgres
    own: Team
    cable: Cable
    drawn: random.Random
    addresses: dict[str, str]
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)
    """Acknowledged: id -> text."""
    deleting: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    departed: set[str] = field(default_factory=set)
    backups: dict[str, Path] = field(default_factory=dict)
    count: int = 0
    done: list[str] = field(default_factory=list)

    def store(self, name: str) -> Path:
        return self.folder / "stores" / name

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    def start(self, name: str, clock_ms: int = 0) -> None:
        """Have it work."""
        self.count += 1
        words = [sys.executable, "-m", "tests.support.exchange.busy_machine", str(self.store(name))]
        words += [self.cable.through(self.addresses[name]), str(self.own.project), str(self.shared)]
        words += [name, str(self.count), str(clock_ms)]
        out = open(self.folder / f"said-{self.count}", "w")  # noqa: SIM115
        self.running[name] = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
        )
        out.close()

    def stop(self, name: str, *, kill: bool = False) -> None:
        """End it at once, or after what it is at."""
        process = self.running.pop(name, None)
        if process is None:
            return
        assert process.stdin is not None
        if kill:
            process.kill()
        process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def hear(self) -> None:
        """What they have said by now."""
        for path in self.folder.glob("said-*"):
            for line in path.read_text().splitlines():
                with suppress(json.JSONDecodeError):  # the last one, of a machine that was killed
                    said = json.loads(line)
                    if "stored" in said:
                        self.stored[said["stored"]] = said["text"]
                    self.deleting |= {said["deleting"]} if "deleting" in said else set()
                    self.deleted |= {said["deleted"]} if "deleted" in said else set()

    # What goes wrong

    def kill(self) -> None:
        name = self.drawn.choice(sorted(self.running))
        self.stop(name, kill=True)
        self.start(name)

    def glitch(self) -> None:
        """A year ahead or behind for some seconds."""
        name = self.drawn.choice(sorted(self.running))
        self.stop(name, kill=True)
        self.start(name, self.drawn.choice((YEAR_MS, -YEAR_MS)))
        time.sleep(4)
        self.stop(name, kill=True)
        self.start(name)

    def cut(self) -> None:
        self.cable.cut()

    def hang(self) -> None:
        self.cable.hangs = True
        time.sleep(2)
        self.cable.hangs = False

    def kill_server(self) -> None:
        self.server.kill()
        self.up_again()

    def up_again(self) -> None:
        """Start the server until it answers: it may have to recover first."""
        for _ in range(60):
            with suppress(psycopg.Error, subprocess.SubprocessError), self.server.admin():
                return
            with suppress(AssertionError, subprocess.SubprocessError):  # it still recovers
                self.server.start_again()
            time.sleep(0.5)
        raise AssertionError("the server does not come up again")

    def damage(self) -> None:
        """One file of the folder: cut, changed, or gone."""
        files = sorted(self.shared.glob("*/*.jsonl"))
        if files:
            path = self.drawn.choice(files)
            how = self.drawn.randrange(3)
            with suppress(OSError):  # it was merged with others just now
                data = path.read_bytes()
                if how == 0:
                    path.unlink()
                elif how == 1:
                    path.write_bytes(data[: len(data) // 2])
                else:
                    path.write_bytes(data[:40] + b"?" + data[41:])

    def put_back_hub(self) -> None:
        """The dump of the last time; and a new one."""
        for _ in range(5):
            with suppress(psycopg.OperationalError, psycopg.errors.ObjectInUse):
                with self.server.admin() as admin:
                    self._put_back(admin)
                return
            self.up_again()
        raise AssertionError("the hub can't be put back")

    def _put_back(self, admin: psycopg.Connection[tuple[object, ...]]) -> None:
        names = {row[0] for row in admin.execute("SELECT datname FROM pg_database").fetchall()}
        if {"live", "dump"} <= names:
            admin.execute("ALTER DATABASE live ALLOW_CONNECTIONS false")
            admin.execute("DROP DATABASE live WITH (FORCE)")
        if "dump" in names:
            admin.execute("ALTER DATABASE dump RENAME TO live")
        admin.execute("ALTER DATABASE live ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'live'")
        time.sleep(0.5)
        admin.execute("CREATE DATABASE dump TEMPLATE live")
        admin.execute("ALTER DATABASE live ALLOW_CONNECTIONS true")

    def put_back_machines(self) -> None:
        """Two of them, each to its last backup; all that they had told others know."""
        self.settle()
        for name in self.drawn.sample(sorted(self.addresses.keys() - self.departed), 2):
            backup = self.backups.get(name)
            if backup is not None:
                shutil.rmtree(self.store(name))
                shutil.copytree(backup, self.store(name))
            else:
                self.backups[name] = self.folder / f"backup-{name}"
                shutil.copytree(self.store(name), self.backups[name])
        self.start_all()

    def depart(self) -> None:
        """One never comes again; its folder is removed."""
        if self.departed:
            return
        self.settle()
        name = self.drawn.choice(sorted(self.addresses))
        with open_memex(self.store(name)) as memex:
            machine = OpenStore(memex).machine()
        self.departed.add(name)
        shutil.rmtree(self.shared / machine, ignore_errors=True)
        self.start_all()

    def start_all(self) -> None:
        for name in sorted(self.addresses.keys() - self.departed):
            self.start(name)

    def settle(self, *newcomers: str) -> None:
        """Stop all; exchange until nothing is new; all that was acknowledged is there, once, and equal."""
        for name in sorted(self.running):
            self.stop(name)
        self.cable.hangs = False
        self.cable.cut()
        self.hear()
        names = [*sorted(self.addresses.keys() - self.departed), *newcomers]
        with ExitStack() as stack:
            some = {name: stack.enter_context(open_memex(self.store(name))) for name in names}
            hubs = {name: Hub(self._address(name), self.own.project) for name in names}
            for hub in hubs.values():
                stack.callback(hub.close)
            quiet, end = 0, time.monotonic() + 300
            while quiet < 2:
                assert time.monotonic() < end, f"not quiet in 300 s: {' '.join(self.done)}"
                quiet = quiet + 1 if not self._round(some, hubs) else 0
            self.check(some)

    def _address(self, name: str) -> str:
        return self.addresses.get(name) or self.own.member(f"chaos_{name}_{self.count}", "writer")

    def _round(self, some: dict[str, Memex], hubs: dict[str, Hub]) -> int:
        """What was told and heard; what a killed exchange still holds up is not quiet either."""
        news = 0
        for name, memex in some.items():
            for place in (hubs[name], Folder(self.shared)):
                try:
                    report = exchange(OpenStore(memex), place)
                except ConflictError:
                    news += 1
                    time.sleep(0.1)
                else:
                    news += report.told + report.heard
        return news

    def check(self, some: dict[str, Memex]) -> None:
        """What has to hold whenever it is quiet."""
        first, *others = some
        wanted = state(some[first])
        for name in others:
            assert not (apart := _apart(wanted, state(some[name]))), (first, name, apart, self.done)
        ids = {str(one.node.id) for memex in some.values() for one in memex.stored_after()}
        texts = [one.node.content for one in some[first].stored_after()]
        lost = {one for one in self.stored.keys() - ids - self.deleting if not is_buried(some[first], one)}
        assert not lost, f"lost {len(lost)} of {len(self.stored)}: {' '.join(self.done)}"
        assert len(texts) == len(set(texts)), "told twice"
        assert not (ids & self.deleted), ("risen", ids & self.deleted, self.done)


def _apart(one: str, other: str) -> list[str]:
    """Rows that only one of two states has."""
    rows = [{json.dumps(row) for part in json.loads(state) for row in part} for state in (one, other)]
    return sorted(rows[0] ^ rows[1])


def is_buried(memex: Memex, node_id: str) -> bool:
    """Whether it was forgotten; with a clock a year ahead its retention may have ended on every machine."""
    with memex.core.operation("sync") as core:
        return Exchange(core).notes.register(MEMORY, node_id).buried


@contextmanager
def chaos(folder: Path, seed: int) -> Iterator[Chaos]:
    server = started()
    with server.admin() as admin:
        admin.execute("CREATE DATABASE live")
    live = replace(server, address=make_conninfo(server.address, dbname="live"))
    own = team(live)
    names = [f"m{number}" for number in range(MACHINES)]
    addresses = {name: own.member(f"chaos_{name}", "writer") for name in names}
    for part in ("stores", "shared"):
        (folder / part).mkdir()
    made = Chaos(folder, server, own, Cable(server.address).plug(), random.Random(seed), addresses)
    try:
        yield made
    finally:
        for name in list(made.running):
            made.stop(name, kill=True)
        made.cable.unplug()


def run(folder: Path, seed: int, seconds: float) -> None:
    """Chaos for that long, then quiet."""
    with chaos(folder, seed) as it:
        it.start_all()
        harms: list[tuple[Callable[[], None], float]] = [
            (it.kill, 4), (it.cut, 4), (it.hang, 1), (it.glitch, 2), (it.damage, 4),
            (it.kill_server, 1), (it.put_back_hub, 1.5), (it.put_back_machines, 0.5), (it.depart, 0.3),
        ]  # fmt: skip
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(it.drawn.uniform(0.2, 2.0))
            harm = it.drawn.choices([one for one, _ in harms], [weight for _, weight in harms])[0]
            it.done.append(harm.__name__)
            harm()
        it.settle("newcomer")
        assert len(it.stored) > 10 and it.deleted, "else nothing was tried"
        print(f"seed {seed}: {len(it.stored)} stored, {len(it.deleted)} deleted; {' '.join(it.done)}")


pytestmark = [pytest.mark.hub, pytest.mark.real]
SECONDS = float(os.environ.get("CHAOS_S", "60"))


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_six_machines_for_a_minute(tmp_path: Path) -> None:
    run(tmp_path, int(os.environ.get("CHAOS_SEED", "20261127")), SECONDS)


@pytest.mark.torture
@pytest.mark.timeout(3600 * 6)
@pytest.mark.parametrize("seed", range(20))
def test_six_machines_in_each_seed(tmp_path: Path, seed: int) -> None:
    """20 seeds, half an hour together."""
    run(tmp_path, seed, 90.0)
