"""PreToolUse: hold a call back, or let it pass and remember what it armed."""

from __future__ import annotations

from context_graph.requirements import journal
from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.files import LockTimeoutError
from context_graph.requirements.project import Project, find_project
from context_graph.requirements.rules import Requirement, Rules
from context_graph.requirements.scene import Scene, rules_of
from context_graph.requirements.state import arming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.protected import Touch
    from context_graph.requirements.verdict import Verdict

__all__ = ["active_here", "before_tool", "enter_registry", "governed", "keep", "project_of", "scene_of"]


def project_of(event: GateEvent) -> Project | None:
    """The project that governs the call."""

    def targets() -> list[str]:
        from context_graph.requirements.triggers import targets_of

        return targets_of(event.tool_input)

    return find_project(event.cwd, event.project_dir, claude_dir=event.claude_dir, targets=targets)


def governed(event: GateEvent, cache: GateCache | None, result: GateResult) -> tuple[Project, Rules] | None:
    """The project that governs the call, noted in ``result``, and its rules; None without a repository."""
    project = project_of(event)
    if project is None or project.repo is None:
        return None
    result.project = project.root
    return project, rules_of(project, event.claude_dir, event.cache_dir, cache)


def scene_of(
    event: GateEvent,
    project: Project,
    rules: Rules,
    cache: GateCache | None,
    *,
    may_run: bool = True,
    detached: bool = False,
) -> Scene | None:
    """The scene of a call; None where there is no repository or no branch to hold it to.

    With ``detached`` HEAD need not name a branch: the scene is then one of none.
    """
    head = project.head()
    if project.repo is None or not (head.branch or detached):
        return None
    return Scene(
        project,
        project.repo,
        rules,
        branch=head.branch,
        session_id=event.session_id,
        now=event.at,
        claude_dir=event.claude_dir,
        cache_dir=event.cache_dir,
        cache=cache,
        may_run=may_run,
        checked_out=bool(head.branch),
    )


