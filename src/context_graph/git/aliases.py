"""Reads git's aliases from its configuration files, those that they include too, without starting git."""

from __future__ import annotations

import os
from collections.abc import Iterator

from context_graph.system.small_files import read_bytes

_BYTES = 256 << 10
_INCLUDED = 8
"""Included files that are read; more, or a loop, are not followed."""


def git_aliases(common_dir: str, home: str, git_dir: str = "") -> dict[str, str]:
    """Return alias to value, of the repository's and the user's git configuration; ``git_dir`` is the
    worktree's.

    What `[includeIf]` names is read whatever its condition: an alias too many asks once too often.

    Cost: a read of up to four small files, and of eight that they include. What can't be read has none.
    """
    paths = [f"{home}/.config/git/config", f"{home}/.gitconfig"] if home else []
    paths += [f"{common_dir}/config"] if common_dir else []
    paths += [f"{git_dir}/config.worktree"] if git_dir else []
    aliases: dict[str, str] = {}
    seen = set(paths)
    waiting = paths[::-1]
    while waiting:
        path = waiting.pop()
        included: list[str] = []
        for section, name, key, value in _settings(_text(path)):
            if section == "alias":  # [alias "ci"] command = commit is the newer way to write it
                aliases[(name or key).lower()] = value
            elif section in ("include", "includeif") and key.lower() == "path" and value:
                value = value.partition(" ;")[0].partition(" #")[0].strip()
                below = home + value[1:] if value.startswith("~/") else value
                included.append(os.path.normpath(os.path.join(os.path.dirname(path), below)))
        for other in included:
            if other not in seen and len(seen) < len(paths) + _INCLUDED:
                seen.add(other)
                waiting.append(other)
    return aliases


def _text(path: str) -> str:
    try:
        return read_bytes(path, _BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _settings(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, the name behind it, key and value of each line that sets something."""
    section = name = ""
    for line in map(str.strip, text.replace("\\\n", " ").splitlines()):
        if line.startswith("["):
            head, _, line = line[1:].partition("]")
            kind, _, name = head.partition(" ")
            section, name, line = kind.strip().lower(), name.strip().strip('"'), line.strip()
        if line[:1] in ("", "#", ";"):
            continue
        key, _, value = map(str.strip, line.partition("="))
        if value[:1] == value[-1:] == '"' and len(value) > 1:
            value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        yield section, name, key, value
