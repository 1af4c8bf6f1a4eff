"""Answers the start and end of a session, its prompts and its compactions."""

from __future__ import annotations

from typing import Any

from context_graph.claude.hooks.origin import is_typed, own_words
from context_graph.gates.cache import GateCache
from context_graph.gates.decide import after_tool
from context_graph.gates.decide.after_tool import satisfy_by_skill
from context_graph.gates.decide.call_outcomes import turn_over
from context_graph.gates.decide.evaluation import EvaluationContext, evaluate
from context_graph.gates.decide.gate import (
    configuration_changed,
    configuration_gone,
    context_of,
    enter_registry,
    governed,
    keep,
    rules_for,
    what_is_wrong,
)
from context_graph.gates.decide.held import forget, remember
from context_graph.gates.decide.messages import PROGRAM, briefing, shell_word
from context_graph.gates.decide.where import project_of, session_projects
from context_graph.gates.event import GateEvent, GateResult
from context_graph.gates.files import LockTimeoutError
from context_graph.gates.rules import Requirement, Rules
from context_graph.gates.state import journal
from context_graph.gates.state.git import find_repo
from context_graph.gates.state.project import Project, resolved
from context_graph.gates.state.registry import Registry
from context_graph.gates.state.session_ids import same_session
from context_graph.gates.state.state import BranchState, is_current
from context_graph.gates.state.state_files import StateFiles, end_pause, paused

_CARRY_SOURCES = ("startup", "clear", "fork")
_PROBLEMS = 5


