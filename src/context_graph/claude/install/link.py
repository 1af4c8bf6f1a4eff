"""Sees to it that hooks and terminals find the program: by a link in ~/.local/bin, wherever it is installed.

Started by `uvx` it runs out of uv's cache, which may be cleared at any time: uv then installs it to stay.

And starts the owner at login, which is optional: a unit and a link for systemd's user instance, or an agent
of launchd. Every command and hook starts an owner where none runs; with it the first hook need not wait. What
is for macOS is untested there.
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

from context_graph import __version__
from context_graph.claude.settings.edit import Change, apply_changes, read_text
from context_graph.errors import ConfigError

_PROGRAM: Final = "context-graph-cli"
_ASK_S: Final = 20.0
_INSTALL_S: Final = 600.0
"""Everything is in uv's cache already, but a slow disk takes its time."""


@dataclass(frozen=True, slots=True)
class Link:
    """The link as it should be."""

    path: Path
    target: Path
    is_needed: bool
    """False where the program is found without it, or where another file has its place."""
    note: str = ""
    """What a person should know."""
    uv: str = ""
    """uv's program where it is to install ours, instead of a link into its cache."""

    @property
    def done(self) -> str:
        """What was done, in words."""
        return f"uv installed {self.path}" if self.uv else f"linked {self.path} to {self.target}"


def plan_link(launcher: Path, env: Mapping[str, str]) -> Link:
    """Return whether the program has to be linked for the next terminal to find it. Reads, writes nothing.

    An activated virtual environment does not count: the next terminal has none.

    Raises:
        ConfigError: HOME does not say where the link goes.
    """
    path = _place(env)
    if os.path.realpath(path) == os.path.realpath(launcher):
        return Link(path, launcher, False, _unless_on_path(path, env))
    uv = _uv_with_us_in_its_cache(env)
    if any(os.access(folder / _PROGRAM, os.X_OK) for folder in _lasting_folders(env)):
        return Link(path, launcher, False)
    if os.path.lexists(path) and not _is_ours(path):
        note = f"{path} was not made by setup, so it stays; hooks may not find {launcher}"
        return Link(path, launcher, False, note)
    return Link(path, launcher, True, _unless_on_path(path, env), uv)


def lasting_program(env: Mapping[str, str]) -> Path | None:
    """Return the program where the next terminal finds it too, or where `setup` links it, if any."""
    home = env.get("HOME", "")
    folders = [*_lasting_folders(env), *([Path(home) / ".local" / "bin"] if home.startswith("/") else [])]
    programs = (folder / _PROGRAM for folder in folders if folder.is_absolute())
    return next((path for path in programs if os.access(path, os.X_OK)), None)


def write_link(link: Link) -> None:
    """Create the link, or have uv install the program; a link of ours that leads elsewhere is replaced.

    Raises:
        ConfigError: It can't be made.
    """
    if link.uv:
        _install(link)
        return
    draft = link.path.with_name(f".{link.path.name}.{os.getpid()}")
    try:
        os.makedirs(link.path.parent, exist_ok=True)
        os.symlink(link.target, draft)
        os.replace(draft, link.path)
    except OSError as error:
        raise ConfigError(f"{link.path} can't be made: {error.strerror}") from error


def _install(link: Link) -> None:
    """Have uv install the version that runs, with the view, for the Python that runs it."""
    if _is_ours(link.path):
        os.unlink(link.path)
    package = f"{_PROGRAM}[view]=={__version__}"
    command = [link.uv, "tool", "install", "--quiet", "--python", os.path.realpath(sys.executable), package]
    env = {**os.environ, "UV_TOOL_BIN_DIR": str(link.path.parent)}
    done = run_quietly(command, env, _INSTALL_S)
    if done is None or done.returncode or not os.access(link.path, os.X_OK):
        why = "" if done is None else done.stderr.strip().rpartition("\n")[2]
        raise ConfigError(
            f"uv could not install {package}{f': {why}' if why else ''}; "
            f"`uv tool install '{_PROGRAM}[view]'` says more, then run setup again"
        )


def _uv_with_us_in_its_cache(env: Mapping[str, str]) -> str:
    """Return the path of uv if it started this program out of its cache, as `uvx` does; "" if it did not."""
    uv = env.get("UV", "")
    if not uv or sys.prefix == sys.base_prefix:
        return ""
    done = run_quietly([uv, "cache", "dir"], env, _ASK_S)
    cache = "" if done is None or done.returncode else done.stdout.strip()
    return uv if cache and Path(cache).resolve() in Path(sys.prefix).resolve().parents else ""


def run_quietly(
    command: list[str], env: Mapping[str, str], within_s: float
) -> subprocess.CompletedProcess[str] | None:
    """Return how the command ended; None where it can't be run, or takes longer."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=dict(env),
            timeout=within_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def remove_link(env: Mapping[str, str]) -> Path | None:
    """Remove our link; its path, or None if there is none of ours.

    Raises:
        ConfigError: It can't be removed.
    """
    path = _place(env)
    if not _is_ours(path):
        return None
    try:
        os.unlink(path)
    except OSError as error:
        raise ConfigError(f"{path} can't be removed: {error.strerror}") from error
    return path


def _place(env: Mapping[str, str]) -> Path:
    home = env.get("HOME", "")
    if not home.startswith("/"):
        raise ConfigError("HOME is not an absolute path, so there is no place for the link")
    return Path(home) / ".local" / "bin" / _PROGRAM


def _lasting_folders(env: Mapping[str, str]) -> list[Path]:
    """Of the search path, without a virtual environment's own folder."""
    own = Path(sys.prefix) / "bin" if sys.prefix != sys.base_prefix else None
    folders = [Path(folder) for folder in env.get("PATH", "").split(os.pathsep) if folder]
    return [folder for folder in folders if folder != own]


