"""The real Claude Code client, driven through a script of model turns in a namespace of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support import Cli

__all__ = ["drive", "fired_and_stored", "needs_client", "watching"]

_BESIDE = Path(__file__).resolve().parents[1].parent / "shared" / "tools" / "realclient" / "run_client.py"
DRIVER = Path(os.environ.get("CONTEXT_GRAPH_REALCLIENT", _BESIDE))
BASE = Path(os.environ.get("REALCLIENT_DIR", "/tmp/realclient"))
CLIENT = BASE / "npm/node_modules/@anthropic-ai/claude-code-linux-x64/claude"

_KINDS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PreToolUse": "pre-tool",
    "PostToolUse": "post-tool",
    "PostToolUseFailure": "post-tool-failure",
    "Stop": "stop",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}

needs_client = pytest.mark.skipif(
    not DRIVER.exists() or not CLIENT.exists(), reason="no real client driver here"
)


def drive(
    cli: Cli,
    logs: Path,
    script: list[Any],
    prompt: str,
    *markers: str,
    options: Sequence[str] = (),
    client: Sequence[str] = (),
) -> dict[str, Any]:
    """One session: ``script`` is the model's part, ``markers`` what to look for in its requests.

    Args:
        options: Of the driver, such as --trust.
        client: Arguments for the client itself.
    """
    turns = logs.with_suffix(".script.json")
    turns.write_text(json.dumps(script))
    path = f"{cli.launcher.parent}:/usr/local/bin:/usr/bin:/bin"
    given = [
        "--prompt",
        prompt,
        "--script",
        str(turns),
        "--logs",
        str(logs),
        "--timeout",
        "90",
        "--linger",
        "6",
    ]
    settings = [
        f"PATH={path}",
        f"CONTEXT_GRAPH_HOME={cli.env['CONTEXT_GRAPH_HOME']}",
        "CONTEXT_GRAPH_IDLE_S=3",
    ]
    for marker in markers:
        given += ["--marker", marker]
    for setting in settings:
        given += ["--env", setting]
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(cli.project), *given, *options, "--", *client],
        env={**os.environ, "REALCLIENT_DIR": str(BASE)},
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    summary: dict[str, Any] = json.loads((logs / "summary.json").read_text())
    return summary


def watching(folder: Path) -> tuple[str, ...]:
    """Arguments for the client: hooks beside ours write down what it fires, for `fired_and_stored`."""
    fired = folder / "fired"
    fired.mkdir()
    hook = {"type": "command", "command": f"cat > {shlex.quote(str(fired))}/$(date +%s%N)-$$.json"}
    settings = folder / "watching.json"
    settings.write_text(json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in _KINDS}}))
    return ("--settings", str(settings))


def fired_and_stored(cli: Cli, folder: Path) -> tuple[dict[str, Counter[str]], dict[str, Any]]:
    """What the client fired and what `session show` tells, both by session id."""
    fired: dict[str, Counter[str]] = defaultdict(Counter)
    for path in (folder / "fired").iterdir():
        event = json.loads(path.read_text())
        fired[event["session_id"]][_KINDS[event["hook_event_name"]]] += 1
    stored = {}
    for row in json.loads(cli.run("session", "list", "--json").stdout)["sessions"]:
        shown = cli.run("session", "show", "--session-id", row["session_id"], "--json")
        stored[row["session_id"]] = json.loads(shown.stdout)
    return dict(fired), stored
