#!/usr/bin/env python3
"""Whole-process times of `report` by the size of the store, and the size of its file.

    python benches/view/report_page.py [--runs 7] [--memories 1000 10000] [--json FILE]

One data root and owner for each size. Beside it the largest part that is not ours: a Python that imports what
the command imports. Goals at 10,000 memories: 3 s, and a file below 2 MB.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.hooks.injection import fill
from benches.hooks.processes import CLI, live_env
from benches.report import described, grid, machine, options, save, spread

IMPORTS = "import typer, jinja2, msgspec, webbrowser"
GOALS = {10_000: (3000.0, 2_000_000)}


def main() -> None:
    """Fill the stores, write their reports by turns, print the table."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000])
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    try:
        found = measure(folder, given.memories, given.runs)
    finally:
        for size in given.memories:
            home = folder / str(size)
            if home.exists():
                subprocess.run(
                    [CLI, "owner", "stop"], env=live_env(home), cwd=home, capture_output=True, check=False
                )
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{described(machine())}; {given.runs} rounds")
    names = ("memories", "p50_ms", "p95_ms", "goal_ms", "bytes", "goal_bytes")
    print(
        grid(
            ("memories", "p50 ms", "p95 ms", "goal", "bytes", "goal"),
            ([one[name] for name in names] for one in found),
        )
    )
    save(given.json, {"runs": given.runs, "cases": found})


def measure(folder: Path, sizes: list[int], runs: int) -> list[dict[str, Any]]:
    """A row a size, the first of the imports alone."""
    works: dict[str, Callable[[], object]] = {
        "imports alone": lambda: subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    }
    for size in sizes:
        home = folder / str(size)
        home.mkdir()
        fill(home, size)
        works[str(size)] = command(home)
        works[str(size)]()  # starts the owner
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            times[name].append(1000 * (time.perf_counter() - began))
    goals = {str(size): GOALS.get(size, (None, None)) for size in sizes}
    return [
        {
            "memories": name,
            **spread(times[name]),
            "goal_ms": goals.get(name, (None, None))[0],
            "bytes": (folder / name / "report.html").stat().st_size if name in goals else None,
            "goal_bytes": goals.get(name, (None, None))[1],
        }
        for name in works
    ]


def command(home: Path) -> Callable[[], object]:
    """One call of the command in ``home``."""
    words = [str(CLI), "report", "-o", "report.html"]
    return lambda: subprocess.run(words, env=live_env(home), cwd=home, capture_output=True, check=True)


if __name__ == "__main__":
    main()