def _is_ours(path: Path) -> bool:
    """Return whether it is a link to our program, there or gone."""
    return path.is_symlink() and os.path.basename(os.readlink(path)) == _PROGRAM


def _unless_on_path(path: Path, env: Mapping[str, str]) -> str:
    if path.parent in _lasting_folders(env):
        return ""
    return (
        f"{path.parent} is not on PATH. The hooks look there anyway, but the memory tools and your terminal "
        'do not: add  export PATH="$HOME/.local/bin:$PATH"  to your shell\'s startup file'
    )


UNIT: Final = "context-graph-owner.service"
_MARK: Final = "# Written by context-graph-cli setup --autostart"
_LABEL: Final = "io.context-graph.owner"
_AGENT_MARK: Final = "<!-- Written by context-graph-cli setup, option autostart -->"
_WANTED_BY: Final = "default.target"
_RELOAD_S: Final = 10.0
_STAYS_S: Final = 604_800
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
    command: Sequence[str], root: Path, env: Mapping[str, str], system: str = sys.platform
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
    text = _agent_text(words) if system == "darwin" else _unit_text(words)
    made = Autostart(Change(path, read_text(path), text), wanted=True)
    if _is_foreign(made):
        raise ConfigError(f"{path} was not made by setup; move it away first")
    if system == "darwin":
        made.notes.append("macOS: written for launchd and untested; say what you see")
        return made
    if shutil.which("systemctl", path=env.get("PATH")) is None:
        made.notes.append("systemctl is not on PATH; without systemd the unit has no effect")
    made.notes.append(f"the owner starts at the next login; to start it now: systemctl --user start {UNIT}")
    return made


def plan_no_autostart(env: Mapping[str, str], system: str = sys.platform) -> Autostart:
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
    if made.link is not None:
        try:
            _set_link(made.link, made.unit.path, wanted=made.wanted)
        except OSError as error:
            raise ConfigError(f"{made.link} can't be changed: {error.strerror}") from error
        if not made.wanted:
            folder = made.unit.path.parent
            for emptied in (made.link.parent, folder, folder.parent):
                with contextlib.suppress(OSError):  # not empty: others' files are in it
                    os.rmdir(emptied)
    if _reload(made, env):
        return
    if made.link is None:
        made.notes.append("launchd does not answer; it will see the change at the next login")
        return
    if made.wanted:  # what would start it now is the instance that does not answer
        made.notes.clear()
    made.notes.append("systemd's user instance does not answer; it will read the unit at the next login")


def _unit_text(words: Sequence[str]) -> str:
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
    """Return where the user's units or agents are. Raises ConfigError where there is no such place."""
    shared, home = env.get("XDG_CONFIG_HOME", ""), env.get("HOME", "")
    if system == "darwin":
        if not home.startswith("/"):
            raise ConfigError("HOME is not an absolute path, so there is no place for the agent")
        return Path(home) / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    if system != "linux":
        raise ConfigError(f"--autostart needs systemd or launchd; this is {system!r}")
    if shared.startswith("/"):
        return Path(shared) / "systemd" / "user" / UNIT
    if home.startswith("/"):
        return Path(home) / ".config" / "systemd" / "user" / UNIT
    raise ConfigError("neither XDG_CONFIG_HOME nor HOME is an absolute path, so the unit has no place")


def _is_foreign(made: Autostart) -> bool:
    before = made.unit.before
    return before is not None and _MARK not in before and _AGENT_MARK not in before


def _set_link(link: Path, file: Path, *, wanted: bool) -> None:
    if wanted and not os.path.lexists(link):
        os.makedirs(link.parent, exist_ok=True)
        os.symlink(file, link)
    elif not wanted and os.path.lexists(link):
        os.unlink(link)


def _reload(made: Autostart, env: Mapping[str, str]) -> bool:
    """Return whether systemd or launchd, if there is one, has taken in the change."""
    domain, unit = f"gui/{os.getuid()}", str(made.unit.path)
    program, words = "systemctl", ["--user", "daemon-reload"]
    if made.link is None:
        program = "launchctl"
        words = ["bootstrap", domain, unit] if made.wanted else ["bootout", f"{domain}/{_LABEL}"]
    path = shutil.which(program, path=env.get("PATH"))
    done = None if path is None else run_quietly([path, *words], env, _RELOAD_S)
    return path is None or (done is not None and done.returncode == 0)


def _quoted(word: str) -> str:
    """Return one word of ExecStart: systemd expands % and $, and knows quotes and backslashes."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"'


def _agent_text(words: Sequence[str]) -> str:
    """Return the agent that runs ``words``.

    It is started again only if it was killed or failed; one that leaves for a newer client ends with 0.
    """
    agent = {
        "Label": _LABEL,
        "ProgramArguments": list(words),
        "EnvironmentVariables": {"CONTEXT_GRAPH_IDLE_S": str(_STAYS_S)},
        "RunAtLoad": True,
        "KeepAlive": {"Crashed": True},
        "ThrottleInterval": 5,
        "ProcessType": "Background",
        "StandardOutPath": os.devnull,
        "StandardErrorPath": os.devnull,
    }
    head, _, rest = plistlib.dumps(agent, sort_keys=False).decode().partition("<plist ")
    return f"{head}{_AGENT_MARK}\n<plist {rest}"
