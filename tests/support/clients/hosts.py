"""Plays the hook inputs of other hosts (tests/golden/hosts) through the real launcher."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.cli import Cli

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "hosts"
NAMES = ("codex", "gemini", "cursor")
_PLACE = "/home/user/bucket"
"""The project's folder in the recordings."""


def calls(host: str, cli: Cli, file: str = "work.json") -> Iterator[tuple[str, dict[str, Any]]]:
    """Verb and input of each hook of the recorded session, in ``cli``'s project."""
    text = (GOLDEN / host / file).read_text(encoding="utf-8")
    for call in json.loads(text.replace(_PLACE, str(cli.project)))["calls"]:
        yield call["verb"], call["input"]


def one(host: str, cli: Cli, verb: str, number: int = 0, **fields: Any) -> dict[str, Any]:
    """The recorded input of that verb, with ``fields`` in place of its own."""
    found = [given for name, given in calls(host, cli) if name == verb]
    return {**found[number], **fields}


def send(cli: Cli, host: str, verb: str, given: object, **env: str) -> dict[str, Any]:
    """What the host is answered; {} for nothing. A hook never fails, and Cursor is always answered."""
    body = given if isinstance(given, str) else json.dumps(given)
    done = cli.run("hooks", verb, "--format", host, stdin=body, env=env)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout or host != "cursor"
    found = json.loads(done.stdout) if done.stdout else {}
    assert isinstance(found, dict)
    return found


def play(cli: Cli, host: str) -> str:
    """The whole recorded session; its id."""
    session = ""
    for verb, given in calls(host, cli):
        session = given["session_id"]
        send(cli, host, verb, given)
    return session


def told(answer: dict[str, Any]) -> str:
    """What of an answer the host's model is shown."""
    own = answer.get("hookSpecificOutput", {})
    return str(answer.get("additional_context") or own.get("additionalContext") or "")


def denial(answer: dict[str, Any]) -> str:
    """Why the host is to refuse the call; empty if it is not."""
    own = answer.get("hookSpecificOutput", {})
    if own.get("permissionDecision") == "deny":
        return str(own["permissionDecisionReason"])
    if answer.get("permission") == "deny":
        return str(answer["agent_message"])
    return str(answer["reason"]) if answer.get("decision") == "deny" else ""
