"""Where systemd's user instance looks for what it starts at login: a unit, and the link that enables it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from context_graph.errors import ConfigError

__all__ = [
    "MARK",
    "PROGRAM",
    "UNIT",
    "end_now",
    "file_of",
    "folders_of",
    "link_of",
    "reload",
    "start_now",
    "text_of",
]

UNIT: Final = "context-graph-owner.service"
PROGRAM: Final = "systemctl"
MARK: Final = "# Written by context-graph-cli setup --autostart"
_WANTED_BY: Final = "default.target"
_SYSTEMCTL_S: Final = 10.0


def file_of(env: Mapping[str, str]) -> Path:
    """The unit's place.

    Raises:
        ConfigError: No variable says where that is.
    """
    shared, home = env.get("XDG_CONFIG_HOME", ""), env.get("HOME", "")
    if shared.startswith("/"):
        return Path(shared) / "systemd" / "user" / UNIT
    if home.startswith("/"):
        return Path(home) / ".config" / "systemd" / "user" / UNIT
    raise ConfigError("neither XDG_CONFIG_HOME nor HOME is an absolute path: there is no place for the unit")


def link_of(file: Path) -> Path:
    """What enables it, as `systemctl --user enable` makes it."""
    return file.parent / f"{_WANTED_BY}.wants" / UNIT


def folders_of(file: Path) -> tuple[Path, ...]:
    """Folders that go with it if nothing else is in them, innermost first."""
    return link_of(file).parent, file.parent, file.parent.parent


def text_of(words: Sequence[str], variables: Mapping[str, str]) -> str:
    """The unit that runs ``words`` with ``variables`` added to the environment.

    Exit code 75 says that another owner runs, which is as well. An owner that yields to a newer client ends
    with 0 and is not started again: that client starts its own.
    """
    command = " ".join(_quoted(word) for word in words)
    added = "\n".join(f"Environment={name}={value}" for name, value in variables.items())
    return f"""{MARK}
[Unit]
Description=context-graph: the process that holds the stores

[Service]
Type=exec
ExecStart={command}
{added}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=64 73 75 77
SuccessExitStatus=75
TimeoutStopSec=15
StandardError=null

[Install]
WantedBy={_WANTED_BY}
"""


def start_now(file: Path) -> str:
    """The command that does not wait for a login."""
    return f"systemctl --user start {file.name}"


def end_now(_file: Path) -> str | None:
    """None: systemd forgets a unit as soon as it has read its folder anew."""
    return None


def reload(env: Mapping[str, str]) -> str | None:
    """Have systemd read its units anew; what is to be said where it does not answer."""
    program = shutil.which(PROGRAM, path=env.get("PATH"))
    if program is None:
        return None
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
    return (
        None if told else "systemd's user instance does not answer here; it reads the units at the next login"
    )


def _quoted(word: str) -> str:
    """One word of ExecStart: systemd expands % and $, and knows quotes and backslashes."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"'
