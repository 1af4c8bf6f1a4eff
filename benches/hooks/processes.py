#!/usr/bin/env python3
"""Whole-process times of hooks and the brief, beside a static C program that returns 0, in one run.

    python benches/hooks/processes.py [--runs 400] [--json FILE]

Every round runs each case once, in random order, so that the machine's drift hits all alike: read the ratios.
Needs a C compiler for the floor and the spawner. Uses a data root of its own, removed at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.report import Figure, Kind, figures, human, options, table, write
from benches.turns import turn

NATIVE = Path(__file__).resolve().parents[1] / "native"
CLI = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
GOALS = {
    "brief, warm": 1.15,
    "brief, cold": 1.15,
    "hooks post-tool": 1.5,
    "hooks pre-tool": 1.3,
    "hooks post-tool-failure": 3.0,
    "hooks prompt-submit": 4.0,
    "hooks stop": 1.5,
    "hooks session-end": 1.5,
    "owner dead: post-tool": 5.0,
}
"""Ratio of medians to the floor that each case must stay under."""
GOALS_P95 = {"hooks post-tool": 2.5, "hooks pre-tool": 2.0}
"""p95 over the floor's median."""
SESSION = "bench-session"
FLOOR = "floor: static C, returns 0"
VENV, BARE = "the environment's Python, pass", "bare Python (-I -S), pass"
PYTHON_HOOK, BARE_HOOK, NODE_HOOK = (
    "plain hook in Python",
    "plain hook in Python (-I -S)",
    "plain hook in Node",
)
RIVAL_CASES = (VENV, BARE, PYTHON_HOOK, BARE_HOOK, NODE_HOOK)
"""Python as this environment starts it, with its site packages, and bare."""
RIVALS = Path(__file__).resolve().parents[1] / "rivals"


def main() -> None:
    """Build the native parts, run the cases, print the table."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=400)
    given = parser.parse_args()
    found = run(given.runs)
    print(table(found))
    write(given.json, found)


def run(rounds: int) -> list[Figure]:
    """All cases ``rounds`` times in a data root of their own."""
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    try:
        return measure(folder, rounds)
    finally:
        subprocess.run(
            [CLI, "owner", "stop"], env=live_env(folder), cwd=folder, capture_output=True, check=False
        )
        shutil.rmtree(folder, ignore_errors=True)


def live_env(folder: Path) -> dict[str, str]:
    """The environment of the cases with an owner."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(folder),
        "CONTEXT_GRAPH_HOME": str(folder / "live"),
        "CLAUDE_PROJECT_DIR": str(folder),
    }


def measure(folder: Path, runs: int) -> list[Figure]:
    """Run all cases ``runs`` times, in random order each time."""
    build_native(folder)
    start = json.dumps({"session_id": SESSION, "hook_event_name": "SessionStart", "source": "startup"})
    for verb, body in (
        ("session-start", start),
        ("post-tool", json.dumps(tool_event("PostToolUse", "warm-up"))),
    ):
        command = [CLI, "hooks", verb, "--format", "claude"]
        subprocess.run(
            command, input=body.encode(), env=live_env(folder), cwd=folder, check=True, capture_output=True
        )
    calls = timed(folder, case_lines(folder), runs)
    owner = subprocess.run(
        [CLI, "owner", "status", "--json"],
        env=live_env(folder),
        cwd=folder,
        capture_output=True,
        check=True,
    )
    return judge(calls, json.loads(owner.stdout))


def build_native(folder: Path) -> None:
    """Compile the floor and the spawner into ``folder``."""
    for name in ("noop", "timed_spawn"):
        subprocess.run(["cc", "-O2", "-static", "-o", folder / name, NATIVE / f"{name}.c"], check=True)


@dataclass
class Calls:
    """All calls of one case: seconds from start to exit, seconds of processor time, exit codes."""

    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    codes: set[int] = field(default_factory=set)


def timed(folder: Path, lines: Iterable[str], rounds: int, *, may_fail: bool = False) -> dict[str, Calls]:
    """Every `case` of ``lines`` so many times, in random order each time; one that fails ends the bench."""
    plan = folder / "plan"
    plan.write_text("".join(lines))
    command = [folder / "timed_spawn", plan, str(rounds), "by turns"]
    of_case: dict[str, Calls] = {}
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as spawner:
        for _ in range(rounds):
            for line in _one_round(spawner):
                name, wall, cpu, code = line.split("\t")
                if code != "0" and not may_fail:
                    raise SystemExit(f"{name}: exit {code}")
                calls = of_case.setdefault(name, Calls())
                calls.walls.append(int(wall) / 1e9)
                calls.cpus.append(int(cpu) / 1e9)
                calls.codes.add(int(code))
    return of_case


def _one_round(spawner: subprocess.Popen[bytes]) -> list[str]:
    assert spawner.stdin and spawner.stdout
    with turn():
        spawner.stdin.write(b"\n")
        spawner.stdin.flush()
        lines = [*iter(spawner.stdout.readline, b"\n")] if spawner.poll() is None else []
    return [line.decode().rstrip("\n") for line in lines]


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
        "post-tool-failure": {
            **tool_event("PreToolUse"),
            "hook_event_name": "PostToolUseFailure",
            "error": "Exit code 1",
        },
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
    lines = case(FLOOR, [str(folder / "noop")], {})
    lines += case(VENV, [sys.executable, "-c", "pass"], {"PATH": live["PATH"]})
    lines += case(BARE, [sys.executable, "-I", "-S", "-c", "pass"], {"PATH": live["PATH"]})
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
    return lines + rivals(folder)


def case(name: str, args: list[str], env: Mapping[str, str], stdin: Path | None = None) -> list[str]:
    """One case of the plan."""
    lines = [
        f"C {name}\n",
        *(f"A {word}\n" for word in args),
        *(f"E {key}={value}\n" for key, value in env.items()),
    ]
    return [*lines, f"I {stdin}\n"] if stdin else lines


def rivals(folder: Path) -> list[str]:
    """Plain hooks of an interpreter, fed as `hooks post-tool` is: the least such a hook costs."""
    lines = []
    for name, command in rival_commands().items():
        if command is None:
            print(f"{name}: not installed here")
            continue
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "RIVAL_LOG": str(folder / "rival.jsonl")}
        lines += case(name, command, env, folder / "post-tool.json")
    return lines


def rival_commands() -> dict[str, list[str] | None]:
    """Each rival's command, None where its interpreter is missing."""
    node = shutil.which("node")
    return {
        PYTHON_HOOK: [sys.executable, str(RIVALS / "hook.py")],
        BARE_HOOK: [sys.executable, "-I", "-S", str(RIVALS / "hook.py")],
        NODE_HOOK: [node, str(RIVALS / "hook.mjs")] if node else None,
    }


def judge(calls: Mapping[str, Calls], owner: Mapping[str, Any]) -> list[Figure]:
    """The cases beside the floor."""
    walls = {name: of.walls for name, of in calls.items()}
    kinds: dict[str, Kind] = {
        name: "limit" if name == FLOOR else "rival" if name in RIVAL_CASES else "ours" for name in walls
    }
    extra: dict[str, dict[str, Any]] = {
        name: {"cpu": human(statistics.median(of.cpus))} for name, of in calls.items()
    }
    post = extra["hooks post-tool"]
    post["owner RSS MiB"], post["requests"] = round(owner["rss_bytes"] / 2**20, 1), owner["requests"]
    return figures("process from start to exit", kinds, walls, goals=GOALS, goals_p95=GOALS_P95, extra=extra)


if __name__ == "__main__":
    main()
