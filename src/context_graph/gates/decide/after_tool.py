"""Applies the end of a tool call: skills satisfy, single_use is used up, the end of plan mode lists what
is open.

A call that failed or was refused arms nothing, but still uses up single_use satisfactions if it committed. A
failed call meets no requirement, which is easily overlooked: from the third failure of a tool in a row, the
model is told what is open.

The original satisfies requirements of certain names by skills of its own that no configuration mentions, and
projects that come from it rely on them. Their names begin with the plugin's, so no other skill is meant.
"""

from __future__ import annotations

from context_graph.gates.decide.call_outcomes import call_ended
from context_graph.gates.decide.decision import Decision
from context_graph.gates.decide.evaluation import EvaluationContext, Verdict, evaluate
from context_graph.gates.decide.messages import as_data, briefing, guidance
from context_graph.gates.decide.tool_call import Part, acted_on
from context_graph.gates.decide.unasked import git_call_ended
from context_graph.gates.decide.watch import tell_changes
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import GateCache, Requirement
from context_graph.gates.state.project import Project
from context_graph.gates.state.state import BranchState

_PLUGIN = "requirements-framework:"
_PLAN = ("arch-review", "plan-review")
_BUILT_IN = {
    "commit_plan": _PLAN,
    "adr_reviewed": _PLAN,
    "tdd_planned": _PLAN,
    "solid_reviewed": _PLAN,
    "pre_commit_review": ("pre-commit",),
    "pre_pr_review": ("quality-check", "deep-review"),
    "codex_reviewer": ("codex-review",),
}
"""Requirement: the plugin's skills that satisfy it (seed 004, section 5)."""


def satisfied_by(entry: Requirement, skill: str, *, typed: bool = False) -> bool:
    """Return whether the success of ``skill`` (without its slash) satisfies ``entry``; never a human_only
    one.

    A user who types the skill may omit the plugin's name, as in the client.
    """
    if entry.human_only or not skill:
        return False
    if any(skill == known.strip().removeprefix("/") for known in entry.satisfied_by_skill):
        return True
    own = skill.removeprefix(_PLUGIN)
    return (typed or own != skill) and own in _BUILT_IN.get(entry.name, ())


TOLD_FROM = 3
"""Failures in a row from which on each is answered."""

_CALLS = 100


def _failed_in_a_row(event: GateEvent, cache: GateCache) -> int:
    """Count the failed call; the number of this tool's failures in a row, this one included.

    An event counts once however often it is decided.
    """
    row = cache.failures_of(event.session_id, event.hook.tool_name)
    if event.at not in row:
        row.append(event.at)
        del row[:-_CALLS]
    return len(row)


_SKILL = "Skill"
_PLAN_EXIT = "ExitPlanMode"
_MOMENT_S = 60.0


def after_tool(decision: Decision) -> None:
    """Apply what an ended call satisfies, arms and uses up."""
    event = decision.event
    if not event.session_id:
        return
    success = event.hook.success is not False and event.name == "PostToolUse"
    # Without a project of its own, a command may have left the folder that it began in.
    for part in acted_on(event) or map(Part, decision.session_projects()):
        _after(decision, part, success)
    _of_the_call(decision, success)
    git_call_ended(decision, well=success)


def _of_the_call(decision: Decision, success: bool) -> None:
    event = decision.event
    project = decision.governed()
    if project is None:
        return
    tell_changes(decision, project)
    if project.repo is not None and decision.rules(project).active and event.name != "PermissionDenied":
        decision.numbers(project.repo.common_dir).call_ended(event.hook.tool_name)
    if success:
        decision.cache.forget_failures(event.session_id, event.hook.tool_name)
        _of_the_session(decision, project)
    elif event.name != "PermissionDenied":
        _after_failure(decision, project)


def _after(decision: Decision, part: Part, success: bool) -> None:
    project = part.project
    decision.result.project = project.root
    if project.repo is None or not decision.rules(project).readable:
        return
    used = call_ended(decision.event, decision.files(project), success=success)
    named = [
        e for e in decision.rules(project).for_tool(decision.event.hook.tool_name) if e.scope == "single_use"
    ]
    unknown = used is None and success and bool(named)
    context = decision.context(project, detached=True) if used or unknown else None
    if context is not None:
        decision.result.branch = context.branch
        decision.keep_used(context, used or _used_unknown(decision, context, part))


