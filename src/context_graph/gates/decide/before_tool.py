"""Decides on a tool call before it runs: blocks it, or lets it pass and records what it armed."""

from __future__ import annotations

from collections.abc import Iterator

from context_graph.gates.decide.call_outcomes import key_of, let_through
from context_graph.gates.decide.decision import Decision, active_here
from context_graph.gates.decide.evaluation import EvaluationContext, Verdict, evaluate
from context_graph.gates.decide.exemptions import is_exempt
from context_graph.gates.decide.messages import denial, held_denial, human_only_denial
from context_graph.gates.decide.tool_call import Part, acted_on, project_of
from context_graph.gates.decide.unasked import before_command, git_call_begins
from context_graph.gates.decide.watch import edited_file
from context_graph.gates.rules import Requirement
from context_graph.gates.state.project import Project
from context_graph.gates.state.under_way import UnderWay

_IN_USE = "another call that has not ended yet is about to use its satisfaction; each call needs its own"


def before_tool(decision: Decision) -> None:
    """Deny the call with every unmet requirement named, or let it pass and arm what it triggers for Stop.

    A call that acts on several projects passes if each of them lets it pass. Denied is also
    a call in a project whose repository is gone, for what only a person may satisfy.
    """
    _gate(decision)
    if not decision.result.decision:
        git_call_begins(decision)


def _gate(decision: Decision) -> None:
    event, result = decision.event, decision.result
    parts = acted_on(event)
    for part in parts:
        _before(decision, part)
        if result.decision:
            break
    own = project_of(event)
    elsewhere = own is not None and not any(own.is_same(part.project) for part in parts)
    if not result.decision and elsewhere and own is not None and own.repo is not None:
        _guard(decision, own)
    for part in parts:
        if not result.decision:
            before_command(decision, part.project)
        decision.configuration_changed(part.project)
    if not parts:
        _hold_without_repository(decision, own)
        decision.configuration_gone()


def _hold_without_repository(decision: Decision, project: Project | None) -> None:
    """Deny what only a person may satisfy where the session has seen it and the repository is gone."""
    if project is None or project.repo is not None or not decision.event.seen.branch(project.root):
        return
    triggered = Part(project).triggered(decision.rules(project), decision.event)
    names = [entry.name for entry in triggered if entry.human_only and not entry.stop_only]
    if names:
        decision.result.project = project.root
        reason = held_denial(f"{project.root}/.git is gone", names)
        decision.result.refuse("deny", reason, names, decision.event.seen.branch(project.root))


def _before(decision: Decision, part: Part) -> None:
    project = part.project
    decision.result.project = project.root
    if not decision.rules(project).readable or _guard(decision, project):
        return
    triggered = _triggered(decision, part)
    context = decision.context(project, may_run=True) if triggered else None
    if triggered and context is None:  # HEAD names no branch: what only a person may satisfy holds on
        triggered = [entry for entry in triggered if entry.human_only]
        context = decision.context(project, branch=decision.event.seen.branch(project.root))
    if context is None:
        return
    decision.result.branch = context.branch
    triggered = active_here(triggered, context)
    if triggered:
        judge(decision, context, triggered)


def _guard(decision: Decision, project: Project) -> bool:
    """Block the call if it would edit what only a person may change; whether it was blocked."""
    event, rules = decision.event, decision.rules(project)
    names = [entry.name for entry in rules.active if entry.human_only]
    if not names:
        return False
    decision.remember(project)
    path = edited_file(event, project)
    context = decision.context(project) if path else None
    if context is None:
        return False
    decision.result.refuse("deny", human_only_denial(path, names), names, context.branch)
    decision.keep(context, "denied", names, detail=f"human_only: {path[:100]}")
    return True


def _triggered(decision: Decision, part: Part) -> list[Requirement]:
    event, rules = decision.event, decision.rules(part.project)
    entries = part.triggered(rules, event) if rules.for_tool(event.hook.tool_name) else []
    return [] if entries and is_exempt(event, part.project) else entries


