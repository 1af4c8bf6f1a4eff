#!/usr/bin/env python3
"""What a consolidation after a session's end costs the real client: its wall time with and without, by turns.

    python benches/consolidation/client.py [--turns 5] [--memories 10000] [--json FILE]

Needs the client and its driver (tests/support/clients/real_client.py). Each session runs one tool; what
counts is the time from its last result to its exit, in which it runs the hooks of its session's end.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.consolidation.stores import make
from benches.hooks.processes import CLI, live_env
from benches.report import described, grid, machine, options, save
from tests.realclient.installed import why_not
from tests.support.cli import Cli
from tests.support.clients.real_client import drive
from tests.support.owner.consolidations import Owner

TURNS: list[Any] = [{"tool": "Bash", "input": {"command": "echo deployed"}}, "Deployed."]
CASES = ("off", "light")


def main() -> None:
    """Run the sessions by turns and print the medians."""
    parser = options(__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--memories", type=int, default=10_000)
    given = parser.parse_args()
    if why := why_not():
        sys.exit(f"no real client here: {why}")
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    try:
        report = measure(folder, given.turns, given.memories)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_table(report)
    save(given.json, report)


def measure(folder: Path, turns: int, memories: int) -> dict[str, Any]:
    """Every case ``turns`` times, by turns."""
    made = {case: _project(folder / case, case, memories) for case in CASES}
    sessions: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    for turn in range(turns):
        for case in CASES if turn % 2 else reversed(CASES):
            found = drive(made[case].cli, folder / f"{case}-{turn}", TURNS, "deploy it")
            sessions[case].append(
                {"wall_s": found["wall_s"], "exit_s": found["wall_s"] - found["result_at_s"]}
            )
    runs = {case: sum("begins" in line for line in owner.log().splitlines()) for case, owner in made.items()}
    return {
        "memories": memories,
        "sessions": sessions,
        "runs": runs,
    }


def _project(folder: Path, case: str, memories: int) -> Owner:
    """A project with hooks and memories whose sessions' ends are followed by that consolidation."""
    project = folder / "project"
    (project / ".git").mkdir(parents=True)
    cli = Cli(CLI, project, {**live_env(folder), "CLAUDE_PROJECT_DIR": str(project)})
    owner = Owner.of(cli)
    make(owner.location.store, memories)
    assert cli.run("hooks", "generate-config").returncode == 0
    (project / ".claude" / "context-graph.toml").write_text(f'dream_session_end = "{case}"\n')
    return owner


def print_table(report: dict[str, Any]) -> None:
    """The table for people."""
    print(f"{described(machine())}; {report['memories']} memories")
    rows: list[list[object]] = []
    for case, sessions in report["sessions"].items():
        wall = statistics.median(one["wall_s"] for one in sessions)
        leaving = statistics.median(one["exit_s"] for one in sessions)
        rows.append([case, len(sessions), wall, leaving, report["runs"][case]])
    print(grid(("after the end", "n", "wall p50 s", "last result to exit, p50 s", "runs"), rows))


if __name__ == "__main__":
    main()
