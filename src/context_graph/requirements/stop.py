"""Stop: a session that changed something may not end its turn with an armed requirement unmet."""

from __future__ import annotations

from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.gate import active_here, governed, keep, scene_of
from context_graph.requirements.rules import Requirement, Rules
from context_graph.requirements.scene import Scene
from context_graph.requirements.state import BranchState
from context_graph.requirements.verdict import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.requirements.cache import GateCache

__all__ = ["before_stop"]


def before_stop(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Block with every requirement named that this session armed, on whatever branch, and left unmet.

    ``stop_hook_active`` passes before anything is read: a turn is held back once.
    """
    result = GateResult()
    if event.stop_hook_active or not event.session_id:
        return result
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    wanted = _verified(rules)
    if not wanted:
        return result
    # Where HEAD names no branch, what other branches armed still counts.
    scene = scene_of(event, project, rules, cache, may_run=may_run, detached=True)
    if scene is None:
        return result
    result.branch = scene.branch
    wanted = active_here(wanted, scene)
    open_ones = _armed_and_unmet(wanted, scene) if wanted else []
    if any(verdict.deferred for verdict in open_ones):
        result.deferred = True
        return result
    if open_ones:
        from context_graph.requirements.messages import stop_block

        result.decision, result.reason = "block", stop_block(open_ones, scene)
        result.requirements = list(dict.fromkeys(verdict.requirement.name for verdict in open_ones))
        keep(event, scene, result, "blocked", result.requirements, detail=open_ones[0].why)
    return result


def _verified(rules: Rules) -> list[Requirement]:
    if not rules.readable or not rules.hooks.verify_requirements:
        return []
    return [entry for entry in rules.active if entry.scope in rules.hooks.verify_scopes]


def _armed_and_unmet(wanted: list[Requirement], scene: Scene) -> list[Verdict]:
    from context_graph.requirements.evaluate import unmet

    found = []
    for state in _states(scene):
        there = scene if state is scene.state else scene.at_branch(state)
        armed = [entry for entry in wanted if _is_armed(entry, state, scene)]
        found += unmet(armed, there)
    return found


def _states(scene: Scene) -> list[BranchState]:
    """This branch's state, then those of other branches on which the session left something."""
    own = [scene.state] if scene.branch else []
    return own + scene.files.others(scene.session_id, scene.branch)


def _is_armed(entry: Requirement, state: BranchState, scene: Scene) -> bool:
    here = state.branch == scene.branch
    return state.is_armed(entry.name, scene.session_id, per_session=entry.per_session or not here)
