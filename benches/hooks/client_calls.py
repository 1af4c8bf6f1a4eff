"""What hooks cost in the real Claude Code client: the same scripted session with and without them, in turns.

    make realclient && .venv/bin/python benches/hooks/client_calls.py [--rounds 5] [--calls 20]

A session is so many Bash calls of `true`. Printed are medians over all calls of all rounds, in milliseconds:
from the model's call to the tool's result, and from one request to the model to the next; and the time to the
first request, with an owner that has to be started. Client, model and hooks run sealed off on this machine
(tests/realclient): nothing but the hooks differs. Goals, of what is added: 10 ms a call, 200 ms at the start;
exit 1 where one is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
GOALS_MS = {"call to result": 10.0, "start to first request": 200.0}
"""What hooks may add."""
PATH = f"{LAUNCHER.parent}:/usr/local/bin:/usr/bin:/bin"


def main() -> None:
    """Measure and print."""
    assert __doc__ is not None
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--calls", type=int, default=20)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        projects = {
            name: project(Path(folder) / name, name == "with hooks") for name in ("bare", "with hooks")
        }
        script = Path(folder) / "script.json"
        turns = [{"tool": "Bash", "input": {"command": "true"}}] * given.calls
        script.write_text(json.dumps([*turns, "Done."]))
        seen: dict[str, dict[str, list[float]]] = {name: {} for name in projects}
        for _ in range(given.rounds):
            for name in random.sample(list(projects), len(projects)):
                for what, took_ms in session(projects[name], script, Path(folder) / "logs"):
                    seen[name].setdefault(what, []).append(took_ms)
    sys.exit(told(seen))


def told(seen: dict[str, dict[str, list[float]]]) -> int:
    """Print the table; 1 where a goal is missed."""
    print(f"{'median, ms':28}{'bare':>10}{'with hooks':>12}{'more':>8}{'goal':>8}")
    status = 0
    for what, bare in seen["bare"].items():
        before, after = median(bare), median(seen["with hooks"][what])
        goal = GOALS_MS.get(what)
        missed = goal is not None and after - before > goal
        status |= missed
        shown = "" if goal is None else f"{goal:8.0f}{'  MISSED' if missed else ''}"
        print(f"{what:28}{before:10.0f}{after:12.0f}{after - before:8.0f}{shown}")
    return status


def project(folder: Path, hooked: bool) -> Path:
    """A repository, set up or not."""
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    if hooked:
        env = {**os.environ, "PATH": PATH, "HOME": str(folder), "CONTEXT_GRAPH_HOME": str(folder / "root")}
        command = [str(LAUNCHER), "setup", "--yes", "--no-mcp", "--no-skills"]
        subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    return folder


def session(folder: Path, script: Path, logs: Path) -> Iterator[tuple[str, float]]:
    """Play it; each duration under its name."""
    command = [sys.executable, str(ROOT / "tests/realclient/run.py"), str(folder), "--trust"]
    command += ["--script", str(script), "--logs", str(logs), "--timeout", "120", "--linger", "0"]
    command += ["--env", f"PATH={PATH}", "--env", f"CONTEXT_GRAPH_HOME={folder / 'root'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr or done.stdout)
    told = json.loads(done.stdout)
    began = {one["id"]: one["t"] for one in told["tool_calls"]}
    for one in told["tool_results"]:
        yield "call to result", 1000 * (one["t"] - began[one["id"]])
    asked = [one["t"] for one in told["requests"] if one.get("who") == "main"]
    for earlier, later in pairwise(asked):
        yield "request to request", 1000 * (later - earlier)
    yield "start to first request", 1000 * asked[0]


if __name__ == "__main__":
    main()
