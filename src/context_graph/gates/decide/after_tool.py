"""Applies the end of a tool call: skills satisfy, single_use is used up, the end of plan mode lists what
is open.

A call that failed or was refused arms nothing, but still uses up single_use satisfactions if it committed. A
failed call meets no requirement, which is easily overlooked: from the third failure of a tool in a row, the
model is told what is open. Those counts are a convenience, kept below the data root; if they can't be kept,
nothing is said.

The original satisfies requirements of certain names by skills of its own that no configuration mentions, and
projects that come from it rely on them. Their names begin with the plugin's, so no other skill is meant.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from context_graph.gates.decide import git_tips
from context_graph.gates.decide.call_outcomes import call_ended
from context_graph.gates.decide.decision import Decision
from context_graph.gates.decide.evaluation import EvaluationContext, Verdict, evaluate
from context_graph.gates.decide.messages import as_data, briefing, guidance
from context_graph.gates.decide.tool_call import Part, acted_on
from context_graph.gates.decide.watch import tell_changes
from context_graph.gates.event import GateEvent
from context_graph.gates.files import GateCache, Locked, read_object, read_through, write_json
from context_graph.gates.rules import Requirement
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
    """Whether the success of ``skill`` (without its slash) satisfies ``entry``; never a human_only one.

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

_FAILURES_FILE = "/failures.json"
_BYTES = 1 << 20
_SESSIONS = 200
_TOOLS = 50
_CALLS = 100
_WAIT_S = 0.2

_Calls = dict[str, dict[str, list[str]]]
"""By session, then by tool: when calls failed since the last that did not."""


def _failed_in_a_row(event: GateEvent) -> int:
    """Count the failed call; the number of this tool's failures in a row, this one included.

    An event counts once however often it is decided, because another process may finish what one could not.
    """
    call = f"{event.at:.3f}"
    counts = [0]

    def note(found: _Calls) -> None:
        tools = found[event.session_id] = found.pop(event.session_id, {})
        calls = tools[event.hook.tool_name] = tools.pop(event.hook.tool_name, [])
        if call not in calls:
            calls.append(call)
        for row, most in ((found, _SESSIONS), (tools, _TOOLS)):
            while len(row) > most:
                row.pop(next(iter(row)))
        del calls[:-_CALLS]
        counts.append(len(calls))

    _change_failures(event, note)
    return counts[-1]


def _end_of_row(event: GateEvent, cache: GateCache | None) -> None:
    """Reset the count after a call that did not fail. Cost: one stat call if nothing had failed."""
    if not event.cache_dir:
        return
    path = event.cache_dir + _FAILURES_FILE
    found = read_through(cache, path, _read_failures)
    if event.hook.tool_name in found.get(event.session_id, ()):
        _change_failures(event, lambda now: now.get(event.session_id, {}).pop(event.hook.tool_name, None))


def forget_failures(event: GateEvent) -> None:
    """Remove the counts of a session that has ended."""
    if event.cache_dir and event.session_id in _read_failures(event.cache_dir + _FAILURES_FILE):
        _change_failures(event, lambda now: now.pop(event.session_id, None))


def _change_failures(event: GateEvent, change: Callable[[_Calls], object]) -> None:
    folder = event.cache_dir
    if not folder:
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with Locked(folder + "/failures.lock", _WAIT_S):
            found = _read_failures(folder + _FAILURES_FILE)
            change(found)
            write_json(folder + _FAILURES_FILE, found, sync=False)
    except OSError:
        return


def _read_failures(path: str) -> _Calls:
    return {
        session: {tool: list(map(str, calls)) for tool, calls in tools.items() if isinstance(calls, list)}
        for session, tools in read_object(path, _BYTES).items()
        if isinstance(tools, dict)
    }


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
    git_tips.call_ended(decision, well=success)


def _of_the_call(decision: Decision, success: bool) -> None:
    event = decision.event
    project = decision.governed()
    if project is None:
        return
    tell_changes(decision, project)
    if project.repo is not None and decision.rules(project).active and event.name != "PermissionDenied":
        decision.numbers(project.repo.common_dir).call_ended(event.hook.tool_name)
    if success:
        _end_of_row(event, decision.cache)
        _of_the_session(decision, project)
    elif event.name != "PermissionDenied":
        _after_failure(decision, project)


def _after(decision: Decision, part: Part, success: bool) -> None:
    event, project = decision.event, part.project
    decision.result.project = project.root
    rules = decision.rules(project)
    if project.repo is None or not rules.readable:
        return
    files = decision.files(project)
    used = call_ended(event, project.repo, files, success=success)
    named = [entry for entry in rules.for_tool(event.hook.tool_name) if entry.scope == "single_use"]
    if not used and (used is not None or not success or not named):
        return
    context = decision.context(project, detached=True)
    if context is None:
        return
    decision.result.branch = context.branch
    for branch, name in used or ():
        decision.keep(context.at_branch(files.load(branch, event.at)), "consumed", [name])
    if used is None and context.branch:
        _use_up(decision, context, part)


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
        given = hook.tool_input.get("skill") if isinstance(hook.tool_input, dict) else None
        satisfy_by_skill(decision, context, given if isinstance(given, str) else "")
    elif rules.hooks.plan_exit_summary:
        verdicts = _verdicts(context)
        if any(not verdict.met for verdict in verdicts):
            decision.result.tell_model("\n".join(as_data(briefing(verdicts, context, standard=True))))


def _after_failure(decision: Decision, project: Project) -> None:
    hook, rules = decision.event.hook, decision.rules(project)
    if hook.interrupted or not rules.readable or not rules.active or not rules.hooks.failure_guidance:
        return
    count = _failed_in_a_row(decision.event)
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
    """Whether the prompt itself, which the client sends first, has satisfied it a moment ago."""
    state = context.state
    record = state.record(entry.name, event.session_id) if entry.per_session else state.entry(entry.name)
    at, metadata = record.get("satisfied_at"), record.get("metadata")
    by = metadata.get("skill") if isinstance(metadata, dict) else None
    young = isinstance(at, (int, float)) and 0 <= event.at - at < _MOMENT_S
    return record.get("satisfied") is True and by == skill and young


def _use_up(decision: Decision, context: EvaluationContext, part: Part) -> None:
    """Use up satisfactions for a call without a note: the client gives no ids, or the note was not kept."""
    event = decision.event
    triggered = part.triggered(context.rules, event)
    names = [entry.name for entry in triggered if entry.scope == "single_use" and entry.type == "blocking"]
    here = [name for name in names if context.files.use_up(context.branch, name, event.session_id, event.at)]
    if here:
        decision.keep(context, "consumed", here)
    for name in names:
        if name not in here:
            _use_up_elsewhere(decision, context, name)


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


def _use_up_elsewhere(decision: Decision, context: EvaluationContext, name: str) -> None:
    """Use up satisfactions on another branch: a command may have changed the branch that let it pass."""
    event = decision.event
    for state in context.files.others(event.session_id, context.branch):
        armed = state.record(name, event.session_id).get("triggered") is True
        if armed and context.files.use_up(state.branch, name, event.session_id, event.at):
            decision.keep(context.at_branch(state), "consumed", [name])


def _verdicts(context: EvaluationContext) -> list[Verdict]:
    """The verdicts on all requirements that can be judged without a process."""
    return [evaluate(entry, context) for entry in context.rules.active if entry.type != "dynamic"]
