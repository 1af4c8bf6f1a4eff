"""Reads the client's own files (settings, plugins, trust), and looks at its own memory and its transcripts:
on or off, where, how much, how long. Never writes them; of memory and transcripts only names, sizes and times
are read, never a text.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from context_graph.config import client_dir

ERROR: Final = "error"
"""Something does not work."""
WARNING: Final = "warning"
"""It works, but not as it should, or not for long."""
NOTE: Final = "note"
"""Worth knowing; no problem."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. No cure ever destroys data."""

    level: str
    what: str
    cure: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def is_sound(findings: Iterable[Finding]) -> bool:
    """Return whether there is nothing to mend."""
    return all(finding.level == NOTE for finding in findings)


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


CLEANUP_DAYS: Final = 30
"""After which the client deletes a transcript, unless its setting cleanupPeriodDays says otherwise."""
_SOON_DAYS: Final = 7
_DAY_S: Final = 86_400
_MAX_FILES: Final = 10_000
_OFF: Final = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"


def native_memory(
    project: Path, settings: Sequence[SettingsFile], env: Mapping[str, str]
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the state of the client's own memory in ``project``, and of its transcripts.

    Args:
        settings: As `settings_files` gives them.

    Returns:
        ``on``, ``folder``, ``files``, ``bytes``, ``transcripts`` and ``oldest_days`` (None without any), and
        ``cleanup_days``; and a note where transcripts are about to be deleted. At most 10,000 files are
        looked at in each folder.
    """
    from context_graph.claude.own_memory import chosen_folders  # both load what `status` does without
    from context_graph.claude.transcripts import folder_of, memory_of

    own = folder_of(project, env)
    chosen = chosen_folders(str(client_dir(env)), str(project))
    folder = Path(chosen[0]) if chosen else memory_of(project, env)
    notes = list(_files(folder, ".md"))
    times = [stat.st_mtime for stat in _files(own, ".jsonl")]
    days = _cleanup_days(settings)
    oldest = max(0.0, (time.time() - min(times)) / _DAY_S) if times else None
    state = {
        "on": _is_on(settings, env),
        "folder": str(folder),
        "files": len(notes),
        "bytes": sum(stat.st_size for stat in notes),
        "transcripts": len(times),
        "oldest_days": None if oldest is None else round(oldest, 1),
        "cleanup_days": days,
    }
    if oldest is None or days - oldest > _SOON_DAYS:
        return state, []
    text = f"Claude Code deletes transcripts after {days} days; the oldest here is {oldest:.0f} days old"
    cure = 'set "cleanupPeriodDays" in ~/.claude/settings.json to keep them longer; our memories stay'
    return state, [Finding(NOTE, text, cure)]


def _is_on(settings: Sequence[SettingsFile], env: Mapping[str, str]) -> bool:
    if env.get(_OFF, "").lower() in ("1", "true", "yes", "on"):
        return False
    return _setting(settings, "autoMemoryEnabled", bool) is not False


def _cleanup_days(settings: Sequence[SettingsFile]) -> int:
    days = _setting(settings, "cleanupPeriodDays", int)
    return CLEANUP_DAYS if days is None or isinstance(days, bool) or days < 0 else int(days)


def _setting(settings: Sequence[SettingsFile], name: str, kind: type) -> Any:
    """Return what holds: the managed settings' word, else that of the file that is nearest to the project."""
    managed = [file for file in settings if file.path.name.startswith("managed")]
    nearest = [file for file in reversed(settings) if file not in managed]
    values = (file.content.get(name) for file in (*managed, *nearest))
    return next((value for value in values if isinstance(value, kind)), None)


def _files(folder: Path, suffix: str) -> Iterator[os.stat_result]:
    """Of the plain files in ``folder``; nothing where it can't be read."""
    try:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, _MAX_FILES):
                if entry.name.endswith(suffix) and entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False)
    except OSError:
        return
