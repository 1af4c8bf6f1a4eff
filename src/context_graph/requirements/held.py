"""Which human_only requirements a session has seen, written down for when their file is out of sight."""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.event import GateEvent
from context_graph.requirements.files import read_bytes, write_atomic
from context_graph.requirements.project import Project
from context_graph.requirements.session_ids import safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.rules import Rules

__all__ = ["FOLDER", "forget", "kept_at", "path_of", "remember"]

FOLDER = "/held"
"""Below the folder of compiled configurations. The launcher's twin is ext/launcher/src/gate.rs."""

_BYTES = 1 << 20
_PROJECTS = 8
_STALE_S = 14 * 86400.0


def path_of(event: GateEvent) -> str:
    """Where it is written down for the session; empty where it can't be."""
    if not event.cache_dir or not event.session_id:
        return ""
    return f"{event.cache_dir}{FOLDER}/{safe_name(event.session_id)}.json"


def kept_at(path: str) -> dict[str, Any]:
    """Project to its branch and requirements; empty where nothing (or nothing readable) is kept."""
    try:
        document = plain_json.loads(read_bytes(path, _BYTES)) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    kept = document.get("projects") if isinstance(document, dict) else None
    return kept if isinstance(kept, dict) else {}


def remember(event: GateEvent, project: Project, rules: Rules) -> None:
    """Write down which human_only requirements hold the session, where that has changed. Never raises."""
    path, branch = path_of(event), project.head().branch
    names = [entry for entry in rules.active if entry.human_only]
    if not path or not branch or not names:
        return
    now: dict[str, Any] = {"branch": branch, "requirements": [_data(entry) for entry in names]}
    kept = kept_at(path)
    old = kept.get(project.root)
    if isinstance(old, dict) and old.get("branch") != branch:
        # Another branch's file adds to what was seen; it takes nothing away.
        known = {one["name"] for one in now["requirements"]}
        missing = [one for one in old.get("requirements", []) if one.get("name") not in known]
        now = {"branch": old.get("branch"), "requirements": now["requirements"] + missing} if missing else now
    if old == now:
        return
    kept.pop(project.root, None)
    kept[project.root] = now
    while len(kept) > _PROJECTS:
        kept.pop(next(iter(kept)))
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        write_atomic(path, plain_json.dumps({"projects": kept}).encode(), sync=False)
        _sweep(os.path.dirname(path), event.at)
    except (OSError, ValueError, TypeError):
        pass  # the file itself still decides; only its absence would not be noticed


def _data(entry: Any) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in entry.__slots__}


def _sweep(folder: str, now: float) -> None:
    """Remove what sessions that never ended have left."""
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        if now - os.stat(path).st_mtime > _STALE_S:
            os.unlink(path)


def forget(event: GateEvent) -> None:
    """The session has ended."""
    path = path_of(event)
    try:
        os.unlink(path)
        os.rmdir(os.path.dirname(path))
    except OSError:
        pass  # none was kept, or others are
