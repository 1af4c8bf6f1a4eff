#!/usr/bin/env python3
"""What a consolidation beside the owner costs the hooks of a session at work, and how soon one gives way.

    python benches/consolidation/hooks.py [--memories 100000] [--mode deep] [--turns 3] [--json FILE]

By turns, hooks alone and hooks while a run that was asked for works in the same store; each run is committed
and then undone, so that every turn has the same work. Whole processes, timed from start to exit. Then the
owner's own runs, each met by a query: when the answer is there, and when the run's process is gone.
Goals: post-tool's p95 beside a run at most 1.5 times its p95 without one (the static program's ratio is in
the table, too); gone within 100 ms. Exit 1 where one is missed.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.consolidation.stores import make
from benches.hooks.processes import CLI, FLOOR, SESSION, build_native, case, live_env, timed, tool_event
from benches.report import described, grid, machine, options, save, spread

from context_graph.config import Location, locate
from context_graph.wire.client.request import follow, request
from context_graph.wire.frames import FOLLOWS

P95_GOAL = 1.5
GONE_GOAL_MS = 100.0
ALONE_ROUNDS = 60
BESIDE_ROUNDS = 10
_SETTINGS = {
    "CONTEXT_GRAPH_DREAM_IDLE": "light",
    "CONTEXT_GRAPH_DREAM_IDLE_S": "1",
    "CONTEXT_GRAPH_DREAM_COOLDOWN_S": "0",
}


def main() -> None:
    """Fill the store, take turns, print the table."""
    parser = options(__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--mode", choices=("light", "deep", "rem"), default="deep")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--aborts", type=int, default=10)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    bench = Bench(folder)
    try:
        make(bench.place.store, given.memories)
        bench.command("owner", "start", **_OFF)
        report: dict[str, Any] = {
            "memories": given.memories,
            "mode": given.mode,
            **bench.turns(given.mode, given.turns),
        }
        bench.command("owner", "stop")
        bench.command("owner", "start", **_SETTINGS)
        report["gives_way"] = bench.aborts(given.aborts)
    finally:
        bench.command("owner", "stop")
        shutil.rmtree(folder, ignore_errors=True)
    print_table(report)
    save(given.json, report)
    judge(report)


_OFF = {"CONTEXT_GRAPH_DREAM": "false"}


class Bench:
    """One data root with its owner, its hooks and its store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**live_env(folder), "CLAUDE_CODE_SESSION_ID": SESSION}
        self.place: Location = locate(None, self.env, folder)
        build_native(folder)
        bodies = {
            "post-tool": tool_event("PostToolUse"),
            "prompt-submit": {
                "session_id": SESSION,
                "hook_event_name": "UserPromptSubmit",
                "prompt": "which of the @@@@@@@@ settings does the release of the team wait for?",
            },
        }
        lines = case(FLOOR, [str(folder / "noop")], {})
        for verb, body in bodies.items():
            path = folder / f"{verb}.json"
            path.write_text(json.dumps(body))
            lines += case(f"hooks {verb}", [str(CLI), "hooks", verb, "--format", "claude"], self.env, path)
        self.plan = lines

    def command(self, *words: str, **env: str) -> None:
        """Run a command that must succeed."""
        subprocess.run(
            [CLI, *words], env={**self.env, **env}, cwd=self.folder, check=True, capture_output=True
        )

    def ask(self, verb: str, **given: Any) -> dict[str, Any]:
        """One request of the owner's."""
        body = json.dumps(given).encode()
        ask = partial(request, verb, {}, body, location=self.place, autostart=False, timeout_s=60.0)
        reply = ask(env=self.env)
        if reply.exit_code:
            sys.exit(reply.stderr.decode())
        found: dict[str, Any] = json.loads(reply.stdout)
        return found

    def rounds(self, number: int) -> dict[str, list[float]]:
        """Every case so many times, in random order; wall times in ms."""
        found = timed(self.folder, self.plan, number)
        return {name: [1000.0 * wall for wall in calls.walls] for name, calls in found.items()}

    def turns(self, mode: str, number: int) -> dict[str, Any]:
        """Hooks alone and hooks beside a run, by turns."""
        alone: dict[str, list[float]] = {}
        beside: dict[str, list[float]] = {}
        runs: list[dict[str, Any]] = []
        self.rounds(5)  # what a session's first hooks load
        for _ in range(number):
            _add(alone, self.rounds(ALONE_ROUNDS))
            body = json.dumps({"mode": mode, "any_state": True}).encode()
            following = follow("memory.consolidate", {FOLLOWS: True}, body, location=self.place, env=self.env)
            with ThreadPoolExecutor(1) as waiting:
                over = waiting.submit(lambda lines: list(lines)[-1], following)
                while not over.done():
                    _add(beside, self.rounds(BESIDE_ROUNDS))
            view = over.result()
            if view["state"] != "done":
                sys.exit(str(view))
            result = view["result"]
            runs.append({name: result[name] for name in ("merged_count", "pruned_count", "links_made_count")})
            runs[-1]["s"] = result["duration_ms"] / 1000.0
            self.ask("memory.undo", token=result["undo_token"])
        return {"alone": _rows(alone), "beside": _rows(beside), "runs": runs, "commits_ms": self._commits()}

    def _commits(self) -> list[float]:
        """How long each commit took, by the owner's log: so long it held the memory."""
        lines = (self.place.root / "log" / "owner.log").read_text().splitlines()
        return [float(line.rpartition("commit_ms=")[2]) for line in lines if "commit_ms=" in line]

    def aborts(self, number: int) -> dict[str, Any]:
        """The owner's own runs, each met by a query in its midst."""
        answered, gone = [], []
        for at in range(number):
            fact = f"The settings of bench run {at} are nowhere else"
            self.ask("memory.store", content=fact, rationale="makes the store one that has changed")
            while (running := self.ask("owner.status")["dreams"]["running"]) is None or not running["stage"]:
                time.sleep(0.01)
            process = Path(f"/proc/{running['pid']}")
            began = time.perf_counter()
            self.ask("memory.recall", query="which settings does the release wait for?")
            answered.append(1000.0 * (time.perf_counter() - began))
            while process.exists():
                time.sleep(0.0005)
            gone.append(1000.0 * (time.perf_counter() - began))
        return {"answered_ms": answered, "gone_ms": gone}


