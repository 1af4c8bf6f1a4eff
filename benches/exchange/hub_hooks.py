#!/usr/bin/env python3
"""What hooks wait for a hub: without one, and with one that is up, slow, hung or gone.

    python benches/exchange/hub_hooks.py [--runs 200]

A project each, with an owner and a session; all hooks of all of them by turns, in random order, while each
project stores a memory every few seconds for its exchange to tell. In the end every hub is up again, and what
was stored must be in it.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.exchange.hub import joined
from benches.exchange.sync_folder import run
from benches.hooks.processes import CLI, SESSION, build_native, case, live_env, timed, tool_event
from benches.report import described, grid, machine, options, save
from tests.support.exchange.network import Cable
from tests.support.exchange.postgres import Team, started, team

NONE, GOAL = "no hub", 5.0
EVERY_S = 5.0


def main() -> None:
    """Measure, print the table."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    homes: dict[str, Path] = {}
    try:
        own = team(started())
        cables = {
            "hub up": Cable(own.server.address),
            "hub slow: 1 s a query": Cable(own.server.address, delay_s=1.0),
            "hub hung": Cable(own.server.address, hangs=True),
            "hub gone": Cable(own.server.address),
        }
        for number, name in enumerate([NONE, *cables]):
            homes[name] = folder / str(number) / "project"
            homes[name].mkdir(parents=True)
            begin(homes[name], own, cables.get(name))
        print(f"{described(machine())}; {given.runs} runs")
        with writing(list(homes.values())) as counts:
            cables["hub gone"].unplug()
            rows = measured(folder, homes, given.runs)
        print(grid(("hook", *homes), rows))
        print(f"worst: {worst(rows):+.1f} % over the median without a hub, goal {GOAL:+.0f} %")
        lost = missing(own, homes, cables, counts)
        print(f"{sum(counts.values())} memories stored meanwhile; missing in the hub at the end: {lost}")
        save(given.json, {"rows": rows, "lost": lost})
    finally:
        for home in homes.values():
            subprocess.run([CLI, "owner", "stop"], env=live_env(home), cwd=home, check=False, timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


def begin(home: Path, own: Team, cable: Cable | None) -> None:
    """An owner, a session, and the hub that it has joined."""
    run(home, "owner", "start")
    if cable is not None:
        delay, hangs = cable.delay_s, cable.hangs
        cable.delay_s, cable.hangs = 0.0, False
        cable.plug()
        joined(own, [home], automatic=True, through=cable.through)
        cable.delay_s, cable.hangs = delay, hangs
    body = json.dumps({"session_id": SESSION, "hook_event_name": "SessionStart", "source": "startup"})
    words = [CLI, "hooks", "session-start", "--format", "claude"]
    subprocess.run(
        words, input=body.encode(), env=live_env(home), cwd=home, check=True, capture_output=True, timeout=60
    )


@contextmanager
def writing(homes: list[Path]) -> Iterator[dict[Path, int]]:
    """Store a memory in each project every few seconds; how many."""
    counts, end = dict.fromkeys(homes, 0), threading.Event()

    def write() -> None:
        turns = cycle(homes)
        while not end.wait(EVERY_S / len(homes)):
            home = next(turns)
            run(home, "memory", "store", f"finding {counts[home]} of this project is worth a note")
            counts[home] += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield counts
    finally:
        end.set()
        thread.join()


def measured(folder: Path, homes: dict[str, Path], runs: int) -> list[list[Any]]:
    """Of each hook the median milliseconds with each hub."""
    build_native(folder)
    common = {"session_id": SESSION, "cwd": "/nowhere"}
    prompt = {**common, "hook_event_name": "UserPromptSubmit", "prompt": "now the rate limiter's tests"}
    bodies = {
        "post-tool": tool_event("PostToolUse"),
        "pre-tool": tool_event("PreToolUse"),
        "prompt-submit": prompt,
    }
    lines = []
    for verb, body in bodies.items():
        path = folder / f"{verb}.json"
        path.write_text(json.dumps(body))
        for name, home in homes.items():
            env = {**live_env(home), "CLAUDE_CODE_SESSION_ID": SESSION}
            lines += case(f"{verb}|{name}", [str(CLI), "hooks", verb, "--format", "claude"], env, path)
    calls = timed(folder, lines, runs)
    return [
        [verb, *(round(1000 * statistics.median(calls[f"{verb}|{name}"].walls), 3) for name in homes)]
        for verb in bodies
    ]


def worst(rows: list[list[Any]]) -> float:
    """Percent that a hook took longer with any hub."""
    return max(100 * (row[at] / row[1] - 1) for row in rows for at in range(2, len(row)))


def missing(own: Team, homes: dict[str, Path], cables: dict[str, Cable], counts: dict[Path, int]) -> int:
    """Memories that are not in the hub once everything works again."""
    cables["hub gone"].plug()
    for cable in cables.values():
        cable.delay_s, cable.hangs = 0.0, False
        cable.cut()
    for name in cables:
        run(homes[name], "sync")
    with own.server.admin() as admin:
        row = admin.execute(
            "SELECT count(DISTINCT subject) FROM context_graph.change WHERE line LIKE '%worth a note%'"
        ).fetchone()
    assert row is not None
    return sum(counts[homes[name]] for name in cables) - int(str(row[0]))


if __name__ == "__main__":
    main()
