"""Beside many events that wait in the log the owner answers at once, says how many, and applies them all."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.support.cli import Cli
from tests.support.owner.harness import wait_until
from tests.support.owner.log_writer import write_segment

from context_graph.config import store_dir
from context_graph.owner.sessions.log_reader import LoggedEvent

MANY = 4000
SESSIONS = 4
ANSWER_S = 3.0
"""Of a command's whole process, on a busy machine; applying all of them takes longer."""


def _event(number: int) -> LoggedEvent:
    body = {
        "session_id": f"s-{number % SESSIONS}",
        "tool_name": "Bash",
        "tool_use_id": f"toolu_{number}",
        "tool_input": {"command": f"make part{number % 40} && ./check --all {number}"},
        "tool_response": {"stdout": "word " * 300},
    }
    at_ms = 1_800_000_000_000 + 1000 * number
    return LoggedEvent(f"{number:032x}", "hooks.post-tool", "", at_ms, "/p", "/p", {"format": "claude"}, body)


def test_a_request_does_not_wait_for_all_that_waits(cli: Cli) -> None:
    cli.run("owner", "start")
    store = store_dir(Path(cli.env["CONTEXT_GRAPH_HOME"]), cli.project)
    draft = write_segment(store, *map(_event, range(MANY)), name="draft")
    draft.rename(draft.with_name("0000000000001-00000000.log"))
    began = time.monotonic()
    done = cli.run("memory", "list", "--format", "json")
    assert time.monotonic() - began < ANSWER_S
    assert done.returncode == 0, done.stderr
    assert "events are being applied" in done.stderr, done.stderr
    waiting = json.loads(cli.run("owner", "status", "--json").stdout)["events_waiting"]
    assert 0 < waiting < MANY

    def none_waits() -> bool:
        return json.loads(cli.run("owner", "status", "--json").stdout)["events_waiting"] == 0

    wait_until(none_waits, "all to be applied", 60)
    done = cli.run("memory", "list", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    for number in range(SESSIONS):
        shown = json.loads(cli.run("session", "show", "--session-id", f"s-{number}", "--json").stdout)
        assert shown["events_by_kind"]["post-tool"] == MANY // SESSIONS
        assert shown["events_duplicate"] == 0
