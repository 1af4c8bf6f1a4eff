"""Sessions of the real Claude Code client that are resumed, forked and compacted.

Skipped with a word where the client and its driver are not there (tests/support/clients/real_client.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, fired_and_stored, needs_client, watching

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

WORK: list[Any] = [
    {"tool": "Bash", "input": {"command": "echo a"}},
    {"tool": "Bash", "input": {"command": "false"}},
    "Worked.",
]


@needs_client
def test_a_resumed_and_a_forked_session_lose_no_event_and_keep_their_identity(
    cli: Cli, tmp_path: Path
) -> None:
    """The scripted model numbers its tool uses from 1 in each run, as gateways do: they are other uses."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    cli.run("setup", "--yes")
    (tmp_path / "client").mkdir()
    kept, watch = ("--home", str(tmp_path / "client")), watching(tmp_path)
    first = drive(cli, tmp_path / "one", WORK, "begin", options=kept, client=watch)
    session = first["session_id"]
    restored = f"Identity restored from {session}. IC: "
    for number, how in enumerate((("--resume", session), ("--continue",))):
        again = drive(
            cli, tmp_path / f"again{number}", WORK, "go on", restored, options=kept, client=(*watch, *how)
        )
        assert again["session_id"] == session
        assert again["markers"][restored]
    drive(cli, tmp_path / "between", WORK, "something else", options=kept, client=watch)
    fork = drive(
        cli,
        tmp_path / "fork",
        WORK,
        "go elsewhere",
        options=kept,
        client=(*watch, "--resume", session, "--fork-session"),
    )
    fired, stored = fired_and_stored(cli, tmp_path)
    assert {name: dict(events) for name, events in fired.items()} == {
        name: shown["events_by_kind"] for name, shown in stored.items()
    }
    assert stored[session]["events_by_kind"]["post-tool"] == 3
    assert stored[fork["session_id"]]["previous_session_id"] == session, "not the latest"


@needs_client
def test_a_compaction_and_a_clear_in_one_session(cli: Cli, tmp_path: Path) -> None:
    """Five prompts on one standard input; /compact keeps the identity, /clear begins a session."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    cli.run("setup", "--yes")
    later = [option for prompt in ("/compact", "go on", "/clear", "again") for option in ("--prompt", prompt)]
    told = drive(
        cli,
        tmp_path / "one",
        [*WORK, "Went on.", "Again."],
        "begin",
        "Identity restored",
        "Fresh session initialized",
        options=later,
        client=watching(tmp_path),
    )
    assert {hook["exit_code"] for hook in told["hooks"]} == {0}
    assert all(told["markers"].values()), told["markers"]
    fired, stored = fired_and_stored(cli, tmp_path)
    assert {name: dict(events) for name, events in fired.items()} == {
        name: shown["events_by_kind"] for name, shown in stored.items()
    }
    assert sorted(shown["events_by_kind"].get("pre-compact", 0) for shown in stored.values()) == [0, 1]
