"""Consolidations of 1,000, 10,000 and 100,000 memories in the process beside the owner. Run as a script.

    .venv/bin/python benches/consolidation/runs.py [--sizes 1000 10000 100000] [--modes light deep rem]
        [--rounds 3] [--keep FOLDER] [--json FILE]

A run is timed from the start of the process to its last line; its checkpoint and its commit, which the owner
does, are timed apart. CPU is that of all threads: on a machine that others use as well, the process, which
gives way to everybody, waits, and CPU / cores is the least that its time could be.

| memories | light | deep | rem | |
|---|---|---|---|---|
| 10,000 | 0.4 s | 1.2 s | 1.8 s | |
| 100,000 | 4 s | 15 s | 20 s | RSS <= 1.5 GiB |

Exit 1 where a goal is missed by the processor time too, which others at work lengthen less.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.consolidation import stores
from benches.report import described, machine, options, peak_mib, save

from context_graph.consolidation import messages
from context_graph.consolidation.commit import Prepared, commit
from context_graph.consolidation.messages import Request
from context_graph.consolidation.plan import Mode
from context_graph.memory.memex import Memex
from context_graph.redact import Redactor

GOALS_S = {
    (10_000, "light"): 0.4,
    (10_000, "deep"): 1.2,
    (10_000, "rem"): 1.8,
    (100_000, "light"): 4.0,
    (100_000, "deep"): 15.0,
    (100_000, "rem"): 20.0,
}


def computed(folder: Path, mode: Mode) -> dict[str, Any]:
    """One run of the process on the checkpoint in ``folder``."""
    task = Request(mode=mode)
    began = time.perf_counter()
    process = subprocess.Popen(messages.arguments(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(messages.write_line(task))
    process.stdin.flush()
    stages: dict[str, float] = {}
    line: messages.Line | None = None
    peak = 0.0
    for raw in process.stdout:
        line, peak = messages.read_line(raw), max(peak, peak_mib(process.pid))
        if isinstance(line, messages.Update):
            stages.setdefault(line.stage, time.perf_counter() - began)
    took = time.perf_counter() - began
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    if not isinstance(line, messages.Update):
        raise SystemExit(f"the run ended with {line}")
    plan = Prepared.from_bytes((folder / messages.PREPARED).read_bytes()).plan
    starts = [*stages.values(), took]
    return {
        "seconds": took,
        "cpu_s": used.ru_utime + used.ru_stime,
        "rss_mib": peak,
        "changes": sum(plan.changes().values()) + plan.goals_adjusted + plan.moves_floor,
        "start_s": starts[0],
        "stages": {
            name: round(end - start, 3)
            for name, start, end in zip(stages, starts[:-1], starts[1:], strict=True)
        },
    }


def measured(store: Path, mode: Mode, rounds: int) -> dict[str, Any]:
    """Medians of ``rounds`` runs on the store in ``store``, which stays as it is."""
    runs, takes = [], []
    with _open(store) as memex:
        for number in range(rounds):
            folder = messages.run_folder(store, f"bench-{os.getpid()}-{number}")
            began = time.perf_counter()
            with memex.core.operation("checkpoint") as core:
                messages.take_checkpoint(core.store, folder)
            takes.append(time.perf_counter() - began)
            runs.append(computed(folder, mode))
            messages.discard(folder)
    return {
        "memories": len_of(store),
        "mode": mode.value,
        "checkpoint_ms": round(1000 * statistics.median(takes), 1),
        **{
            name: round(statistics.median(run[name] for run in runs), 3)
            for name in ("seconds", "cpu_s", "rss_mib", "start_s")
        },
        "changes": runs[0]["changes"],
        "stages": {
            name: round(statistics.median(run["stages"][name] for run in runs), 3)
            for name in runs[0]["stages"]
        },
    }


def committed(store: Path, mode: Mode) -> dict[str, Any]:
    """The commit of one run, and its undoing, on a copy of the store; both hold its lock."""
    with tempfile.TemporaryDirectory(dir=store.parent) as scratch:
        copy = Path(scratch) / "store"
        shutil.copytree(store, copy)
        folder = messages.run_folder(copy, "bench")
        with _open(copy) as memex:
            memex.warm()
            with memex.core.operation("checkpoint") as core:
                messages.take_checkpoint(core.store, folder)
            computed(folder, mode)
            began = time.perf_counter()
            prepared = Prepared.from_bytes((folder / messages.PREPARED).read_bytes())
            read = time.perf_counter()
            done = commit(memex, prepared)
            ended = time.perf_counter()
            if done.undo_token is not None:
                memex.undo(done.undo_token)
            undone = time.perf_counter()
    return {
        "changes": done.plan.changes(),
        "read_ms": round(1000 * (read - began), 1),
        "commit_ms": round(1000 * (ended - read), 1),
        "undo_ms": round(1000 * (undone - ended), 1),
    }


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """The slope of log seconds over log memories, least squares."""
    logs = [(math.log(size), math.log(seconds)) for size, seconds in points]
    middle = [statistics.fmean(axis) for axis in zip(*logs, strict=True)]
    across = sum((x - middle[0]) ** 2 for x, _ in logs)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in logs) / across


def len_of(store: Path) -> int:
    with _open(store) as memex:
        return memex.count()


def _open(store: Path) -> Memex:
    return Memex.open(store, redactor=Redactor())


def told(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"runs": [], "commits": []}
    print(described(machine()))
    for size in given.sizes:
        store = folder / f"store-{size}"
        if not store.exists():
            stores.make(store, size)
        for mode in map(Mode, given.modes):
            row = measured(store, mode, given.rounds)
            found["runs"].append(row)
            goal = GOALS_S.get((size, mode.value))
            print(
                f"{size:>7} {mode.value:<5} {row['seconds']:7.2f} s  cpu {row['cpu_s']:7.2f} s  "
                f"rss {row['rss_mib']:6.0f} MiB  goal {goal or '-'} s  "
                f"changes {row['changes']}  {row['stages']}",
                flush=True,
            )
        row = {"memories": size, **committed(store, Mode(given.modes[-1]))}
        found["commits"].append(row)
        print(f"{size:>7} commit {row}", flush=True)
    if len(given.sizes) > 1:
        for mode in given.modes:
            for name in ("seconds", "cpu_s"):
                points = [(row["memories"], row[name]) for row in found["runs"] if row["mode"] == mode]
                found[f"exponent_{mode}_{name}"] = round(exponent(points), 3)
                print(f"{mode}: {name} grow with n^{found[f'exponent_{mode}_{name}']}")
    return found


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--modes", nargs="+", default=[mode.value for mode in Mode])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="where stores are made, or found")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CONTEXT_GRAPH_HOME"] = scratch
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = told(folder, given)
    save(given.json, found)
    missed = [
        f"{row['memories']} {row['mode']}: {row['seconds']:g} s, goal {goal:g} s"
        for row in found["runs"]
        if (goal := GOALS_S.get((row["memories"], row["mode"]))) and min(row["seconds"], row["cpu_s"]) > goal
    ]
    if missed:
        sys.exit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
