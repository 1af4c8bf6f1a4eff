"""Describes a host: its names for our events and tools, its two translations, and where its files are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from context_graph.model import EventKind

NOT_THE_USER: Final = "[context-graph, automatic: not from the user]"
"""How a reason begins that a host gives to its model in the place of the next prompt."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Host:
    """One host. Both translations take and give JSON objects, must not change what they are given, and drop
    what the other side has no place for.
    """

    name: str
    """The word behind ``--format`` and ``setup --host``."""
    events: Mapping[EventKind, str]
    """Our events and the host's names for them; what is not here, the host has not."""
    to_claude: Callable[[EventKind, Json], Json]
    """The host's hook input as Claude Code would have sent it; with ``hook_event_name`` only where that is
    another one than the verb's, a failed call."""
    from_claude: Callable[[str, Json], Json]
    """The host's answer to the event that Claude Code calls by that name, from Claude Code's document."""
    context_at: frozenset[EventKind]
    """Events whose answer may bring the model a text."""
    also: Mapping[str, EventKind] = field(default_factory=dict)
    """Further events of the host that count as one of ours."""
    untold: frozenset[str] = frozenset()
    """Tools, by Claude Code's names, of which the host does not tell whether the call failed."""
    answers_always: bool = False
    """Whether no output at all counts as a failed hook: then nothing to say is ``{}``."""


def common(payload: Json, *names: str) -> Json:
    """Return those of ``names`` that ``payload`` has."""
    return {name: payload[name] for name in names if name in payload}


def without_event(payload: Json) -> Json:
    """Return a copy without the host's name of the event, which the caller knows by ours."""
    return {name: value for name, value in payload.items() if name != "hook_event_name"}


def absolute(path: object, cwd: object) -> object:
    """Return a relative path below the folder that the call ran in: Claude Code's tools name whole paths."""
    if not isinstance(path, str) or not path or path.startswith(("/", "~")) or "://" in path:
        return path
    return os.path.normpath(os.path.join(cwd, path)) if isinstance(cwd, str) and cwd else path


def ran_in(called: object, key: str, cwd: object) -> Json:
    """Return the folder that a shell's call names for itself, as ``cwd``; nothing where it names none.

    Args:
        called: The tool's input.
        key: What the tool calls its folder.
        cwd: The event's folder.
    """
    folder = absolute(called.get(key), cwd) if isinstance(called, dict) else None
    if not isinstance(folder, str) or not folder:
        return {}
    return {"cwd": os.path.normpath(os.path.expanduser(folder))}


def specific(document: Json) -> Json:
    """Return the part of Claude Code's document that belongs to its event."""
    specifics = document.get("hookSpecificOutput")
    return specifics if isinstance(specifics, dict) else {}


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
