"""Where macOS's launchd looks for what it starts at login: a property list, which nothing has to enable."""

from __future__ import annotations

import os
import plistlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from context_graph.errors import ConfigError

__all__ = [
    "LABEL",
    "MARK",
    "PROGRAM",
    "end_now",
    "file_of",
    "folders_of",
    "link_of",
    "reload",
    "start_now",
    "text_of",
]

LABEL: Final = "io.github.context-graph.owner"
PROGRAM: Final = "launchctl"
MARK: Final = "<!-- Written by context-graph-cli setup, option autostart -->"
"""A comment, since launchd complains of keys that it does not know. Two hyphens may not stand in one."""
_THROTTLE_S: Final = 30
_EXIT_S: Final = 15


def file_of(env: Mapping[str, str]) -> Path:
    """The property list's place; launchd wants it named after its label.

    Raises:
        ConfigError: HOME does not say where that is.
    """
    home = env.get("HOME", "")
    if not home.startswith("/"):
        raise ConfigError("HOME is not an absolute path: there is no place for the property list")
    return Path(home) / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def link_of(_file: Path) -> None:
    """None: being in the folder is enough."""


def folders_of(_file: Path) -> tuple[Path, ...]:
    """None that would go with it: LaunchAgents is the system's, also when it is empty."""
    return ()


def text_of(words: Sequence[str], variables: Mapping[str, str]) -> str:
    """The property list of a job that runs ``words`` with ``variables`` added to the environment.

    launchd can't tell exit codes apart as systemd can: with `SuccessfulExit` false it would start an owner
    every few seconds for as long as another one runs (75), or can't run at all (64, 73, 77). So it starts it
    again only after a signal that a crash ends with; after anything else the next hook does.

    `Interactive` is how a hook's own owner runs: without the limits on processor and disk that launchd puts
    on jobs, since every prompt waits for it.

    Raises:
        ConfigError: A word has characters that a property list can't hold.
    """
    job = {
        "Label": LABEL,
        "ProgramArguments": list(words),
        "EnvironmentVariables": dict(variables),
        "RunAtLoad": True,
        "KeepAlive": {"Crashed": True},
        "ThrottleInterval": _THROTTLE_S,
        "ExitTimeOut": _EXIT_S,
        "ProcessType": "Interactive",
        "StandardOutPath": os.devnull,
        "StandardErrorPath": os.devnull,
    }
    try:
        made = plistlib.dumps(job, sort_keys=False).decode("utf-8")
    except ValueError as error:
        raise ConfigError(f"the owner's command can't stand in a property list: {error}") from error
    head, begin, rest = made.partition("<plist ")
    return f"{head}{MARK}\n{begin}{rest}"


def start_now(file: Path) -> str:
    """The command that does not wait for a login."""
    return f"launchctl bootstrap gui/{os.getuid()} {shlex.quote(str(file))}"


def end_now(_file: Path) -> str | None:
    """The command that makes launchd forget the job before the next login; it ends its owner, too."""
    return f"launchctl bootout gui/{os.getuid()}/{LABEL}"


def reload(_env: Mapping[str, str]) -> None:
    """Nothing to do: launchd reads its folder at login."""
