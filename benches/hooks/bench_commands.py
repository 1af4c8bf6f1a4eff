"""Commands that have a time to keep, as whole processes beside `true`, which does nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benches.goal import held
from benches.scale import scaled

CLI = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
COMMANDS = {
    "brief": (["consciousness", "brief"], 50),
    "restore-identity": (["session", "restore-identity"], 2000),
    "persist-identity": (["session", "persist-identity"], 3000),
    "check-identity": (["consciousness", "check-identity", "--auto-dream"], 500),
    "inject-context": (["consciousness", "inject-context"], 1000),
    "pre-tool": (["hooks", "pre-tool", "--format", "claude"], 100),
    "memory recall": (["memory", "recall", "staging", "port"], 100),
    "memory list": (["memory", "list"], 100),
    "status": (["status"], 100),
}
"""Command and its p95 budget, ms: the seed's, or for what people ask often a tenth of a second."""
TRUE_MS = 1.5
"""What `true` takes on the machine that the goals were set on: a budget over it is the goal."""
INPUT = json.dumps({"session_id": "bench", "source": "resume", "tool_name": "Read"}).encode()


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
    """TC-SESSION-24, REQ-HOOKS-02: the seeds' budgets at p95, as multiples of `true`."""
    args, budget_ms = COMMANDS[name]
    ours: list[float] = []
    floor: list[float] = []

    def run() -> None:
        floor.append(_seconds([shutil.which("true") or "/bin/true"], environment))
        ours.append(_seconds([str(CLI), *args], environment))

    benchmark.pedantic(run, rounds=scaled(40, 2), warmup_rounds=1)
    benchmark.extra_info.update(held(f"p95 of {name}", ours, floor, budget_ms / TRUE_MS, share=0.95))


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, input=INPUT, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - began
