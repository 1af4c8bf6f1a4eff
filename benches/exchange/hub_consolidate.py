#!/usr/bin/env python3
"""Consolidation of many projects in a hub, by one worker and by two.

    python benches/exchange/hub_consolidate.py [--projects 200] [--memories 2000] [--curve 50,200]

Each project has that many memories of members, one in twenty said twice. Whole commands, `hub consolidate
--team`, each with a team of its own that nobody has consolidated, in the order one, two, two, one worker,
half of the projects each; the server has the same processors. `--curve` has two workers alone with these
numbers of projects.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.hooks.processes import CLI, live_env
from benches.report import described, grid, machine, options, save
from tests.support.exchange.in_memory import InMemory
from tests.support.exchange.postgres import Postgres, started, team
from tests.support.memories import WHY, open_memex

from context_graph.sync.exchange import OpenStore
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import exchange
from context_graph.sync.transport import LoggedChange

GOAL = 1.7
SUBJECTS = [
    *("build", "deploy", "cache", "router", "ledger", "parser", "index"),
    *("queue", "backup", "invoice", "login", "search", "export", "theme"),
]
FACTS = (
    "the {a} {b} fails on machines with less than {n} MiB",
    "port {n} of the {a} is taken by the {b}",
    "we keep {n} days of the {a}'s logs because the {b} needs them",
    "the test of the {a} must run before that of the {b}, {n} ms apart",
    "the {b} reads {n} rows of the {a} at a time",
)


def main() -> None:
    """Measure, print the table."""
    parser = options(__doc__)
    parser.add_argument("--projects", type=int, default=200)
    parser.add_argument("--memories", type=int, default=2000)
    parser.add_argument("--curve", default="")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    try:
        server = started()
        lines = told(folder / "store", given.memories)
        print(f"{described(machine())}; projects of {given.memories} memories, {len(lines)} lines each")
        if given.curve:
            rows = [timed(server, folder, int(count), 2, lines) for count in given.curve.split(",")]
        else:
            half = given.projects // 2
            rows = [timed(server, folder, half, workers, lines) for workers in (1, 2, 2, 1)]
        names = ("projects", "workers", "seconds", "a project", "merged", "failed")
        print(grid(names, ([row[name] for name in names] for row in rows)))
        if not given.curve:
            total = {
                count: sum(row["seconds"] for row in rows if row["workers"] == count) for count in (1, 2)
            }
            print(f"{given.projects} projects: {total[1]:.1f} s by one, {total[2]:.1f} s by two workers;")
            print(f"speed-up {total[1] / total[2]:.2f}, goal {GOAL}")
        save(given.json, {"rows": rows})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def told(folder: Path, count: int) -> list[LoggedChange]:
    """The log of a machine with that many memories."""
    memex, place = open_memex(folder), InMemory()
    chosen = random.Random(5)
    texts: list[str] = []
    while len(texts) < count:
        one, other = chosen.sample(SUBJECTS, 2)
        text = chosen.choice(FACTS).format(a=one, b=other, n=chosen.randrange(10, 9999))
        texts.append(text)
        if len(texts) % 20 == 0:
            texts[-1] = f"Note that {texts[-7]}."
    for at in range(0, count, 500):
        memex.store_many(
            [{"content": text, "rationale": WHY, "importance": 0.8} for text in texts[at : at + 500]]
        )
    exchange(OpenStore(memex), place)
    (name,) = place.machines()
    memex.close()
    found: list[LoggedChange] = []
    while page := place.pull(name, len(found)).changes:
        found += page
    return found


def timed(
    server: Postgres, folder: Path, projects: int, workers: int, lines: list[LoggedChange]
) -> dict[str, Any]:
    """One command over a fresh team."""
    name = f"team {uuid4().hex[:8]}"
    fill(server, name, projects, lines)
    home = folder / name.replace(" ", "-") / "project"
    home.mkdir(parents=True)
    env = {**live_env(home), "CONTEXT_GRAPH_HUB_ADMIN_URL": server.address}
    words = [str(CLI), "hub", "consolidate", "--team", name, "--workers", str(workers), "--json"]
    began = time.perf_counter()
    done = subprocess.run(words, env=env, cwd=home, capture_output=True, check=True, timeout=7200)
    took = time.perf_counter() - began
    found = json.loads(done.stdout)
    merged = {one["merged"] for one in found["projects"]}
    return {
        "projects": projects,
        "workers": workers,
        "seconds": round(took, 2),
        "a project": round(took / projects, 3),
        "merged": ", ".join(map(str, sorted(merged))),
        "failed": found["failed"],
    }


def fill(server: Postgres, name: str, projects: int, lines: list[LoggedChange]) -> None:
    """A team with that many projects, each with the same log."""
    first = team(server, name)
    ids: list[UUID] = [first.project]
    with server.admin() as admin:
        row = admin.execute("SELECT id FROM context_graph.team WHERE name = %s", (name,)).fetchone()
        assert row is not None
        for number in range(1, projects):
            ids.append(uuid4())
            admin.execute(
                "INSERT INTO context_graph.project (id, team, name) VALUES (%s, %s, %s)",
                (ids[-1], row[0], f"project {number:04}"),
            )
    for one in ids:
        hub = Hub(server.address, one)
        hub.push(lines[0].change.machine, lines)
        hub.close()
    os.sync()


if __name__ == "__main__":
    main()