def _used_unknown(decision: Decision, context: EvaluationContext, part: Part) -> list[tuple[str, str]]:
    """Use up satisfactions for a call that nobody was asked about: hooks that were installed meanwhile."""
    event, branch = decision.event, context.branch
    names = [
        entry.name
        for entry in part.triggered(context.rules, event)
        if branch and entry.scope == "single_use" and entry.type == "blocking"
    ]
    return [
        (branch, name) for name in names if context.files.use_up(branch, name, event.session_id, event.at)
    ]


def _of_the_session(decision: Decision, project: Project) -> None:
    """Apply what belongs to the session's branch: skills satisfy, the end of plan mode lists what is open."""
    hook, rules = decision.event.hook, decision.rules(project)
    if not rules.readable or hook.tool_name not in (_SKILL, _PLAN_EXIT):
        return
    context = decision.context(project)
    if context is None:
        return
    decision.result.branch = context.branch
    if hook.tool_name == _SKILL:
        skill = hook.tool_input.get("skill") if isinstance(hook.tool_input, dict) else None
        satisfy_by_skill(decision, context, skill if isinstance(skill, str) else "")
    elif rules.hooks.plan_exit_summary:
        verdicts = _verdicts(context)
        if any(not verdict.met for verdict in verdicts):
            decision.result.tell_model("\n".join(as_data(briefing(verdicts, context, standard=True))))


def _after_failure(decision: Decision, project: Project) -> None:
    hook, rules = decision.event.hook, decision.rules(project)
    if hook.interrupted or not rules.readable or not rules.active or not rules.hooks.failure_guidance:
        return
    count = _failed_in_a_row(decision.event, decision.cache)
    context = decision.context(project) if count >= TOLD_FROM else None
    if context is not None:
        decision.result.branch = context.branch
        lines = guidance(hook.tool_name, count, _verdicts(context), context)
        decision.result.tell_model("\n".join(lines))


def after_expansion(decision: Decision) -> None:
    """UserPromptExpansion: a skill that the user types satisfies like one that the model calls."""
    skill = decision.event.hook.command_name
    project = decision.governed() if decision.event.session_id and skill else None
    if project is None or not decision.rules(project).readable:
        return
    context = decision.context(project)
    if context is not None:
        decision.result.branch = context.branch
        satisfy_by_skill(decision, context, skill)


def satisfy_by_skill(decision: Decision, context: EvaluationContext, skill: str) -> None:
    """Satisfy the requirements that the success of ``skill`` meets; a slash before its name is ignored."""
    event, skill = decision.event, skill.strip().removeprefix("/")[:200]
    typed = event.name != "PostToolUse"
    met = [entry for entry in context.rules.active if satisfied_by(entry, skill, typed=typed)]
    if event.name == "UserPromptExpansion":
        met = [entry for entry in met if not _just_said(entry, context, event, skill)]
    if met:

        def apply(state: BranchState) -> None:
            for entry in met:
                _satisfy(state, entry, event, skill)

        context.files.change(context.branch, event.at, apply)
        decision.keep(context, "satisfied", [entry.name for entry in met], by="skill", detail=skill)


def _just_said(entry: Requirement, context: EvaluationContext, event: GateEvent, skill: str) -> bool:
    """Return whether the prompt itself, which the client sends first, has satisfied it a moment ago."""
    state = context.state
    record = state.record(entry.name, event.session_id) if entry.per_session else state.entry(entry.name)
    at, metadata = record.get("satisfied_at"), record.get("metadata")
    by = metadata.get("skill") if isinstance(metadata, dict) else None
    young = isinstance(at, (int, float)) and 0 <= event.at - at < _MOMENT_S
    return record.get("satisfied") is True and by == skill and young


def _satisfy(state: BranchState, entry: Requirement, event: GateEvent, skill: str) -> None:
    ttl = entry.approval_ttl if entry.type == "dynamic" else entry.replan_ttl
    state.satisfy(
        entry.name,
        event.session_id if entry.per_session else "",
        scope=entry.scope,
        now=event.at,
        by="skill",
        expires_at=int(event.at) + ttl if ttl else None,
        metadata={"skill": skill},
    )


def _verdicts(context: EvaluationContext) -> list[Verdict]:
    """Return the verdicts on all requirements that can be judged without a process."""
    return [evaluate(entry, context) for entry in context.rules.active if entry.type != "dynamic"]
