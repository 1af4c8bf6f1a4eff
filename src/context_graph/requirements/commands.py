"""What the command line does with requirements: each function returns plain data and raises UsageError.

Rendering is the front end's. ``records`` in a result are those of the journal, for whoever keeps events.
"""

from __future__ import annotations

from context_graph.errors import UsageError
from context_graph.requirements import journal, metrics
from context_graph.requirements.evaluate import evaluate
from context_graph.requirements.files import LockTimeoutError
from context_graph.requirements.git import branch_names
from context_graph.requirements.place import Place
from context_graph.requirements.rules import Requirement
from context_graph.requirements.scene import Scene
from context_graph.requirements.state import BranchState, is_current, satisfaction
from context_graph.requirements.state_files import read_document
from context_graph.requirements.triggers import described
from context_graph.requirements.unwritable import unwritable
from context_graph.requirements.verdict import HUMAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["check", "clear", "log", "pause", "resume", "satisfy", "status"]


def status(place: Place, *, session: str = "", branch: str = "") -> dict[str, Any]:
    """What holds on the branch for the session.

    Returns:
        ``project``, ``branch``, ``session_id`` ("" if none can be told), ``governed``, ``why``
        (why nothing is enforced, "" if it is), ``paused``, ``problems`` ([level, text] pairs), and
        ``requirements``: name to satisfied, triggered, scope, enabled, type, why, satisfied_by,
        satisfied_at, expires_at, value, stop_only, human_only, triggers, text.
    """
    session_id = place.session_or_none(session)
    name = place.branch(branch)
    scene = place.scene(name, session_id)
    quiet = place.scene(name, session_id, may_run=False)  # what is disabled runs no process
    shown = {
        entry.name: _shown(entry, scene if entry.enabled else quiet) for entry in place.rules.requirements
    }
    return {
        "project": place.project.work,
        "branch": name,
        "session_id": session_id,
        "governed": place.governed,
        "why": _why_off(place),
        "paused": bool(session_id) and _paused(place, session_id) is not None,
        "problems": place.rules.problems,
        "requirements": shown,
    }


def _why_off(place: Place) -> str:
    if not place.governed:
        return "no .claude/requirements.yaml; `context-graph-cli req init` writes one"
    if place.env.get("CLAUDE_SKIP_REQUIREMENTS"):
        return "CLAUDE_SKIP_REQUIREMENTS is set"
    if not place.rules.readable:
        return ".claude/requirements.yaml can't be used"
    if not place.rules.enabled:
        return "enabled is false"
    return "" if place.rules.active else "no requirement is enabled"


def _paused(place: Place, session_id: str) -> dict[str, Any] | None:
    from context_graph.requirements.pause import paused

    return paused(place.repo.common_dir, session_id)


def _shown(entry: Requirement, scene: Scene) -> dict[str, Any]:
    verdict = evaluate(entry, scene)
    return {
        "satisfied": verdict.met,
        "triggered": scene.state.is_armed(entry.name, scene.session_id, per_session=entry.per_session),
        "scope": entry.scope,
        "enabled": entry.enabled,
        "type": entry.type,
        "why": verdict.why,
        "satisfied_by": verdict.record.get("satisfied_by"),
        "satisfied_at": verdict.record.get("satisfied_at"),
        "expires_at": verdict.record.get("expires_at"),
        "value": verdict.value,
        "stop_only": entry.stop_only,
        "human_only": entry.human_only,
        "triggers": [described(trigger) for trigger in entry.triggers],
        "text": entry.templates.get("short_message") or entry.short_message or entry.description,
    }


