"""Sees to it that hooks and terminals find the program: by a link in ~/.local/bin, wherever it is installed.

Started by `uvx` it runs out of uv's cache, which may be cleared at any time: uv then installs it to stay.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from context_graph import __version__
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
    """Return the program where the next terminal finds it too, or where `setup` links it; None if in
    neither."""
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
    done = _run(command, env, _INSTALL_S)
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
    done = _run([uv, "cache", "dir"], env, _ASK_S)
    cache = "" if done is None or done.returncode else done.stdout.strip()
    return uv if cache and Path(cache).resolve() in Path(sys.prefix).resolve().parents else ""


def _run(
    command: list[str], env: Mapping[str, str], within_s: float
) -> subprocess.CompletedProcess[str] | None:
    """Return how the command ended; None where it can't be run, or takes longer."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
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
