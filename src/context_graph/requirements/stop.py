"""Stop: a session that changed something may not end its turn with an armed requirement unmet."""

from __future__ import annotations

from context_graph.requirements.calls import Calls
from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.gate import active_here, keep, rules_for, scene_of
from context_graph.requirements.git import find_repo
from context_graph.requirements.noticing import configuration_changed, configuration_gone
from context_graph.requirements.passage import turn_over
from context_graph.requirements.project import Project, find_project
from context_graph.requirements.registry import Registry
from context_graph.requirements.rules import Requirement, Rules
from context_graph.requirements.scene import Scene
from context_graph.requirements.state import BranchState, is_current
from context_graph.requirements.state_files import StateFiles
from context_graph.requirements.verdict import Verdict
from context_graph.requirements.where import session_projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.requirements.cache import GateCache

    _Open = tuple[Scene, list[Verdict]]

__all__ = ["before_stop"]

_ENDLESS = ("shell", "monitor")
"""Background work that may never end, such as a server: each lets one Stop go, then the session is held."""

_WAITED = "#waited"
"""Entry of the session's calls with the background work that has let a Stop go."""


def before_stop(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Block with every requirement named that this session armed, wherever it worked, and left unmet.

    ``stop_hook_active`` passes before anything is read: a turn is held back once. While work of the
    session runs on in the background it passes too, for its end wakes the session and Stop comes again.
    """
    result = GateResult()
    if event.stop_hook_active or not event.session_id:
        return result
    found: list[_Open] = []
    projects = session_projects(event, cache)
    for project in [*projects, *_gone(event, cache, projects)]:
        scene, verdicts = _left_open(event, project, cache, may_run)
        if any(verdict.deferred for verdict in verdicts):
            result.deferred = True
            return result
        known = {(one.repo.common_dir, v.branch, v.requirement.name) for one, them in found for v in them}
        new = [
            v
            for v in verdicts
            if scene and (scene.repo.common_dir, v.branch, v.requirement.name) not in known
        ]
        if scene is not None and new:
            found.append((scene, new))
    for project in projects:
        configuration_changed(event, project, rules_for(event, project, cache), cache, result)
    configuration_gone(event, cache, result)
    if found and not _waits(event, found, cache):
        _block(event, found, result)
    return result


def _block(event: GateEvent, found: list[_Open], result: GateResult) -> None:
    from context_graph.requirements.messages import stop_block

    result.decision = "block"
    result.reason = "\n\n".join(stop_block(verdicts, scene) for scene, verdicts in found)
    for scene, verdicts in found:
        names = list(dict.fromkeys(verdict.requirement.name for verdict in verdicts))
        result.project, result.branch = result.project or scene.root, result.branch or scene.branch
        result.requirements += [name for name in names if name not in result.requirements]
        keep(event, scene, result, "blocked", names, detail=verdicts[0].why)


def _left_open(
    event: GateEvent, project: Project, cache: GateCache | None, may_run: bool
) -> tuple[Scene | None, list[Verdict]]:
    """What the session armed in the project and left unmet; where HEAD names no branch, on other branches."""
    rules = rules_for(event, project, cache)
    if project.repo is not None:
        files = StateFiles(project.repo.common_dir, project.work, cache)
        turn_over(event, project.repo, files, cache)
    wanted = _verified(rules)
    if rules.readable and not wanted:
        return None, []
    scene = scene_of(event, project, rules, cache, may_run=may_run, detached=True)
    if scene is None:
        return None, []
    if not rules.readable:
        return scene, _by_state_alone(event, scene)
    wanted = active_here(wanted, scene)
    return scene, _armed_and_unmet(wanted, scene) if wanted else []


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


def _gone(event: GateEvent, cache: GateCache | None, projects: list[Project]) -> list[Project]:
    """Projects that governed the session and have no file any more."""
    found = []
    for folder in Registry(event.claude_dir, cache).folders(event.session_id):
        known = any(folder in (one.work, one.root) for one in projects)
        if not known and find_project(folder, "", claude_dir=event.claude_dir) is None:
            repo = find_repo(folder) if folder.startswith("/") else None
            found += [Project(folder, repo)] if repo is not None else []
    return found


def _by_state_alone(event: GateEvent, scene: Scene) -> list[Verdict]:
    """What is armed and not satisfied where the configuration can't be read: removing it does not let go."""
    from context_graph.requirements.schema import blank_entry

    found = []
    for state in _states(scene):
        names = [name for name in state.names() if _is_open(state, name, event)]
        wanted = [Requirement(blank_entry(name)) for name in names]
        for entry in active_here(wanted, scene):
            verdict = Verdict(entry, False, "armed before its configuration was gone or unreadable")
            verdict.branch = state.branch
            found.append(verdict)
    return found


def _is_open(state: BranchState, name: str, event: GateEvent) -> bool:
    record, entry = state.record(name, event.session_id), state.entry(name)
    if record.get("triggered") is not True or "type" in record or entry.get("scope") != "session":
        return False
    return not (is_current(record, event.at) or is_current(entry, event.at))


def _waits(event: GateEvent, found: list[_Open], cache: GateCache | None) -> bool:
    """Whether Stop will come again by itself: an agent runs, or a command that has not let a Stop go yet."""
    if any(kind not in _ENDLESS for kind, _ in event.background):
        return True
    ids = [key for _, key in event.background]
    calls = Calls(found[0][0].repo.common_dir, event.session_id, cache)
    waited = calls.all().get(_WAITED, {}).get("for", [])
    if all(key in waited for key in ids):
        return False
    try:
        calls.change(lambda now: now.update({_WAITED: {"at": event.at, "over": True, "for": ids}}))
    except OSError:
        return False
    return True
