#!/usr/bin/env python3
"""Whole-process times of hooks and the brief, beside a static C program that returns 0, in one run.

    python benches/processes.py [--runs 400] [--json FILE]

Every round runs each case once, in random order, so that the machine's drift hits all alike: read the ratios.
Needs a C compiler for the floor and the spawner. Uses a data root of its own, removed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NATIVE = Path(__file__).resolve().parent / "native"
CLI = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
GOALS = {
    "brief, warm": 1.15,
    "brief, cold": 1.15,
    "hooks post-tool": 3.0,
    "hooks pre-tool": 3.0,
    "hooks prompt-submit": 3.0,
    "hooks stop": 3.0,
    "hooks session-end": 3.0,
    "owner dead: post-tool": 5.0,
}
"""Ratio of medians to the floor that each case must stay under."""
P95_GOAL = 8.0
"""A live hook's p95 over the floor's median."""
SESSION = "bench-session"
FLOOR = "floor: static C, returns 0"


def main() -> None:
    """Build the native parts, run the cases, print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    try:
        report = measure(folder, given.runs)
    finally:
        subprocess.run(
            [CLI, "owner", "stop"], env=live_env(folder), cwd=folder, capture_output=True, check=False
        )
        shutil.rmtree(folder, ignore_errors=True)
    print_table(report)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1))


def live_env(folder: Path) -> dict[str, str]:
    """The environment of the cases with an owner."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(folder),
        "CONTEXT_GRAPH_HOME": str(folder / "live"),
        "CLAUDE_PROJECT_DIR": str(folder),
    }


def measure(folder: Path, runs: int) -> dict[str, Any]:
    """Run all cases ``runs`` times; medians, p95 and ratios of each."""
    for name in ("noop", "timed_spawn"):
        subprocess.run(["cc", "-O2", "-static", "-o", folder / name, NATIVE / f"{name}.c"], check=True)
    start = json.dumps({"session_id": SESSION, "hook_event_name": "SessionStart", "source": "startup"})
    for verb, body in (
        ("session-start", start),
        ("post-tool", json.dumps(tool_event("PostToolUse", "warm-up"))),
    ):
        command = [CLI, "hooks", verb, "--format", "claude"]
        subprocess.run(
            command, input=body.encode(), env=live_env(folder), cwd=folder, check=True, capture_output=True
        )
    plan = folder / "plan"
    plan.write_text("".join(case_lines(folder)))
    done = subprocess.run(
        [folder / "timed_spawn", plan, str(runs)], capture_output=True, cwd=folder, check=True
    )
    owner = subprocess.run(
        [CLI, "owner", "status", "--json"],
        env=live_env(folder),
        cwd=folder,
        capture_output=True,
        check=True,
    )
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.release()}",
        "runs": runs,
        "cases": judge(done.stdout.decode().splitlines()),
        "owner": json.loads(owner.stdout),
    }


def tool_event(event: str, number: str = "@@@@@@@@") -> dict[str, Any]:
    """A tool event with about 2 KB of text, as the client sends it."""
    output = "tests/gateway/test_rate_limiter.py::test_bucket_refills PASSED [ 42%] in 0.03 s\n" * 24
    body = {
        "session_id": SESSION,
        "transcript_path": "/nowhere/t.jsonl",
        "cwd": "/nowhere",
        "hook_event_name": event,
        "tool_name": "Bash",
        "tool_input": {
            "command": "pytest tests/gateway/test_rate_limiter.py -q",
            "description": "Run the tests",
        },
        "tool_use_id": f"toolu_{number}",
    }
    return body if event == "PreToolUse" else {**body, "tool_response": {"stdout": output, "stderr": ""}}


def case_lines(folder: Path) -> list[str]:
    """The spawner's plan."""
    common = {"session_id": SESSION, "cwd": "/nowhere"}
    bodies = {
        "post-tool": tool_event("PostToolUse"),
        "pre-tool": tool_event("PreToolUse"),
        "prompt-submit": {
            **common,
            "hook_event_name": "UserPromptSubmit",
            "prompt": "now the rate limiter's tests",
        },
        "stop": {**common, "hook_event_name": "Stop", "stop_hook_active": False},
        "session-end": {**common, "hook_event_name": "SessionEnd", "reason": "other"},
    }
    live = {**live_env(folder), "CLAUDE_CODE_SESSION_ID": SESSION}
    # The owner that is started is the floor itself: its own start is on another core's time.
    dead = {**live, "CONTEXT_GRAPH_HOME": str(folder / "dead"), "CONTEXT_GRAPH_PYTHON": str(folder / "noop")}
    python = [os.path.realpath(sys.executable), "-c", "pass"]
    lines = case(FLOOR, [str(folder / "noop")], {})
    lines += case("bare Python, pass", python, {"PATH": live["PATH"]})
    lines += case("brief, warm", [str(CLI), "consciousness", "brief"], live)
    lines += case(
        "brief, cold", [str(CLI), "consciousness", "brief"], {**live, "CLAUDE_CODE_SESSION_ID": "other"}
    )
    for verb, body in bodies.items():
        path = folder / f"{verb}.json"
        path.write_text(json.dumps(body))
        lines += case(f"hooks {verb}", [str(CLI), "hooks", verb, "--format", "claude"], live, path)
    lines += case(
        "owner dead: post-tool",
        [str(CLI), "hooks", "post-tool", "--format", "claude"],
        dead,
        folder / "post-tool.json",
    )
    return lines