def _add(to: dict[str, list[float]], more: dict[str, list[float]]) -> None:
    for name, times in more.items():
        to.setdefault(name, []).extend(times)


def _rows(walls: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {name: {"n": len(times), **spread(times)} for name, times in walls.items()}


def print_table(report: dict[str, Any]) -> None:
    """The table for people."""
    print(described(machine()))
    print(f"{report['memories']} memories, {report['mode']}, runs: {report['runs']}")
    rows: list[list[object]] = []
    for name, alone in report["alone"].items():
        beside = report["beside"][name]
        for what, row in (("alone", alone), ("beside", beside)):
            rows.append([name, what, row["n"], row["p50_ms"], row["p95_ms"], row["max_ms"]])
        rows[-2] += ["", ""]
        rows[-1] += [beside["p95_ms"] / alone["p95_ms"], P95_GOAL]
    print(grid(("case", "", "n", "p50 ms", "p95 ms", "max ms", "p95 x", "goal"), rows))
    print(f"commits took (ms): {report['commits_ms']}")
    gives = report["gives_way"]
    gone, answered = gives["gone_ms"], gives["answered_ms"]
    print(
        f"gave way to a query: answered in {statistics.median(answered):.1f} ms (most {max(answered):.1f}), "
        f"process gone after {statistics.median(gone):.1f} ms (most {max(gone):.1f}; goal {GONE_GOAL_MS:g})"
    )


def judge(report: dict[str, Any]) -> None:
    """Exit 1 where a goal is missed."""
    hook = "hooks post-tool"
    ratio = report["beside"][hook]["p95_ms"] / report["alone"][hook]["p95_ms"]
    gone = statistics.median(report["gives_way"]["gone_ms"])
    missed = [f"{hook}: p95 {ratio:.2f} x, goal {P95_GOAL:g}"] if ratio > P95_GOAL else []
    missed += [f"gone after {gone:.0f} ms, goal {GONE_GOAL_MS:g}"] if gone > GONE_GOAL_MS else []
    if missed:
        sys.exit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
