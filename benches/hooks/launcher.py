#!/usr/bin/env python3
"""The launcher's own share of every hook: whole processes beside a static C program, in one run.

    python benches/hooks/launcher.py [--runs 1000] [--launcher FILE] [--json FILE]

The owner is a C program that answers at once (native/fake_owner.c), or away; processes.py measures the
same with the real one. Each round runs each case once, in random order: read the ratios, not the times.
Needs a C compiler.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import shutil
import statistics
import struct
import subprocess
import sysconfig
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NATIVE = Path(__file__).resolve().parents[1] / "native"
CLI = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
FLOOR = "floor: static C, returns 0"
SESSION = "bench-session"
GOALS = {
    "brief, warm": 1.15,
    "brief, warm, no session id": 1.15,
    "brief, cold": 1.15,
    "hook, owner up": 1.5,
    "hook 60 KB, owner up": 2.0,
    "hook, owner dead: log, start": 5.0,
    "hook, owner starting: log": 5.0,
}
"""Ratios of medians to the floor's that the launcher must stay under, out of 3 and 5 for the whole hook."""


def main() -> None:
    """Build the native parts, run the cases, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--launcher", type=Path, default=CLI)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    try:
        report = measure(folder, given.launcher.resolve(), given.runs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_table(report)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1))


def measure(folder: Path, launcher: Path, runs: int) -> dict[str, Any]:
    """Run all cases ``runs`` times; medians, p95 and ratios of each."""
    for name in ("noop", "timed_spawn", "fake_owner"):
        subprocess.run(["cc", "-O2", "-static", "-o", folder / name, NATIVE / f"{name}.c"], check=True)
    (folder / "project" / ".git").mkdir(parents=True)
    # The client's own environment is about as large; getenv and exec pay for every string.
    padding = {f"CLIENT_VARIABLE_{number:02d}": "x" * 40 for number in range(40)}
    roots = {name: environment(folder, name) | padding for name in ("live", "dead", "starting")}
    write_brief_cache(folder, roots["live"], launcher)
    plan = folder / "plan"
    plan.write_text("".join(case_lines(folder, launcher, roots)))
    with fake_owner(folder), held_lock(folder):
        done = subprocess.run(
            [folder / "timed_spawn", plan, str(runs)], capture_output=True, cwd=folder / "project", check=True
        )
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.release()}",
        "launcher_bytes": launcher.stat().st_size,
        "runs": runs,
        "cases": judge(done.stdout.decode().splitlines()),
    }


def environment(folder: Path, root: str) -> dict[str, str]:
    """A hook's variables; the owner that it may start is the floor program, gone at once."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "CONTEXT_GRAPH_HOME": str(folder / root),
        "CONTEXT_GRAPH_PYTHON": str(folder / "noop"),
        "CLAUDE_PROJECT_DIR": str(folder / "project"),
        "CLAUDE_CODE_SESSION_ID": SESSION,
    }


def write_brief_cache(folder: Path, env: Mapping[str, str], launcher: Path) -> None:
    """One slot for the session, where the launcher itself says that the store is (docs/dev/formats.md)."""
    hook = [str(launcher), "hooks", "stop", "--format", "claude", "--stdin=false"]
    subprocess.run(hook, env=env, cwd=folder / "project", check=True)
    store = next((folder / "live" / "stores").iterdir())
    session, line = SESSION.encode(), b"[C:CON r=0.97 IC=0.95]"
    head = struct.pack("<IIBBHq", 0x31424743, 1, 3, len(line), len(session), 1)
    data = (
        head
        + struct.pack("<6f", 0.6, 0.97, 0.5, 0.4, 0.95, 0.5)
        + line.ljust(64, b"\0")
        + session.ljust(400, b"\0")
    )
    home = 0xCBF29CE484222325
    for byte in session:
        home = ((home ^ byte) * 0x100000001B3) % 2**64
    cache = bytearray(4096 + 135 * 512)
    cache[:24] = struct.pack("<8sIIII", b"CGBRIEF1", 1, 512, 128, 8)
    at = 4096 + home % 128 * 512
    cache[at : at + 512] = struct.pack("<I", zlib.crc32(data)) + data
    (store / "brief.bin").write_bytes(cache)
    shown = subprocess.run([launcher, "consciousness", "brief"], env=env, capture_output=True, check=True)
    if shown.stdout != line + b"\n":
        raise SystemExit(f"the launcher prints {shown.stdout!r} for a warm brief")


