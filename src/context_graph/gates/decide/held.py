"""Records which human_only requirements a session has seen, for when their file is missing."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from context_graph.gates.event import GateEvent
from context_graph.gates.files import read_object, write_json
from context_graph.gates.rules import Rules
from context_graph.gates.state.project import Project
from context_graph.gates.state.session_ids import safe_name

FOLDER = "/held"
"""Below the folder of compiled configurations. The launcher's twin is ext/launcher/src/gate.rs."""

_BYTES = 1 << 20
_PROJECTS = 8
_STALE_S = 14 * 86400.0


def remember(event: GateEvent, project: Project, rules: Rules) -> None:
    """Record which human_only requirements hold the session, if that has changed. Never raises."""
    path, branch = path_of(event), project.head().branch
    entries = [
        {name: getattr(entry, name) for name in entry.__slots__} for entry in rules.active if entry.human_only
    ]
    if not path or not branch or not entries:
        return
    now: dict[str, Any] = {"branch": branch, "requirements": entries}
    kept = kept_at(path)
    old = kept.get(project.root)
    if isinstance(old, dict) and old.get("branch") != branch:
        # Another branch's file adds to what was seen; it takes nothing away.
        known = {one["name"] for one in entries}
        missing = [one for one in old.get("requirements", []) if one.get("name") not in known]
        now = {"branch": old.get("branch"), "requirements": entries + missing} if missing else now
    if old == now:
        return
    kept.pop(project.root, None)
    kept = {**dict(list(kept.items())[-_PROJECTS + 1 :]), project.root: now}
    folder = os.path.dirname(path)
    # The file itself still decides where this fails; only its absence would not be noticed.
    with suppress(OSError, ValueError, TypeError):
        os.makedirs(folder, 0o700, exist_ok=True)
        write_json(path, {"projects": kept}, sync=False)
        for name in os.listdir(folder):  # what sessions that never ended have left
            if event.at - os.stat(f"{folder}/{name}").st_mtime > _STALE_S:
                os.unlink(f"{folder}/{name}")


def forget(event: GateEvent) -> None:
    """Remove the record of a session that has ended."""
    path = path_of(event)
    with suppress(OSError):  # none was kept, or others are
        os.unlink(path)
        os.rmdir(os.path.dirname(path))


def path_of(event: GateEvent) -> str:
    """The path of the session's record; empty if there can be none."""
    if not event.cache_dir or not event.session_id:
        return ""
    return f"{event.cache_dir}{FOLDER}/{safe_name(event.session_id)}.json"


def kept_at(path: str) -> dict[str, Any]:
    """Each project's branch and requirements; empty if nothing readable is kept."""
    kept = read_object(path, _BYTES).get("projects")
    return kept if isinstance(kept, dict) else {}
