"""Tells which files of a working tree differ from before: what git's own status says, and who committed."""

from __future__ import annotations

import os
from typing import Any

from context_graph.git.repository import Repo, actions_since, ask_git, tip_of

STATUS_S = 0.5
"""How long git's status may take; a repository that needs longer is not watched."""

_PATHS = 2000
_BYTES = 1 << 20
_MADE = (b"commit", b"cherry-pick", b"revert", b"am:")
"""How the lines of HEAD's log begin that tell of a commit made here; a pull brings others' work."""


def snapshot(repo: Repo, timeout_s: float = STATUS_S) -> dict[str, Any] | None:
    """Return what is changed in the working tree now, and where HEAD is; None if git does not say in time.

    Returns:
        ``tip`` as `tip_of` gives it, ``files``: path below the top -> what tells one change of it from
        another. Of more than 2,000 changed files the first.

    Cost: one run of git's status, 5 ms in a small repository; one stat for each changed file.
    """
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=all")
    done = ask_git(repo, *words, timeout_s=timeout_s, in_tree=True)
    if done is None or done.returncode or len(done.stdout) > _BYTES:
        return None
    files: dict[str, str] = {}
    entries = iter(done.stdout.split(b"\0"))
    for entry in entries:
        kind, fields = entry[:1], {b"1": 8, b"2": 9, b"u": 10, b"?": 1}.get(entry[:1], 0)
        parts = entry.split(b" ", fields)
        if fields and len(parts) > fields and len(files) < _PATHS:
            path = os.fsdecode(parts[fields])
            files[path] = f"{os.fsdecode(b' '.join(parts[:fields]))} {_mark(repo.top, path)}"
        if kind == b"2":
            next(entries, b"")  # where a renamed file was
    return {"tip": tip_of(repo), "files": files}


def changed_since(repo: Repo, before: dict[str, Any], now: dict[str, Any]) -> list[str] | None:
    """Return the files that differ between two snapshots; None if commits were made, which may hold any."""
    if before.get("tip") != now["tip"]:
        actions = actions_since(repo, before.get("tip", {}).get("log"))
        if actions and any(action.startswith(_MADE) for action in actions):
            return None
    old = before.get("files")
    old = old if isinstance(old, dict) else {}
    return [path for path, mark in now["files"].items() if old.get(path) != mark]


def _mark(top: str, path: str) -> str:
    try:
        status = os.lstat(os.path.join(top, path))
    except (OSError, ValueError):
        return "-"
    return f"{status.st_size} {status.st_mtime_ns}"
