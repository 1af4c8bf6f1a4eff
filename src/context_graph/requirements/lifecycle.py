"""A session's beginning, prompts, compactions and end."""

from __future__ import annotations

from context_graph.protocol.origin import is_typed
from context_graph.requirements import failures
from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.gate import enter_registry, governed, keep, project_of, scene_of
from context_graph.requirements.held import forget
from context_graph.requirements.project import Project
from context_graph.requirements.registry import Registry
from context_graph.requirements.rules import Requirement, Rules
from context_graph.requirements.scene import Scene, rules_of
from context_graph.requirements.session_ids import same_session
from context_graph.requirements.state import BranchState, is_current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from context_graph.requirements.cache import GateCache

__all__ = ["HANDLERS"]

_CARRY_SOURCES = ("startup", "clear")
_PROBLEMS = 5


def session_start(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Enter the registry, carry satisfactions over, and say what is open, or why nothing is enforced."""
    result = GateResult()
    project = project_of(event)
    if project is None:
        if event.source == "startup":
            result.context = _not_governed(event)
        return result
    result.project = project.root
    rules = rules_of(project, event.claude_dir, event.cache_dir, cache)
    scene = scene_of(event, project, rules, cache, may_run=False)
    lines = _why_off(event, project, rules, scene)
    if scene is not None and not lines and rules.active:
        result.branch = scene.branch
        enter_registry(event, scene, result)
        carried = _carry_over(event, scene, result)
        if rules.hooks.inject_context:
            lines = [*_status(scene, carried), *_pause_line(scene)]
    lines += _problem_lines(rules)
    if lines and rules.hooks.inject_context and rules.hooks.custom_header:
        lines.insert(0, rules.hooks.custom_header)
    result.context = "\n".join(lines)
    if rules.told("error"):
        result.system_message = "context-graph: " + "; ".join(_problem_lines(rules))
    return result


def _not_governed(event: GateEvent) -> str:
    return (
        "No requirements are enforced here: the project has no .claude/requirements.yaml "
        "(`context-graph-cli req init` writes one)."
    )


def _why_off(event: GateEvent, project: Project, rules: Rules, scene: Scene | None) -> list[str]:
    """Why a project with a requirements file is not governed; nothing if it is, or if it was switched off."""
    if event.env.get("CLAUDE_SKIP_REQUIREMENTS"):
        return ["Requirements are not enforced: CLAUDE_SKIP_REQUIREMENTS is set."]
    if not rules.readable:
        return ["No requirement is enforced: .claude/requirements.yaml can't be used."]
    if not rules.active:
        quiet = not rules.enabled or event.source != "startup"
        return (
            [] if quiet else ["No requirement is enabled in .claude/requirements.yaml: nothing is enforced."]
        )
    if scene is not None:
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


def _status(scene: Scene, carried: list[str]) -> list[str]:
    from context_graph.requirements.evaluate import evaluate
    from context_graph.requirements.messages import briefing

    verdicts = [evaluate(entry, scene) for entry in scene.rules.active]
    lines = briefing(verdicts, scene, standard=scene.rules.hooks.standard_briefing)
    if carried:
        lines.append(f"Carried over from the session before: {', '.join(carried)}.")
    return lines


def _pause_line(scene: Scene) -> list[str]:
    from context_graph.requirements.messages import PROGRAM, shell_word
    from context_graph.requirements.pause import paused

    if not scene.session_id or paused(scene.repo.common_dir, scene.session_id) is None:
        return []
    resume = f"{PROGRAM} req resume --session {shell_word(scene.session_id)}"
    return [f"Requirements are paused for this session (`{resume}` ends that)."]


def _carry_over(event: GateEvent, scene: Scene, result: GateResult) -> list[str]:
    """Copy what another session satisfied on this branch shortly before, at its original time."""
    hooks = scene.rules.hooks
    if event.source not in _CARRY_SOURCES or not hooks.carry_over or not event.session_id:
        return []
    wanted = [
        entry
        for entry in scene.rules.active
        if entry.scope in hooks.carry_scopes
        and entry.scope == "session"
        and entry.type != "guard"
        and not entry.human_only
    ]
    found = {
        entry.name: record
        for entry in wanted
        if (record := _recent(entry, event, scene.state, hooks.carry_window))
    }
    if not found:
        return []

    def change(state: BranchState) -> None:
        for entry in wanted:
            record = _recent(entry, event, state, hooks.carry_window) if entry.name in found else None
            if record:
                _carry(state, entry, record, event)

    try:
        scene.files.change(scene.branch, event.at, change)
    except OSError:
        return []
    scene.state = scene.files.load(scene.branch, event.at)
    keep(event, scene, result, "carried_over", list(found), by="carry_over")
    return list(found)


def _recent(entry: Requirement, event: GateEvent, state: BranchState, window: float) -> dict[str, Any] | None:
    """The latest satisfaction of another session that is young enough, with its session and original time."""
    if is_current(state.record(entry.name, event.session_id), event.at):
        return None
    best: dict[str, Any] | None = None
    for key, record in state.sessions(entry.name).items():
        if not isinstance(record, dict) or same_session(key, event.session_id):
            continue
        approval = entry.type == "dynamic"
        original = _original_time(record)
        if not is_current(record, event.at, approval=approval) or not 0 <= event.at - original <= window:
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
    Registry(event.claude_dir, cache).leave(event.session_id)
    failures.ended(event)
    forget(event)
    project = project_of(event)
    if project is None or project.repo is None:
        return result
    result.project = project.root
    from context_graph.requirements.pause import resume

    resume(project.repo.common_dir, event.session_id)
    rules = rules_of(project, event.claude_dir, event.cache_dir, cache)
    scene = scene_of(event, project, rules, cache, may_run=False)
    if scene is None or not rules.readable or not rules.hooks.clear_session_state:
        return result
    result.branch = scene.branch
    for state in [scene.state, *scene.files.others(event.session_id, scene.branch)]:
        _forget_session(event, scene, state, result)
    return result


def _forget_session(event: GateEvent, scene: Scene, state: BranchState, result: GateResult) -> None:
    names = [name for name in state.names() if _clearable(state, name, event)]
    if not names:
        return

    def change(found: BranchState) -> None:
        for name in names:
            if _clearable(found, name, event):
                found.clear_session(name, event.session_id)

    scene.files.change(state.branch, event.at, change)
    keep(event, scene.at_branch(state), result, "cleared", names, by="session_end")


def _clearable(state: BranchState, name: str, event: GateEvent) -> bool:
    record = state.record(name, event.session_id)
    at = record.get("satisfied_at")
    younger = isinstance(at, (int, float)) and at > event.at
    return bool(record) and not younger


def prompt_submit(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """A line while paused; what is open only if hooks.prompt_submit.reminder asks for it.

    Nothing where nobody asks: a subagent's report is no prompt.
    """
    result = GateResult()
    if not is_typed(event.prompt, event.source):
        return result
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    if not rules.readable or not rules.active:
        return result
    scene = scene_of(event, project, rules, cache, may_run=False)
    if scene is None:
        return result
    lines = _pause_line(scene)
    if rules.hooks.reminder and not lines:
        from context_graph.requirements.evaluate import evaluate
        from context_graph.requirements.messages import briefing

        verdicts = [evaluate(entry, scene) for entry in rules.active]
        if any(not verdict.met for verdict in verdicts):
            lines = briefing(verdicts, scene, standard=False)
    result.context = "\n".join(lines)
    return result


def pre_compact(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Note the compaction in the journal."""
    result = GateResult()
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    scene = scene_of(event, project, rules, cache, may_run=False)
    if scene is not None and rules.active:
        result.branch = scene.branch
        keep(event, scene, result, "compacted", [], detail=event.reason or event.source)
    return result


HANDLERS: dict[str, Callable[[GateEvent, GateCache | None, bool], GateResult]] = {
    "SessionStart": session_start,
    "SessionEnd": session_end,
    "UserPromptSubmit": prompt_submit,
    "PreCompact": pre_compact,
}
