"""Blocks a Stop: a session that changed something may not end while an armed requirement is unmet."""

from __future__ import annotations

from context_graph.gates.cache import GateCache
from context_graph.gates.config.schema import blank_entry
from context_graph.gates.decide.call_outcomes import OpenCalls, turn_over
from context_graph.gates.decide.evaluation import EvaluationContext, Verdict, unmet
from context_graph.gates.decide.gate import (
    active_here,
    configuration_changed,
    configuration_gone,
    context_of,
    keep,
    rules_for,
)
from context_graph.gates.decide.messages import stop_block
from context_graph.gates.decide.where import session_projects
from context_graph.gates.event import GateEvent, GateResult
from context_graph.gates.rules import Requirement, Rules
from context_graph.gates.state.git import find_repo
from context_graph.gates.state.project import Project, find_project
from context_graph.gates.state.registry import Registry
from context_graph.gates.state.state import BranchState, is_current
from context_graph.gates.state.state_files import StateFiles

_Open = tuple[EvaluationContext, list[Verdict]]


_ENDLESS = ("shell", "monitor")
"""Background work that may never end, such as a server: each lets one Stop go, then the session is held."""

_WAITED = "#waited"
"""Entry of the session's calls with the background work that has let a Stop go."""


def before_stop(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Block the Stop with every requirement that this session armed, in any project, and left unmet.

    ``stop_hook_active`` passes before anything is read: a turn is blocked once. While background work of the
    session goes on it passes too, because its end wakes the session and Stop comes again.
    """
    result = GateResult()
    if event.stop_hook_active or not event.session_id:
        return result
    found: list[_Open] = []
    projects = session_projects(event, cache)
    for project in [*projects, *_gone(event, cache, projects)]:
        context, verdicts = _left_open(event, project, cache, may_run)
        if any(verdict.deferred for verdict in verdicts):
            result.deferred = True
            return result
        known = {(one.repo.common_dir, v.branch, v.requirement.name) for one, them in found for v in them}
        new = [
            v
            for v in verdicts
            if context and (context.repo.common_dir, v.branch, v.requirement.name) not in known
        ]
        if context is not None and new:
            found.append((context, new))
    for project in projects:
        configuration_changed(event, project, rules_for(event, project, cache), cache, result)
    configuration_gone(event, cache, result)
    if found and not _waits(event, found, cache):
        _block(event, found, result)
    return result


def _block(event: GateEvent, found: list[_Open], result: GateResult) -> None:
    result.decision = "block"
    result.reason = "\n\n".join(stop_block(verdicts, context) for context, verdicts in found)
    for context, verdicts in found:
        names = list(dict.fromkeys(verdict.requirement.name for verdict in verdicts))
        result.project, result.branch = result.project or context.root, result.branch or context.branch
        result.requirements += [name for name in names if name not in result.requirements]
        keep(event, context, result, "blocked", names, detail=verdicts[0].why)


def _left_open(
    event: GateEvent, project: Project, cache: GateCache | None, may_run: bool
) -> tuple[EvaluationContext | None, list[Verdict]]:
    """What the session armed in the project and left unmet; where HEAD names no branch, on other branches."""
    rules = rules_for(event, project, cache)
    if project.repo is not None:
        files = StateFiles(project.repo.common_dir, project.work, cache)
        turn_over(event, project.repo, files, cache)
    wanted = _verified(rules)
    if rules.readable and not wanted:
        return None, []
    context = context_of(event, project, rules, cache, may_run=may_run, detached=True)
    if context is None:
        return None, []
    if not rules.readable:
        return context, _by_state_alone(event, context)
    wanted = active_here(wanted, context)
    return context, _armed_and_unmet(wanted, context) if wanted else []


def _verified(rules: Rules) -> list[Requirement]:
    if not rules.readable or not rules.hooks.verify_requirements:
        return []
    return [entry for entry in rules.active if entry.scope in rules.hooks.verify_scopes]


def _armed_and_unmet(wanted: list[Requirement], context: EvaluationContext) -> list[Verdict]:
    found = []
    for state in _states(context):
        there = context if state is context.state else context.at_branch(state)
        armed = [entry for entry in wanted if _is_armed(entry, state, context)]
        found += unmet(armed, there)
    return found


def _states(context: EvaluationContext) -> list[BranchState]:
    """This branch's state, then those of other branches on which the session left something."""
    own = [context.state] if context.branch else []
    return own + context.files.others(context.session_id, context.branch)


def _is_armed(entry: Requirement, state: BranchState, context: EvaluationContext) -> bool:
    here = state.branch == context.branch
    return state.is_armed(entry.name, context.session_id, per_session=entry.per_session or not here)


def _gone(event: GateEvent, cache: GateCache | None, projects: list[Project]) -> list[Project]:
    """Projects that governed the session and have no file any more."""
    found = []
    for folder in Registry(event.claude_dir, cache).folders(event.session_id):
        known = any(folder in (one.work, one.root) for one in projects)
        if not known and find_project(folder, "", claude_dir=event.claude_dir) is None:
            repo = find_repo(folder) if folder.startswith("/") else None
            found += [Project(folder, repo)] if repo is not None else []
    return found


def _by_state_alone(event: GateEvent, context: EvaluationContext) -> list[Verdict]:
    """What is armed and not satisfied if the configuration can't be read: removing it lifts nothing."""
    found = []
    for state in _states(context):
        names = [name for name in state.names() if _is_open(state, name, event)]
        for entry in active_here([blank_entry(name) for name in names], context):
            why = "armed before its configuration was gone or unreadable"
            found.append(Verdict(entry, False, why, branch=state.branch))
    return found


def _is_open(state: BranchState, name: str, event: GateEvent) -> bool:
    record, entry = state.record(name, event.session_id), state.entry(name)
    if record.get("triggered") is not True or "type" in record or entry.get("scope") != "session":
        return False
    return not (is_current(record, event.at) or is_current(entry, event.at))


def _waits(event: GateEvent, found: list[_Open], cache: GateCache | None) -> bool:
    """Whether Stop will come again by itself: an agent runs, or a command that has not yet let a Stop
    pass.
    """
    if any(kind not in _ENDLESS for kind, _ in event.background):
        return True
    ids = [key for _, key in event.background]
    calls = OpenCalls(found[0][0].repo.common_dir, event.session_id, cache)
    waited = calls.all().get(_WAITED, {}).get("for", [])
    if all(key in waited for key in ids):
        return False
    try:
        calls.change(lambda now: now.update({_WAITED: {"at": event.at, "over": True, "for": ids}}))
    except OSError:
        return False
    return True
