"""Starting the owner when its user logs in: a file that the system's service manager reads.

Nothing needs it: every command and hook starts an owner where none runs. With it the first hook finds one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from context_graph.errors import ConfigError
from context_graph.hooks_config.changes import Change, apply_changes, read_text
from context_graph.setup import autostart_launchd, autostart_systemd

__all__ = ["Autostart", "ServiceManager", "plan_autostart", "plan_no_autostart", "write_autostart"]

_STAYS_S: Final = 604_800
"""Idle time after which such an owner leaves: the longest that the setting takes. Idle costs nothing."""


class ServiceManager(Protocol):
    """What a service manager wants to be told; the modules beside this one are some."""

    @property
    def PROGRAM(self) -> str:
        """Its command: where that is missing, nothing reads the file."""

    @property
    def MARK(self) -> str:
        """The line by which a file is known to be ours."""

    def file_of(self, env: Mapping[str, str], /) -> Path:
        """The file's place."""

    def link_of(self, file: Path, /) -> Path | None:
        """The link to it that enables it, if one must."""

    def folders_of(self, file: Path, /) -> tuple[Path, ...]:
        """Folders that go with it if nothing else is in them, innermost first."""

    def text_of(self, words: Sequence[str], variables: Mapping[str, str], /) -> str:
        """The file that has ``words`` run with ``variables`` added to the environment."""

    def start_now(self, file: Path, /) -> str:
        """The command that starts it before the next login."""

    def end_now(self, file: Path, /) -> str | None:
        """The command that makes the manager forget it before the next login, if it needs one."""

    def reload(self, env: Mapping[str, str], /) -> str | None:
        """Tell the manager that its files changed; what is to be said if it does not answer."""


_MANAGERS: Final[Mapping[str, ServiceManager]] = {"linux": autostart_systemd, "darwin": autostart_launchd}
"""By sys.platform."""


@dataclass(slots=True)
class Autostart:
    """What is to be changed."""

    manager: ServiceManager
    file: Change
    wanted: bool
    notes: list[str] = field(default_factory=list)

    @property
    def link(self) -> Path | None:
        """What enables the file, if anything must."""
        return self.manager.link_of(self.file.path)

    @property
    def needed(self) -> bool:
        """Whether anything is."""
        return self.file.is_needed or (self.link is not None and os.path.lexists(self.link) != self.wanted)


def plan_autostart(
    command: Sequence[str], root: Path, env: Mapping[str, str], *, platform: str = sys.platform
) -> Autostart:
    """The file that starts ``command`` (an owner's) for the data root ``root``. Reads, writes nothing.

    Raises:
        ConfigError: This system has no service manager that we know, or a file of that name is not ours.
    """
    manager = _manager(platform)
    path = manager.file_of(env)
    words = [*command, "--root", str(root), "--foreground"]
    text = manager.text_of(words, {"CONTEXT_GRAPH_IDLE_S": str(_STAYS_S)})
    made = Autostart(manager, Change(path, read_text(path), text), wanted=True)
    if _is_foreign(made):
        raise ConfigError(f"{path} is there and not ours; move it away first")
    if shutil.which(manager.PROGRAM, path=env.get("PATH")) is None:
        made.notes.append(f"{manager.PROGRAM} is not on PATH: without it nothing reads the file")
    made.notes.append(f"it starts at the next login; now: {manager.start_now(path)}")
    return made


def plan_no_autostart(env: Mapping[str, str], *, platform: str = sys.platform) -> Autostart:
    """File and link taken away again; a file that is not ours stays.

    Raises:
        ConfigError: This system has no service manager that we know.
    """
    manager = _manager(platform)
    path = manager.file_of(env)
    made = Autostart(manager, Change(path, read_text(path), None), wanted=False)
    if _is_foreign(made):
        stays = Autostart(manager, Change(path, None, None), wanted=False)
        stays.wanted = stays.link is not None and os.path.lexists(stays.link)
        stays.notes.append(f"{path} is not ours and stays")
        return stays
    made.notes.append("an owner that runs goes on: `context-graph-cli owner stop` ends it")
    forget = manager.end_now(path)
    if made.needed and forget is not None:
        made.notes.append(f"until the next login {manager.PROGRAM} still lists it; now: {forget}")
    return made


def write_autostart(made: Autostart, env: Mapping[str, str]) -> None:
    """Do it, and tell the service manager, if it answers.

    Raises:
        ConfigError: A file can't be written.
    """
    apply_changes([made.file])
    try:
        if made.link is not None:
            _set_link(made.link, made.file.path, wanted=made.wanted)
    except OSError as error:
        raise ConfigError(f"{made.link} can't be changed: {error.strerror}") from error
    if not made.wanted:
        for folder in made.manager.folders_of(made.file.path):
            with contextlib.suppress(OSError):  # not empty: others' files are in it
                os.rmdir(folder)
    told = made.manager.reload(env)
    if told is not None:
        if made.wanted:  # what would start it now is the manager that does not answer
            made.notes.clear()
        made.notes.append(told)


def _manager(platform: str) -> ServiceManager:
    found = _MANAGERS.get(platform)
    if found is None:
        raise ConfigError(f"--autostart is for Linux (systemd) and macOS (launchd); this is {platform!r}")
    return found


def _is_foreign(made: Autostart) -> bool:
    return made.file.before is not None and made.manager.MARK not in made.file.before


def _set_link(link: Path, file: Path, *, wanted: bool) -> None:
    if wanted and not os.path.lexists(link):
        os.makedirs(link.parent, exist_ok=True)
        os.symlink(file, link)
    elif not wanted and os.path.lexists(link):
        os.unlink(link)
