"""Carries out each `req` command: functions return plain data and raise UsageError.

The front end renders the data. ``records`` in a result are journal records, for whoever keeps events.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from context_graph.claude.hooks.hook_input import HookInput
from context_graph.errors import UsageError
from context_graph.gates import human_only
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.gates.config.config import load_rules
from context_graph.gates.config.schema import blank_entry
from context_graph.gates.decide.before_tool import would_deny
from context_graph.gates.decide.decision import Decision, why_off
from context_graph.gates.decide.evaluation import EvaluationContext, evaluate
from context_graph.gates.decide.messages import denial
from context_graph.gates.decide.tool_call import described
from context_graph.gates.event import GateEvent
from context_graph.gates.human_only import HUMAN, MARK, signature
from context_graph.gates.rules import Requirement
from context_graph.gates.state import journal
from context_graph.gates.state.state import BranchState, is_current
from context_graph.gates.state.state_files import end_pause, paused, read_document, write_pause
from context_graph.git.repository import branch_names
from context_graph.model import EventKind
from context_graph.system.small_files import LockTimeoutError


def status(context: CommandContext, *, session: str = "", branch: str = "") -> dict[str, Any]:
    """Return the status of the session's requirements on the branch.

    Returns:
        ``project``, ``branch``, ``session_id`` ("" if none can be told), ``governed``, ``why``
        (why nothing is enforced, "" if it is), ``paused``, ``problems`` ([level, text] pairs), and
        ``requirements``: name to satisfied, triggered, scope, enabled, type, why, satisfied_by,
        satisfied_at, expires_at, value, stop_only, human_only, triggers, text.
    """
    session_id = context.session_or_none(session)
    name = context.branch(branch)
    evaluation = context.evaluation(name, session_id)
    quiet = context.evaluation(name, session_id, may_run=False)  # what is disabled runs no process
    shown = {
        entry.name: _shown(entry, evaluation if entry.enabled else quiet)
        for entry in context.rules.requirements
    }
    return {
        "project": context.project.work,
        "branch": name,
        "session_id": session_id,
        "governed": context.governed,
        "why": _why_off(context),
        "paused": bool(session_id) and paused(context.repo.common_dir, session_id) is not None,
        "problems": context.rules.problems,
        "requirements": shown,
    }


def _why_off(context: CommandContext) -> str:
    if not context.governed:
        return "no .claude/requirements.yaml; `context-graph-cli req init` writes one"
    return why_off(context.project, context.rules, context.env)


def _shown(entry: Requirement, evaluation: EvaluationContext) -> dict[str, Any]:
    verdict = evaluate(entry, evaluation)
    return {
        "satisfied": verdict.met,
        "triggered": evaluation.state.is_armed(
            entry.name, evaluation.session_id, per_session=entry.per_session
        ),
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


def check(
    context: CommandContext, tool: str = "Edit", arguments: dict[str, Any] | None = None, *, session: str = ""
) -> dict[str, Any]:
    """Return what the gate would decide on a call, without arming or recording anything.

    Returns:
        ``decision`` allow or deny, ``requirements`` (names unmet), ``reason``, ``branch``, ``session_id``.
    """
    session_id = context.session_or_none(session)
    answer: dict[str, Any] = {"decision": "allow", "requirements": [], "reason": "", "session_id": session_id}
    answer["branch"] = context.head.branch
    if context.env.get("CLAUDE_SKIP_REQUIREMENTS"):
        return answer
    hook = HookInput(EventKind.PRE_TOOL, tool_name=tool, tool_input=arguments or {})
    event = GateEvent(hook, context.env, session_id, context.cwd, at=context.now, cache_dir=context.cache_dir)
    for evaluation, verdicts in would_deny(Decision(event, context.cache)):
        names = [verdict.requirement.name for verdict in verdicts]
        answer.update(
            decision="deny", requirements=names, reason=denial(verdicts, evaluation), branch=evaluation.branch
        )
        break
    return answer


def satisfy(
    context: CommandContext,
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
    if not names and _means_a_requirement(context, branch):
        names, branch = [branch], context.branch()
        took = f"--branch {names[0]}: no such branch, so it is the requirement, for all sessions on {branch}"
    entries = [_known(context, name, force=force) for name in dict.fromkeys(names)]
    if not entries:
        raise UsageError("name the requirements to satisfy; `context-graph-cli req status` lists them")
    if ttl is not None and ttl <= 0:
        raise UsageError(f"--ttl {ttl:g}: give a number of seconds above 0")
    _only_a_person(context, entries, "satisfied")
    for_all = bool(branch)
    needs_session = not for_all and any(entry.per_session for entry in entries)
    session_id = context.session(session) if needs_session else context.session_or_none(session)
    target = context.branch(branch)
    expires = {entry.name: _expiry(entry, ttl, context.now) for entry in entries}

    own = [] if for_all else [entry for entry in entries if entry.per_session]
    left = _open_elsewhere(context, target, session_id, own) if session_id else {}

    def apply(state: BranchState) -> None:
        for entry in entries if state.branch == target else left[state.branch]:
            whose, until = session_id if entry in own else "", expires[entry.name]
            more = dict(metadata or {})
            if entry.human_only:
                more[MARK] = _signature(context, state.branch, entry.name, whose, until)
            by = HUMAN if entry.human_only else "approval" if entry.type == "dynamic" else "cli"
            state.satisfy(
                entry.name, whose, scope=entry.scope, now=context.now, by=by, expires_at=until, metadata=more
            )

    for name in (target, *left):
        _change(context, name, apply)
    done = [entry.name for entry in entries]
    entry = _keep(context, "satisfied", done, session_id=session_id, branch=target, by=_actor(context))
    return {
        "satisfied": done,
        "branches": [target, *left],
        "session_id": session_id,
        "expires_at": expires,
        "took": took,
        "records": [entry],
    }


def _signature(
    context: CommandContext, branch: str, name: str, session_id: str, expires_at: float | None
) -> str:
    """Return what marks the satisfaction as a person's, which no other program can write."""
    note = {"name": name, "session_id": session_id, "at": int(context.now), "expires_at": expires_at}
    try:
        return signature(context.cache_dir, context.repo.common_dir, branch, note, make_key=True)
    except OSError as error:
        raise unwritable("the key of the data root can't be written", error) from error


