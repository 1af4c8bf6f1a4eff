"""What a session has seen of human_only keeps holding it when the configuration is out of sight.

A file that was moved away, broken or checked out from another commit, a `.git` that is gone and a HEAD that
names no branch would each lift what only a person may lift. So what was seen (``held``) is asked for where
the project's own file can't speak for the branch. On the branch on which it was seen the file decides: a
person has edited it.
"""

from __future__ import annotations

import os

from context_graph.requirements import gate
from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.held import kept_at, path_of
from context_graph.requirements.project import CONFIG, Project, is_inside
from context_graph.requirements.where import project_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.cache import GateCache

__all__ = ["before_tool"]


def before_tool(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """The gate's answer to PreToolUse; where it lets the call pass, what the session has seen is asked too.

    Cost beside the gate's: one stat where no human_only requirement was seen.
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
    from context_graph.requirements.triggers import targets_of

    places = [event.cwd, event.project_dir, *targets_of(event.tool_input, root)]
    return any(
        f"{place}/".startswith(root + "/") or is_inside(place, root, event.cwd) for place in places if place
    )


def _hold(
    event: GateEvent, cache: GateCache | None, root: str, kept: dict[str, Any], result: GateResult
) -> None:
    project = project_of(event)
    if project is not None and project.root != root and project.repo is not None:
        return  # another project governs the call
    from context_graph.requirements.git import find_repo

    project = Project(root, find_repo(root))
    branch = project.head().branch
    rules = gate.rules_for(event, project, cache)
    gone = not os.path.exists(root + CONFIG)
    speaks = not gone and rules.readable and project.repo is not None
    if speaks and branch and branch == kept.get("branch"):
        return
    now = {entry.name for entry in rules.active if entry.human_only} if speaks and branch else set[str]()
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
    from context_graph.requirements import exemptions, schema
    from context_graph.requirements.evaluate import evaluate
    from context_graph.requirements.rules import Rules
    from context_graph.requirements.scene import Scene
    from context_graph.requirements.triggers import matching

    base = schema.check({}, {})
    rules = Rules({**base, "readable": True, "requirements": entries})
    names = [
        entry.name for entry in matching(rules, event.tool_name, event.tool_input) if not entry.stop_only
    ]
    if exemptions.is_exempt(event.tool_name, event.tool_input, project, event.claude_dir, event.cwd):
        names = []
    touch = exemptions.objection_of(event, project, rules)
    scene = None
    if project.repo is not None:
        scene = Scene(
            project,
            project.repo,
            rules,
            branch=branch,
            session_id=event.session_id,
            now=event.at,
            claude_dir=event.claude_dir,
            cache_dir=event.cache_dir,
            cache=cache,
            may_run=False,
            checked_out=False,
        )
        at = scene
        names = [entry.name for entry in rules.active if entry.name in names and not evaluate(entry, at).met]
    names = names or touch.names
    if not names:
        return
    from context_graph.requirements.messages import held_denial

    result.decision, result.requirements, result.branch = "deny", names, branch
    result.project = project.root
    result.reason = held_denial(why, names, event.session_id)
    if scene is not None:
        gate.keep(event, scene, result, "denied", names, detail=f"human_only: {why}")
