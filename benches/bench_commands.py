"""Seed 000's five commands as whole processes, beside the p95 the seed asks of each."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benches.scale import scaled

CLI = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
COMMANDS = {
    "brief": (["consciousness", "brief"], 50),
    "restore-identity": (["session", "restore-identity"], 2000),
    "persist-identity": (["session", "persist-identity"], 3000),
    "check-identity": (["consciousness", "check-identity", "--auto-dream"], 500),
    "inject-context": (["consciousness", "inject-context"], 1000),
}
"""Command and the seed's p95 budget, ms."""
INPUT = json.dumps({"session_id": "bench", "source": "resume"}).encode()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A data root of its own with a session in it and an owner up."""
    home = tmp_path_factory.mktemp("home")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "CONTEXT_GRAPH_HOME": str(home / "cg")}
    env["CLAUDE_PROJECT_DIR"] = str(home)
    subprocess.run(
        [CLI, "hooks", "session-start"], input=INPUT, env=env, cwd=home, check=True, capture_output=True
    )
    yield env
    subprocess.run([CLI, "owner", "stop"], env=env, cwd=home, check=False, capture_output=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_from_start_to_exit(benchmark: Any, environment: dict[str, str], name: str) -> None:
    """TC-SESSION-24: the seed's budgets, p95 in extra_info."""
    args, budget_ms = COMMANDS[name]

    def run() -> int:
        done = subprocess.run([CLI, *args], input=INPUT, env=environment, capture_output=True, check=False)
        return done.returncode

    assert benchmark.pedantic(run, rounds=scaled(20, 2), warmup_rounds=1) == 0
    if benchmark.stats is not None:
        times = sorted(benchmark.stats.stats.data)
        benchmark.extra_info.update(p95_ms=times[int(0.95 * (len(times) - 1))] * 1e3, budget_ms=budget_ms)