def check(place: Place, tool: str, tool_input: dict[str, Any], *, session: str = "") -> dict[str, Any]:
    """What the gate would say to a call, without arming or recording anything.

    Returns:
        ``decision`` allow or deny, ``requirements`` (names unmet), ``reason``, ``branch``, ``session_id``.
    """
    from context_graph.requirements.event import GateEvent
    from context_graph.requirements.gate import would_deny
    from context_graph.requirements.messages import denial

    session_id = place.session_or_none(session)
    found: dict[str, Any] = {"decision": "allow", "requirements": [], "reason": "", "session_id": session_id}
    found["branch"] = place.head.branch
    if place.env.get("CLAUDE_SKIP_REQUIREMENTS"):
        return found
    event = GateEvent(
        "PreToolUse",
        session_id=session_id,
        cwd=place.cwd,
        project_dir=place.env.get("CLAUDE_PROJECT_DIR", ""),
        config_dir=place.claude_dir,
        tool_name=tool,
        tool_input=tool_input,
        at=place.now,
        cache_dir=place.cache_dir,
    )
    for scene, verdicts in would_deny(event):
        names = [verdict.requirement.name for verdict in verdicts]
        found.update(decision="deny", requirements=names, reason=denial(verdicts, scene), branch=scene.branch)
        break
    return found


