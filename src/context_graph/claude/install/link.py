"""Links the program into ~/.local/bin, so that hooks and terminals find it wherever it is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from context_graph.errors import ConfigError

_PROGRAM: Final = "context-graph-cli"


@dataclass(frozen=True, slots=True)
class Link:
    """The link as it should be."""

    path: Path
    target: Path
    is_needed: bool
    """False where the program is found without it, or where another file has its place."""
    note: str = ""
    """What a person should know."""


def plan_link(launcher: Path, env: Mapping[str, str]) -> Link:
    """Return whether the program has to be linked for the next terminal to find it. Reads, writes nothing.

    An activated virtual environment does not count: the next terminal has none.

    Raises:
        ConfigError: HOME does not say where the link goes.
    """
    path = _place(env)
    if os.path.realpath(path) == os.path.realpath(launcher):
        return Link(path, launcher, False, _unless_on_path(path, env))
    if any(os.access(folder / _PROGRAM, os.X_OK) for folder in _lasting_folders(env)):
        return Link(path, launcher, False)
    if os.path.lexists(path) and not _is_ours(path):
        note = f"{path} was not made by setup, so it stays; hooks may not find {launcher}"
        return Link(path, launcher, False, note)
    return Link(path, launcher, True, _unless_on_path(path, env))


def lasting_program(env: Mapping[str, str]) -> Path | None:
    """Return the program where the next terminal finds it too, or where `setup` links it; None if in
    neither."""
    home = env.get("HOME", "")
    folders = [*_lasting_folders(env), *([Path(home) / ".local" / "bin"] if home.startswith("/") else [])]
    programs = (folder / _PROGRAM for folder in folders if folder.is_absolute())
    return next((path for path in programs if os.access(path, os.X_OK)), None)


def write_link(link: Link) -> None:
    """Create the link; a link of ours that leads elsewhere is replaced.

    Raises:
        ConfigError: It can't be made.
    """
    draft = link.path.with_name(f".{link.path.name}.{os.getpid()}")
    try:
        os.makedirs(link.path.parent, exist_ok=True)
        os.symlink(link.target, draft)
        os.replace(draft, link.path)
    except OSError as error:
        raise ConfigError(f"{link.path} can't be made: {error.strerror}") from error


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
