"""Decides on a tool call before it runs: blocks it, or lets it pass and records what it armed.

If a configuration disappears or breaks during a session, user and model are told here, once per change.
"""

from __future__ import annotations

from collections.abc import Iterator

from context_graph.gates.cache import GateCache
from context_graph.gates.decide.call_outcomes import let_through, settle
from context_graph.gates.decide.evaluation import EvaluationContext, Verdict, evaluate, rules_of
from context_graph.gates.decide.exemptions import is_exempt
from context_graph.gates.decide.held import remember
from context_graph.gates.decide.messages import denial, human_only_denial
from context_graph.gates.decide.touching import objection_of
from context_graph.gates.decide.where import Part, acted_on, project_of
from context_graph.gates.event import GateEvent, GateResult
from context_graph.gates.files import LockTimeoutError
from context_graph.gates.rules import Requirement, Rules
from context_graph.gates.state import journal
from context_graph.gates.state.project import CONFIG, Project, find_project
from context_graph.gates.state.registry import Registry
from context_graph.gates.state.state_files import paused

_CHARS = 300
_SHOWN = 3
_ONE_SIDED = "user: "
"""Before what only the user was told, at an event that tells the model nothing."""


def what_is_wrong(rules: Rules) -> str:
    """Why the configuration, or a part of it, is not enforced as written; empty if it is."""
    errors = rules.told("error")
    if not rules.readable:
        return f"no requirement is enforced in this project: {(errors or ['its file is gone'])[0]}"[:_CHARS]
    if not errors:
        return ""
    more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
    return f"the requirements are not enforced as written: {'; '.join(errors[:_SHOWN])}{more}"[:_CHARS]


def configuration_changed(
    event: GateEvent, project: Project, rules: Rules, cache: GateCache | None, result: GateResult
) -> None:
    """Report what is wrong with the configuration, or that it holds again, unless that was the last
    report.
    """
    if not event.session_id:
        return
    registry, wrong = Registry(event.claude_dir, cache), what_is_wrong(rules)
    said = registry.told(event.session_id, project.work)
    if said == wrong:
        return
    _say_once(event, registry, project.work, project.head().branch, wrong, cache, result)


def configuration_gone(event: GateEvent, cache: GateCache | None, result: GateResult) -> None:
    """Report once that the file of a project that governed this session is gone."""
    registry = Registry(event.claude_dir, cache)
    for folder in registry.folders(event.session_id) if event.session_id else ():
        if find_project(folder, "", claude_dir=event.claude_dir) is not None:
            continue
        wrong = f"no requirement is enforced any more: {folder}{CONFIG} is gone"[:_CHARS]
        if registry.told(event.session_id, folder) != wrong:
            _say_once(event, registry, folder, None, wrong, cache, result)
        return


def _say_once(
    event: GateEvent,
    registry: Registry,
    folder: str,
    branch: str | None,
    wrong: str,
    cache: GateCache | None,
    result: GateResult,
) -> None:
    said = registry.told(event.session_id, folder)
    told = f"{_ONE_SIDED}{wrong}" if wrong and event.name == "Stop" else wrong
    if told == said:
        return
    text = wrong or "the requirements of this project are enforced again"
    known = registry.sessions().get(event.session_id, {})
    at_branch = str(known.get("branch", "")) if branch is None else branch
    try:
        registry.enter(
            event.session_id, project=folder, branch=at_branch, pid=event.client, now=event.at, told=told
        )
    except OSError:
        # What can't be noted would be said with every call; a process that lives longer remembers it.
        if cache is not None and not cache.first_time(f"{event.session_id} {text}", event.at):
            return
    if said.removeprefix(_ONE_SIDED) != wrong:
        result.tell_user(text)
    line = f"{text[:1].upper()}{text[1:]}."
    result.context = f"{result.context}\n{line}" if result.context else line


def governed(event: GateEvent, cache: GateCache | None, result: GateResult) -> tuple[Project, Rules] | None:
    """The project of the working folder, added to ``result``, and its rules; None without a repository."""
    project = project_of(event)
    if project is None or project.repo is None:
        return None
    result.project = project.root
    return project, rules_for(event, project, cache)


