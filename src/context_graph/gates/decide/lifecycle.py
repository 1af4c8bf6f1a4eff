"""Answers the start and end of a session, its prompts and its compactions."""

from __future__ import annotations

from contextlib import suppress
from shlex import quote
from typing import Any

from context_graph.claude.hooks.origin import is_typed, own_words
from context_graph.gates.decide.after_tool import satisfy_by_skill
from context_graph.gates.decide.call_outcomes import turn_over
from context_graph.gates.decide.decision import Decision, what_is_wrong, why_off
from context_graph.gates.decide.evaluation import EvaluationContext, evaluate
from context_graph.gates.decide.messages import PROGRAM, as_data, briefing, name_as_data
from context_graph.gates.decide.tool_call import project_of
from context_graph.gates.decide.unasked import turn_begins
from context_graph.gates.decide.watch import tell_changes
from context_graph.gates.event import SKIP, GateEvent
from context_graph.gates.rules import GateCache, Requirement, Rules
from context_graph.gates.state.project import Project, resolved
from context_graph.gates.state.session_ids import same_session
from context_graph.gates.state.state import BranchState, is_current
from context_graph.gates.state.state_files import StateFiles, end_pause, paused
from context_graph.gates.state.under_way import UnderWay
from context_graph.git.repository import find_repo
from context_graph.system.small_files import LockTimeoutError
from context_graph.text.quoting import quoted

_CARRY_SOURCES = ("startup", "clear", "fork")
_PROBLEMS = 5


def session_start(decision: Decision) -> None:
    """Enter the registry, carry satisfactions over, and report what is open, or why nothing is enforced."""
    event, result = decision.event, decision.result
    project = project_of(event)
    if project is None:
        _without_project(decision)
        return
    result.project = project.root
    rules, context = decision.rules(project), decision.context(project)
    named, lines = list[str](), _why_off(event, project, rules)
    governs = context is not None and not lines and bool(rules.active)
    parent = _parent(decision)
    if context is not None and (governs or not rules.readable):
        decision.enter_registry(context, warning=what_is_wrong(rules))
    if context is not None and governs:
        result.branch = context.branch
        carried = _carry_over(decision, context, parent)
        decision.remember(project)
        tell_changes(decision, project)
        decision.numbers(context.repo.common_dir).began(context.root, context.branch)
        if rules.hooks.inject_context:
            named, lines = _status(context, carried), _pause_line(context)
    named += [f"Requirements file: {quoted(text)}" for text in _problems(rules)]
    if (named or lines) and rules.hooks.inject_context and rules.hooks.custom_header:
        named.insert(0, quoted(rules.hooks.custom_header))
    result.context = "\n".join([*as_data(named), *lines])
    if rules.problem_texts("error"):
        result.system_message = "context-graph: " + "; ".join(
            f"Requirements file: {text}" for text in _problems(rules)
        )


def _without_project(decision: Decision) -> None:
    result = decision.result
    decision.configuration_gone()
    if result.context or _left_state(decision.event, decision.cache):
        gone = "No requirement is enforced any more: this project's .claude/requirements.yaml is gone."
        result.context = result.context or gone
        result.system_message = result.system_message or f"context-graph: {gone}"


def _left_state(event: GateEvent, cache: GateCache) -> bool:
    """Return whether the session has state in a repository that no longer governs it; a new one has none."""
    if not event.session_id or event.hook.source == "startup":
        return False
    for folder in (event.cwd, event.project_dir):
        repo = find_repo(resolved(folder)) if resolved(folder) else None
        if repo is not None and StateFiles(repo.common_dir, repo.top, cache).others(event.session_id, ""):
            return True
    return False


def _parent(decision: Decision) -> str:
    """Return the session that this one was forked from in the same client; ask before this replaces it."""
    event = decision.event
    if event.hook.source != "fork" or event.client <= 0:
        return ""
    entries = decision.registry.live(event.at)
    sessions = [key for key, entry in entries.items() if entry.get("ppid") == event.client]
    return next((key for key in reversed(sessions) if key != event.session_id), "")


def _why_off(event: GateEvent, project: Project, rules: Rules) -> list[str]:
    """Return why a project with a requirements file is not governed; empty if it is, or was switched off."""
    why = why_off(project, rules, event.env)
    known = not rules.enabled or event.hook.source != "startup"
    is_news = not (rules.readable and not rules.active and known) or event.env.get(SKIP)
    return [f"No requirement is enforced: {why}."] if why and is_news else []


