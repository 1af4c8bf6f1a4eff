#!/usr/bin/env python3
"""Times of `sync --folder`: a machine tells what is new, another reads it into an empty store and recalls it.

    python benches/exchange/sync_folder.py [--memories 10000] [--rounds 3] [--json FILE]

Whole processes with an owner for each machine. Beside each, by turns, the same bytes written to a file and
synced to the disk, and read. Goals at 10,000: told in 3 s, read until recalled in 8 s. `after one more` is an
exchange that has one new memory to tell.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.hooks.injection import fill
from benches.hooks.processes import CLI, live_env
from benches.report import described, grid, machine, options, save, spread

GOALS = {"tell": 3000.0, "read until recalled": 8000.0}


def main() -> None:
    """Measure, print the table."""
    parser = options(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    times: dict[str, list[float]] = {}
    for _ in range(given.rounds):
        for name, took in one_round(given.memories).items():
            times.setdefault(name, []).append(took)
    print(f"{described(machine())}; {given.memories} memories, {given.rounds} rounds")
    cases = [{"what": name, **spread(took), "goal_ms": GOALS.get(name)} for name, took in times.items()]
    names = ("what", "p50_ms", "p95_ms", "goal_ms")
    print(grid(("what", "p50 ms", "p95 ms", "goal"), ([one[name] for name in names] for one in cases)))
    save(given.json, {"memories": given.memories, "cases": cases})


def one_round(count: int) -> dict[str, float]:
    """Milliseconds of each step, with two fresh machines."""
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    homes = [folder / name / "project" for name in ("one", "two")]
    shared = folder / "shared"
    shared.mkdir()
    try:
        for home in homes:
            home.mkdir(parents=True)
            run(home, "owner", "start")
        fill(homes[0], count)
        run(homes[0], "status")
        words = ("sync", "--folder", str(shared), "--name", "bench")
        found = {"tell": timed(homes[0], *words)}
        data = b"".join(path.read_bytes() for path in shared.rglob("*.jsonl"))
        began = time.perf_counter()
        with open(folder / "raw", "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        found["the same bytes, written and synced"] = 1000 * (time.perf_counter() - began)
        began = time.perf_counter()
        run(homes[1], *words)
        run(homes[1], "memory", "recall", "memory number 77")
        found["read until recalled"] = 1000 * (time.perf_counter() - began)
        found["nothing new"] = timed(homes[1], *words)
        run(homes[0], "memory", "store", "One more thing that was found out")
        found["after one more"] = timed(homes[0], *words)
        return found
    finally:
        for home in homes:
            run(home, "owner", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def timed(home: Path, *words: str) -> float:
    """Milliseconds of one command."""
    began = time.perf_counter()
    run(home, *words)
    return 1000 * (time.perf_counter() - began)


def run(home: Path, *words: str) -> Any:
    """One command of the machine whose home that is."""
    return subprocess.run(
        [str(CLI), *words], env=live_env(home), cwd=home, capture_output=True, check=True, timeout=300
    )


if __name__ == "__main__":
    main()