@contextmanager
def fake_owner(folder: Path) -> Iterator[None]:
    """The C program behind the live root's socket."""
    (folder / "live" / "run").mkdir(exist_ok=True)
    socket = folder / "live" / "run" / "owner.sock"
    with subprocess.Popen(
        [folder / "fake_owner", socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdin is not None and owner.stdout is not None
        owner.stdout.readline()
        yield
        owner.stdin.close()


@contextmanager
def held_lock(folder: Path) -> Iterator[None]:
    """Somebody holds the third root's lock: an owner that is on its way."""
    (folder / "starting" / "run").mkdir(parents=True)
    with open(folder / "starting" / "run" / "owner.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def case_lines(folder: Path, launcher: Path, roots: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """The spawner's plan."""
    small, large = folder / "2k.json", folder / "60k.json"
    small.write_text(json.dumps(tool_event(24)))
    large.write_text(json.dumps(tool_event(740)))
    live = roots["live"]
    brief = [str(launcher), "consciousness", "brief"]
    hook = [str(launcher), "hooks", "post-tool", "--format", "claude"]
    no_session = {name: value for name, value in live.items() if name != "CLAUDE_CODE_SESSION_ID"}
    yield from case(FLOOR, [str(folder / "noop")], live)
    yield from case("brief, warm", brief, live)
    yield from case("brief, warm, no session id", brief, no_session)
    yield from case("brief, cold", brief, {**live, "CLAUDE_CODE_SESSION_ID": "other"})
    yield from case("hook, owner up", hook, live, small)
    yield from case("hook 60 KB, owner up", hook, live, large)
    yield from case("hook, owner dead: log, start", hook, roots["dead"], small)
    yield from case("hook, owner starting: log", hook, roots["starting"], small)


def tool_event(lines: int) -> dict[str, object]:
    """A tool event with ``lines`` times 80 bytes of output, as the client sends it."""
    output = "tests/gateway/test_rate_limiter.py::test_bucket_refills PASSED [ 42%] in 0.03 s\n" * lines
    return {
        "session_id": SESSION,
        "transcript_path": "/nowhere/t.jsonl",
        "cwd": "/nowhere",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {
            "command": "pytest tests/gateway/test_rate_limiter.py -q",
            "description": "Run the tests",
        },
        "tool_response": {"stdout": output, "stderr": ""},
        "tool_use_id": "toolu_@@@@@@@@",
    }


def case(name: str, args: list[str], env: Mapping[str, str], stdin: Path | None = None) -> Iterator[str]:
    """One case of the plan."""
    yield f"C {name}\n"
    yield from (f"A {word}\n" for word in args)
    yield from (f"E {key}={value}\n" for key, value in env.items())
    if stdin:
        yield f"I {stdin}\n"


def judge(lines: list[str]) -> list[dict[str, Any]]:
    """Medians and p95 in microseconds, ratios to the floor's median, exit codes."""
    walls: dict[str, list[float]] = {}
    codes: dict[str, set[int]] = {}
    for line in lines:
        name, wall, _, code = line.split("\t")
        walls.setdefault(name, []).append(int(wall) / 1000)
        codes.setdefault(name, set()).add(int(code))
    floor = statistics.median(walls[FLOOR])
    rows = []
    for name, times in walls.items():
        p50, p95 = statistics.median(times), sorted(times)[int(0.95 * (len(times) - 1))]
        row = {"case": name, "p50_us": p50, "p95_us": p95, "ratio_p50": p50 / floor, "ratio_p95": p95 / floor}
        rows.append({**row, "goal_p50": GOALS.get(name), "exit_codes": sorted(codes[name])})
    return sorted(rows, key=lambda row: float(row["ratio_p50"]))


def print_table(report: Mapping[str, Any]) -> None:
    """The table for people."""
    print(f"{report['machine']}; {report['runs']} rounds; launcher of {report['launcher_bytes']} bytes")
    print(f"{'case':<34}{'p50 us':>9}{'p95 us':>9}{'x floor':>9}{'goal':>6}{'p95 x':>8}  exit")
    for row in report["cases"]:
        times = f"{row['p50_us']:>9.0f}{row['p95_us']:>9.0f}"
        ratios = f"{row['ratio_p50']:>9.2f}{row['goal_p50'] or '':>6}{row['ratio_p95']:>8.2f}"
        print(f"{row['case']:<34}{times}{ratios}  {row['exit_codes']}")


if __name__ == "__main__":
    main()