def judge(decision: Decision, context: EvaluationContext, triggered: list[Requirement]) -> None:
    """Deny with those of ``triggered`` that are not met, or arm them."""
    result = decision.result
    decision.enter_registry(context)
    busy = set[str]()
    if any(entry.scope == "single_use" for entry in triggered):
        busy = _settle(decision, context)
    verdicts = _judged(decision, [entry for entry in triggered if not entry.stop_only], context)
    denied = [verdict for verdict in verdicts if not verdict.met]
    denied += [
        Verdict(each.requirement, False, _IN_USE)
        for each in verdicts
        if each.met and each.requirement.scope == "single_use" and each.requirement.name in busy
    ]
    _tell_unknown(decision, context, verdicts)
    if not denied:
        branches = {verdict.requirement.name: verdict.branch for verdict in verdicts}
        taken = _arm(decision, context, [(branches.get(e.name, context.branch), e) for e in triggered])
        denied = [Verdict(entry, False, _IN_USE) for entry in triggered if entry.name in taken]
    if denied:
        names = [verdict.requirement.name for verdict in denied]
        result.refuse("deny", denial(denied, context), names)
        decision.keep(context, "denied", names, detail=denied[0].why)


def _judged(decision: Decision, entries: list[Requirement], context: EvaluationContext) -> list[Verdict]:
    """Return the verdicts; for a file of another checkout, what the session met on its own branch counts too.

    Not for what belongs to a branch or to one use, and never for conditions such as a protected branch.
    """
    verdicts = [evaluate(entry, context) for entry in entries]

    def counts_elsewhere(verdict: Verdict) -> bool:
        entry = verdict.requirement
        return not verdict.met and entry.type == "blocking" and entry.scope == "session"

    if not any(map(counts_elsewhere, verdicts)):
        return verdicts
    own = project_of(decision.event)
    if own is None or own.repo is None or own.repo.common_dir != context.repo.common_dir:
        return verdicts
    branch = own.head().branch
    if not branch or branch == context.branch:
        return verdicts
    there = context.at_branch(context.files.load(branch, decision.event.at))
    for at, verdict in enumerate(verdicts):
        if counts_elsewhere(verdict):
            other = evaluate(verdict.requirement, there)
            verdicts[at] = other if other.met else verdict
    return verdicts


def would_deny(decision: Decision) -> Iterator[tuple[EvaluationContext, list[Verdict]]]:
    """Yield the projects that would block the call and why, without arming or recording anything."""
    for part in acted_on(decision.event):
        readable = decision.rules(part.project).readable
        triggered = _triggered(decision, part) if readable else []
        context = decision.context(part.project, may_run=True) if triggered else None
        if context is not None:
            wanted = [entry for entry in active_here(triggered, context) if not entry.stop_only]
            denied = [verdict for verdict in _judged(decision, wanted, context) if not verdict.met]
            if denied:
                yield context, denied


def _settle(decision: Decision, context: EvaluationContext) -> set[str]:
    """Use up what commits that were made meanwhile have used; what another git is about to use."""
    event = decision.event
    under_way = UnderWay(context.files, event.session_id)
    try:
        decision.keep_used(context, under_way.settle(but=key_of(event)))
    except OSError as error:
        decision.tell_failure("the state can't be written", error)
    context.state = context.files.load(context.branch, event.at)
    return under_way.in_use(event.git.pid, event.at) if event.git else set()


def _tell_unknown(decision: Decision, context: EvaluationContext, verdicts: list[Verdict]) -> None:
    unknown = [verdict for verdict in verdicts if verdict.unknown]
    if unknown:
        decision.result.tell_user(
            "; ".join(verdict.why for verdict in unknown) + "; the call was let through"
        )
        names = [verdict.requirement.name for verdict in unknown]
        decision.keep(context, "error", names, detail=unknown[0].why)


def _arm(decision: Decision, context: EvaluationContext, armed: list[tuple[str, Requirement]]) -> list[str]:
    """Arm each requirement on its branch; the names whose satisfaction another call is about to use."""
    if not decision.event.session_id:
        return []
    try:
        return let_through(decision.event, context, armed)
    except OSError as error:
        why = f"the state can't be written ({error.strerror or error}): Stop won't check this call"
        decision.result.tell_user(why)
        decision.keep(context, "error", [entry.name for _, entry in armed], detail=why)
    return []
