"""The plugin in the real client: `/cg` opens a pane without a turn, facts outlive a compaction."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, fired_and_stored, needs_client, watching
from tests.support.sessions import memory

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

FACT = "Staging listens on port 8443"
OPEN = [["Yes, I trust this folder", "\x1b[B"], ["", "\r"], ["for shortcuts", "/cg"], ["", "\r"]]
ASK = [["", "\x1b"], ["", "hello"], ["", "\r"]]
LEAVE = [["All right.", "/exit"], ["", "\r"]]


def plugin(cli: Cli) -> tuple[str, str]:
    return "--plugin-dir", cli.run("setup", "--plugin").stdout.strip()


def told_once(cli: Cli) -> None:
    start = {"session_id": "a" * 8 + "-0000-4000-8000-000000000000", "cwd": str(cli.project)}
    for verb, more in (
        ("session-start", {"hook_event_name": "SessionStart", "source": "startup"}),
        (
            "prompt-submit",
            {"hook_event_name": "UserPromptSubmit", "prompt": "which port does staging listen on?"},
        ),
    ):
        if verb == "prompt-submit":
            assert cli.run("memory", "store", FACT, "--rationale", "a rule a person told").returncode == 0
        cli.run("hooks", verb, "--format", "claude", stdin=json.dumps({**start, **more}))


def screen(cli: Cli, folder: Path, keys: list[list[str]], *client: str) -> str:
    """What a session with those keys showed, without blanks."""
    steps = folder.with_suffix(".keys.json")
    steps.write_text(json.dumps(keys))
    options = ("--keys", str(steps), "--permission-mode", "default", "--timeout", "200")
    drive(cli, folder, ["All right."], "unused", options=options, client=client)
    return "".join((folder / "tty.txt").read_text().split())


def requests(folder: Path) -> list[str]:
    """What the model was sent on the session's own behalf, a text each."""
    lines = (folder / "requests.jsonl").read_text().splitlines()
    return [line for line in lines if json.loads(line).get("who") == "main"]


@needs_client
def test_the_pane_opens_without_a_turn_and_its_keys_forget_and_undo(cli: Cli, tmp_path: Path) -> None:
    told_once(cli)
    keys = [*OPEN, ["told to Claude", "1"], ["forgot", "u"], *ASK, *LEAVE]
    shown = screen(cli, tmp_path / "one", keys, *plugin(cli))
    assert FACT.replace(" ", "") in shown and "relevance0.9" in shown and "forgot" in shown
    (asked,) = requests(tmp_path / "one")
    assert "hello" in asked and "/cg" not in asked and "relevance 0.9" not in asked, "the pane took no turn"
    assert [one["content"] for one in memory(cli, "list")["nodes"]] == [FACT], "forgotten, and restored"


@needs_client
def test_without_an_owner_or_program_the_pane_says_so_and_nothing_is_held_up(
    cli: Cli, tmp_path: Path
) -> None:
    folder = plugin(cli)
    cli.run("owner", "stop")
    root = Path(cli.env["CONTEXT_GRAPH_HOME"])
    (root / "run").mkdir(exist_ok=True)
    (root / "run" / "owner.sock").mkdir()  # no owner can listen here
    shown = screen(cli, tmp_path / "one", [*OPEN, ["not reached", "\x1b"], *ASK, *LEAVE], *folder)
    assert "notreached" in shown
    (root / "run" / "owner.sock").rmdir()


@needs_client
def test_a_compaction_is_asked_to_keep_the_goal(cli: Cli, tmp_path: Path) -> None:
    script: list[Any] = [{"tool": "Bash", "input": {"command": "false"}}, "Worked.", "Summary.", "Gone on."]
    compact = ("--trust", "--prompt", "/compact", "--prompt", "go on")
    drive(
        cli,
        tmp_path / "one",
        script,
        "round the VAT of each invoice line",
        options=compact,
        client=plugin(cli),
    )
    told = (tmp_path / "one" / "requests.jsonl").read_text()
    assert "Keep these facts of the session in the summary" in told
    assert told.count('goal: \\\\\\"round the VAT') or "round the VAT" in told


@needs_client
def test_events_count_once_with_the_mod_the_settings_and_both(cli: Cli, tmp_path: Path) -> None:
    cli.run("setup", "--yes")
    work: list[Any] = [{"tool": "Bash", "input": {"command": "echo a"}}, "Worked."]
    drive(cli, tmp_path / "one", work, "begin", client=(*watching(tmp_path), *plugin(cli)))
    fired, stored = fired_and_stored(cli, tmp_path)
    ((session, shown),) = stored.items()
    assert dict(fired[session]) == shown["events_by_kind"]


@needs_client
def test_an_owner_that_is_stopped_holds_no_compaction_up(cli: Cli, tmp_path: Path) -> None:
    """SIGSTOP: it listens and never answers; the module gives up after its time."""
    cli.run("owner", "start")
    pid = cli.owner_pid()
    folder = plugin(cli)
    os.kill(pid, signal.SIGSTOP)
    try:
        compact = ("--trust", "--prompt", "/compact", "--prompt", "go on")
        told = drive(
            cli,
            tmp_path / "one",
            ["Worked.", "Summary.", "Gone on."],
            "begin",
            options=compact,
            client=folder,
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    assert {hook["exit_code"] for hook in told["hooks"]} == {0}
    assert "Keep these facts" not in (tmp_path / "one" / "requests.jsonl").read_text()
