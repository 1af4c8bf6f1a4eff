"""The real Claude Code client in tests: a script of model turns, its hooks' events, what the model was sent.

How it is driven and sealed off: tests/realclient. Where it can't be, tests are skipped and say why.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.realclient.installed import VERSION, why_not
from tests.realclient.told import requests_of
from tests.support.cli import Cli

__all__ = ["drive", "fired_and_stored", "last_messages", "needs_client", "text_of", "watching"]

_DRIVER = Path(__file__).parents[2] / "realclient" / "run.py"

_KINDS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PreToolUse": "pre-tool",
    "PostToolUse": "post-tool",
    "PostToolUseFailure": "post-tool-failure",
    "Stop": "stop",
    "SubagentStart": "subagent-start",
    "PreCompact": "pre-compact",
    "PostCompact": "post-compact",
    "SessionEnd": "session-end",
}

needs_client = pytest.mark.skipif(bool(why_not()), reason=why_not())


def drive(
    cli: Cli,
    logs: Path,
    script: Any,
    prompt: str,
    *markers: str,
    options: Sequence[str] = (),
    client: Sequence[str] = (),
) -> dict[str, Any]:
    """One session: ``script`` is the model's part, ``markers`` what to look for in its requests.

    Args:
        script: As tests/realclient/model.py plays it.
        options: Of the driver (tests/realclient/run.py), such as --trust.
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
    lines = cli.env.get("CONTEXT_GRAPH_IDENTITY_LINES")
    settings += [f"CONTEXT_GRAPH_IDENTITY_LINES={lines}"] if lines else []
    for marker in markers:
        given += ["--marker", marker]
    for setting in settings:
        given += ["--env", setting]
    done = subprocess.run(
        [sys.executable, str(_DRIVER), str(cli.project), *given, *options, "--", *client],
        capture_output=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:] + done.stdout.decode()[-2000:]
    summary: dict[str, Any] = json.loads((logs / "summary.json").read_text())
    assert summary["client_version"] == VERSION
    return summary


def last_messages(logs: Path) -> list[dict[str, Any]]:
    """What the model was sent last in the main conversation: all of it, message by message."""
    turns = [entry for entry in requests_of(logs) if entry.get("who") == "main"]
    messages: list[dict[str, Any]] = turns[-1]["body"]["messages"]
    return messages


def text_of(message: dict[str, Any]) -> str:
    """All text of a message, that of its tool results too."""
    return json.dumps(message["content"], ensure_ascii=False)


def watching(folder: Path) -> tuple[str, ...]:
    """Arguments for the client: hooks beside ours write down what it fires, for `fired_and_stored`."""
    fired = folder / "fired"
    fired.mkdir()
    hook = {"type": "command", "command": f"cat > {shlex.quote(str(fired))}/$(date +%s%N)-$$.json"}
    settings = folder / "watching.json"
    settings.write_text(json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in _KINDS}}))
    return ("--settings", str(settings))


def fired_and_stored(cli: Cli, folder: Path) -> tuple[dict[str, Counter[str]], dict[str, Any]]:
    """What the client fired and what `session show` tells, both by session id.

    Without calls before they have run: of these only what is asked about is kept.
    """
    fired: dict[str, Counter[str]] = defaultdict(Counter)
    for path in (folder / "fired").iterdir():
        event = json.loads(path.read_text())
        kind = _KINDS[event["hook_event_name"]]
        fired[event["session_id"]].update([] if kind == "pre-tool" else [kind])
    stored = {}
    for row in json.loads(cli.run("session", "list", "--json").stdout)["sessions"]:
        shown = cli.run("session", "show", "--session-id", row["session_id"], "--json")
        stored[row["session_id"]] = json.loads(shown.stdout)
        stored[row["session_id"]]["events_by_kind"].pop("pre-tool", None)
    return dict(fired), stored
