"""Starting the owner when its user logs in: a systemd user unit, and the link that enables it.

Nothing needs it: every command and hook starts an owner where none runs. With it the first hook finds one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from context_graph.errors import ConfigError
from context_graph.hooks_config.changes import Change, apply_changes, read_text

__all__ = ["UNIT", "Autostart", "plan_autostart", "plan_no_autostart", "unit_text", "write_autostart"]

UNIT: Final = "context-graph-owner.service"
_WANTED_BY: Final = "default.target"
_STAYS_S: Final = 604_800
"""Idle time after which a unit's owner leaves: the longest that the setting takes. Idle costs nothing."""
_SYSTEMCTL_S: Final = 10.0
_MARK: Final = "# Written by context-graph-cli setup --autostart"


@dataclass(slots=True)
class Autostart:
    """What is to be changed."""

    unit: Change
    link: Path
    wanted: bool
    notes: list[str] = field(default_factory=list)

    @property
    def needed(self) -> bool:
        """Whether anything is."""
        return self.unit.is_needed or self._is_linked() != self.wanted

    def _is_linked(self) -> bool:
        return os.path.lexists(self.link)


def unit_text(command: Sequence[str], root: Path) -> str:
    """The unit that runs ``command`` (an owner's) for the data root ``root``.

    Exit code 75 says that another owner runs, which is as well. An owner that yields to a newer client ends
    with 0 and is not started again: that client starts its own.
    """
    words = " ".join(_quoted(word) for word in (*command, "--root", str(root), "--foreground"))
    return f"""{_MARK}
[Unit]
Description=context-graph: the process that holds the stores
Documentation=https://github.com/context-graph/context-graph

[Service]
Type=exec
ExecStart={words}
Environment=CONTEXT_GRAPH_IDLE_S={_STAYS_S}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=64 73 75 77
SuccessExitStatus=75
TimeoutStopSec=15
StandardError=null

[Install]
WantedBy={_WANTED_BY}
"""


def plan_autostart(command: Sequence[str], root: Path, env: Mapping[str, str]) -> Autostart:
    """The unit and its link. Reads, writes nothing.

    Raises:
        ConfigError: This system has no systemd, or a unit of that name is not ours.
    """
    if sys.platform != "linux":
        raise ConfigError("--autostart is for Linux with systemd so far; launchd is not supported yet")
    made = _made(env, unit_text(command, root), wanted=True)
    if made.unit.before is not None and _MARK not in made.unit.before:
        raise ConfigError(f"{made.unit.path} is there and not ours; move it away first")
    if shutil.which("systemctl", path=env.get("PATH")) is None:
        made.notes.append("systemctl is not on PATH: without systemd nothing reads the unit")
    made.notes.append(f"it starts at the next login; now: systemctl --user start {UNIT}")
    return made


def plan_no_autostart(env: Mapping[str, str]) -> Autostart:
    """Unit and link taken away again; a unit that is not ours stays."""
    made = _made(env, None, wanted=False)
    if made.unit.before is not None and _MARK not in made.unit.before:
        made.notes.append(f"{made.unit.path} is not ours and stays")
        return Autostart(
            Change(made.unit.path, None, None), made.link, os.path.lexists(made.link), made.notes
        )
    made.notes.append("an owner that runs goes on: `context-graph-cli owner stop` ends it")
    return made


def write_autostart(made: Autostart, env: Mapping[str, str]) -> None:
    """Do it, and tell systemd, if it answers.

    Raises:
        ConfigError: A file can't be written.
    """
    apply_changes([made.unit] if made.unit.is_needed else [])
    try:
        if made.wanted and not os.path.lexists(made.link):
            os.makedirs(made.link.parent, exist_ok=True)
            os.symlink(made.unit.path, made.link)
        elif not made.wanted and os.path.lexists(made.link):
            os.unlink(made.link)
            for folder in (made.link.parent, made.unit.path.parent, made.unit.path.parent.parent):
                with contextlib.suppress(OSError):  # not empty: others' units are in it
                    os.rmdir(folder)
    except OSError as error:
        raise ConfigError(f"{made.link} can't be changed: {error.strerror}") from error
    _reload(made, env)


def _made(env: Mapping[str, str], text: str | None, *, wanted: bool) -> Autostart:
    folder = _units(env)
    path = folder / UNIT
    return Autostart(Change(path, read_text(path), text), folder / f"{_WANTED_BY}.wants" / UNIT, wanted)


def _units(env: Mapping[str, str]) -> Path:
    shared, home = env.get("XDG_CONFIG_HOME", ""), env.get("HOME", "")
    if shared.startswith("/"):
        return Path(shared) / "systemd" / "user"
    if home.startswith("/"):
        return Path(home) / ".config" / "systemd" / "user"
    raise ConfigError("neither XDG_CONFIG_HOME nor HOME is an absolute path: there is no place for the unit")


def _reload(made: Autostart, env: Mapping[str, str]) -> None:
    """Have systemd read its units anew; where it does not answer it does so at the next login by itself."""
    program = shutil.which("systemctl", path=env.get("PATH"))
    if program is None:
        return
    try:
        done = subprocess.run(
            [program, "--user", "daemon-reload"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(env),
            timeout=_SYSTEMCTL_S,
            check=False,
        )
        told = done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        told = False
    if not told:
        made.notes.append(
            "systemd's user instance does not answer here; it reads the units at the next login"
        )


def _quoted(word: str) -> str:
    """One word of ExecStart: systemd expands % and $, and knows quotes and backslashes."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"'