def accept(context: CommandContext) -> dict[str, Any]:
    """Take what the files ask now, although running sessions have seen them ask for more.

    Returns:
        ``accepted`` (names of what no longer holds as it was seen), ``project``, ``records``.

    Raises:
        UsageError: If no person in a terminal asks.
    """
    if context.is_agent or not context.terminal:
        raise UsageError("changed requirements can be accepted by a person only: run this in a terminal")
    rules = load_rules(context.project.root, context.claude_dir, context.cache)
    lifted = human_only.accept(rules, context.project.root, context.cache_dir)
    entry = _keep(context, "accepted", lifted, session_id="", branch=context.head.branch, by="user")
    return {"accepted": lifted, "project": context.project.root, "records": [entry]}


def _means_a_requirement(context: CommandContext, branch: str) -> bool:
    """Return whether a value given as a branch is only a requirement's name, as seed 004 writes it."""
    if not branch or context.rules.get(branch) is None:
        return False
    names = branch_names(context.repo)
    return names is not None and branch not in names


def _open_elsewhere(
    context: CommandContext, target: str, session_id: str, entries: list[Requirement]
) -> dict[str, list[Requirement]]:
    """Return other branches where the session armed one of ``entries`` and left it unmet, or was held."""
    wanted: dict[str, list[Requirement]] = {}
    for state in context.files.others(session_id, target):
        open_ones = [entry for entry in entries if _is_open(entry, state, session_id, context.now)]
        if open_ones:
            wanted[state.branch] = open_ones
    for entry in entries:
        branch = _held_on(context, entry.name, session_id)
        if branch not in ("", target) and entry not in wanted.setdefault(branch, []):
            wanted[branch].append(entry)
    return wanted


def _held_on(context: CommandContext, name: str, session_id: str) -> str:
    """Return the branch on which the session was held for the requirement; empty if satisfied since."""
    for entry in reversed(journal.read(context.repo.common_dir)):
        if entry.get("session_id") == session_id and name in entry.get("requirements", ()):
            return str(entry.get("branch", "")) if entry.get("kind") == "denied" else ""
    return ""


def _is_open(entry: Requirement, state: BranchState, session_id: str, now: float) -> bool:
    record = state.record(entry.name, session_id)
    return record.get("triggered") is True and not is_current(record, now)


def _expiry(entry: Requirement, ttl: float | None, now: float) -> float | None:
    if ttl is None and entry.type == "dynamic":
        ttl = entry.approval_ttl
    return None if ttl is None else int(now) + ttl


def clear(
    context: CommandContext, names: list[str], *, every: bool = False, session: str = "", branch: str = ""
) -> dict[str, Any]:
    """Take back satisfactions: the session's own or, with ``branch``, everybody's on that branch.

    A satisfaction for the whole branch then no longer counts for this session, but still does for others.

    Returns:
        ``cleared`` (names that had something), ``branch``, ``session_id``, ``records``.

    Raises:
        UsageError: No name, an unknown one, no session, an agent where a person must.
    """
    target = context.branch(branch)
    if not names and not every:
        raise UsageError("name a requirement, or give --all")
    known = {entry.name for entry in context.rules.requirements} | set(
        context.files.load(target, context.now).names()
    )
    for name in names:
        if name not in known:
            raise UsageError(_unknown(context, name))
    chosen = list(dict.fromkeys(names)) or sorted(known)
    entries = [entry for name in chosen if (entry := context.rules.get(name)) is not None]
    _only_a_person(context, entries, "cleared")
    session_id = "" if branch else context.session(session)
    cleared: list[str] = []

    def apply(state: BranchState) -> None:
        cleared.extend(name for name in chosen if _take_back(context, state, name, session_id))

    _change(context, target, apply)
    records = []
    if cleared:
        records = [
            _keep(context, "cleared", cleared, session_id=session_id, branch=target, by=_actor(context))
        ]
    return {"cleared": cleared, "branch": target, "session_id": session_id, "records": records}


