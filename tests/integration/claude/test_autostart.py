"""`setup --autostart`: a unit that systemd takes and that starts a real owner, and its removal."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.owner.consolidations import until

from context_graph.claude.install.link import plan_autostart, plan_no_autostart, write_autostart
from context_graph.errors import ConfigError

UNIT = "context-graph-owner.service"


def units(cli: Cli) -> Path:
    return Path(cli.env["XDG_CONFIG_HOME"]) / "systemd" / "user"


def command_of(unit: Path) -> list[str]:
    """ExecStart as systemd would run it."""
    (line,) = [row for row in unit.read_text().splitlines() if row.startswith("ExecStart=")]
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line.partition("=")[2])]


def test_it_is_written_once_and_leaves_nothing(cli: Cli) -> None:
    config = Path(cli.env["XDG_CONFIG_HOME"])
    done = cli.run("setup", "--autostart", "--yes")
    assert done.returncode == 0, done.stderr
    unit, link = units(cli) / UNIT, units(cli) / "default.target.wants" / UNIT
    assert link.resolve() == unit.resolve() and "ExecStart" in done.stdout, "and it is shown"
    before = unit.read_bytes()
    assert "nothing to change" in cli.run("setup", "--autostart", "--yes").stdout
    assert unit.read_bytes() == before
    cli.run("setup", "--autostart", "--remove", "--yes")
    assert not os.path.lexists(link) and not [path for path in config.rglob("*") if path.is_file()]
    assert not (cli.project / ".claude").exists(), "the project is none of its business"


def test_nothing_is_written_unasked_or_over_somebody_else_s_unit(cli: Cli) -> None:
    assert cli.run("setup", "--autostart").returncode == 1
    assert cli.run("setup", "--autostart", "--dry-run").returncode == 0
    assert not units(cli).exists()
    units(cli).mkdir(parents=True)
    (units(cli) / UNIT).write_text("[Service]\nExecStart=/bin/true\n")
    done = cli.run("setup", "--autostart", "--yes")
    assert done.returncode == 1 and "was not made by setup" in done.stderr
    cli.run("setup", "--autostart", "--remove", "--yes")
    assert (units(cli) / UNIT).read_text().endswith("/bin/true\n")


@pytest.mark.real
def test_its_command_starts_an_owner_that_serves_this_data_root(cli: Cli, tmp_path: Path) -> None:
    """Also where the root's path has characters that systemd gives a meaning."""
    root = tmp_path / 'a %h "$x" root'
    cli.run("setup", "--autostart", "--yes", env={"CONTEXT_GRAPH_HOME": str(root)})
    process = subprocess.Popen(command_of(units(cli) / UNIT), env=dict(cli.env), stderr=subprocess.DEVNULL)
    try:

        def status() -> dict[str, object] | None:
            done = cli.run("owner", "status", "--json", env={"CONTEXT_GRAPH_HOME": str(root)})
            found: dict[str, object] = json.loads(done.stdout)
            return found if found.get("answers") else None

        assert until(status, "the owner")["pid"] == process.pid
        second = subprocess.run(
            command_of(units(cli) / UNIT), env=dict(cli.env), capture_output=True, timeout=30
        )
        assert second.returncode == 75, "which the unit takes for good: another owner runs"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


@pytest.mark.thorough
@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here: apt-get install systemd"
)
def test_systemd_finds_no_fault_in_it(cli: Cli, tmp_path: Path) -> None:
    cli.run("setup", "--autostart", "--yes")
    env = {**cli.env, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(units(cli) / UNIT)],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    ours = [line for line in done.stderr.splitlines() if UNIT in line]
    assert ours == [], done.stderr


def test_on_macos_an_agent_of_launchd_is_planned_written_and_removed(tmp_path: Path) -> None:
    """Only what can be seen without a Mac: its file, whole, and that another's is left alone."""
    env = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    root = tmp_path / "a <b> & root"
    made = plan_autostart(["/x/python", "-P", "-m", "context_graph.owner"], root, env, "darwin")
    assert made.needed and made.link is None
    write_autostart(made, env)
    agent = plistlib.loads(made.unit.path.read_bytes())
    assert made.unit.path == tmp_path / "Library" / "LaunchAgents" / "io.context-graph.owner.plist"
    assert agent["ProgramArguments"][-3:] == ["--root", str(root), "--foreground"]
    assert agent["RunAtLoad"] and agent["KeepAlive"] == {"Crashed": True}
    assert not plan_autostart(agent["ProgramArguments"][:-3], root, env, "darwin").needed
    write_autostart(plan_no_autostart(env, "darwin"), env)
    assert not made.unit.path.exists()
    made.unit.path.write_text("<plist/>")
    with pytest.raises(ConfigError, match="was not made by setup"):
        plan_autostart(["x"], root, env, "darwin")
    assert not plan_no_autostart(env, "darwin").needed
    with pytest.raises(ConfigError, match="systemd or launchd"):
        plan_autostart(["x"], root, env, "freebsd14")
