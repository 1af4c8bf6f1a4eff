"""Reads the client's own files (settings, plugins, trust); never writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from context_graph.cli.doctor.findings import ERROR, Finding
from context_graph.config import client_dir

_MANAGED: Final = Path("/etc/claude-code/managed-settings.json")
_MAX_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """One existing settings file with its content; {} if it is damaged."""

    path: Path
    content: Mapping[str, Any]


def settings_files(project: Path, env: Mapping[str, str]) -> tuple[list[SettingsFile], list[Finding]]:
    """Return those that the client reads in ``project``; hooks of all of them run."""
    claude = project / ".claude"
    paths = (_MANAGED, client_dir(env) / "settings.json", claude / "settings.json")
    files, findings = [], []
    for path in dict.fromkeys((*paths, claude / "settings.local.json")):
        try:
            content = read_object(path)
        except ValueError as error:
            findings.append(Finding(ERROR, f"{path}: {error}: the client drops the whole file", "fix it"))
            continue
        if content is not None:
            files.append(SettingsFile(path, content))
    return files, findings


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in ``path``; None if there is no such file.

    Raises:
        ValueError: It can't be read, or holds something else; says which.
    """
    try:
        if os.path.getsize(path) > _MAX_BYTES:
            raise ValueError("too large")
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ValueError(f"can't be read: {error.strerror}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def plugin_folders(settings: list[SettingsFile], project: Path, env: Mapping[str, str]) -> Iterator[Path]:
    """Yield folders of the plugins that are installed for ``project`` and that ``settings`` enable."""
    enabled: dict[str, Any] = {}
    for file in settings:
        named = file.content.get("enabledPlugins")
        enabled.update(named if isinstance(named, dict) else {})
    try:
        installed = read_object(client_dir(env) / "plugins" / "installed_plugins.json") or {}
    except ValueError:
        return
    plugins = installed.get("plugins")
    for name, entries in plugins.items() if isinstance(plugins, dict) else ():
        if enabled.get(name) is not True:
            continue
        for entry in entries if isinstance(entries, list) else [entries]:
            if not isinstance(entry, dict) or entry.get("projectPath") not in (None, str(project)):
                continue
            folder = entry.get("installPath")
            if isinstance(folder, str) and os.path.isdir(folder):
                yield Path(folder)


def is_trusted(project: Path, env: Mapping[str, str]) -> bool | None:
    """Return whether the user told the client to trust ``project`` or a folder above it; None if it never
    asked.

    Of the client's own state file only `hasTrustDialogAccepted` is looked at.
    """
    named = env.get("CLAUDE_CONFIG_DIR", "")
    home = Path(named) if named.startswith("/") else Path(env.get("HOME", "/"))
    try:
        projects = (read_object(home / ".claude.json") or {}).get("projects")
    except ValueError:
        return None
    if not isinstance(projects, dict):
        return None
    answers = []
    for folder in (project, *project.parents):
        entry = projects.get(str(folder))
        if isinstance(entry, dict) and "hasTrustDialogAccepted" in entry:
            answers.append(entry["hasTrustDialogAccepted"] is True)
    return any(answers) if answers else None
