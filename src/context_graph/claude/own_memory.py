"""Tells which files are the client's own memory, which it keeps for itself beside the work on the project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from context_graph.system.small_files import read_object, real_path

_SETTINGS_BYTES = 1_048_576
_MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)


def is_client_memory(
    path: str, claude_dir: str, *, cwd: str = "/", tops: Iterable[str] = (), chosen: Iterable[str] = ()
) -> bool:
    """Return whether ``path`` lies in the client's own memory; links are resolved, so that none leads out.

    That is ``projects/<project>/memory`` and ``agent-memory`` below the client's folder (a team's shared
    memory is a folder in the first), a subagent's memory in ``.claude`` of the project, and ``chosen``.

    Args:
        path: Absolute, or relative to ``cwd``; ``~`` is the home.
        claude_dir: The client's folder, CLAUDE_CONFIG_DIR or ~/.claude; "" if unknown.
        tops: The project's top folders.
        chosen: What the setting autoMemoryDirectory names (`chosen_folders`). A folder that holds the
            project, or lies in it, is not believed: an agent can write that setting.

    Cost: resolving one path; no file is read.
    """
    real = real_path(path, cwd)
    if not real:
        return False
    if claude_dir:
        own = real_path(claude_dir).rstrip("/")
        parts = real[len(own) + 1 :].split("/") if real.startswith(own + "/") else []
        if len(parts) > 3 and parts[0] == "projects" and parts[2] == "memory":
            return True
        if len(parts) > 2 and parts[0] == "agent-memory":
            return True
    known = [real_path(top).rstrip("/") for top in tops]
    folders = [f"{top}/.claude/{name}" for top in known for name in ("agent-memory", "agent-memory-local")]
    for folder in chosen:
        at = real_path(folder).rstrip("/")
        if at.count("/") > 1 and not any(_one_holds_the_other(at, top) for top in known):
            folders.append(at)
    return any(real.startswith(folder + "/") for folder in folders)


def looks_like_client_memory(path: str) -> bool:
    """Return whether the absolute ``path`` reads like the memory of a client whose folder is not known.

    The client names a project's folder by its path with dashes for slashes, so it begins with one. Good
    enough to leave a file out of a summary; a gate must ask `is_client_memory`.
    """
    parts = path.split("/")
    steps = zip(parts, parts[1:], parts[2:-1], strict=False)
    return path.startswith("/") and any(
        first == "projects" and second.startswith("-") and third == "memory" for first, second, third in steps
    )


def own_files_of(claude_dir: str, project: str) -> Callable[[str], bool]:
    """Tells of a path whether it is in the client's own memory, for work in ``project``."""
    chosen = chosen_folders(claude_dir, project)

    def is_own(path: str) -> bool:
        tops = [project] if project else []
        return looks_like_client_memory(path) or is_client_memory(path, claude_dir, tops=tops, chosen=chosen)

    return is_own


def chosen_folders(claude_dir: str, project: str = "") -> list[str]:
    """Return the folders that autoMemoryDirectory names in the settings that the client reads it from.

    Managed settings, the project's own .claude/settings.local.json, and the user's settings; never the
    checked-in .claude/settings.json. What can't be read names none.
    """
    files = [*_MANAGED]
    files += [f"{project.rstrip('/')}/.claude/settings.local.json"] if project else []
    files += [f"{claude_dir.rstrip('/')}/settings.json"] if claude_dir else []
    folders = (client_setting(path, "autoMemoryDirectory") for path in files)
    return [os.path.expanduser(folder) for folder in folders if folder.startswith(("/", "~/"))]


def client_setting(path: str, name: str) -> str:
    """Return the text that the client's settings file at ``path`` gives ``name``; "" where it can't be read.

    The file may be a project's own: a pipe is not waited for, and no more than 1 MiB is read.
    """
    value = read_object(path, _SETTINGS_BYTES).get(name)
    return value if isinstance(value, str) and "\0" not in value else ""


def _one_holds_the_other(first: str, other: str) -> bool:
    return f"{first}/".startswith(f"{other}/") or f"{other}/".startswith(f"{first}/")