def satisfy(
    place: Place,
    names: list[str],
    *,
    session: str = "",
    branch: str = "",
    ttl: float | None = None,
    metadata: dict[str, Any] | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Satisfy requirements for the session or, with ``branch``, for every session on that branch.

    A session's requirement is satisfied on the branch that is checked out, and on those where this session
    armed it and left it unmet. A dynamic requirement is approved for its ``approval_ttl``, or ``ttl``.

    Returns:
        ``satisfied`` (names), ``branches``, ``session_id``, ``expires_at`` by name, ``took`` (what an
        option was taken for, if not for what it says), ``records``.

    Raises:
        UsageError: An unknown name (unless ``force``), no session, an agent where a person must.
    """
    took = ""
    if not names and _means_a_requirement(place, branch):
        names, branch = [branch], place.branch()
        took = f"--branch {names[0]}: no such branch, so it is the requirement, for all sessions on {branch}"
    entries = [_known(place, name, force=force) for name in dict.fromkeys(names)]
    if not entries:
        raise UsageError("name the requirements to satisfy; `context-graph-cli req status` lists them")
    if ttl is not None and ttl <= 0:
        raise UsageError(f"--ttl {ttl:g}: give a number of seconds above 0")
    _only_a_person(place, entries, "satisfied")
    for_all = bool(branch)
    needs_session = not for_all and any(entry.per_session for entry in entries)
    session_id = place.session(session) if needs_session else place.session_or_none(session)
    target = place.branch(branch)
    expires = {entry.name: _expiry(entry, ttl, place.now) for entry in entries}
    notes = []
    for entry in entries:
        whose = session_id if entry.per_session and not for_all else ""
        notes.append(_satisfaction(place, entry, whose, expires[entry.name], metadata))
    _note(place, target, notes)
    left = [] if for_all else _satisfy_where_armed(place, target, session_id, entries, ttl, metadata)
    done = [entry.name for entry in entries]
    one = _keep(place, "satisfied", done, session_id=session_id, branch=target, by=_actor(place))
    return {
        "satisfied": done,
        "branches": [target, *left],
        "session_id": session_id,
        "expires_at": expires,
        "took": took,
        "records": [one],
    }


def _means_a_requirement(place: Place, branch: str) -> bool:
    """Whether what was given as a branch is none but a requirement, as seed 004 writes it."""
    if not branch or place.rules.get(branch) is None:
        return False
    names = branch_names(place.repo)
    return names is not None and branch not in names


def _satisfy_where_armed(
    place: Place,
    target: str,
    session_id: str,
    entries: list[Requirement],
    ttl: float | None,
    metadata: dict[str, Any] | None,
) -> list[str]:
    """Other branches on which the session armed one of ``entries`` and left it unmet, or was held for it."""
    if not session_id:
        return []
    own = [entry for entry in entries if entry.per_session]
    wanted: dict[str, list[Requirement]] = {}
    for state in place.files.others(session_id, target):
        open_ones = [entry for entry in own if _is_open(entry, state, session_id, place.now)]
        if open_ones:
            wanted[state.branch] = open_ones
    for entry in own:
        branch = _held_on(place, entry.name, session_id)
        if branch not in ("", target) and entry not in wanted.setdefault(branch, []):
            wanted[branch].append(entry)
    for branch, found in wanted.items():
        notes = [
            _satisfaction(place, entry, session_id, _expiry(entry, ttl, place.now), metadata)
            for entry in found
        ]
        _note(place, branch, notes)
    return list(wanted)


def _held_on(place: Place, name: str, session_id: str) -> str:
    """The branch on which the session was last held for the requirement; empty if it was satisfied since."""
    for one in reversed(journal.read(place.repo.common_dir)):
        if one.get("session_id") == session_id and name in one.get("requirements", ()):
            return str(one.get("branch", "")) if one.get("kind") == "denied" else ""
    return ""


def _satisfaction(
    place: Place,
    entry: Requirement,
    session_id: str,
    expires_at: float | None,
    metadata: dict[str, Any] | None,
) -> dict[str, Any]:
    by = HUMAN if entry.human_only else "approval" if entry.type == "dynamic" else "cli"
    return satisfaction(
        entry.name,
        session_id,
        scope=entry.scope,
        now=place.now,
        by=by,
        expires_at=expires_at,
        metadata=metadata,
    )


def _is_open(entry: Requirement, state: BranchState, session_id: str, now: float) -> bool:
    record = state.record(entry.name, session_id)
    return record.get("triggered") is True and not is_current(record, now)


def _expiry(entry: Requirement, ttl: float | None, now: float) -> float | None:
    if ttl is None and entry.type == "dynamic":
        ttl = entry.approval_ttl
    return None if ttl is None else int(now) + ttl


def clear(
    place: Place,
    names: list[str],
    *,
    everything: bool = False,
    session: str = "",
    branch: str = "",
) -> dict[str, Any]:
    """Take satisfactions back: the session's own or, with ``branch``, everybody's on that branch.

    What was satisfied for the whole branch then no longer counts for this session, and still does for others.

    Returns:
        ``cleared`` (names that had something), ``branch``, ``session_id``, ``records``.

    Raises:
        UsageError: No name, an unknown one, no session, an agent where a person must.
    """
    target = place.branch(branch)
    if not names and not everything:
        raise UsageError("name a requirement, or give --all")
    known = {entry.name for entry in place.rules.requirements} | set(
        place.files.load(target, place.now).names()
    )
    for name in names:
        if name not in known:
            raise UsageError(_unknown(place, name))
    chosen = list(dict.fromkeys(names)) or sorted(known)
    entries = [entry for name in chosen if (entry := place.rules.get(name)) is not None]
    _only_a_person(place, entries, "cleared")
    session_id = "" if branch else place.session(session)
    cleared: list[str] = []

    def apply(state: BranchState) -> None:
        cleared.extend(name for name in chosen if _take_back(place, state, name, session_id))

    _change(place, target, apply)
    records = []
    if cleared:
        records = [_keep(place, "cleared", cleared, session_id=session_id, branch=target, by=_actor(place))]
    return {"cleared": cleared, "branch": target, "session_id": session_id, "records": records}


def _take_back(place: Place, state: BranchState, name: str, session_id: str) -> bool:
    """Clear one requirement for the session, for everybody without one. Whether there was anything."""
    if not session_id:
        return state.clear(name)
    done = state.clear_session(name, session_id)
    entry = place.rules.get(name)
    if entry is None:
        return done
    if entry.per_session:
        return state.refuse_override(name, session_id, place.now) or done
    return state.clear_root(name) or done


def pause(place: Place, *, session: str = "", reason: str = "") -> dict[str, Any]:
    """Lift the gates for one session until it resumes or ends; an agent's pause spares human_only ones.

    Raises:
        UsageError: No session can be told, or the marker can't be written.
    """
    from context_graph.requirements import pause as markers

    session_id = place.session(session)
    by = "agent" if place.is_agent else "user"
    try:
        markers.pause(place.repo.common_dir, session_id, reason=reason, by=by, now=place.now)
    except OSError as error:
        raise unwritable("the session can't be paused", error) from error
    kept = [entry.name for entry in place.rules.active if entry.human_only and by == "agent"]
    one = _keep(place, "paused", [], session_id=session_id, branch=place.head.branch, by=by, detail=reason)
    return {"session_id": session_id, "by": by, "still_enforced": kept, "records": [one]}


def resume(place: Place, *, session: str = "") -> dict[str, Any]:
    """End the pause. ``was_paused`` tells whether there was one.

    Raises:
        UsageError: No session can be told, or the marker can't be removed.
    """
    from context_graph.requirements import pause as markers

    session_id = place.session(session)
    try:
        was = markers.resume(place.repo.common_dir, session_id)
    except OSError as error:
        raise unwritable("the pause can't be ended", error) from error
    records = []
    if was:
        records = [_keep(place, "resumed", [], session_id=session_id, branch=place.head.branch)]
    return {"session_id": session_id, "was_paused": was, "records": records}


def log(
    place: Place, *, limit: int = 50, session: str = "", kind: str = "", requirement: str = ""
) -> list[dict[str, Any]]:
    """The journal's latest records, newest first, those alone that fit what is given."""
    session_id = place.session(session) if session else ""
    found = [
        one
        for one in reversed(journal.read(place.repo.common_dir))
        if (not session_id or one.get("session_id") == session_id)
        and (not kind or one.get("kind") == kind)
        and (not requirement or requirement in one.get("requirements", ()))
    ]
    return found[: max(0, limit)]


def _known(place: Place, name: str, *, force: bool) -> Requirement:
    entry = place.rules.get(name)
    if entry is not None:
        return entry
    if not force and (place.rules.readable or not _was_armed(place, name)):
        raise UsageError(_unknown(place, name) + "; --force records it all the same")
    from context_graph.requirements.schema import blank_entry

    return Requirement(blank_entry(name))


def _was_armed(place: Place, name: str) -> bool:
    """Whether some session armed it before the configuration was gone: Stop may still ask for it."""
    documents = [read_document(path) for path in place.files.paths()]
    return any(document is not None and name in document["requirements"] for document in documents)


def _unknown(place: Place, name: str) -> str:
    import difflib

    known = [entry.name for entry in place.rules.requirements]
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"no requirement {name!r}; did you mean {near[0]}?"
    return f"no requirement {name!r}; there {'are ' + ', '.join(known[:20]) if known else 'is none'}"


def _only_a_person(place: Place, entries: list[Requirement], done: str) -> None:
    names = [entry.name for entry in entries if entry.human_only]
    if not names:
        return
    if place.is_agent:
        raise UsageError(f"{', '.join(names)} can be {done} by a person only, not from a session's tool call")
    if not place.terminal:
        raise UsageError(f"{', '.join(names)} can be {done} by a person only: run this in a terminal")


def _actor(place: Place) -> str:
    return "agent" if place.is_agent else "user"


def _note(place: Place, branch: str, notes: list[dict[str, Any]]) -> None:
    try:
        place.files.note(branch, place.now, notes)
    except OSError as error:
        raise unwritable("the state can't be written", error, place.files.folder) from error


def _change(place: Place, branch: str, apply: Callable[[BranchState], None]) -> None:
    try:
        place.files.change(branch, place.now, apply)
    except LockTimeoutError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise unwritable("the state can't be written", error, place.files.folder) from error


def _keep(
    place: Place,
    kind: str,
    names: list[str],
    *,
    session_id: str,
    branch: str,
    by: str = "",
    detail: str = "",
) -> dict[str, Any]:
    one = journal.record(
        kind, names, at=place.now, session_id=session_id, branch=branch, by=by, detail=detail
    )
    try:  # noqa: SIM105  # contextlib would cost half of what a bare interpreter needs to start
        journal.append(place.repo.common_dir, [one])
    except OSError:
        pass  # the state holds what counts; the caller has the record as well
    metrics.noted(place.repo.common_dir, session_id, one, place.now)
    return one
