"""Enforces the human_only requirements that a session has seen, even when their configuration is missing.

Moving, breaking or checking out another version of the file, removing `.git`, or a HEAD that names no branch
would each lift what only a person may lift. So the recorded requirements (``held``) apply wherever the
project's own file can't decide for the branch. On the branch where they were seen the file decides, because a
person has edited it.
"""

from __future__ import annotations

import os
from typing import Any

from context_graph.gates.cache import GateCache
from context_graph.gates.config import schema
from context_graph.gates.decide import gate
from context_graph.gates.decide.evaluation import evaluate
from context_graph.gates.decide.exemptions import is_exempt
from context_graph.gates.decide.held import kept_at, path_of
from context_graph.gates.decide.messages import held_denial
from context_graph.gates.decide.touching import objection_of
from context_graph.gates.decide.triggers import matching, targets_of
from context_graph.gates.decide.where import project_of
from context_graph.gates.event import GateEvent, GateResult
from context_graph.gates.rules import Requirement, Rules
from context_graph.gates.state.git import find_repo
from context_graph.gates.state.project import CONFIG, Project, is_inside


def before_tool(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """The gate's answer to PreToolUse; a call that it lets pass is also checked against what the session
    has seen.

    Cost beside the gate's: one stat if no human_only requirement was seen.
    """
    result = gate.before_tool(event, cache, may_run)
    path = path_of(event)
    if result.decision or result.deferred or not path or not os.path.lexists(path):
        return result
    for root, kept in kept_at(path).items():
        if isinstance(kept, dict) and _concerns(event, root) and not result.decision:
            _hold(event, cache, root, kept, result)
    return result


def _concerns(event: GateEvent, root: str) -> bool:
    """Whether the call is made in, from or on the project at ``root``."""
    folders = [event.cwd, event.project_dir, *targets_of(event.tool_input, root)]
    return any(
        f"{folder}/".startswith(root + "/") or is_inside(folder, root, event.cwd)
        for folder in folders
        if folder
    )


def _hold(
    event: GateEvent, cache: GateCache | None, root: str, kept: dict[str, Any], result: GateResult
) -> None:
    """Deny the call if requirements seen at ``root`` apply and the file there can't decide for the branch."""
    project = project_of(event)
    if project is not None and project.root != root and project.repo is not None:
        return  # another project governs the call
    project = Project(root, find_repo(root))
    branch = project.head().branch
    rules = gate.rules_for(event, project, cache)
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
    _judge(event, cache, project, branch or str(kept.get("branch", "")), entries, why, result)


def _judge(
    event: GateEvent,
    cache: GateCache | None,
    project: Project,
    branch: str,
    entries: list[dict[str, Any]],
    why: str,
    result: GateResult,
) -> None:
    rules = Rules([Requirement.kept(one) for one in entries], schema.check({}, {}).hooks)
    asked = [entry for entry in matching(rules, event.tool_name, event.tool_input) if not entry.stop_only]
    if is_exempt(event.tool_name, event.tool_input, project, event.claude_dir, event.cwd):
        asked = []
    context = gate.context_of(event, project, rules, cache, may_run=False, branch=branch)
    if context is not None:
        asked = [entry for entry in asked if not evaluate(entry, context).met]
    names = [entry.name for entry in asked] or objection_of(event, project, rules).names
    if not names:
        return
    result.decision, result.requirements, result.branch = "deny", names, branch
    result.project = project.root
    result.reason = held_denial(why, names, event.session_id)
    if context is not None:
        gate.keep(event, context, result, "denied", names, detail=f"human_only: {why}")
