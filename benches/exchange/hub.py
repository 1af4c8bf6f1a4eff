#!/usr/bin/env python3
"""Times of a team's hub, on a PostgreSQL of its own.

    python benches/exchange/hub.py [--memories 10000] [--rounds 3] [--machines 100] [--minutes 10]
        [--only PART]

`exchange`: whole commands of two members with an owner each: 10,000 memories told, read into an empty store
until recalled; beside them, by turns, COPY of the same lines into a table and out of it. `idle`: a memory
stored on one machine until the other recalls it, both idle. `many`: simulated machines that each tell some
changes a minute and read all others', with the transport and connections of real ones but no store; the
server has the same processors. Prints what each change cost the server.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil
from benches.exchange.sync_folder import run, timed
from benches.hooks.injection import fill
from benches.hooks.processes import live_env
from benches.report import described, grid, machine, options, save, spread
from tests.support.exchange.postgres import Postgres, Team, started, team

from context_graph.config import locate
from context_graph.sync.change import MEMORY, VERSION, Change, encode
from context_graph.sync.hub.membership import Membership, join
from context_graph.sync.hub.transport import Hub, Listener
from context_graph.sync.transport import LoggedChange, TransportError

GOALS = {"tell": 3000.0, "read until recalled": 8000.0, "told to recalled, idle": 2000.0}
PER_MINUTE = 20
TEXT = "what was found out about the build, in the length that such notes have: some two hundred characters, "
PAUSE_S = 1.0


def main() -> None:
    """Measure, print the tables."""
    parser = options(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", choices=("exchange", "idle", "many"))
    given = parser.parse_args()
    found: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    try:
        server = started()
        print(f"{described(machine())}; {given.memories} memories, {given.rounds} rounds")
        if given.only in (None, "exchange", "idle"):
            found["cases"] = cases(server, folder, given)
            names = ("what", "p50_ms", "p95_ms", "goal_ms")
            rows = ([one[name] for name in names] for one in found["cases"])
            print(grid(("what", "p50 ms", "p95 ms", "goal"), rows))
        if given.only in (None, "many"):
            found["many"] = many(server, given.machines, given.minutes)
            print(grid(("many machines", ""), found["many"].items()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    save(given.json, found)


def cases(server: Postgres, folder: Path, given: Any) -> list[dict[str, Any]]:
    """Milliseconds of each step of each round."""
    times: dict[str, list[float]] = {}
    for number in range(given.rounds):
        homes = [folder / f"{number}-{name}" / "project" for name in ("one", "two")]
        own = team(server)
        try:
            for home in homes:
                home.mkdir(parents=True)
                run(home, "owner", "start")
            if given.only != "idle":
                for name, took in one_round(own, homes, given.memories).items():
                    times.setdefault(name, []).append(took)
            if given.only != "exchange":
                times.setdefault("told to recalled, idle", []).extend(idle(own, homes))
        finally:
            for home in homes:
                run(home, "owner", "stop")
                shutil.rmtree(home.parent, ignore_errors=True)
    return [{"what": name, **spread(took), "goal_ms": GOALS.get(name)} for name, took in times.items()]


def joined(
    own: Team, homes: list[Path], automatic: bool, through: Callable[[str], str] = lambda address: address
) -> None:
    """Make each a member, by what ``through`` makes of the address. Without ``automatic`` their owners don't
    exchange by themselves.
    """
    for home in homes:
        name = f"bench_{uuid4().hex[:8]}"
        address = own.member(name, "writer")
        (home / ".claude").mkdir(exist_ok=True)
        (home / ".claude" / "context-graph.toml").write_text(f"sync = {str(automatic).lower()}\n")
        run(home, "owner", "restart")
        join(_store(home), Membership(through(address), str(own.project), "bench", "bench"))
        run(home, "status")


def _store(home: Path) -> Path:
    return locate(None, live_env(home), home).store


def one_round(own: Team, homes: list[Path], count: int) -> dict[str, float]:
    """Told and read, beside COPY of the same lines."""
    fill(homes[0], count)
    joined(own, homes, automatic=False)
    found = {"tell": timed(homes[0], "sync")}
    with own.server.admin() as admin:
        admin.execute("CREATE TABLE raw (line text)")
        rows = admin.execute("SELECT line FROM context_graph.change").fetchall()
        began = time.perf_counter()
        with admin.cursor().copy("COPY raw FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        found["the same lines by COPY, in"] = 1000 * (time.perf_counter() - began)
        began = time.perf_counter()
        with admin.cursor().copy("COPY raw TO STDOUT") as copy:
            for _ in copy.rows():
                pass
        found["the same lines by COPY, out"] = 1000 * (time.perf_counter() - began)
        admin.execute("DROP TABLE raw")
    began = time.perf_counter()
    run(homes[1], "sync")
    run(homes[1], "memory", "recall", "memory number 77")
    found["read until recalled"] = 1000 * (time.perf_counter() - began)
    found["nothing new"] = timed(homes[1], "sync")
    return found


def idle(own: Team, homes: list[Path], times: int = 10) -> list[float]:
    """Milliseconds from a memory's storing on one machine until the other recalls it, both idle before."""
    joined(own, homes, automatic=True)
    time.sleep(8)  # the processes beside the owners have begun
    found = []
    for _ in range(times):
        time.sleep(random.uniform(1.0, 2.0))
        word = f"zebra{uuid4().hex[:10]}"
        run(homes[0], "memory", "store", f"The code word of this hour is {word}")
        began = time.perf_counter()
        while word not in run(homes[1], "memory", "recall", f"code word {word}", "--json").stdout.decode():
            if time.perf_counter() - began > 60:
                raise SystemExit("a memory did not arrive within a minute")
        found.append(1000 * (time.perf_counter() - began))
    return found