def context_of(
    event: GateEvent,
    project: Project,
    rules: Rules,
    cache: GateCache | None,
    *,
    may_run: bool = True,
    detached: bool = False,
    branch: str = "",
) -> EvaluationContext | None:
    """The context of a call; None without a repository, or without a branch to judge it on.

    With ``detached`` HEAD need not name a branch; the context then has none. ``branch`` is used in place of
    HEAD's, in which case the working tree tells nothing about it.
    """
    head = project.head()
    if project.repo is None or not (head.branch or detached or branch):
        return None
    return EvaluationContext(
        project,
        project.repo,
        rules,
        branch=branch or head.branch,
        session_id=event.session_id,
        now=event.at,
        claude_dir=event.claude_dir,
        cache_dir=event.cache_dir,
        cache=cache,
        may_run=may_run,
        checked_out=bool(head.branch) and not branch,
    )


def before_tool(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Deny the call with every unmet requirement named, or let it pass and arm what it triggers for Stop.

    A call that acts on several projects passes if each of them lets it pass.
    """
    result = GateResult()
    parts = acted_on(event)
    for part in parts:
        _before(event, part, rules_for(event, part.project, cache), cache, may_run, result)
        if result.deferred:
            return result
        if result.decision:
            break
    own = project_of(event)
    elsewhere = own is not None and not any(own.is_same(part.project) for part in parts)
    if not result.decision and elsewhere and own is not None and own.repo is not None:
        _guard(event, own, rules_for(event, own, cache), cache, result)
    for part in parts:
        configuration_changed(event, part.project, rules_for(event, part.project, cache), cache, result)
    if not parts:
        configuration_gone(event, cache, result)
    return result


def rules_for(event: GateEvent, project: Project, cache: GateCache | None) -> Rules:
    """The project's rules, read once per call: without an owner there is no cache."""
    if project.rules is None:
        project.rules = rules_of(project, event.claude_dir, cache)
    return project.rules


def _before(
    event: GateEvent, part: Part, rules: Rules, cache: GateCache | None, may_run: bool, result: GateResult
) -> None:
    project = part.project
    result.project = project.root
    if not rules.readable or _guard(event, project, rules, cache, result):
        return
    triggered = _triggered(event, part, rules)
    context = context_of(event, project, rules, cache, may_run=may_run) if triggered else None
    if context is None:
        return
    result.branch = context.branch
    triggered = active_here(triggered, context)
    if triggered:
        _decide(event, context, triggered, result)


def _guard(
    event: GateEvent, project: Project, rules: Rules, cache: GateCache | None, result: GateResult
) -> bool:
    """Block the call if it might do what only a person may; whether it was blocked."""
    if not any(entry.human_only for entry in rules.active):
        return False
    remember(event, project, rules)
    touch = objection_of(event, project, rules)
    context = context_of(event, project, rules, cache, may_run=False) if touch.why else None
    if context is None:
        return False
    result.branch = context.branch
    result.decision, result.requirements = "deny", touch.names
    result.reason = human_only_denial(touch.why, touch.names, context)
    keep(event, context, result, "denied", touch.names, detail=f"human_only: {touch.why}")
    return True


def _triggered(event: GateEvent, part: Part, rules: Rules) -> list[Requirement]:
    found = part.triggered(rules, event) if rules.for_tool(event.tool_name) else []
    if found and is_exempt(event.tool_name, event.tool_input, part.project, event.claude_dir, event.cwd):
        return []
    return found


def active_here(requirements: list[Requirement], context: EvaluationContext) -> list[Requirement]:
    """The requirements that the session's pause does not lift. An agent's pause never lifts human_only
    ones.
    """
    marker = paused(context.repo.common_dir, context.session_id) if context.session_id else None
    if marker is None:
        return requirements
    return [] if marker.get("by") == "user" else [entry for entry in requirements if entry.human_only]


def _decide(
    event: GateEvent, context: EvaluationContext, triggered: list[Requirement], result: GateResult
) -> None:
    enter_registry(event, context, result)
    if any(entry.scope == "single_use" for entry in triggered):
        _settle(event, context, result)
    judged = [entry for entry in triggered if not entry.stop_only]
    verdicts = _judged(event, judged, context)
    denied = [verdict for verdict in verdicts if not verdict.met]
    if not denied and any(verdict.deferred for verdict in verdicts):
        result.deferred = True
        return
    _tell_unknown(event, context, verdicts, result)
    if not denied:
        branches = {verdict.requirement.name: verdict.branch for verdict in verdicts}
        taken = _arm(event, context, [(branches.get(e.name, context.branch), e) for e in triggered], result)
        denied = [Verdict(entry, False, _IN_USE) for entry in triggered if entry.name in taken]
    if denied:
        result.decision, result.reason = "deny", denial(denied, context)
        result.requirements = [verdict.requirement.name for verdict in denied]
        keep(event, context, result, "denied", result.requirements, detail=denied[0].why)


_IN_USE = "a call that has not ended yet is about to use its satisfaction up; each call needs one of its own"


def _judged(event: GateEvent, entries: list[Requirement], context: EvaluationContext) -> list[Verdict]:
    """The verdicts; for a file of another checkout, what the session met on its own branch counts too.

    Not for what belongs to a branch or to one use, and never for conditions such as a protected branch.
    """
    verdicts = [evaluate(entry, context) for entry in entries]
    if all(v.met or v.requirement.type != "blocking" or v.requirement.scope != "session" for v in verdicts):
        return verdicts
    own = project_of(event)
    if own is None or own.repo is None or own.repo.common_dir != context.repo.common_dir:
        return verdicts
    branch = own.head().branch
    if not branch or branch == context.branch:
        return verdicts
    there = context.at_branch(context.files.load(branch, event.at))
    for at, verdict in enumerate(verdicts):
        entry = verdict.requirement
        if not verdict.met and entry.type == "blocking" and entry.scope == "session":
            other = evaluate(entry, there)
            verdicts[at] = other if other.met else verdict
    return verdicts


def would_deny(event: GateEvent) -> Iterator[tuple[EvaluationContext, list[Verdict]]]:
    """The projects that would block the call and why, without arming or recording anything."""
    for part in acted_on(event):
        rules = rules_for(event, part.project, None)
        triggered = _triggered(event, part, rules) if rules.readable else []
        context = context_of(event, part.project, rules, None) if triggered else None
        if context is not None:
            wanted = [entry for entry in active_here(triggered, context) if not entry.stop_only]
            denied = [verdict for verdict in _judged(event, wanted, context) if not verdict.met]
            if denied:
                yield context, denied


def _settle(event: GateEvent, context: EvaluationContext, result: GateResult) -> None:
    """Use up satisfactions of calls that committed something and never reported their end."""
    try:
        done = settle(event, context)
    except OSError as error:
        result.tell_user(f"the state can't be written ({error.strerror or error})")
        return
    if done:
        context.state = context.files.load(context.branch, event.at)
        keep(
            event, context, result, "consumed", done, detail="a commit was made; the call's end was not heard"
        )


def enter_registry(
    event: GateEvent, context: EvaluationContext, result: GateResult, *, told: str | None = None
) -> None:
    """Record that the session works here, if that is new, and what it was told, if given."""
    if not event.session_id:
        return
    registry, session = context.registry, event.session_id
    known = told is None or registry.told(session, context.root) == told
    if known and not registry.needs(session, context.root, context.branch, event.at):
        return
    try:
        registry.enter(
            session, project=context.root, branch=context.branch, pid=event.client, now=event.at, told=told
        )
    except LockTimeoutError:
        return  # the next call enters it
    except OSError as error:
        result.tell_user(f"the session registry can't be written ({error.strerror or error})")


def _tell_unknown(
    event: GateEvent, context: EvaluationContext, verdicts: list[Verdict], result: GateResult
) -> None:
    unknown = [verdict for verdict in verdicts if verdict.unknown]
    if unknown:
        result.tell_user("; ".join(verdict.why for verdict in unknown) + "; let pass")
        names = [verdict.requirement.name for verdict in unknown]
        keep(event, context, result, "error", names, detail=unknown[0].why)


def _arm(
    event: GateEvent, context: EvaluationContext, armed: list[tuple[str, Requirement]], result: GateResult
) -> list[str]:
    """Arm each requirement on its branch; the names whose satisfaction another call is about to use."""
    if not event.session_id:
        return []
    try:
        return let_through(event, context, armed)
    except OSError as error:
        why = f"the state can't be written ({error.strerror or error}): Stop won't check this call"
        result.tell_user(why)
        keep(event, context, result, "error", [entry.name for _, entry in armed], detail=why)
    return []


def keep(
    event: GateEvent,
    context: EvaluationContext,
    result: GateResult,
    kind: str,
    names: list[str],
    *,
    by: str = "",
    detail: str = "",
) -> None:
    """Add one record to the result and the journal."""
    one = journal.record(
        kind,
        names,
        at=event.at,
        session_id=event.session_id,
        branch=context.branch,
        tool=event.tool_name,
        by=by,
        detail=detail,
    )
    result.records.append(one)
    journal.noted(context.repo.common_dir, event.session_id, one, event.at, context.files.cache)
    try:
        journal.append(context.repo.common_dir, [one])
    except OSError as error:
        result.tell_user(f"the journal can't be written ({error.strerror or error})")
