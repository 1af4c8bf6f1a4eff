"""Looks at HEAD around a call: a commit past git's hooks is told, and left open for Stop.

A library that does not run git, or plumbing, makes such a commit. What git moves without making a commit of
its own does not count: a checkout, a reset, a fast-forward, a rebase.
"""

from __future__ import annotations

from context_graph.gates.decide.decision import Decision, active_here
from context_graph.gates.decide.evaluation import EvaluationContext, Verdict, unmet
from context_graph.gates.decide.messages import stop_block
from context_graph.gates.decide.tool_call import Part, acted_on, command_of, project_of
from context_graph.gates.rules import Requirement
from context_graph.gates.state.project import Project
from context_graph.gates.state.under_way import UnderWay
from context_graph.git.repository import keeps_reftable, tip_of

_COMMIT = frozenset(("commit",))


def call_begins(decision: Decision) -> None:
    """Note where HEAD is before a call that may commit."""
    project = project_of(decision.event) if _may_commit(decision) else None
    if project is not None and project.repo is not None and _wanted(decision, project):
        try:
            UnderWay(decision.files(project), decision.event.session_id).look(project.repo)
        except OSError as error:
            decision.tell_failure("where HEAD is can't be noted", error)


def call_ended(decision: Decision, *, well: bool) -> None:
    """Use up what a call's commits and pushes have used, pushes if it went ``well``.

    A commit that nobody was asked about is told to model and user.
    """
    if not _may_commit(decision):
        return
    for project in decision.session_projects():
        under_way = UnderWay(decision.files(project), decision.event.session_id)
        kept = under_way.calls or under_way.section("heads")
        context = decision.context(project, detached=True) if kept else None
        if context is None:
            continue
        try:
            decision.keep_used(context, under_way.settle(pushes=well))
            wanted = _wanted(decision, project)
            if wanted and under_way.look(context.repo):
                _unasked(decision, context, under_way, _judged_by_text(decision, project, wanted))
        except OSError as error:
            decision.tell_failure("what git has done can't be noted", error)


def _may_commit(decision: Decision) -> bool:
    hook = decision.event.hook
    runs = bool(command_of(hook.tool_input)) or hook.tool_name.startswith("mcp__")
    return runs and bool(decision.event.session_id)


def _wanted(decision: Decision, project: Project) -> list[Requirement]:
    """Return the requirements that a commit is asked for; none where its tips could only be told by running
    git."""
    if project.repo is None or not decision.rules(project).readable or keeps_reftable(project.repo):
        return []
    return [entry for entry in decision.rules(project).active if entry.names_git(_COMMIT)]


def _judged_by_text(decision: Decision, project: Project, wanted: list[Requirement]) -> list[Requirement]:
    """Return those of ``wanted`` that PreToolUse has not asked for, as it does where the text is plain."""
    parts = [part for part in acted_on(decision.event) if part.project.is_same(project)]
    asked = [
        e
        for part in parts or [Part(project)]
        for e in part.triggered(decision.rules(project), decision.event)
    ]
    return [entry for entry in wanted if entry not in asked]


def _unasked(
    decision: Decision, context: EvaluationContext, under_way: UnderWay, wanted: list[Requirement]
) -> None:
    event, branch = decision.event, context.branch
    context.state = context.files.load(branch, event.at)
    verdicts = unmet(active_here(wanted, context), context)
    met = {e.name for e in wanted if e.scope == "single_use"} - {v.requirement.name for v in verdicts}
    used = [name for name in met if context.files.use_up(branch, name, event.session_id, event.at)]
    if used:
        decision.keep(context, "consumed", used)
    if verdicts:
        _tell(decision, context, under_way, verdicts)


def _tell(
    decision: Decision, context: EvaluationContext, under_way: UnderWay, verdicts: list[Verdict]
) -> None:
    event, branch = decision.event, context.branch
    entries = [verdict.requirement for verdict in verdicts]
    context.files.arm(branch, entries, event.session_id, event.at)
    names = [entry.name for entry in entries]
    under_way.change(lambda kept: kept["open"].update({name: {"branch": branch} for name in names}))
    tip = str(tip_of(context.repo)["tip"])[:8]
    what = f"commit {tip} on {branch} was made past git's hooks, so {', '.join(names)} was not asked for"
    decision.keep(context, "bypassed", names, detail=what)
    decision.result.tell_user(what)
    decision.result.tell_model(f"{what[:1].upper()}{what[1:]}.\n{stop_block(verdicts, context)}")
