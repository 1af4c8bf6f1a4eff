"""`setup --autostart` on macOS: the property list and its removal, made here; no launchd has read it."""

from __future__ import annotations

import json
import os
import plistlib
import signal
import subprocess
from pathlib import Path

import pytest
from tests.integration.owner_harness import wait_until
from tests.support import Cli

from context_graph.cli.setup import _autostart
from context_graph.client import find_owner_command
from context_graph.errors import ConfigError, UsageError
from context_graph.setup.autostart import plan_autostart, plan_no_autostart, write_autostart

LABEL = "io.github.context-graph.owner"


def place() -> Path:
    return Path(os.environ["HOME"]) / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def autostart(*, remove: bool = False, yes: bool = True, dry_run: bool = False) -> None:
    """What the command does on a Mac."""
    _autostart(remove=remove, yes=yes, dry_run=dry_run, platform="darwin")


def test_the_property_list_has_these_keys_and_no_others(tmp_path: Path) -> None:
    root = tmp_path / 'a <root> & "more"'
    write_autostart(plan_autostart(["/bin/owner", "-P"], root, os.environ, platform="darwin"), os.environ)
    assert plistlib.loads(place().read_bytes()) == {
        "Label": LABEL,
        "ProgramArguments": ["/bin/owner", "-P", "--root", str(root), "--foreground"],
        "EnvironmentVariables": {"CONTEXT_GRAPH_IDLE_S": "604800"},
        "RunAtLoad": True,
        # Not SuccessfulExit: exit codes 64, 73, 75 and 77 would have it started for ever.
        "KeepAlive": {"Crashed": True},
        "ThrottleInterval": 30,
        "ExitTimeOut": 15,
        "ProcessType": "Interactive",
        "StandardOutPath": "/dev/null",
        "StandardErrorPath": "/dev/null",
    }
    assert place().stat().st_mode & 0o777 == 0o644, "launchd refuses one that others may write"


def test_it_is_shown_written_once_and_taken_out_again(capsys: pytest.CaptureFixture[str]) -> None:
    others = place().with_name("com.example.other.plist")
    others.parent.mkdir(parents=True)
    others.write_text("<plist/>")
    autostart()
    said = capsys.readouterr().out
    assert "+\t\t<string>--foreground</string>" in said and f"enabled {place()}" in said
    assert f"it starts at the next login; now: launchctl bootstrap gui/{os.getuid()} {place()}" in said
    before = place().read_bytes()
    autostart()
    assert "nothing to change" in capsys.readouterr().out and place().read_bytes() == before
    autostart(remove=True)
    said = capsys.readouterr().out
    assert f"removed {place()}" in said and f"launchctl bootout gui/{os.getuid()}/{LABEL}" in said
    assert list(others.parent.iterdir()) == [others], "what is not ours stays"
    autostart(remove=True)
    said = capsys.readouterr().out
    assert "nothing to change" in said and "bootout" not in said


def test_a_dry_run_and_no_answer_write_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    autostart(dry_run=True)
    assert LABEL in capsys.readouterr().out
    with pytest.raises(UsageError, match="--yes"):
        autostart(yes=False)
    assert not (Path(os.environ["HOME"]) / "Library").exists()
    autostart()
    before = place().read_bytes()
    autostart(remove=True, dry_run=True)
    assert place().read_bytes() == before


def test_somebody_else_s_file_of_that_name_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    place().parent.mkdir(parents=True)
    theirs = plistlib.dumps({"Label": LABEL, "ProgramArguments": ["/bin/true"]})
    place().write_bytes(theirs)
    with pytest.raises(ConfigError, match="not ours"):
        autostart()
    autostart(remove=True)
    assert "not ours and stays" in capsys.readouterr().out
    assert place().read_bytes() == theirs


def test_its_command_starts_an_owner_of_this_data_root(cli: Cli) -> None:
    root = Path(cli.env["CONTEXT_GRAPH_HOME"])
    made = plan_autostart(find_owner_command(), root, cli.env, platform="darwin")
    job = plistlib.loads((made.file.after or "").encode())
    env = {**cli.env, **job["EnvironmentVariables"]}
    process = subprocess.Popen(job["ProgramArguments"], env=env, stderr=subprocess.DEVNULL)
    try:

        def answers() -> bool:
            status = json.loads(cli.run("owner", "status", "--json").stdout)
            return bool(status["running"]) and status["pid"] == process.pid

        wait_until(answers, "the owner")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


def test_without_a_place_or_on_another_system_nothing_is_planned() -> None:
    with pytest.raises(ConfigError, match="HOME"):
        plan_autostart(["owner"], Path("/r"), {"HOME": "here"}, platform="darwin")
    with pytest.raises(ConfigError, match="property list"):
        plan_autostart(["owner"], Path("/r\x07"), os.environ, platform="darwin")
    for wrong in ("win32", "freebsd14"):
        with pytest.raises(ConfigError, match=wrong):
            plan_autostart(["owner"], Path("/r"), os.environ, platform=wrong)
        with pytest.raises(ConfigError, match=wrong):
            plan_no_autostart(os.environ, platform=wrong)
