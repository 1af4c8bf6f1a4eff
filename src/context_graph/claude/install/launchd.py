"""Starts the owner at login on macOS: an agent of launchd. Written for macOS, and untested there."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from context_graph.errors import ConfigError

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
