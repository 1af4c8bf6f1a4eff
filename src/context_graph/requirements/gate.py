"""PreToolUse: hold a call back, or let it pass and remember what it armed."""

from __future__ import annotations

from context_graph.requirements import journal, metrics
from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.files import LockTimeoutError
from context_graph.requirements.noticing import configuration_changed, configuration_gone
from context_graph.requirements.project import Project
from context_graph.requirements.rules import Requirement, Rules
from context_graph.requirements.scene import Scene, rules_of
from context_graph.requirements.verdict import Verdict
from context_graph.requirements.where import Part, acted_on, project_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.protected import Touch

__all__ = [
    "active_here",
    "before_tool",
    "enter_registry",
    "governed",
    "keep",
    "rules_for",
    "scene_of",
    "tell",
    "would_deny",
]


def governed(event: GateEvent, cache: GateCache | None, result: GateResult) -> tuple[Project, Rules] | None:
    """The project of the working folder, noted in ``result``, and its rules; None without a repository."""
    project = project_of(event)
    if project is None or project.repo is None:
        return None
    result.project = project.root
    return project, rules_for(event, project, cache)


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
    """Deny with every unmet requirement named, or pass; what passes is armed for Stop.

    A call that acts on several projects passes if each lets it pass.
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
    """The project's rules, read once a call: the slow path has no cache."""
    if project.rules is None:
        project.rules = rules_of(project, event.claude_dir, event.cache_dir, cache)
    return project.rules


def _before(
    event: GateEvent, part: Part, rules: Rules, cache: GateCache | None, may_run: bool, result: GateResult
) -> None:
    project = part.project
    result.project = project.root
    if not rules.readable or _guard(event, project, rules, cache, result):
        return
    triggered = _triggered(event, part, rules)
    scene = scene_of(event, project, rules, cache, may_run=may_run) if triggered else None
    if scene is None:
        return
    result.branch = scene.branch
    triggered = active_here(triggered, scene)
    if triggered:
        _decide(event, scene, triggered, result)


def _guard(
    event: GateEvent, project: Project, rules: Rules, cache: GateCache | None, result: GateResult
) -> bool:
    """Hold the call back if it might do what only a person may; whether it was."""
    if not any(entry.human_only for entry in rules.active):
        return False
    objection = _behind_a_persons_back(event, project, rules)
    scene = scene_of(event, project, rules, cache, may_run=False) if objection else None
    if objection is None or scene is None:
        return False
    result.branch = scene.branch
    _deny_human_only(event, scene, objection, result)
    return True


def _triggered(event: GateEvent, part: Part, rules: Rules) -> list[Requirement]:
    found = part.triggered(rules, event) if rules.for_tool(event.tool_name) else []
    if found:
        from context_graph.requirements.exemptions import is_exempt

        if is_exempt(event.tool_name, event.tool_input, part.project, event.claude_dir, event.cwd):
            return []
    return found


def active_here(requirements: list[Requirement], scene: Scene) -> list[Requirement]:
    """Those that the session's pause does not lift. An agent's pause never lifts human_only ones."""
    from context_graph.requirements.pause import paused

    marker = paused(scene.repo.common_dir, scene.session_id) if scene.session_id else None
    if marker is None:
        return requirements
    return [] if marker.get("by") == "user" else [entry for entry in requirements if entry.human_only]


def _decide(event: GateEvent, scene: Scene, triggered: list[Requirement], result: GateResult) -> None:
    enter_registry(event, scene, result)
    if any(entry.scope == "single_use" for entry in triggered):
        _settle(event, scene, result)
    judged = [entry for entry in triggered if not entry.stop_only]
    verdicts = _judged(event, judged, scene)
    denied = [verdict for verdict in verdicts if not verdict.met]
    if not denied and any(verdict.deferred for verdict in verdicts):
        result.deferred = True
        return
    _tell_unknown(event, scene, verdicts, result)
    if not denied:
        branches = {verdict.requirement.name: verdict.branch for verdict in verdicts}
        taken = _arm(event, scene, [(branches.get(e.name, scene.branch), e) for e in triggered], result)
        denied = [Verdict(entry, False, _IN_USE) for entry in triggered if entry.name in taken]
    if denied:
        from context_graph.requirements.messages import denial

        result.decision, result.reason = "deny", denial(denied, scene)
        result.requirements = [verdict.requirement.name for verdict in denied]
        keep(event, scene, result, "denied", result.requirements, detail=denied[0].why)


_IN_USE = "a call that has not ended yet is about to use its satisfaction up; each call needs one of its own"


