"""`uvx context-graph-cli setup` from a folder of wheels, without a network: one command does all of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.wheels import wheels_of

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(400)]


def test_one_command_installs_and_sets_up_and_stays_when_uv_clears_its_cache(
    cli: Cli, tmp_path: Path
) -> None:
    wheels, home = tmp_path / "wheels", tmp_path / "home"
    wheels.mkdir()
    home.mkdir()
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv is not None, "the dev group brings it"
    bin_folder = home / ".local" / "bin"
    env = {
        "HOME": str(home),
        "PATH": f"{bin_folder}:/usr/local/bin:/usr/bin:/bin",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CONTEXT_GRAPH_HOME": cli.env["CONTEXT_GRAPH_HOME"],
        "UV_FIND_LINKS": str(wheels_of(wheels, "view")),
        "UV_NO_INDEX": "1",
        "UV_OFFLINE": "1",
        "UV_PYTHON": os.path.realpath(sys.executable),
        "UV_PYTHON_DOWNLOADS": "never",
    }

    def run(*words: str, stdin: str = "") -> str:
        done = subprocess.run(
            words, env=env, cwd=cli.project, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    program = bin_folder / "context-graph-cli"
    said = run(uv, "tool", "run", "context-graph-cli", "setup", "--yes")
    assert f"uv installed {program}" in said and "is not on PATH" not in said
    shutil.rmtree(home / ".cache" / "uv")
    assert "context-graph-cli" in run(str(program), "--version")
    assert (cli.project / ".claude" / "settings.json").is_file()
    start = {"session_id": "a" * 8, "cwd": str(cli.project), "hook_event_name": "SessionStart"}
    start |= {"source": "startup"}
    try:
        run("context-graph-cli", "hooks", "session-start", "--format", "claude", stdin=json.dumps(start))
        assert "Working" in run("context-graph-cli", "status")
        assert "usage: context-graph-cli view" in run("context-graph-cli", "view", "--help").lower()
        again = run(uv, "tool", "run", "context-graph-cli", "setup", "--yes")
        assert "nothing to change" in again, "it is there to stay already"
    finally:
        run("context-graph-cli", "owner", "stop")