def _take_back(context: CommandContext, state: BranchState, name: str, session_id: str) -> bool:
    """Clear one requirement for the session, or for all if there is none; whether anything was cleared."""
    if not session_id:
        return state.clear(name)
    done = state.clear_session(name, session_id)
    entry = context.rules.get(name)
    if entry is None:
        return done
    if entry.per_session:
        return state.refuse_override(name, session_id, context.now) or done
    return state.clear_root(name) or done


def pause(context: CommandContext, *, session: str = "", reason: str = "") -> dict[str, Any]:
    """Lift the gates for one session until it resumes or ends; an agent's pause spares human_only ones.

    Raises:
        UsageError: No session can be told, or the marker can't be written.
    """
    session_id = context.session(session)
    by = "agent" if context.is_agent else "user"
    try:
        write_pause(context.repo.common_dir, session_id, reason=reason, by=by, now=context.now)
    except OSError as error:
        raise unwritable("the session can't be paused", error) from error
    kept = [entry.name for entry in context.rules.active if entry.human_only and by == "agent"]
    entry = _keep(
        context, "paused", [], session_id=session_id, branch=context.head.branch, by=by, detail=reason
    )
    return {"session_id": session_id, "by": by, "still_enforced": kept, "records": [entry]}


def resume(context: CommandContext, *, session: str = "") -> dict[str, Any]:
    """End the pause. ``was_paused`` tells whether there was one.

    Raises:
        UsageError: No session can be told, or the marker can't be removed.
    """
    session_id = context.session(session)
    try:
        was = end_pause(context.repo.common_dir, session_id)
    except OSError as error:
        raise unwritable("the pause can't be ended", error) from error
    records = []
    if was:
        records = [_keep(context, "resumed", [], session_id=session_id, branch=context.head.branch)]
    return {"session_id": session_id, "was_paused": was, "records": records}


def log(
    context: CommandContext, *, limit: int = 50, session: str = "", kind: str = "", requirement: str = ""
) -> list[dict[str, Any]]:
    """Return the journal's latest records, newest first, filtered by what is given."""
    session_id = context.session(session) if session else ""
    matches = [
        entry
        for entry in reversed(journal.read(context.repo.common_dir))
        if (not session_id or entry.get("session_id") == session_id)
        and (not kind or entry.get("kind") == kind)
        and (not requirement or requirement in entry.get("requirements", ()))
    ]
    return matches[: max(0, limit)]


def _known(context: CommandContext, name: str, *, force: bool) -> Requirement:
    entry = context.rules.get(name)
    if entry is not None:
        return entry
    if not force and (context.rules.readable or not _was_armed(context, name)):
        problem = _unknown(context, name)
        raise UsageError(f"{problem}{' ' * problem.endswith('?') or '; '}--force records it all the same")
    return blank_entry(name)


def _was_armed(context: CommandContext, name: str) -> bool:
    """Return whether some session armed it before its configuration went: Stop may still ask for it."""
    documents = [read_document(path) for path in context.files.paths()]
    return any(document is not None and name in document["requirements"] for document in documents)


def _unknown(context: CommandContext, name: str) -> str:
    import difflib

    known = [entry.name for entry in context.rules.requirements]
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"no requirement {name!r}; did you mean {near[0]}?"
    return f"no requirement {name!r}; there {'are ' + ', '.join(known[:20]) if known else 'is none'}"


def _only_a_person(context: CommandContext, entries: list[Requirement], done: str) -> None:
    names = [entry.name for entry in entries if entry.human_only]
    if not names:
        return
    if context.is_agent:
        raise UsageError(f"{', '.join(names)} can be {done} by a person only, not from a session's tool call")
    if not context.terminal:
        raise UsageError(f"{', '.join(names)} can be {done} by a person only: run this in a terminal")


def _actor(context: CommandContext) -> str:
    return "agent" if context.is_agent else "user"


def _change(context: CommandContext, branch: str, apply: Callable[[BranchState], None]) -> None:
    try:
        context.files.change(branch, context.now, apply)
    except LockTimeoutError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise unwritable("the state can't be written", error, context.files.folder) from error


def _keep(
    context: CommandContext,
    kind: str,
    names: list[str],
    *,
    session_id: str,
    branch: str,
    by: str = "",
    detail: str = "",
) -> dict[str, Any]:
    entry = journal.record(
        kind, names, at=context.now, session_id=session_id, branch=branch, by=by, detail=detail
    )
    with suppress(OSError):  # the state holds what counts; the caller has the record as well
        journal.append(context.repo.common_dir, [entry])
    journal.SessionNumbers(context.repo.common_dir, session_id, context.now, context.cache).noted(entry)
    return entry
