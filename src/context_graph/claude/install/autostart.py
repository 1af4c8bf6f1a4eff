"""Starts the owner at login: a unit and a link for systemd's user instance, or an agent of launchd.

It is optional: every command and hook starts an owner where none runs. With it the first hook need not wait.
What is for macOS is untested there.
"""

from __future__ import annotations

import contextlib
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from context_graph.claude.settings.changes import Change, apply_changes, read_text
from context_graph.errors import ConfigError

UNIT: Final = "context-graph-owner.service"
_MARK: Final = "# Written by context-graph-cli setup --autostart"
_WANTED_BY: Final = "default.target"
_SYSTEMCTL_S: Final = 10.0
_STAYS_S: Final = 604_800
SYSTEM: Final = sys.platform
"""Idle time after which such an owner leaves: the longest that the setting takes. Idle costs nothing."""


@dataclass(slots=True)
class Autostart:
    """The planned unit, and remarks for a person."""

    unit: Change
    wanted: bool
    notes: list[str] = field(default_factory=list)

    @property
    def link(self) -> Path | None:
        """The link that enables the unit, as `systemctl --user enable` makes it; launchd needs none."""
        unit = self.unit.path
        return unit.parent / f"{_WANTED_BY}.wants" / UNIT if unit.name == UNIT else None

    @property
    def needed(self) -> bool:
        """Whether anything has to change."""
        return self.unit.is_needed or (self.link is not None and os.path.lexists(self.link) != self.wanted)


def plan_autostart(
    command: Sequence[str], root: Path, env: Mapping[str, str], system: str = SYSTEM
) -> Autostart:
    """Return the unit that starts ``command`` (an owner's) for the data root ``root``. Reads, writes nothing.

    Args:
        system: As sys.platform names it.

    Raises:
        ConfigError: This system has neither systemd nor launchd, no place for units, or a unit of that name
            that is not ours.
    """
    path = _unit_path(env, system)
    words = [*command, "--root", str(root), "--foreground"]
    if system == "darwin":
        made = Autostart(Change(path, read_text(path), agent_text(words, _STAYS_S)), wanted=True)
        if _is_foreign(made):
            raise ConfigError(f"{path} was not made by setup; move it away first")
        made.notes.append("macOS: written for launchd and untested; say what you see")
        return made
    made = Autostart(Change(path, read_text(path), unit_text(words)), wanted=True)
    if _is_foreign(made):
        raise ConfigError(f"{path} was not made by setup; move it away first")
    if shutil.which("systemctl", path=env.get("PATH")) is None:
        made.notes.append("systemctl is not on PATH; without systemd the unit has no effect")
    made.notes.append(f"the owner starts at the next login; to start it now: systemctl --user start {UNIT}")
    return made


def plan_no_autostart(env: Mapping[str, str], system: str = SYSTEM) -> Autostart:
    """Plan the removal of unit and link; a unit that is not ours stays.

    Raises:
        ConfigError: This system has neither systemd nor launchd, or no place for units.
    """
    path = _unit_path(env, system)
    made = Autostart(Change(path, read_text(path), None), wanted=False)
    if _is_foreign(made):
        stays = Autostart(Change(path, None, None), wanted=False)
        stays.wanted = stays.link is not None and os.path.lexists(stays.link)
        stays.notes.append(f"{path} was not made by setup, so it stays")
        return stays
    made.notes.append("a running owner keeps running; `context-graph-cli owner stop` ends it")
    return made


def write_autostart(made: Autostart, env: Mapping[str, str]) -> None:
    """Carry out the plan, and have systemd or launchd take it in, if it answers.

    Raises:
        ConfigError: A file can't be written.
    """
    apply_changes([made.unit])
    if made.link is None:
        if not reload(made.unit.path, env, wanted=made.wanted):
            made.notes.append("launchd does not answer; it will see the change at the next login")
        return
    try:
        _set_link(made.link, made.unit.path, wanted=made.wanted)
    except OSError as error:
        raise ConfigError(f"{made.link} can't be changed: {error.strerror}") from error
    if not made.wanted:
        folder = made.unit.path.parent
        for emptied in (made.link.parent, folder, folder.parent):
            with contextlib.suppress(OSError):  # not empty: others' files are in it
                os.rmdir(emptied)
    if not _reload(env):
        if made.wanted:  # what would start it now is the instance that does not answer
            made.notes.clear()
        made.notes.append("systemd's user instance does not answer; it will read the unit at the next login")


