"""Says where each host has its files: of one project, or of the user."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAMES: Final = ("codex", "gemini", "cursor", "opencode")
HOOKS: Final = {"codex": "hooks.json", "gemini": "settings.json", "cursor": "hooks.json"}
"""The file with a host's hooks, in its folder; opencode has none."""
_MOST_BYTES: Final = 1 << 20
_OURS: Final = b"context-graph"


def project_folder(host: str, top: Path) -> Path:
    """Return where a host's files of the project at ``top`` are."""
    return top if host == "opencode" else top / f".{host}"


def user_folder(host: str, env: Mapping[str, str]) -> Path:
    """Return where a host's files of the user are: CODEX_HOME and the like are heeded."""
    home = Path(env.get("HOME", "/"))
    if host == "codex":
        return _named(env, "CODEX_HOME") or home / ".codex"
    if host == "gemini":
        return (_named(env, "GEMINI_CLI_HOME") or home) / ".gemini"
    if host == "opencode":
        shared = _named(env, "XDG_CONFIG_HOME") or home / ".config"
        return _named(env, "OPENCODE_CONFIG_DIR") or shared / "opencode"
    return home / f".{host}"


def name_us(top: Path, env: Mapping[str, str]) -> bool:
    """Return whether a file with hooks of any host names us: cheap, and enough where none does."""
    folders = [(host, project_folder(host, top)) for host in HOOKS]
    folders += [(host, user_folder(host, env)) for host in HOOKS]
    for host, folder in folders:
        with contextlib.suppress(OSError), (folder / HOOKS[host]).open("rb") as file:
            if _OURS in file.read(_MOST_BYTES):
                return True
    return False


def _named(env: Mapping[str, str], name: str) -> Path | None:
    return Path(env[name]) if env.get(name, "").startswith("/") else None
