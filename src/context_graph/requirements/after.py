"""PostToolUse: skills satisfy, single_use is used up, and leaving plan mode shows what is open.

PostToolUseFailure: nothing changes, and a tool that fails again and again brings what is open to mind.
"""

from __future__ import annotations

from context_graph.requirements import failures
from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.gate import governed, keep, scene_of
from context_graph.requirements.rules import Requirement
from context_graph.requirements.scene import Scene
from context_graph.requirements.state import satisfaction, use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.project import Project
    from context_graph.requirements.rules import Rules
    from context_graph.requirements.verdict import Verdict

__all__ = ["after_tool"]

_SKILL = "Skill"
_PLAN_EXIT = "ExitPlanMode"


def after_tool(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Apply what a successful call satisfies and uses up, in one write. A failed one changes none of it."""
    result = GateResult()
    if not event.session_id:
        return result
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    if event.success is False or event.name == "PostToolUseFailure":
        _after_failure(event, project, rules, cache, result)
        return result
    failures.succeeded(event, cache)
    named = [entry for entry in rules.for_tool(event.tool_name) if entry.scope == "single_use"]
    if not rules.readable or not (named or event.tool_name in (_SKILL, _PLAN_EXIT)):
        return result
    scene = scene_of(event, project, rules, cache, may_run=may_run)
    if scene is None:
        return result
    result.branch = scene.branch
    met = _met_by_skill(event, scene) if event.tool_name == _SKILL else []
    used = _used_up(event, scene) if named else []
    _apply(event, scene, met, used, result)
    if event.tool_name == _PLAN_EXIT and rules.hooks.plan_exit_summary:
        _summary(scene, result)
    return result


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


def _met_by_skill(event: GateEvent, scene: Scene) -> list[Requirement]:
    from context_graph.requirements.skills import satisfied_by

    name = _skill(event)
    return [entry for entry in scene.rules.active if satisfied_by(entry, name)]


def _skill(event: GateEvent) -> str:
    """The skill's name, without the slash that a person types before it."""
    skill = event.tool_input.get("skill") if isinstance(event.tool_input, dict) else None
    return skill.strip().removeprefix("/")[:200] if isinstance(skill, str) else ""


def _used_up(event: GateEvent, scene: Scene) -> list[Requirement]:
    from context_graph.requirements.triggers import matching

    def aliases() -> dict[str, str]:
        from context_graph.requirements.git_aliases import git_aliases

        return git_aliases(scene.repo.common_dir, event.home)

    found = matching(scene.rules, event.tool_name, event.tool_input, aliases)
    return [entry for entry in found if entry.scope == "single_use" and entry.type == "blocking"]


def _apply(
    event: GateEvent, scene: Scene, met: list[Requirement], used: list[Requirement], result: GateResult
) -> None:
    here = [e.name for e in used if scene.state.is_spent(e.name, event.session_id, event.at)]
    notes = [use(name, event.session_id, now=event.at) for name in here]
    notes += [_satisfied(entry, event) for entry in met]
    if notes:
        scene.files.note(scene.branch, event.at, notes)
    if here:
        keep(event, scene, result, "consumed", here)
    if met:
        keep(
            event, scene, result, "satisfied", [entry.name for entry in met], by="skill", detail=_skill(event)
        )
    for name in [entry.name for entry in used if entry.name not in here]:
        _use_up_elsewhere(event, scene, name, result)


def _satisfied(entry: Requirement, event: GateEvent) -> dict[str, Any]:
    ttl = entry.approval_ttl if entry.type == "dynamic" else entry.replan_ttl
    return satisfaction(
        entry.name,
        event.session_id if entry.per_session else "",
        scope=entry.scope,
        now=event.at,
        by="skill",
        expires_at=int(event.at) + ttl if ttl else None,
        metadata={"skill": _skill(event)},
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