def case(name: str, args: list[str], env: Mapping[str, str], stdin: Path | None = None) -> list[str]:
    """One case of the plan."""
    lines = [
        f"C {name}\n",
        *(f"A {word}\n" for word in args),
        *(f"E {key}={value}\n" for key, value in env.items()),
    ]
    return [*lines, f"I {stdin}\n"] if stdin else lines


def judge(lines: list[str]) -> list[dict[str, Any]]:
    """Medians and p95 in microseconds, ratios to the floor's median, exit codes."""
    walls: dict[str, list[float]] = {}
    cpus: dict[str, list[float]] = {}
    codes: dict[str, set[int]] = {}
    for line in lines:
        name, wall, cpu, code = line.split("\t")
        walls.setdefault(name, []).append(int(wall) / 1000)
        cpus.setdefault(name, []).append(int(cpu) / 1000)
        codes.setdefault(name, set()).add(int(code))
    floor = statistics.median(walls[FLOOR])
    return [
        {
            "case": name,
            "p50_us": statistics.median(times),
            "p95_us": sorted(times)[min(len(times) - 1, int(0.95 * len(times)))],
            "cpu_p50_us": statistics.median(cpus[name]),
            "ratio_p50": statistics.median(times) / floor,
            "ratio_p95": sorted(times)[min(len(times) - 1, int(0.95 * len(times)))] / floor,
            "goal_p50": GOALS.get(name),
            "goal_p95": P95_GOAL if name.startswith("hooks") else None,
            "exit_codes": sorted(codes[name]),
        }
        for name, times in sorted(walls.items())
    ]


def print_table(report: dict[str, Any]) -> None:
    """The table for people."""
    print(f"{report['machine']}; {report['runs']} rounds")
    print(f"{'case':<30}{'p50 us':>9}{'p95 us':>9}{'x floor':>9}{'goal':>6}{'p95 x':>8}{'goal':>6}  exit")
    for row in report["cases"]:
        goal, tail = row["goal_p50"] or "", row["goal_p95"] or ""
        times = f"{row['p50_us']:>9.0f}{row['p95_us']:>9.0f}"
        ratios = f"{row['ratio_p50']:>9.2f}{goal:>6}{row['ratio_p95']:>8.2f}{tail:>6}"
        print(f"{row['case']:<30}{times}{ratios}  {row['exit_codes']}")
    owner = report["owner"]
    print(f"owner: {owner['rss_bytes'] / 2**20:.1f} MiB RSS after {owner['requests']} requests")


if __name__ == "__main__":
    main()
