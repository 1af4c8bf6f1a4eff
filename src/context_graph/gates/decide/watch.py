"""Tells once when files that decide what the gates do have changed, whoever changed them.

What the requirements themselves ask is compared where they are read (``seen``); here are the hooks in the
client's settings, without which no gate is asked, and the state of the branch.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from context_graph.gates.decide.decision import Decision
from context_graph.gates.files import read_object, read_through
from context_graph.gates.state.project import Project

_BYTES = 1 << 20
_SETTINGS = ("settings.json", "settings.local.json")


def tell_changes(decision: Decision, project: Project) -> None:
    """Tell user and model of changes since this was last asked, while human_only requirements hold.

    Cost: a stat for each of four files where ``decision.cache`` has them.
    """
    seen, branch = decision.event.seen, decision.event.seen.branch(project.root)
    if not branch:
        return
    decision.configuration_changed(project)
    now = _marks(decision, project, branch)
    changed = [path for path, mark in seen.files(project.root).items() if now.get(path, "") != mark]
    seen.keep_files(project.root, now, decision.event.at)
    for path in changed:
        decision.tell_both(f"{path} was changed, and it decides what the requirements can hold")


def _marks(decision: Decision, project: Project, branch: str) -> dict[str, str]:
    homes = [f"{project.root}/.claude", *filter(None, [decision.event.claude_dir])]
    paths = [f"{home}/{name}" for home in homes for name in _SETTINGS]
    marks = {path: read_through(decision.cache, path, _hooks_mark) for path in paths}
    if project.repo is not None:
        state = decision.files(project).path_of(branch)
        if os.path.exists(state):
            marks[state] = "there"
    return {path: mark for path, mark in marks.items() if mark}


def _hooks_mark(path: str) -> str:
    """A digest of what the settings say about hooks; empty if nothing."""
    settings = read_object(path, _BYTES)
    said: dict[str, Any] = {key: settings[key] for key in ("hooks", "disableAllHooks") if key in settings}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16] if said else ""