def before_tool(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Deny with every unmet requirement named, or pass; what passes is armed for Stop."""
    result = GateResult()
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    if not rules.readable:
        return _ungoverned(event, rules, result, cache)
    guarded = any(entry.human_only for entry in rules.active)
    if not guarded and not rules.for_tool(event.tool_name):
        return result
    triggered = _triggered(event, project, rules)
    objection = _behind_a_persons_back(event, project, rules) if guarded else None
    if not triggered and objection is None:
        return result
    scene = scene_of(event, project, rules, cache, may_run=may_run)
    if scene is None:
        return result
    result.branch = scene.branch
    if objection:
        return _deny_human_only(event, scene, objection, result)
    triggered = active_here(triggered, scene)
    return _decide(event, scene, triggered, result) if triggered else result


def _triggered(event: GateEvent, project: Project, rules: Rules) -> list[Requirement]:
    if not rules.for_tool(event.tool_name):
        return []
    from context_graph.requirements.triggers import matching

    found = matching(rules, event.tool_name, event.tool_input, lambda: _aliases(event, project))
    if found:
        from context_graph.requirements.exemptions import is_exempt

        if is_exempt(event.tool_name, event.tool_input, project, event.claude_dir, event.cwd):
            return []
    return found


def _aliases(event: GateEvent, project: Project) -> dict[str, str]:
    from context_graph.requirements.git_aliases import git_aliases

    return git_aliases(project.repo.common_dir if project.repo else "", event.home)


def active_here(requirements: list[Requirement], scene: Scene) -> list[Requirement]:
    """Those that the session's pause does not lift. An agent's pause never lifts human_only ones."""
    from context_graph.requirements.pause import paused

    marker = paused(scene.repo.common_dir, scene.session_id) if scene.session_id else None
    if marker is None:
        return requirements
    return [] if marker.get("by") == "user" else [entry for entry in requirements if entry.human_only]


def _decide(event: GateEvent, scene: Scene, triggered: list[Requirement], result: GateResult) -> GateResult:
    from context_graph.requirements.evaluate import evaluate

    enter_registry(event, scene, result)
    verdicts = [evaluate(entry, scene) for entry in triggered if not entry.stop_only]
    denied = [verdict for verdict in verdicts if not verdict.met]
    if not denied and any(verdict.deferred for verdict in verdicts):
        result.deferred = True
        return result
    _tell_unknown(event, scene, verdicts, result)
    if denied:
        from context_graph.requirements.messages import denial

        result.decision, result.reason = "deny", denial(denied, scene)
        result.requirements = [verdict.requirement.name for verdict in denied]
        keep(event, scene, result, "denied", result.requirements, detail=denied[0].why)
        return result
    _arm(event, scene, triggered, result)
    return result


def enter_registry(event: GateEvent, scene: Scene, result: GateResult) -> None:
    """Note that the session is at work here, where that is not known yet."""
    if not event.session_id or not scene.registry.needs(event.session_id, scene.root, scene.branch, event.at):
        return
    try:
        scene.registry.enter(
            event.session_id, project=scene.root, branch=scene.branch, pid=event.pid, now=event.at
        )
    except LockTimeoutError:
        return  # the next call enters it
    except OSError as error:
        _tell(result, f"the session registry can't be written ({error.strerror or error})")


def _tell_unknown(event: GateEvent, scene: Scene, verdicts: list[Verdict], result: GateResult) -> None:
    unknown = [verdict for verdict in verdicts if verdict.unknown]
    if unknown:
        _tell(result, "; ".join(verdict.why for verdict in unknown) + "; let pass")
        names = [verdict.requirement.name for verdict in unknown]
        keep(event, scene, result, "error", names, detail=unknown[0].why)


def _arm(event: GateEvent, scene: Scene, triggered: list[Requirement], result: GateResult) -> None:
    if not event.session_id:
        return
    state, session = scene.state, event.session_id
    fresh = [e for e in triggered if state.record(e.name, session).get("triggered") is not True]
    if not fresh:
        return

    notes = [arming(entry.name, session, scope=entry.scope, now=event.at) for entry in fresh]
    try:
        scene.files.note(scene.branch, event.at, notes)
    except OSError as error:
        why = f"the state can't be written ({error.strerror or error}): Stop won't check this call"
        _tell(result, why)
        keep(event, scene, result, "error", [entry.name for entry in fresh], detail=why)


def _ungoverned(event: GateEvent, rules: Rules, result: GateResult, cache: GateCache | None) -> GateResult:
    """The project's own file can't be used: nothing is enforced, and the tools that change files say so."""
    if event.tool_name not in ("Edit", "Write", "MultiEdit", "NotebookEdit"):
        return result
    if cache is not None and not cache.first_time(f"unreadable {event.session_id}", event.at):
        return result
    why = (rules.told("error") or ["its requirements file can't be read"])[0]
    result.context = f"No requirement is enforced in this project: {why}"
    _tell(result, f"no requirement is enforced: {why}")
    return result


def _behind_a_persons_back(event: GateEvent, project: Project, rules: Rules) -> Touch | None:
    from context_graph.requirements.exemptions import objection_of
    from context_graph.requirements.held import remember

    remember(event, project, rules)
    found = objection_of(event, project, rules)
    return found if found.why else None


def _deny_human_only(event: GateEvent, scene: Scene, touch: Touch, result: GateResult) -> GateResult:
    from context_graph.requirements.messages import human_only_denial

    result.decision, result.requirements = "deny", touch.names
    result.reason = human_only_denial(touch.why, touch.names, scene)
    keep(event, scene, result, "denied", touch.names, detail=f"human_only: {touch.why}")
    return result


def keep(
    event: GateEvent,
    scene: Scene,
    result: GateResult,
    kind: str,
    names: list[str],
    *,
    by: str = "",
    detail: str = "",
) -> None:
    """Put one record into the result and the journal."""
    one = journal.record(
        kind,
        names,
        at=event.at,
        session_id=event.session_id,
        branch=scene.branch,
        tool=event.tool_name,
        by=by,
        detail=detail,
    )
    result.records.append(one)
    try:
        journal.append(scene.repo.common_dir, [one])
    except OSError as error:
        _tell(result, f"the journal can't be written ({error.strerror or error})")


def _tell(result: GateResult, text: str) -> None:
    more = f"context-graph: {text}"
    result.system_message = f"{result.system_message}\n{more}" if result.system_message else more