class Simulated(threading.Thread):
    """One machine without a store: tells at random times, is woken by notifications, reads what is new."""

    def __init__(self, own: Team, number: int, end: float) -> None:
        super().__init__(daemon=True)
        name = f"many_{uuid4().hex[:8]}"
        self.hub, self.id = Hub(own.member(name, "writer"), own.project), uuid4().hex
        self.listener = Listener(own.server.login(name), str(own.project))
        self.end, self.told, self.lags = end, 0, list[float]()
        self.read: dict[str, int] = {}
        self.heard: dict[str, int] = {}
        self.random = random.Random(number)
        self.failures = 0

    def run(self) -> None:
        due = time.monotonic() + self.random.expovariate(PER_MINUTE / 60)
        while time.monotonic() < self.end + 10:
            try:
                while due < time.monotonic() < self.end:
                    self.tell()
                    due += self.random.expovariate(PER_MINUTE / 60)
                self.hear()
            except TransportError:
                self.failures += 1
            time.sleep(PAUSE_S)

    def tell(self) -> None:
        seq, now = self.told + 1, time.time_ns()
        fields = {
            "content": f"{TEXT}{TEXT}{now}",
            "rationale": "a rule that the user stated",
            "created_at_ms": now,
        }
        change = Change(
            VERSION, self.id, seq, (now // 1_000_000) << 16, self.id, MEMORY, str(uuid4()), fields
        )
        self.hub.push(self.id, [LoggedChange(change, encode(change))])
        self.told = seq

    def hear(self) -> None:
        for other, page in self.hub.news(self.read, (self.id,)):
            for one in page.changes:
                self.lags.append((time.time_ns() - int(one.change.fields["created_at_ms"])) / 1e9)
                self.heard[other] = self.heard.get(other, 0) + 1
            self.read[other] = page.upto


def many(server: Postgres, count: int, minutes: float) -> dict[str, Any]:
    """Lag, losses and costs of ``count`` machines."""
    with server.admin() as admin:
        admin.execute("ALTER SYSTEM SET max_connections = 400")
    server.kill()
    server.start_again()
    own = team(server)
    end = time.monotonic() + 60 * minutes
    some = [Simulated(own, number, end) for number in range(count)]
    before, began = _cpu_s(server), os.times()
    for one in some:
        one.start()
    for one in some:
        one.join()
    told = sum(one.told for one in some)
    lost = sum(other.told - one.heard.get(other.id, 0) for one in some for other in some if one is not other)
    twice = sum(
        max(0, one.heard.get(other.id, 0) - other.told) for one in some for other in some if one is not other
    )
    lags = sorted(lag for one in some for lag in one.lags)
    used = _cpu_s(server) - before
    ours = sum(os.times()[:2]) - sum(began[:2])
    with server.admin() as admin:
        row = admin.execute(
            "SELECT pg_total_relation_size('context_graph.change'), count(*) FROM context_graph.change "
            "WHERE project = %s",
            (own.project,),
        ).fetchone()
    assert row is not None
    return {
        "machines": count,
        "minutes": minutes,
        "changes told": told,
        "changes heard": len(lags),
        "lag p50 s": round(statistics.median(lags), 2),
        "lag p95 s (goal 5)": round(lags[int(len(lags) * 0.95)], 2),
        "lag max s": round(lags[-1], 2),
        "lost": max(0, lost),
        "twice": twice,
        "failed tries": sum(one.failures for one in some),
        "server's CPU ms a change": round(1000 * used / told, 2),
        "CPU ms a change, all machines here together": round(1000 * ours / told, 2),
        "bytes a change in the hub": round(int(str(row[0])) / max(1, int(str(row[1])))),
    }


def _cpu_s(server: Postgres) -> float:
    """Processor seconds of the server, those of its connections included."""
    first = psutil.Process(server.server.get_pid())
    total = sum(first.cpu_times()[:4])
    for one in first.children():
        total += sum(one.cpu_times()[:2])
    return float(total)


if __name__ == "__main__":
    main()
