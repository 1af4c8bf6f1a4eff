"""A newcomer at the real client's dialogs: `setup`, then Enter, or Yes and Enter, in a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, needs_client
from tests.support.sessions import memory

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

FACT = "Staging listens on port 8443"
STORE = "mcp__context-graph__store_memory"
SCRIPT: list[Any] = [
    {"tool": STORE, "input": {"content": FACT, "rationale": "needed for every deployment"}},
    "It is kept now.",
]
YES = [["Yes, I trust this folder", "\x1b[B"], ["", "\r"]]
ASK = [["for shortcuts", "keep where staging listens"], ["", "\r"]]
LEAVE = [["It is kept now.", "/exit"], ["", "\r"]]
DIALOG = "NewMCPserverfound"


def screen(cli: Cli, folder: Path, keys: list[list[str]]) -> str:
    """What a session with those keys showed, without blanks."""
    steps = folder.with_suffix(".keys.json")
    steps.write_text(json.dumps(keys))
    options = ("--keys", str(steps), "--permission-mode", "default", "--timeout", "200")
    drive(cli, folder, SCRIPT, "unused", options=options)
    return "".join((folder / "tty.txt").read_text().split())


def kept(cli: Cli) -> list[str]:
    return [node["content"] for node in memory(cli, "list")["nodes"] if node["source"] == "tool"]


@needs_client
def test_after_setup_one_yes_is_all_and_the_memory_tools_are_used_unasked(cli: Cli, tmp_path: Path) -> None:
    assert "choose Yes" in cli.run("setup", "--yes").stdout
    shown = screen(cli, tmp_path / "one", [*YES, *ASK, *LEAVE])
    assert DIALOG not in shown and "Doyouwanttoproceed" not in shown
    assert kept(cli) == [FACT]
    assert not (cli.project / ".claude/settings.local.json").exists(), "the client had nothing to write down"


@needs_client
def test_without_the_approval_enter_switches_the_tools_off_and_doctor_tells_the_way_back(
    cli: Cli, tmp_path: Path
) -> None:
    """Why `setup` writes it: the dialog's default, and what becomes of it."""
    cli.run("setup", "--yes")
    settings = cli.project / ".claude/settings.json"
    without = json.loads(settings.read_text())
    del without["enabledMcpjsonServers"]
    settings.write_text(json.dumps(without))
    shown = screen(cli, tmp_path / "one", [*YES, ["New MCP server found", "\r"], *ASK, *LEAVE])
    assert DIALOG in shown and kept(cli) == []
    local = json.loads((cli.project / ".claude/settings.local.json").read_text())
    assert local["disabledMcpjsonServers"] == ["context-graph"]
    path = f"{cli.launcher.parent}:/usr/bin:/bin"
    told = cli.run("doctor", env={"PATH": path}, timeout=100).stdout
    assert "claude mcp reset-project-choices" in " ".join(told.split())