def _problems(rules: Rules) -> list[str]:
    problems = rules.problem_texts("error", "warning")
    more = len(problems) - _PROBLEMS
    return [*problems[:_PROBLEMS], *([f"and {more} more: `{PROGRAM} req doctor`"] if more > 0 else [])]


def _status(context: EvaluationContext, carried: list[str]) -> list[str]:
    verdicts = [evaluate(entry, context) for entry in context.rules.active]
    lines = briefing(verdicts, context, standard=context.rules.hooks.briefing_format == "standard")
    if carried:
        lines.append(f"Carried over from the session before: {', '.join(map(name_as_data, carried))}.")
    return lines


def _pause_line(context: EvaluationContext) -> list[str]:
    if not context.session_id or paused(context.repo.common_dir, context.session_id) is None:
        return []
    resume = f"{PROGRAM} req resume --session {quote(context.session_id)}"
    return [f"Requirements are paused for this session (`{resume}` ends that)."]


def _carry_over(decision: Decision, context: EvaluationContext, parent: str) -> list[str]:
    """Copy what an ended session satisfied on this branch shortly before, with its original time; the names.

    Not from one that still works in a client of its own, unless this one is its fork (``parent``).
    """
    event, hooks = decision.event, context.rules.hooks
    source = event.hook.source
    if source not in _CARRY_SOURCES or not hooks.carry_over or not event.session_id:
        return []
    others = () if source == "fork" else tuple(decision.registry.live(event.at))
    wanted = [
        entry
        for entry in context.rules.active
        if entry.scope in hooks.carry_scopes
        and entry.scope == "session"
        and entry.type != "guard"
        and not entry.human_only
    ]

    def recent(entry: Requirement, state: BranchState) -> dict[str, Any] | None:
        return _recent(entry, event, state, hooks.carry_window, others, parent)

    carried = [entry for entry in wanted if recent(entry, context.state)]
    if not carried:
        return []

    def change(state: BranchState) -> None:
        for entry in carried:
            record = recent(entry, state)
            if record:
                _carry(state, entry, record, event)

    try:
        context.files.change(context.branch, event.at, change)
    except OSError:
        return []
    context.state = context.files.load(context.branch, event.at)
    names = [entry.name for entry in carried]
    decision.keep(context, "carried_over", names, by="carry_over")
    return names


def _recent(
    entry: Requirement,
    event: GateEvent,
    state: BranchState,
    window: float,
    others: tuple[str, ...],
    parent: str,
) -> dict[str, Any] | None:
    """Return the latest recent satisfaction of another session, with that session and the original time.

    Never of one of ``others``; with ``parent`` only of that session, however old.
    """
    if is_current(state.record(entry.name, event.session_id), event.at):
        return None
    best: dict[str, Any] | None = None
    for key, record in state.sessions(entry.name).items():
        if not isinstance(record, dict) or same_session(key, event.session_id):
            continue
        if any(same_session(key, other) for other in others) or (parent and not same_session(key, parent)):
            continue
        original = _original_time(record)
        young = parent or 0 <= event.at - original <= window
        if not young or not is_current(record, event.at, approval=entry.type == "dynamic"):
            continue
        if best is None or original > best["original_satisfied_at"]:
            best = {**record, "original_satisfied_at": original, "carried_from": key}
    return best


def _original_time(record: dict[str, Any]) -> float:
    metadata = record.get("metadata")
    original = metadata.get("original_satisfied_at") if isinstance(metadata, dict) else None
    at = original if isinstance(original, (int, float)) else record.get("satisfied_at")
    return float(at) if isinstance(at, (int, float)) and not isinstance(at, bool) else float("-inf")


def _carry(state: BranchState, entry: Requirement, record: dict[str, Any], event: GateEvent) -> None:
    state.satisfy(
        entry.name,
        event.session_id,
        scope=entry.scope,
        now=event.at,
        by="carry_over",
        expires_at=record.get("expires_at"),
        metadata={
            "carried_from": record["carried_from"],
            "original_satisfied_at": int(record["original_satisfied_at"]),
            "original_satisfied_by": str(record.get("satisfied_by", ""))[:40],
        },
    )


