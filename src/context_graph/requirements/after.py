"""After a tool: skills satisfy, single_use is used up, and leaving plan mode shows what is open.

A call that failed or was refused arms nothing, and uses up what it committed with all the same; a tool
that fails again and again brings what is open to mind.
"""

from __future__ import annotations

from context_graph.requirements import failures, metrics
from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.gate import governed, keep, rules_for, scene_of
from context_graph.requirements.passage import ended
from context_graph.requirements.rules import Requirement
from context_graph.requirements.scene import Scene
from context_graph.requirements.state import satisfaction, use
from context_graph.requirements.state_files import StateFiles
from context_graph.requirements.where import Part, acted_on, session_projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.project import Project
    from context_graph.requirements.rules import Rules
    from context_graph.requirements.verdict import Verdict

__all__ = ["after_expansion", "after_tool", "satisfy_by_skill"]

_SKILL = "Skill"
_PLAN_EXIT = "ExitPlanMode"
_MOMENT_S = 60.0


def after_tool(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Apply what a call satisfies, arms and uses up, now that it has ended."""
    result = GateResult()
    if not event.session_id:
        return result
    success = event.success is not False and event.name == "PostToolUse"
    for part in acted_on(event) or _seen(event, cache):
        _after(event, part, cache, success, result)
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    if project.repo is not None and rules.active and event.name != "PermissionDenied":
        metrics.call_ended(project.repo.common_dir, event.session_id, event.tool_name, event.at, cache)
    if success:
        failures.succeeded(event, cache)
        _of_the_session(event, project, rules, cache, result)
    elif event.name != "PermissionDenied":
        _after_failure(event, project, rules, cache, result)
    return result


def _seen(event: GateEvent, cache: GateCache | None) -> list[Part]:
    """Where the session was seen at work: a command may have left the folder that it began in."""
    return [Part(project, [], []) for project in session_projects(event, cache)]


def _after(event: GateEvent, part: Part, cache: GateCache | None, success: bool, result: GateResult) -> None:
    """What the call's end means for one project."""
    project = part.project
    result.project = project.root
    repo, rules = project.repo, rules_for(event, project, cache)
    if repo is None or not rules.readable:
        return
    files = StateFiles(repo.common_dir, project.work, cache)
    used = ended(event, repo, files, cache, success=success)
    named = [entry for entry in rules.for_tool(event.tool_name) if entry.scope == "single_use"]
    if not used and (used is not None or not success or not named):
        return
    scene = scene_of(event, project, rules, cache, may_run=False, detached=True)
    if scene is None:
        return
    result.branch = scene.branch
    for branch, name in used or ():
        keep(event, scene.at_branch(files.load(branch, event.at)), result, "consumed", [name])
    if used is None and scene.branch:
        _use_up(event, scene, _used_up(event, part, scene), result)


def _of_the_session(
    event: GateEvent, project: Project, rules: Rules, cache: GateCache | None, result: GateResult
) -> None:
    """Skills satisfy on the branch of the working folder, and plan mode's end shows what is open there."""
    if not rules.readable or event.tool_name not in (_SKILL, _PLAN_EXIT):
        return
    scene = scene_of(event, project, rules, cache, may_run=False)
    if scene is None:
        return
    result.branch = scene.branch
    if event.tool_name == _SKILL:
        satisfy_by_skill(event, scene, _skill(event), result)
    elif rules.hooks.plan_exit_summary:
        _summary(scene, result)


def _after_failure(
    event: GateEvent, project: Project, rules: Rules, cache: GateCache | None, result: GateResult
) -> None:
    if event.interrupted or not rules.readable or not rules.active or not rules.hooks.failure_guidance:
        return
    count = failures.failed(event)
    scene = scene_of(event, project, rules, cache, may_run=False) if count >= failures.TOLD_FROM else None
    if scene is not None:
        result.branch = scene.branch
        from context_graph.requirements.messages import guidance

        result.context = "\n".join(guidance(event.tool_name, count, _verdicts(scene), scene))


def after_expansion(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """UserPromptExpansion: a skill that the user types satisfies as one that the model calls."""
    result = GateResult()
    found = governed(event, cache, result) if event.session_id and event.command_name else None
    if found is None or not found[1].readable:
        return result
    scene = scene_of(event, *found, cache, may_run=False)
    if scene is not None:
        result.branch = scene.branch
        satisfy_by_skill(event, scene, event.command_name.strip().removeprefix("/")[:200], result)
    return result


def satisfy_by_skill(event: GateEvent, scene: Scene, skill: str, result: GateResult) -> None:
    """Satisfy what the success of ``skill`` meets."""
    from context_graph.requirements.skills import satisfied_by

    met = [
        entry for entry in scene.rules.active if satisfied_by(entry, skill, typed=event.name != "PostToolUse")
    ]
    if event.name == "UserPromptExpansion":
        met = [entry for entry in met if not _just_said(entry, scene, event, skill)]
    if met:
        scene.files.note(scene.branch, event.at, [_satisfied(entry, event, skill) for entry in met])
        keep(event, scene, result, "satisfied", [entry.name for entry in met], by="skill", detail=skill)


def _just_said(entry: Requirement, scene: Scene, event: GateEvent, skill: str) -> bool:
    """Whether the prompt itself, which the client hands over first, has satisfied it a moment ago."""
    state = scene.state
    record = state.record(entry.name, event.session_id) if entry.per_session else state.override(entry.name)
    at, metadata = record.get("satisfied_at"), record.get("metadata")
    by = metadata.get("skill") if isinstance(metadata, dict) else None
    young = isinstance(at, (int, float)) and 0 <= event.at - at < _MOMENT_S
    return record.get("satisfied") is True and by == skill and young


def _skill(event: GateEvent) -> str:
    """The skill's name, without the slash that a person types before it."""
    skill = event.tool_input.get("skill") if isinstance(event.tool_input, dict) else None
    return skill.strip().removeprefix("/")[:200] if isinstance(skill, str) else ""


def _used_up(event: GateEvent, part: Part, scene: Scene) -> list[str]:
    """What a call that nothing was noted of uses up: a client that gives no ids, a note that was not kept."""
    found = part.triggered(scene.rules, event)
    return [entry.name for entry in found if entry.scope == "single_use" and entry.type == "blocking"]


def _use_up(event: GateEvent, scene: Scene, names: list[str], result: GateResult) -> None:
    here = [name for name in names if scene.state.is_spent(name, event.session_id, event.at)]
    if here:
        scene.files.note(scene.branch, event.at, [use(name, event.session_id, now=event.at) for name in here])
        keep(event, scene, result, "consumed", here)
    for name in names:
        if name not in here:
            _use_up_elsewhere(event, scene, name, result)


def _satisfied(entry: Requirement, event: GateEvent, skill: str) -> dict[str, Any]:
    ttl = entry.approval_ttl if entry.type == "dynamic" else entry.replan_ttl
    return satisfaction(
        entry.name,
        event.session_id if entry.per_session else "",
        scope=entry.scope,
        now=event.at,
        by="skill",
        expires_at=int(event.at) + ttl if ttl else None,
        metadata={"skill": skill},
    )


def _use_up_elsewhere(event: GateEvent, scene: Scene, name: str, result: GateResult) -> None:
    """A command may have changed the branch: what let it pass then lies on the branch it came from."""

    for state in scene.files.others(event.session_id, scene.branch):
        armed = state.record(name, event.session_id).get("triggered") is True
        if armed and state.is_spent(name, event.session_id, event.at):
            scene.files.note(state.branch, event.at, [use(name, event.session_id, now=event.at)])
            keep(event, scene.at_branch(state), result, "consumed", [name])


def _verdicts(scene: Scene) -> list[Verdict]:
    """Of all requirements that need no process to be judged."""
    from context_graph.requirements.evaluate import evaluate

    return [evaluate(entry, scene) for entry in scene.rules.active if entry.type != "dynamic"]


def _summary(scene: Scene, result: GateResult) -> None:
    from context_graph.requirements.messages import briefing

    verdicts = _verdicts(scene)
    if any(not verdict.met for verdict in verdicts):
        result.context = "\n".join(briefing(verdicts, scene, standard=True))
