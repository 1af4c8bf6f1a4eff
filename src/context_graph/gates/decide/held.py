"""Records the human_only requirements that a session has seen, and enforces them where their file is missing.

Moving, breaking or checking out another version of the file, removing `.git`, or a HEAD that names no branch
would each lift what only a person may lift. So the recorded requirements apply wherever the project's own
file can't decide for the branch. On the branch where they were seen the file decides, because a person has
edited it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from context_graph.gates.config import schema
from context_graph.gates.decide.decision import Decision
from context_graph.gates.decide.evaluation import evaluate
from context_graph.gates.decide.exemptions import is_exempt
from context_graph.gates.decide.messages import held_denial
from context_graph.gates.decide.protected_files import edited_file
from context_graph.gates.decide.tool_call import Part, project_of, targets_of
from context_graph.gates.event import GateEvent
from context_graph.gates.files import read_object, write_json
from context_graph.gates.rules import Requirement, Rules
from context_graph.gates.state.project import CONFIG, Project, is_inside
from context_graph.gates.state.session_ids import safe_name
from context_graph.git.repository import find_repo

FOLDER = "/held"
"""Below the folder of compiled configurations. The launcher's twin is ext/launcher/src/gate.rs."""

_BYTES = 1 << 20
_PROJECTS = 8
_STALE_S = 14 * 86400.0


def remember(event: GateEvent, project: Project, rules: Rules) -> None:
    """Record which human_only requirements hold the session, if that has changed. Never raises."""
    path, branch = _path_of(event), project.head().branch
    entries = [
        {name: getattr(entry, name) for name in entry.__slots__} for entry in rules.active if entry.human_only
    ]
    if not path or not branch or not entries:
        return
    now: dict[str, Any] = {"branch": branch, "requirements": entries}
    kept = _kept_at(path)
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
    path = _path_of(event)
    with suppress(OSError):  # none was kept, or others are
        os.unlink(path)
        os.rmdir(os.path.dirname(path))


def _path_of(event: GateEvent) -> str:
    """The path of the session's record; empty if there can be none."""
    if not event.cache_dir or not event.session_id:
        return ""
    return f"{event.cache_dir}{FOLDER}/{safe_name(event.session_id)}.json"


def _kept_at(path: str) -> dict[str, Any]:
    """Each project's branch and requirements; empty if nothing readable is kept."""
    kept = read_object(path, _BYTES).get("projects")
    return kept if isinstance(kept, dict) else {}


def hold(decision: Decision) -> None:
    """Deny a call that the gate let pass if requirements that the session has seen forbid it.

    Cost: one stat if no human_only requirement was seen.
    """
    path = _path_of(decision.event)
    if not path or not os.path.lexists(path):
        return
    for root, kept in _kept_at(path).items():
        if isinstance(kept, dict) and _concerns(decision.event, root) and not decision.result.decision:
            _hold(decision, root, kept)


def _concerns(event: GateEvent, root: str) -> bool:
    """Whether the call is made in, from or on the project at ``root``."""
    folders = [event.cwd, event.project_dir, *targets_of(event.hook.tool_input, root)]
    return any(
        f"{folder}/".startswith(root + "/") or is_inside(folder, root, event.cwd)
        for folder in folders
        if folder
    )


def _hold(decision: Decision, root: str, kept: dict[str, Any]) -> None:
    """Deny the call if requirements seen at ``root`` apply and the file there can't decide for the branch."""
    project = project_of(decision.event)
    if project is not None and project.root != root and project.repo is not None:
        return  # another project governs the call
    project = Project(root, find_repo(root))
    branch = project.head().branch
    rules = decision.rules(project)
    gone = not os.path.exists(root + CONFIG)
    speaks = not gone and rules.readable and project.repo is not None and branch
    if speaks and branch == kept.get("branch"):
        return
    now = {entry.name for entry in rules.active if entry.human_only} if speaks else set[str]()
    entries = [
        one for one in kept.get("requirements", []) if isinstance(one, dict) and one.get("name") not in now
    ]
    if not entries:
        return
    why = (
        f"{root}/.git is gone" if project.repo is None
        else f"{root}{CONFIG} is gone" if gone
        else f"{root}{CONFIG} can't be read" if not rules.readable
        else f"{branch} has another {CONFIG[1:]}" if branch
        else "HEAD names no branch"
    )  # fmt: skip
    project.rules = Rules([Requirement.kept(one) for one in entries], schema.check({}, {}).hooks)
    _judge(decision, project, branch or str(kept.get("branch", "")), why)


def _judge(decision: Decision, project: Project, branch: str, why: str) -> None:
    event, rules = decision.event, decision.rules(project)
    asked = [entry for entry in Part(project).triggered(rules, event) if not entry.stop_only]
    if is_exempt(event, project):
        asked = []
    context = decision.context(project, branch=branch)
    if context is not None:
        asked = [entry for entry in asked if not evaluate(entry, context).met]
    names = [entry.name for entry in asked]
    if not names and edited_file(event, project):
        names = [entry.name for entry in rules.active]
    if not names:
        return
    decision.result.project = project.root
    decision.result.refuse("deny", held_denial(why, names, event.session_id), names)
    decision.result.branch = branch
    if context is not None:
        decision.keep(context, "denied", names, detail=f"human_only: {why}")
