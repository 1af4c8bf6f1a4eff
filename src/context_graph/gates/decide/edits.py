"""Finds edits that no edit tool made: what commands of a turn have changed, by git's own status.

Before the first command of a turn that may change files the working tree is looked at; before Stop and in
git's commit hook it is compared. A change arms what Edit and Write would have armed.
"""

from __future__ import annotations

import os
from typing import Any

from context_graph.gates.decide.call_outcomes import only_mentions
from context_graph.gates.decide.decision import Decision
from context_graph.gates.decide.evaluation import EvaluationContext
from context_graph.gates.decide.exemptions import is_exempt_file
from context_graph.gates.decide.tool_call import command_of
from context_graph.gates.rules import FILE_TOOLS, Requirement, Rules
from context_graph.gates.state.project import Project
from context_graph.gates.state.session_ids import own_name
from context_graph.git.changes import changed_since, snapshot
from context_graph.system.small_files import read_object, write_json

SUFFIX = ".tree"
_BYTES = 1 << 20


def asked_at_edits(rules: Rules) -> list[Requirement]:
    """Return the active requirements that edits by any means trigger."""
    return [
        entry for entry in rules.active if entry.edits == "any" and any(map(entry.names_tool, FILE_TOOLS))
    ]


def before_command(decision: Decision, project: Project) -> None:
    """Look at the working tree before the first command of a turn that may change it. Never raises.

    Cost: one stat call; for the first such command one run of git's status.
    """
    event, path = decision.event, _path(decision, project)
    runs = command_of(event.hook.tool_input) or event.hook.tool_name.startswith("mcp__")
    if not path or not runs or os.path.exists(path) or not asked_at_edits(decision.rules(project)):
        return
    if only_mentions(event) or project.repo is None or project.repo.bare:
        return
    now = snapshot(project.repo)
    if now is not None:
        _write(path, {**now, "git_dir": project.repo.git_dir})


def turn_begins(decision: Decision, project: Project) -> None:
    """Forget how the tree was: the next command looks at it again. Cost: one system call."""
    path = _path(decision, project)
    if path and os.path.exists(path):
        os.unlink(path)


def has_edited(decision: Decision, project: Project) -> bool:
    """Return whether commands of this turn have changed files that are no plans and no memory of the
    client's.

    Cost: one stat call where no command ran; else one run of git's status.
    """
    path, repo = _path(decision, project), project.repo
    if not path or repo is None or not os.path.exists(path):
        return False
    before = read_object(path, _BYTES)
    now = snapshot(repo) if before.get("git_dir") == repo.git_dir else None
    if now is None:
        return False
    changed = changed_since(repo, before, now)
    return changed is None or any(
        not is_exempt_file(f"{repo.top}/{name}", decision.event, project) for name in changed
    )


def arm_edits(decision: Decision, context: EvaluationContext, project: Project) -> list[Requirement]:
    """Arm what edits by commands of this turn trigger; the requirements, or [] if there were none.

    Raises:
        OSError: If the state can't be written.
    """
    asked = asked_at_edits(context.rules) if context.branch else []
    if not asked or not has_edited(decision, project):
        return []
    context.files.arm(context.branch, asked, decision.event.session_id, decision.event.at)
    context.state = context.files.load(context.branch, decision.event.at)
    return asked


def _path(decision: Decision, project: Project) -> str:
    session = decision.event.session_id
    if project.repo is None or not session:
        return ""
    return f"{decision.files(project).folder}/sessions/{own_name(session)}{SUFFIX}"


def _write(path: str, tree: dict[str, Any]) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_json(path, tree, sync=False)
    except (OSError, ValueError):
        return  # edits by commands of this turn are not seen then
