#!/usr/bin/env python3
"""Whole-process times of `hooks prompt-submit` with recall and injection, beside the static no-op.

    python benches/hooks/injection.py [--runs 300] [--memories 10000 100000] [--json FILE]

One data root and owner for each store size, and one without any memory. Each prompt names another service,
so each is recalled, judged, fenced and noted in the ledger anew; the last column is the share of prompts that
brought memory.
Goals: p95 10 ms at 10,000 memories, 16 ms at 100,000.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.hooks.processes import CLI, FLOOR, SESSION, build_native, case, live_env, timed
from benches.report import described, grid, machine, options, save, spread

from context_graph import Memex
from context_graph.config import locate

P95_GOALS_MS = {10_000: 10.0, 100_000: 16.0}
TEAMS = ("payment", "ledger", "identity", "search", "catalogue", "shipping", "billing", "analytics")
REASONS = (
    "the old machine ran out of descriptors under load",
    "the proxy in front of it drops connections that idle for a minute",
    "its health check must not go through the cache",
    "the certificate of the previous host could not be renewed",
    "two deployments at once corrupted the shared volume",
)


def main() -> None:
    """Fill the stores, run the cases, print the table."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000])
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    homes = {size: folder / str(size) for size in (0, *given.memories)}
    try:
        report = measure(folder, homes, given.runs)
    finally:
        for home in homes.values():
            if home.exists():
                subprocess.run(
                    [CLI, "owner", "stop"], env=live_env(home), cwd=home, capture_output=True, check=False
                )
        shutil.rmtree(folder, ignore_errors=True)
    print_table(report)
    save(given.json, report)


def measure(folder: Path, homes: dict[int, Path], runs: int) -> dict[str, Any]:
    """Run every case ``runs`` times in random order."""
    build_native(folder)
    prompt = {
        "session_id": SESSION,
        "cwd": "/nowhere",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "which port does service @@@@@@@@ listen on, and why was it moved to another host?",
    }
    body = folder / "prompt.json"
    body.write_text(json.dumps(prompt))
    lines = case(FLOOR, [str(folder / "noop")], {})
    for size, home in homes.items():
        home.mkdir()
        fill(home, size)
        env = {**live_env(home), "CLAUDE_CODE_SESSION_ID": SESSION}
        command = [str(CLI), "hooks", "prompt-submit", "--format", "claude"]
        warm = body.read_bytes().replace(b"@@@@@@@@", b"warm-up")
        subprocess.run(command, input=warm, env=env, cwd=home, check=True, capture_output=True)
        lines += case(str(size), command, env, body)
    walls = {
        name: [1000.0 * wall for wall in calls.walls] for name, calls in timed(folder, lines, runs).items()
    }
    return {
        "runs": runs,
        "floor_ms": statistics.median(walls[FLOOR]),
        "cases": [row(size, walls[str(size)], homes[size], runs) for size in homes],
    }


def fill(home: Path, size: int) -> None:
    """Store ``size`` memories of some 60 tokens, through the library, while no owner runs."""
    if not size:
        return
    random.seed(size)
    env = live_env(home)
    os.environ["CONTEXT_GRAPH_HOME"] = env["CONTEXT_GRAPH_HOME"]
    store = locate(None, env=env, cwd=home).store
    with Memex.open(store) as memex:
        for start in range(0, size, 1000):
            memex.store_many(
                [
                    {
                        "content": text(number),
                        "rationale": "fill for a benchmark",
                        "session_id": f"s{number // 50}",
                    }
                    for number in range(start, min(size, start + 1000))
                ]
            )


def text(number: int) -> str:
    """A memory as people keep them, told apart by its number."""
    team, other = random.choice(TEAMS), random.choice(TEAMS)
    return (
        f"Service {number:08d} of the {team} team listens on port {10_000 + number % 50_000} of host "
        f"{other}-{number % 97} and was moved there because {random.choice(REASONS)}. Ask the {other} team "
        f"before it is restarted; the runbook is docs/{team}/service-{number % 1000}.md in its repository."
    )


def row(size: int, times: list[float], home: Path, runs: int) -> dict[str, Any]:
    """The figures of one store size, and how many of its prompts brought something."""
    env = live_env(home)
    listed = subprocess.run(
        [CLI, "memory", "stats", "--format", "json"], env=env, cwd=home, capture_output=True, check=True
    )
    owner = subprocess.run(
        [CLI, "owner", "status", "--json"], env=env, cwd=home, capture_output=True, check=True
    )
    return {
        "memories": size,
        **spread(times),
        "goal_p95_ms": P95_GOALS_MS.get(size),
        "brought": json.loads(listed.stdout)["injections"].get("injections", 0) / (runs + 1),
        "rss_mib": json.loads(owner.stdout)["rss_bytes"] / 2**20,
    }


def print_table(report: dict[str, Any]) -> None:
    """The table for people."""
    print(f"{described(machine())}; {report['runs']} rounds; floor p50 {report['floor_ms']:.2f} ms")
    names = ("memories", "p50_ms", "p95_ms", "goal_p95_ms", "max_ms", "rss_mib", "brought")
    headers = ("memories", "p50 ms", "p95 ms", "goal", "max ms", "owner MiB", "brought")
    print(grid(headers, ([one[name] for name in names] for one in report["cases"])))


if __name__ == "__main__":
    main()
