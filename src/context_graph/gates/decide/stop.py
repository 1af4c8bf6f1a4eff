"""Blocks a Stop: a session that changed something may not end while an armed requirement is unmet."""

from __future__ import annotations

from context_graph.gates.config.schema import blank_entry
from context_graph.gates.decide.call_outcomes import turn_over
from context_graph.gates.decide.decision import Decision, active_here
from context_graph.gates.decide.evaluation import EvaluationContext, Verdict, unmet
from context_graph.gates.decide.messages import stop_block
from context_graph.gates.decide.unasked import arm_edits
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import Requirement
from context_graph.gates.state.project import Project
from context_graph.gates.state.state import BranchState, is_current
from context_graph.gates.state.under_way import UnderWay
from context_graph.git.repository import find_repo

_Open = tuple[EvaluationContext, list[Verdict]]


_ENDLESS = ("shell", "monitor")
"""Background work that may never end, such as a server: each lets one Stop go, then the session is held."""


def before_stop(decision: Decision) -> None:
    """Block the Stop with every requirement that this session armed, in any project, and left unmet.

    ``stop_hook_active`` passes before anything is read: a turn is blocked once. While background work of the
    session goes on it passes too, because its end wakes the session and Stop comes again.
    """
    event = decision.event
    if event.hook.stop_hook_active or not event.session_id:
        return
    waiting: list[_Open] = []
    known: set[tuple[str, str, str]] = set()
    projects = decision.session_projects()
    for project in [*projects, *_gone(decision, projects)]:
        context, verdicts = _left_open(decision, project)
        if context is None:
            continue
        keys = [(context.repo.common_dir, v.branch, v.requirement.name) for v in verdicts]
        new = [verdict for key, verdict in zip(keys, verdicts, strict=True) if key not in known]
        known.update(keys)
        if new:
            waiting.append((context, new))
    for project in projects:
        decision.configuration_changed(project)
    decision.configuration_gone()
    if waiting and not _waits(decision, waiting):
        _block(decision, waiting)


def _block(decision: Decision, waiting: list[_Open]) -> None:
    result = decision.result
    result.decision = "block"
    result.reason = "\n\n".join(stop_block(verdicts, context) for context, verdicts in waiting)
    for context, verdicts in waiting:
        names = list(dict.fromkeys(verdict.requirement.name for verdict in verdicts))
        result.project, result.branch = result.project or context.root, result.branch or context.branch
        result.requirements += [name for name in names if name not in result.requirements]
        decision.keep(context, "blocked", names, detail=verdicts[0].why)


def _left_open(decision: Decision, project: Project) -> tuple[EvaluationContext | None, list[Verdict]]:
    """Return what the session armed in the project and left unmet; without a branch, on others."""
    rules = decision.rules(project)
    if project.repo is not None:
        turn_over(decision.event, decision.files(project))
    verifies = rules.readable and rules.hooks.verify_requirements
    wanted = [entry for entry in rules.active if verifies and entry.scope in rules.hooks.verify_scopes]
    if project.repo is not None and verifies:
        past = UnderWay(decision.files(project), decision.event.session_id).section("open")
        wanted += [entry for entry in rules.active if entry.name in past and entry not in wanted]
    if rules.readable and not rules.lost and not wanted:
        return None, []
    context = decision.context(project, may_run=True, detached=True)
    if context is None:
        return None, []
    arm_edits(decision, context, project)
    wanted = active_here(wanted, context)
    verdicts = _armed_and_unmet(wanted, context) if wanted else []
    if rules.lost or not rules.readable:
        known = {entry.name for entry in rules.active}
        by_state = _by_state_alone(decision.event, context)
        verdicts += [verdict for verdict in by_state if verdict.requirement.name not in known]
    return context, verdicts


def _armed_and_unmet(wanted: list[Requirement], context: EvaluationContext) -> list[Verdict]:
    verdicts = []
    for state in _states(context):
        there = context if state is context.state else context.at_branch(state)
        armed = [entry for entry in wanted if _is_armed(entry, state, context)]
        verdicts += unmet(armed, there)
    return verdicts


def _states(context: EvaluationContext) -> list[BranchState]:
    """This branch's state, then those of other branches on which the session left something."""
    own = [context.state] if context.branch else []
    return own + context.files.others(context.session_id, context.branch)


def _is_armed(entry: Requirement, state: BranchState, context: EvaluationContext) -> bool:
    here = state.branch == context.branch
    return state.is_armed(entry.name, context.session_id, per_session=entry.per_session or not here)


def _gone(decision: Decision, projects: list[Project]) -> list[Project]:
    """Return projects that governed the session and have no file any more."""
    event, gone = decision.event, []
    for folder in decision.registry.folders(event.session_id):
        known = any(folder in (project.work, project.root) for project in projects)
        if not known and event.projects.find(folder) is None:
            repo = find_repo(folder) if folder.startswith("/") else None
            gone += [Project(folder, repo)] if repo is not None else []
    return gone


def _by_state_alone(event: GateEvent, context: EvaluationContext) -> list[Verdict]:
    """Return what is armed and not satisfied if the configuration can't be read: removal lifts nothing."""
    verdicts = []
    for state in _states(context):
        names = [name for name in state.names() if _is_open(state, name, event)]
        for entry in active_here([blank_entry(name) for name in names], context):
            why = "armed before its configuration was gone or unreadable"
            verdicts.append(Verdict(entry, False, why, branch=state.branch))
    return verdicts


def _is_open(state: BranchState, name: str, event: GateEvent) -> bool:
    record, entry = state.record(name, event.session_id), state.entry(name)
    if record.get("triggered") is not True or "type" in record or entry.get("scope") != "session":
        return False
    return not (is_current(record, event.at) or is_current(entry, event.at))


def _waits(decision: Decision, waiting: list[_Open]) -> bool:
    """Return whether Stop comes again by itself: an agent runs, or a command that has let no Stop pass."""
    event = decision.event
    if any(kind not in _ENDLESS for kind, _ in event.hook.background):
        return True
    ids = [key for _, key in event.hook.background]
    under_way = UnderWay(waiting[0][0].files, event.session_id)
    if under_way.section("waited").keys() >= set(ids):
        return False
    try:
        under_way.change(lambda kept: kept.update(waited={key: {} for key in ids}))
    except OSError:
        return False
    return True