def _judged(event: GateEvent, entries: list[Requirement], scene: Scene) -> list[Verdict]:
    """The verdicts; what the session met on its working folder's branch counts for another checkout's file
    too.

    Not for what belongs to a branch or to one use, and never for conditions such as a protected branch.
    """
    from context_graph.requirements.evaluate import evaluate

    verdicts = [evaluate(entry, scene) for entry in entries]
    if all(v.met or v.requirement.type != "blocking" or v.requirement.scope != "session" for v in verdicts):
        return verdicts
    own = project_of(event)
    if own is None or own.repo is None or own.repo.common_dir != scene.repo.common_dir:
        return verdicts
    branch = own.head().branch
    if not branch or branch == scene.branch:
        return verdicts
    there = scene.at_branch(scene.files.load(branch, event.at))
    for at, verdict in enumerate(verdicts):
        entry = verdict.requirement
        if not verdict.met and entry.type == "blocking" and entry.scope == "session":
            other = evaluate(entry, there)
            verdicts[at] = other if other.met else verdict
    return verdicts


def would_deny(event: GateEvent) -> Iterator[tuple[Scene, list[Verdict]]]:
    """The projects that would hold the call back and why, without arming or recording anything."""
    for part in acted_on(event):
        rules = rules_for(event, part.project, None)
        triggered = _triggered(event, part, rules) if rules.readable else []
        scene = scene_of(event, part.project, rules, None) if triggered else None
        if scene is not None:
            wanted = [entry for entry in active_here(triggered, scene) if not entry.stop_only]
            denied = [verdict for verdict in _judged(event, wanted, scene) if not verdict.met]
            if denied:
                yield scene, denied


def _settle(event: GateEvent, scene: Scene, result: GateResult) -> None:
    """Take account of calls that committed something and of whose end nothing was heard."""
    from context_graph.requirements.passage import settle

    try:
        done = settle(event, scene)
    except OSError as error:
        tell(result, f"the state can't be written ({error.strerror or error})")
        return
    if done:
        scene.state = scene.files.load(scene.branch, event.at)
        keep(event, scene, result, "consumed", done, detail="a commit was made; the call's end was not heard")


def enter_registry(event: GateEvent, scene: Scene, result: GateResult, *, told: str | None = None) -> None:
    """Note that the session is at work here, where that is not known yet, and what it was told, if given."""
    if not event.session_id:
        return
    registry, session = scene.registry, event.session_id
    known = told is None or registry.told(session, scene.root) == told
    if known and not registry.needs(session, scene.root, scene.branch, event.at):
        return
    try:
        registry.enter(
            session, project=scene.root, branch=scene.branch, pid=event.pid, now=event.at, told=told
        )
    except LockTimeoutError:
        return  # the next call enters it
    except OSError as error:
        tell(result, f"the session registry can't be written ({error.strerror or error})")


def _tell_unknown(event: GateEvent, scene: Scene, verdicts: list[Verdict], result: GateResult) -> None:
    unknown = [verdict for verdict in verdicts if verdict.unknown]
    if unknown:
        tell(result, "; ".join(verdict.why for verdict in unknown) + "; let pass")
        names = [verdict.requirement.name for verdict in unknown]
        keep(event, scene, result, "error", names, detail=unknown[0].why)


def _arm(
    event: GateEvent, scene: Scene, armed: list[tuple[str, Requirement]], result: GateResult
) -> list[str]:
    """Arm each requirement on its branch; the names whose satisfaction another call is about to use."""
    if not event.session_id:
        return []
    from context_graph.requirements.passage import let_through

    try:
        return let_through(event, scene, armed)
    except OSError as error:
        why = f"the state can't be written ({error.strerror or error}): Stop won't check this call"
        tell(result, why)
        keep(event, scene, result, "error", [entry.name for _, entry in armed], detail=why)
    return []


def _behind_a_persons_back(event: GateEvent, project: Project, rules: Rules) -> Touch | None:
    from context_graph.requirements.exemptions import objection_of
    from context_graph.requirements.held import remember

    remember(event, project, rules)
    found = objection_of(event, project, rules)
    return found if found.why else None


def _deny_human_only(event: GateEvent, scene: Scene, touch: Touch, result: GateResult) -> None:
    from context_graph.requirements.messages import human_only_denial

    result.decision, result.requirements = "deny", touch.names
    result.reason = human_only_denial(touch.why, touch.names, scene)
    keep(event, scene, result, "denied", touch.names, detail=f"human_only: {touch.why}")


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
    metrics.noted(scene.repo.common_dir, event.session_id, one, event.at, scene.files.cache)
    try:
        journal.append(scene.repo.common_dir, [one])
    except OSError as error:
        tell(result, f"the journal can't be written ({error.strerror or error})")


def tell(result: GateResult, text: str) -> None:
    """Say ``text`` to the user."""
    more = f"context-graph: {text}"
    result.system_message = f"{result.system_message}\n{more}" if result.system_message else more
