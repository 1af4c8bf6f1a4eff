#!/usr/bin/env python3
"""Whole-process times of the requirement gates, beside a static C no-op, in one run.

    python benches/hooks/gates.py [--runs 400] [--crowd 64] [--json FILE]

Every round runs each case once, in random order: read the ratios of p50, not the times. Then `crowd`
processes run at once on one branch, every other one a satisfy. Needs a C compiler; leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.hooks.processes import CLI, FLOOR, Calls, build_native, case, timed
from benches.report import described, grid, machine, options, quantile, save

GOALS = {"Edit, 6 requirements met": 4.0, "tool without trigger": 3.0, "status line": 4.0}
"""The highest ratio of a case's median to the floor's."""
CROWD_S = 1.0
"""Longest time that one process of the crowd may take."""
SESSION = "cad0ac4d-3933-45ad-9a1c-14aec05bb940"
NAMES = [f"requirement_{number}" for number in range(6)]


def main() -> None:
    """Build the native parts, run the cases and the crowds, print the tables."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--crowd", type=int, default=64)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-gates-"))
    try:
        report = measure(folder, given.runs)
        report["crowd"] = crowd(folder, given.crowd // 2)
    finally:
        subprocess.run(
            [CLI, "owner", "stop"],
            env=environment(folder),
            cwd=folder,
            capture_output=True,
            check=False,
        )
        shutil.rmtree(folder, ignore_errors=True)
    print_tables(report)
    save(given.json, report)


def environment(folder: Path) -> dict[str, str]:
    """The environment of a hook."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(folder / "home"),
        "CONTEXT_GRAPH_HOME": str(folder / "data"),
        "CLAUDE_PROJECT_DIR": str(folder / "repo"),
        "CLAUDE_CODE_SESSION_ID": SESSION,
    }


def make_project(folder: Path) -> None:
    """A repository on a branch, with six requirements of session scope."""
    repo = folder / "repo"
    (repo / ".claude").mkdir(parents=True)
    (folder / "home").mkdir()
    subprocess.run(["git", "init", "-q", "-b", "feature/bench", repo], check=True)
    entries = "".join(f"  {name}: {{enabled: true, scope: session}}\n" for name in NAMES)
    (repo / ".claude" / "requirements.yaml").write_text(
        f'version: "1.0"\ninherit: false\nrequirements:\n{entries}'
    )


def hook(folder: Path, verb: str, body: dict[str, Any]) -> str:
    """One hook call to its end; what it prints."""
    done = subprocess.run(
        [CLI, "hooks", verb, "--format", "claude"],
        input=json.dumps(body).encode(),
        env=environment(folder),
        cwd=folder / "repo",
        check=True,
        capture_output=True,
    )
    return done.stdout.decode()


def event(folder: Path, tool: str, number: str = "@@@@@@@@") -> dict[str, Any]:
    """A PreToolUse event with 2 KB of input, as the client sends it."""
    return {
        "session_id": SESSION,
        "transcript_path": "/nowhere/t.jsonl",
        "cwd": str(folder / "repo"),
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": {
            "file_path": str(folder / "repo" / "src" / "a.py"),
            "old_string": "def refill(self):\n    return self.rate\n" * 24,
            "new_string": "def refill(self, now):\n    return self.rate * now\n" * 24,
        },
        "tool_use_id": f"toolu_{number}",
    }


def measure(folder: Path, runs: int) -> dict[str, Any]:
    """Run all cases ``runs`` times; medians and ratios of each."""
    build_native(folder)
    make_project(folder)
    start = {
        "session_id": SESSION,
        "hook_event_name": "SessionStart",
        "source": "startup",
        "cwd": str(folder),
    }
    hook(folder, "session-start", start)
    refused = hook(folder, "pre-tool", event(folder, "Edit", "refused"))
    assert '"deny"' in refused, f"the gate does not gate: {refused}"
    command = [CLI, "req", "satisfy", *NAMES]
    subprocess.run(
        command, env=environment(folder, "live"), cwd=folder / "repo", check=True, capture_output=True
    )
    for tool in ("Edit", "Read"):  # armed
        out = hook(folder, "pre-tool", event(folder, tool, "warm"))
        assert '"deny"' not in out, out
    write_inputs(folder)
    return {"runs": runs, "cases": judge(timed(folder, case_lines(folder), runs, may_fail=True))}


def write_inputs(folder: Path) -> None:
    """What stands on the cases' standard input."""
    for tool in ("Edit", "Read"):
        (folder / f"{tool}.json").write_text(json.dumps(event(folder, tool)))
    (folder / "bare").mkdir()
    (folder / "bare.json").write_text(json.dumps({**event(folder, "Edit"), "cwd": str(folder / "bare")}))
    status = {"session_id": SESSION, "cwd": str(folder / "repo"), "model": {"id": "m", "display_name": "M"}}
    (folder / "status.json").write_text(json.dumps(status))


def case_lines(folder: Path) -> list[str]:
    """The spawner's plan."""
    pre_tool = [str(CLI), "hooks", "pre-tool", "--format", "claude"]
    lines = case(FLOOR, [str(folder / "noop")], {})
    env = environment(folder)
    lines += case("Edit, 6 requirements met", pre_tool, env, folder / "Edit.json")
    lines += case("tool without trigger", pre_tool, env, folder / "Read.json")
    lines += case("status line", [str(CLI), "req", "statusline"], env, folder / "status.json")
    bare = {**env, "CLAUDE_PROJECT_DIR": str(folder / "bare")}
    return lines + case("project without requirements", pre_tool, bare, folder / "bare.json")


def judge(calls: dict[str, Calls]) -> list[dict[str, Any]]:
    """Medians in microseconds, their ratio to the floor's, the goal, exit codes."""
    medians = {name: 1e6 * statistics.median(of.walls) for name, of in calls.items()}
    return [
        {
            "case": name,
            "p50_us": medians[name],
            "p95_us": 1e6 * quantile(sorted(calls[name].walls), 0.95),
            "cpu_p50_us": 1e6 * statistics.median(calls[name].cpus),
            "ratio": medians[name] / medians[FLOOR],
            "goal": GOALS.get(name),
            "exit_codes": sorted(calls[name].codes),
        }
        for name in sorted(calls)
    ]


def crowd(folder: Path, size: int) -> dict[str, Any]:
    """``size`` gate calls and as many satisfies at once on one branch, each of a session of its own.

    What must not be lost: each satisfaction in the state, each refusal and satisfaction in the store's log.
    """
    env = environment(folder)
    repo = folder / "repo"
    edit = event(folder, "Edit")
    began: dict[int, float] = {}
    took: list[float] = []
    failed = 0
    for number in range(size):
        satisfier, editor = f"satisfier-{number}", f"editor-{number}"
        command = [str(CLI), "req", "satisfy", NAMES[0], "--session", satisfier]
        began[spawn(command, env, repo, None)] = time.perf_counter()
        body = folder / f"{number}.json"
        body.write_text(json.dumps({**edit, "session_id": editor, "tool_use_id": f"toolu_{number}"}))
        hook_env = {**env, "CLAUDE_CODE_SESSION_ID": editor}
        gate = [str(CLI), "hooks", "pre-tool", "--format", "claude"]
        began[spawn(gate, hook_env, repo, body)] = time.perf_counter()
    while len(took) < 2 * size:
        pid, status, _ = os.wait4(-1, 0)
        if pid in began:
            took.append(time.perf_counter() - began[pid])
            failed += status != 0
    lost = sum(not satisfied(env, repo, f"satisfier-{number}") for number in range(size))
    denied = denials(env, repo)
    return {"size": 2 * size, "slowest_s": max(took), "failed": failed, "lost": lost, **denied}


def spawn(command: list[str], env: dict[str, str], folder: Path, stdin: Path | None) -> int:
    """Start ``command`` on files, without waiting; its pid."""
    os.chdir(folder)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(stdin or os.devnull), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    return os.posix_spawn(command[0], command, env, file_actions=actions)


def satisfied(env: dict[str, str], repo: Path, session: str) -> bool:
    """Whether the state says so."""
    done = subprocess.run(
        [CLI, "req", "status", "--json", "--session", session],
        env=env,
        cwd=repo,
        capture_output=True,
        check=True,
    )
    return bool(json.loads(done.stdout)["requirements"][NAMES[0]]["satisfied"])


def denials(env: dict[str, str], repo: Path) -> dict[str, int]:
    """How many of the crowd's refusals and satisfactions the store's log has."""
    done = subprocess.run(
        [CLI, "req", "log", "--limit", "10000", "--json"], env=env, cwd=repo, capture_output=True, check=True
    )
    entries = [
        one
        for one in json.loads(done.stdout)["entries"]
        if one.get("session_id", "").startswith(("satisfier-", "editor-"))
    ]
    subprocess.run([CLI, "owner", "stop"], env=env, cwd=repo, capture_output=True, check=False)
    return {
        "logged_denials": sum(one["kind"] == "denied" for one in entries),
        "logged_satisfactions": sum(one["kind"] == "satisfied" for one in entries),
    }


def print_tables(report: dict[str, Any]) -> None:
    """The tables for people."""
    print(f"{described(machine())}; {report['runs']} rounds")
    names = ("case", "p50_us", "p95_us", "cpu_p50_us", "ratio", "goal", "exit_codes")
    headers = ("case", "p50 us", "p95 us", "cpu us", "ratio", "goal", "exits")
    print(grid(headers, ([row[name] for name in names] for row in report["cases"])))
    one = report["crowd"]
    print(
        f"{one['size']} at once: slowest {one['slowest_s']:.2f} s (goal {CROWD_S} s), "
        f"{one['failed']} failed, {one['lost']} satisfactions lost; "
        f"log: {one['logged_denials']} refusals, {one['logged_satisfactions']} satisfactions"
    )


if __name__ == "__main__":
    main()