def session_start(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Enter the registry, carry satisfactions over, and report what is open, or why nothing is enforced."""
    result = GateResult()
    project = project_of(event)
    if project is None:
        _without_project(event, cache, result)
        return result
    result.project = project.root
    rules = rules_for(event, project, cache)
    context = context_of(event, project, rules, cache, may_run=False)
    lines = _why_off(event, project, rules, context)
    parent = _parent(event, cache)
    if context is not None and (not rules.readable or (not lines and rules.active)):
        enter_registry(event, context, result, told=what_is_wrong(rules))
    if context is not None and not lines and rules.active:
        result.branch = context.branch
        carried = _carry_over(event, context, parent, result)
        remember(event, project, rules)
        journal.session_began(
            context.repo.common_dir, event.session_id, context.root, context.branch, event.at
        )
        if rules.hooks.inject_context:
            lines = [*_status(context, carried), *_pause_line(context)]
    lines += _problem_lines(rules)
    if lines and rules.hooks.inject_context and rules.hooks.custom_header:
        lines.insert(0, rules.hooks.custom_header)
    result.context = "\n".join(lines)
    if rules.told("error"):
        result.system_message = "context-graph: " + "; ".join(_problem_lines(rules))
    return result


def _without_project(event: GateEvent, cache: GateCache | None, result: GateResult) -> None:
    configuration_gone(event, cache, result)
    if result.context or _left_state(event):
        gone = "No requirement is enforced any more: this project's .claude/requirements.yaml is gone."
        result.context = result.context or gone
        result.system_message = result.system_message or f"context-graph: {gone}"
    elif event.source == "startup":
        result.context = _not_governed()


def _left_state(event: GateEvent) -> bool:
    """Whether the session has state in a repository that no longer governs it; a new session has none."""
    if not event.session_id or event.source == "startup":
        return False
    for folder in (event.cwd, event.project_dir):
        repo = find_repo(resolved(folder)) if resolved(folder) else None
        if repo is not None and StateFiles(repo.common_dir, repo.top).others(event.session_id, ""):
            return True
    return False


def _parent(event: GateEvent, cache: GateCache | None) -> str:
    """The session that this one was forked from in the same client process; ask before this one replaces
    it.
    """
    if event.source != "fork" or event.client <= 0:
        return ""
    entries = Registry(event.claude_dir, cache).live(event.at)
    found = [key for key, entry in entries.items() if entry.get("ppid") == event.client]
    return next((key for key in reversed(found) if key != event.session_id), "")


def _not_governed() -> str:
    return (
        "No requirements are enforced here: the project has no .claude/requirements.yaml "
        "(`context-graph-cli req init` writes one)."
    )


def _why_off(
    event: GateEvent, project: Project, rules: Rules, context: EvaluationContext | None
) -> list[str]:
    """Why a project with a requirements file is not governed; empty if it is, or was switched off."""
    if event.env.get("CLAUDE_SKIP_REQUIREMENTS"):
        return ["Requirements are not enforced: CLAUDE_SKIP_REQUIREMENTS is set."]
    if not rules.readable:
        return ["No requirement is enforced: .claude/requirements.yaml can't be used."]
    if not rules.active:
        quiet = not rules.enabled or event.source != "startup"
        return (
            [] if quiet else ["No requirement is enabled in .claude/requirements.yaml: nothing is enforced."]
        )
    if context is not None:
        return []
    if project.repo is None:
        return ["Requirements are not enforced: this project is in no git repository, so it has no branch."]
    return [
        "Requirements are not enforced while HEAD is detached; they are again once a branch is checked out."
    ]


def _problem_lines(rules: Rules) -> list[str]:
    told = rules.told("error", "warning")
    lines = [f"Requirements file: {text}" for text in told[:_PROBLEMS]]
    if len(told) > _PROBLEMS:
        lines.append(f"and {len(told) - _PROBLEMS} more: `context-graph-cli req doctor`")
    return lines


def _status(context: EvaluationContext, carried: list[str]) -> list[str]:
    verdicts = [evaluate(entry, context) for entry in context.rules.active]
    lines = briefing(verdicts, context, standard=context.rules.hooks.standard_briefing)
    if carried:
        lines.append(f"Carried over from the session before: {', '.join(carried)}.")
    return lines


def _pause_line(context: EvaluationContext) -> list[str]:
    if not context.session_id or paused(context.repo.common_dir, context.session_id) is None:
        return []
    end_pause = f"{PROGRAM} req end_pause --session {shell_word(context.session_id)}"
    return [f"Requirements are paused for this session (`{end_pause}` ends that)."]


def _carry_over(event: GateEvent, context: EvaluationContext, parent: str, result: GateResult) -> list[str]:
    """Copy what an ended session satisfied on this branch shortly before, with its original time.

    Not from one that still works in a client of its own, unless this one is its fork.
    """
    hooks = context.rules.hooks
    others = () if event.source == "fork" else tuple(context.registry.live(event.at))
    if event.source not in _CARRY_SOURCES or not hooks.carry_over or not event.session_id:
        return []
    wanted = [
        entry
        for entry in context.rules.active
        if entry.scope in hooks.carry_scopes
        and entry.scope == "session"
        and entry.type != "guard"
        and not entry.human_only
    ]
    found = {
        entry.name: record
        for entry in wanted
        if (record := _recent(entry, event, context.state, hooks.carry_window, others, parent))
    }
    if not found:
        return []

    def change(state: BranchState) -> None:
        for entry in wanted:
            record = None
            if entry.name in found:
                record = _recent(entry, event, state, hooks.carry_window, others, parent)
            if record:
                _carry(state, entry, record, event)

    try:
        context.files.change(context.branch, event.at, change)
    except OSError:
        return []
    context.state = context.files.load(context.branch, event.at)
    keep(event, context, result, "carried_over", list(found), by="carry_over")
    return list(found)


def _recent(
    entry: Requirement,
    event: GateEvent,
    state: BranchState,
    window: float,
    others: tuple[str, ...],
    parent: str,
) -> dict[str, Any] | None:
    """The latest recent satisfaction of another session, with that session and the original time.

    Never of one of ``others``; with ``parent`` only of that session, however old.
    """
    if is_current(state.record(entry.name, event.session_id), event.at):
        return None
    best: dict[str, Any] | None = None
    for key, record in state.sessions(entry.name).items():
        if not isinstance(record, dict) or same_session(key, event.session_id):
            continue
        if any(same_session(key, one) for one in others) or (parent and not same_session(key, parent)):
            continue
        approval = entry.type == "dynamic"
        original = _original_time(record)
        if not is_current(record, event.at, approval=approval) or not (
            parent or 0 <= event.at - original <= window
        ):
            continue
        if best is None or original > best["original_satisfied_at"]:
            best = {**record, "original_satisfied_at": original, "carried_from": key}
    return best


def _original_time(record: dict[str, Any]) -> float:
    metadata = record.get("metadata")
    told = metadata.get("original_satisfied_at") if isinstance(metadata, dict) else None
    at = told if isinstance(told, (int, float)) else record.get("satisfied_at")
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


def session_end(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Leave the registry, end the pause and, if asked for, forget this session's own satisfactions."""
    result = GateResult()
    if not event.session_id:
        return result
    projects = session_projects(event, cache)
    try:
        Registry(event.claude_dir, cache).leave(event.session_id)
    except LockTimeoutError:
        pass  # its process is about to end, which tells as much
    except OSError as error:
        result.tell_user(f"the session registry can't be written ({error.strerror or error})")
    after_tool.forget_failures(event)
    forget(event)
    for project in projects:
        _end_in(event, project, cache, result)
    return result


def _end_in(event: GateEvent, project: Project, cache: GateCache | None, result: GateResult) -> None:
    if project.repo is None:
        return
    result.project = project.root
    journal.session_over(project.repo.common_dir, event.session_id, event.at, cache)
    try:
        end_pause(project.repo.common_dir, event.session_id)
    except OSError as error:
        result.tell_user(f"the pause can't be ended ({error.strerror or error})")
    rules = rules_for(event, project, cache)
    context = context_of(event, project, rules, cache, may_run=False)
    if context is None or not rules.readable or not rules.hooks.clear_session_state:
        return
    result.branch = context.branch
    for state in [context.state, *context.files.others(event.session_id, context.branch)]:
        _forget_session(event, context, state, result)


def _forget_session(
    event: GateEvent, context: EvaluationContext, state: BranchState, result: GateResult
) -> None:
    names = [name for name in state.names() if _clearable(state, name, event)]
    if not names:
        return

    def change(found: BranchState) -> None:
        for name in names:
            if _clearable(found, name, event):
                found.clear_session(name, event.session_id)

    context.files.change(state.branch, event.at, change)
    keep(event, context.at_branch(state), result, "cleared", names, by="session_end")


def _clearable(state: BranchState, name: str, event: GateEvent) -> bool:
    record = state.record(name, event.session_id)
    at = record.get("satisfied_at")
    younger = isinstance(at, (int, float)) and at > event.at
    return bool(record) and not younger


def prompt_submit(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Add a line while paused; list what is open only if hooks.prompt_submit.reminder asks for it.

    Nothing if no user asks: a subagent's report is no prompt.
    """
    result = GateResult()
    if not is_typed(event.prompt, event.source):
        return result
    projects = session_projects(event, cache) if event.session_id else []
    for project in projects:
        if project.repo is not None:
            files = StateFiles(project.repo.common_dir, project.work, cache)
            turn_over(event, project.repo, files, cache)
        configuration_changed(event, project, rules_for(event, project, cache), cache, result)
    configuration_gone(event, cache, result)
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    if not rules.readable or not rules.active:
        return result
    context = context_of(event, project, rules, cache, may_run=False)
    if context is None:
        return result
    skill = _typed_skill(event.prompt)
    if skill:
        result.branch = context.branch
        satisfy_by_skill(event, context, skill, result)
    lines = _pause_line(context)
    if rules.hooks.reminder and not lines:
        verdicts = [evaluate(entry, context) for entry in rules.active]
        if any(not verdict.met for verdict in verdicts):
            lines = briefing(verdicts, context, standard=False)
    result.context = "\n".join([part for part in (result.context, *lines) if part])
    return result


def _typed_skill(prompt: str) -> str:
    """The skill that a prompt begins with, without its slash; empty if it begins with none.

    Newer clients name it in an event of its own as well, older ones here alone.
    """
    text = own_words(prompt) if "/" in prompt else ""
    return text.split(maxsplit=1)[0][1:201] if text.startswith("/") else ""


def pre_compact(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Note the compaction in the journal."""
    result = GateResult()
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    context = context_of(event, project, rules, cache, may_run=False)
    if context is not None and rules.active:
        result.branch = context.branch
        keep(event, context, result, "compacted", [], detail=event.reason or event.source)
    return result