def session_end(decision: Decision) -> None:
    """Leave the registry, end the pause and, if asked for, forget this session's own satisfactions."""
    event = decision.event
    if not event.session_id:
        return
    projects = decision.session_projects()
    try:
        decision.registry.leave(event.session_id)
    except LockTimeoutError:
        pass  # its process is about to end, which tells as much
    except OSError as error:
        decision.tell_failure("the session registry can't be written", error)
    decision.cache.forget_failures(event.session_id)
    event.seen.forget()
    for project in projects:
        _end_in(decision, project)


def _end_in(decision: Decision, project: Project) -> None:
    event = decision.event
    if project.repo is None:
        return
    decision.result.project = project.root
    decision.numbers(project.repo.common_dir).over()
    turn_begins(decision, project)
    try:
        end_pause(project.repo.common_dir, event.session_id)
    except OSError as error:
        decision.tell_failure("the pause can't be ended", error)
    with suppress(OSError):
        UnderWay(decision.files(project), event.session_id).forget()
    rules, context = decision.rules(project), decision.context(project)
    if context is None or not rules.readable or not rules.hooks.clear_session_state:
        return
    decision.result.branch = context.branch
    for state in [context.state, *context.files.others(event.session_id, context.branch)]:
        _forget_session(decision, context, state)


def _forget_session(decision: Decision, context: EvaluationContext, state: BranchState) -> None:
    event = decision.event
    names = [name for name in state.names() if _clearable(state, name, event)]
    if not names:
        return

    def change(fresh: BranchState) -> None:
        for name in names:
            if _clearable(fresh, name, event):
                fresh.clear_session(name, event.session_id)

    context.files.change(state.branch, event.at, change)
    decision.keep(context.at_branch(state), "cleared", names, by="session_end")


def _clearable(state: BranchState, name: str, event: GateEvent) -> bool:
    record = state.record(name, event.session_id)
    at = record.get("satisfied_at")
    younger = isinstance(at, (int, float)) and at > event.at
    return bool(record) and not younger


def prompt_submit(decision: Decision) -> None:
    """Add a line while paused; list what is open if hooks.prompt_submit.reminder asks for it.

    And once to a session whose start told nothing: hooks installed meanwhile, a start that failed. Nothing
    if no user asks: a subagent's report is no prompt.
    """
    event, result = decision.event, decision.result
    if not is_typed(event.hook.prompt, event.hook.source):
        return
    for project in decision.session_projects() if event.session_id else ():
        if project.repo is not None:
            turn_over(event, decision.files(project))
        turn_begins(decision, project)
        decision.configuration_changed(project)
        tell_changes(decision, project)
    decision.configuration_gone()
    governed = decision.governed()
    if governed is None:
        return
    rules = decision.rules(governed)
    context = decision.context(governed) if rules.readable and rules.active else None
    if context is None:
        return
    skill = _typed_skill(event.hook.prompt)
    if skill:
        result.branch = context.branch
        satisfy_by_skill(decision, context, skill)
    lines = _pause_line(context)
    news = rules.hooks.inject_context and _is_new(decision, context)
    if (rules.hooks.reminder or news) and not lines:
        verdicts = [evaluate(entry, context) for entry in rules.active]
        if any(not verdict.met for verdict in verdicts):
            lines = as_data(briefing(verdicts, context, standard=False))
    result.context = "\n".join([part for part in (result.context, *lines) if part])


def _is_new(decision: Decision, context: EvaluationContext) -> bool:
    """Return whether nothing was heard of this session before; it is entered then, to be new once."""
    session = decision.event.session_id
    if not session or decision.registry.folders(session):
        return False
    decision.enter_registry(context)
    return True


def _typed_skill(prompt: str) -> str:
    """Return the skill that a prompt begins with, without its slash; empty if it begins with none.

    Newer clients name it in an event of its own as well, older ones here alone.
    """
    text = own_words(prompt) if "/" in prompt else ""
    return text.split(maxsplit=1)[0][1:201] if text.startswith("/") else ""


def pre_compact(decision: Decision) -> None:
    """Note the compaction in the journal."""
    project = decision.governed()
    context = decision.context(project) if project is not None else None
    if context is not None and context.rules.active:
        decision.result.branch = context.branch
        hook = decision.event.hook
        decision.keep(context, "compacted", [], detail=hook.reason or hook.source)