def unit_text(words: Sequence[str]) -> str:
    """Return the unit that runs ``words``.

    Exit code 75 says that another owner runs, which is as well. An owner that yields to a newer client ends
    with 0 and is not started again: that client starts its own.
    """
    return f"""{_MARK}
[Unit]
Description=context-graph: the process that holds the stores

[Service]
Type=exec
ExecStart={" ".join(map(_quoted, words))}
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


def _unit_path(env: Mapping[str, str], system: str) -> Path:
    if system == "darwin":
        return agent_path(env)
    if system != "linux":
        raise ConfigError(f"--autostart needs systemd or launchd; this is {system!r}")
    shared, home = env.get("XDG_CONFIG_HOME", ""), env.get("HOME", "")
    if shared.startswith("/"):
        return Path(shared) / "systemd" / "user" / UNIT
    if home.startswith("/"):
        return Path(home) / ".config" / "systemd" / "user" / UNIT
    raise ConfigError(
        "neither XDG_CONFIG_HOME nor HOME is an absolute path, so there is no place for the unit"
    )


def _is_foreign(made: Autostart) -> bool:
    before = made.unit.before
    return before is not None and _MARK not in before and MARK not in before


def _set_link(link: Path, file: Path, *, wanted: bool) -> None:
    if wanted and not os.path.lexists(link):
        os.makedirs(link.parent, exist_ok=True)
        os.symlink(file, link)
    elif not wanted and os.path.lexists(link):
        os.unlink(link)


def _reload(env: Mapping[str, str]) -> bool:
    """Return whether systemd, if there is one, has reloaded its units."""
    program = shutil.which("systemctl", path=env.get("PATH"))
    if program is None:
        return True
    command = [program, "--user", "daemon-reload"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=dict(env), timeout=_SYSTEMCTL_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _quoted(word: str) -> str:
    """Return one word of ExecStart: systemd expands % and $, and knows quotes and backslashes."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"'


LABEL: Final = "io.context-graph.owner"
MARK: Final = "<!-- Written by context-graph-cli setup, option autostart -->"
_LAUNCHCTL_S: Final = 10.0


def agent_path(env: Mapping[str, str]) -> Path:
    """Return where the user's agents are.

    Raises:
        ConfigError: HOME is no absolute path.
    """
    home = env.get("HOME", "")
    if not home.startswith("/"):
        raise ConfigError("HOME is not an absolute path, so there is no place for the agent")
    return Path(home) / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def agent_text(words: Sequence[str], idle_s: int) -> str:
    """Return the agent that runs ``words`` with an owner's idle time of ``idle_s``.

    It is started again only if it was killed or failed; one that leaves for a newer client ends with 0.
    """
    agent = {
        "Label": LABEL,
        "ProgramArguments": list(words),
        "EnvironmentVariables": {"CONTEXT_GRAPH_IDLE_S": str(idle_s)},
        "RunAtLoad": True,
        "KeepAlive": {"Crashed": True},
        "ThrottleInterval": 5,
        "ProcessType": "Background",
        "StandardOutPath": os.devnull,
        "StandardErrorPath": os.devnull,
    }
    head, _, rest = plistlib.dumps(agent, sort_keys=False).decode().partition("<plist ")
    return f"{head}{MARK}\n<plist {rest}"


def reload(path: Path, env: Mapping[str, str], *, wanted: bool) -> bool:
    """Return whether launchd, if there is one, has taken in the agent or let go of it."""
    program = shutil.which("launchctl", path=env.get("PATH"))
    if program is None:
        return True
    domain = f"gui/{os.getuid()}"
    command = (
        [program, "bootstrap", domain, str(path)] if wanted else [program, "bootout", f"{domain}/{LABEL}"]
    )
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=dict(env), timeout=_LAUNCHCTL_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
