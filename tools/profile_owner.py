#!/usr/bin/env python3
"""Profile an owner under load: where its time goes, by function (py-spy) or by native symbol (perf).

    python tools/profile_owner.py [--with py-spy|perf] [--memories 10000] [--seconds 20] [--out FILE]

A client stores, recalls and injects over MCP while hooks come in; the profiler watches the owner alone.
py-spy draws a flame graph, Python and kernels in one; perf writes a table of symbols,
the kernel's own included where /proc/sys/kernel/perf_event_paranoid allows it. Uses a data root of its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.memory.mcp_calls import CLI, Bench, Client, inject, recall, store

HOOK = {
    "session_id": "s",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
}


def main() -> int:
    """Fill, profile, tell where the result is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--with", dest="profiler", choices=("py-spy", "perf"), default="py-spy")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    tool = find(given.profiler)
    if tool is None:
        print(f"{given.profiler} is not installed; {CURES[given.profiler]}", file=sys.stderr)
        return 1
    out = given.out or Path("artifacts") / OUTPUTS[given.profiler]
    out.parent.mkdir(parents=True, exist_ok=True)
    bench = Bench(given.memories, 0)
    try:
        bench.fill()
        client = Client(bench.env, bench.project)
        recall(client, 0)  # the owner is up, its index loaded
        with subprocess.Popen(
            command(tool, given.profiler, owner_pid(bench), given.seconds, out)
        ) as watching:
            done = load(bench, client, watching)
        client.close()
        if watching.returncode:
            return watching.returncode
        if given.profiler == "perf":
            listed(tool, out)
    finally:
        bench.close()
    print(f"{out}: the owner in {given.seconds} s of {done} rounds (store, recall, inject, hook)")
    return 0


OUTPUTS = {"py-spy": "owner.svg", "perf": "owner.perf.txt"}
CURES = {"py-spy": "make build", "perf": "it comes with the kernel's tools (linux-perf, linux-tools)"}


def find(name: str) -> str | None:
    """Beside this interpreter, or on PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def owner_pid(bench: Bench) -> int:
    """Of the owner that serves the bench."""
    told = subprocess.run([CLI, "owner", "status", "--json"], env=bench.env, capture_output=True, check=True)
    return int(json.loads(told.stdout)["pid"])


def command(tool: str, name: str, pid: int, seconds: int, out: Path) -> list[str]:
    """What watches the owner for that long."""
    if name == "py-spy":
        return [
            tool,
            "record",
            "--native",
            "--pid",
            str(pid),
            "--duration",
            str(seconds),
            "--output",
            str(out),
        ]
    data = str(out.with_suffix(".data"))
    return [tool, "record", "-g", "--pid", str(pid), "--output", data, "--", "sleep", str(seconds)]


def load(bench: Bench, client: Client, watching: subprocess.Popen[bytes]) -> int:
    """Rounds of work until the profiler is done; how many."""
    rounds = 0
    while watching.poll() is None:
        for call in (store, recall, inject):
            call(client, rounds)
        subprocess.run(
            [CLI, "hooks", "post-tool", "--format", "claude"],
            input=json.dumps({**HOOK, "tool_use_id": f"t{rounds}{time.monotonic_ns()}"}).encode(),
            env=bench.env,
            cwd=bench.project,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        rounds += 1
    return rounds


def listed(perf: str, out: Path) -> None:
    """perf's record as a table."""
    data = str(out.with_suffix(".data"))
    options = ["--stdio", "--no-children", "--sort", "dso,symbol", "--percent-limit", "0.5", "-g", "none"]
    told = subprocess.run(
        [perf, "report", "--input", data, *options], capture_output=True, text=True, check=True
    )
    lines = (line.rstrip(" -") for line in told.stdout.splitlines())
    out.write_text("\n".join(line for line in lines if line) + "\n")


if __name__ == "__main__":
    sys.exit(main())
