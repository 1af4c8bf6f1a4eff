"""Looks at the client's own memory and its transcripts of a project: on or off, where, how much, how long.

Only names, sizes and times are read, never a text.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from context_graph.claude.transcripts import folder_of, memory_of
from context_graph.cli.doctor.client_files import SettingsFile
from context_graph.cli.doctor.findings import NOTE, Finding

CLEANUP_DAYS: Final = 30
"""After which the client deletes a transcript, unless its setting cleanupPeriodDays says otherwise."""
_SOON_DAYS: Final = 7
_DAY_S: Final = 86_400
_MAX_FILES: Final = 10_000
_OFF: Final = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_SHARED: Final = "settings.json"


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
    own = folder_of(project, env)
    folder = _chosen(project, settings) or memory_of(project, env)
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


def _chosen(project: Path, settings: Sequence[SettingsFile]) -> Path | None:
    """Return what autoMemoryDirectory names; the client does not read it from a project's shared settings."""
    shared = project / ".claude" / _SHARED
    named = _setting([file for file in settings if file.path != shared], "autoMemoryDirectory", str)
    return Path(os.path.expanduser(named)) if named and named.startswith(("/", "~/")) else None


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
