"""Makes the rows of sessions, of the timeline of one, and of the gates: their log, what is met where."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from context_graph.claude.hooks.origin import own_words
from context_graph.errors import ContextGraphError, CorruptedIdentityError
from context_graph.gates.commands.command_context import CommandContext
from context_graph.gates.commands.upkeep import branches
from context_graph.gates.decide.evaluation import evaluate
from context_graph.identity.across import relation
from context_graph.identity.continuity import classify_ic
from context_graph.identity.live import MEASURED, LiveSession
from context_graph.memory.context.summary import SessionWork
from context_graph.model import EDITING, SHELLS, EventKind, HookEvent
from context_graph.notes.command_lines import commands_in, failed_by, line_of
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.view.ledger import shown_rows
from context_graph.owner.view.memories import one_line, run_rows
from context_graph.store.sessions import records
from context_graph.text.flattening import relative_path, root_of
from context_graph.text.units import counted, span
from context_graph.view.health import COURSES
from context_graph.view.rows import (
    EventRow,
    GateRow,
    Gates,
    GateState,
    Line,
    Mark,
    Point,
    SessionDetail,
    SessionPage,
    SessionRow,
    Shown,
)

_CHAIN: Final = 20
_MARKED: Final = frozenset({"denied", "blocked", "satisfied", "cleared", "paused"})
"""Entries of the gates' log that a line of time shows."""
_GATE_ROWS: Final = 1000


def session_page(context: StoreContext, *, cursor: str = "", limit: int = 200) -> SessionPage:
    """Return one page of sessions, newest first. Cost: some 0.1 ms a session, for its first kept prompt."""
    rows, following = context.store.list_sessions(limit, cursor or None)
    return SessionPage(
        rows=[session_row(context, row) for row in rows],
        total=context.store.count(),
        next_cursor=following or "",
    )


def work_of_session(context: StoreContext, session_id: str) -> dict[str, Any]:
    """Return what is known of a session's work: ``goal``, and once it is summarised ``branch``, ``began_ms``
    and ``ended_ms`` (Unix), ``outcome`` in a few words, and ``files``, the last changed first.

    Cost: some 0.5 ms.
    """
    work = context.memory_hooks.works.work(session_id)
    if work is None or not work.prompts:
        return {"goal": goal} if (goal := _first_prompt(context, session_id)) else {}
    known = {
        "goal": one_line(work.prompts[0]),
        "branch": work.branch,
        "outcome": _outcome(work),
        "files": one_line(", ".join(path for path in reversed(work.changed) if not work.is_scratch(path))),
        "began_ms": work.began_ms,
        "ended_ms": work.ended_ms,
    }
    return {name: value for name, value in known.items() if value}


def _outcome(work: SessionWork) -> str:
    failing, left = len(work.left_failing()), len(work.open_todos())
    parts = (
        counted(len(work.changed), "file") if work.changed else "",
        "tests fail" if failing else "tests pass" if work.passed else "",
        f"{left} to do" if left else "",
    )
    return ", ".join(filter(None, parts)) or "nothing changed"


def _first_prompt(context: StoreContext, session_id: str) -> str:
    """Raises ContextGraphError where an event can't be read."""
    prompts = (event for event in context.store.event_log.after(session_id, 0) if event.is_prompt)
    return next((one_line(event.input_text) for event in islice(prompts, 1)), "")


def session_row(context: StoreContext, row: records.SessionRow) -> SessionRow:
    log, goal, events, damage = context.store.event_log, "", 0, row.damaged
    try:
        events = log.last_number(row.session_id)
        goal = _first_prompt(context, row.session_id)
    except ContextGraphError as error:
        damage = damage or str(error)
    across = row.cross_session_ic if row.previous_session_id else None
    return SessionRow(
        id=row.session_id,
        last_ms=row.timestamp_ms,
        events=events,
        goal=goal,
        ic=row.last_ic,
        ic_level="" if row.last_ic is None else str(classify_ic(row.last_ic)),
        previous_id=row.previous_session_id or "",
        relation="" if across is None else relation(across),
        cross_session_ic=across,
        damage=damage,
    )


def session_detail(context: StoreContext, live: LiveSession) -> SessionDetail:
    """Return one session: its identity continuity over time, what happened, and the sessions before it."""
    session_id = live.snapshot.session_id
    events, damage = _events(context, session_id)
    chain = context.store.chain(session_id, limit=_CHAIN)
    rows = [session_row(context, session) for session in chain.sessions]
    points = list(_points(events, live.ic_history))
    begin = events[0].at_ms if events else 0
    marks = sorted(
        (*_event_marks(events), *_other_marks(context, session_id, begin, live.snapshot.timestamp_ms)),
        key=lambda mark: mark.at_ms,
    )
    return SessionDetail(
        row=rows[0],
        facts=[*_work_facts(work_of_session(context, session_id)), *_facts(live)],
        points=points,
        marks=marks,
        chain=rows,
        chain_end=chain.end,
        events=[_event_row(event) for event in reversed(events)],
        goal=_goal(events),
        damage=damage,
    )


def _events(context: StoreContext, session_id: str) -> tuple[list[HookEvent], str]:
    """Return the events that are kept, oldest first, up to the first that can't be read, and why it can't."""
    events: list[HookEvent] = []
    try:
        events.extend(context.store.event_log.after(session_id, 0))  # keeps what came before an error
    except CorruptedIdentityError as error:
        return events, str(error)
    return events, ""


def _points(events: Sequence[HookEvent], history: Iterable[float]) -> Iterator[Point]:
    """Yield each value with its event's time: the last ones are of the last results that say anything."""
    values = list(history)
    measured = [
        event
        for event in events
        if event.kind in MEASURED and not event.is_delegated and (event.input_text or event.output_text)
    ]
    count = min(len(values), len(measured))
    for event, value in zip(measured[len(measured) - count :], values[len(values) - count :], strict=True):
        yield Point(event.at_ms, round(value, 4))


def _goal(events: Iterable[HookEvent]) -> str:
    """Return the prompt on which most files were changed, the first of equals."""
    changes: list[tuple[str, int]] = []
    for event in events:
        if event.is_prompt:
            changes.append((one_line(own_words(event.input_text)), 0))
        elif changes and _is_change(event):
            changes[-1] = (changes[-1][0], changes[-1][1] + 1)
    return max(changes, key=lambda change: change[1], default=("", 0))[0]


def _is_change(event: HookEvent) -> bool:
    return event.kind is EventKind.POST_TOOL and event.tool_name in EDITING and event.success is not False


def _event_marks(events: Iterable[HookEvent]) -> Iterator[Mark]:
    for event in events:
        if event.kind is EventKind.SUBAGENT_START:
            yield Mark(event.at_ms, "subagent", one_line(event.parts.agent or "a subagent began"))
        elif _is_change(event) and event.parts.file_path:
            yield Mark(event.at_ms, "edit", relative_path(event.parts.file_path, root_of(event.cwd)))
        elif not event.agent_id:
            yield from _own_mark(event)


def _own_mark(event: HookEvent) -> Iterator[Mark]:
    failed = event.kind is EventKind.POST_TOOL_FAILURE or event.success is False
    if event.is_prompt:
        yield Mark(event.at_ms, "prompt", one_line(event.input_text))
    elif event.tool_name in SHELLS and (
        runs := [each for each in commands_in(line_of(event.parts.command)) if each.kind == "test"]
    ):
        is_red = failed or (runs[-1].hidden and failed_by(event.output))
        yield Mark(event.at_ms, "red" if is_red else "green", one_line(event.parts.command))
    elif failed:
        what = f"{event.tool_name}: {event.output_text or event.input_text}"
        yield Mark(event.at_ms, "failure", one_line(what))
    elif event.kind is EventKind.PRE_COMPACT:
        yield Mark(event.at_ms, "compaction", "the context was compacted")
    elif event.kind is EventKind.SESSION_START:
        yield Mark(event.at_ms, "start", event.source)
    elif event.kind is EventKind.SESSION_END:
        yield Mark(event.at_ms, "end", event.reason)


def _other_marks(context: StoreContext, session_id: str, begin: int, end: int) -> Iterator[Mark]:
    for gate in gate_rows(context, limit=_GATE_ROWS, session_id=session_id):
        if gate.kind in _MARKED:
            yield Mark(gate.at_ms, "gate", f"{gate.kind}: {', '.join(gate.requirements)}")
    for run in run_rows(context):
        if begin <= run.at_ms <= end:
            yield Mark(run.at_ms, "consolidation", run.mode)
    if not context.memory_count():
        return
    shown: dict[int, list[Shown]] = {}
    for row in shown_rows(context):
        if row.session_id == session_id:
            shown.setdefault(row.at_ms, []).append(row)
    for at_ms, rows in shown.items():
        used = sum(bool(row.used) for row in rows)
        text = f"{counted(len(rows), 'memory', 'memories')} told, {used} used: {rows[0].text}"
        yield Mark(at_ms, "used" if used else "injection", one_line(text))


def _work_facts(work: Mapping[str, Any]) -> Iterator[Line]:
    """Yield what a session's work came to, as far as it is summarised."""
    if work.get("began_ms") and work.get("ended_ms"):
        yield Line("lasted", span((work["ended_ms"] - work["began_ms"]) / 1000))
    for name in ("branch", "outcome", "files"):
        if name in work:
            yield Line(name, work[name])


def _facts(live: LiveSession) -> Iterator[Line]:
    kinds = live.events_by_kind
    prompts = kinds.get(EventKind.PROMPT_SUBMIT.value, 0)
    failed = kinds.get(EventKind.POST_TOOL_FAILURE.value, 0)
    calls = kinds.get(EventKind.POST_TOOL.value, 0) + failed
    counts = f"{counted(prompts, 'prompt')}, {counted(calls, 'tool call')}, {failed} failed"
    yield Line("events", f"{live.events_applied}: {counts}")
    if live.events_duplicate:
        yield Line("sent twice", str(live.events_duplicate))
    if live.has_evidence:
        course = COURSES[str(classify_ic(live.snapshot.last_ic))]
        lowest = min(live.ic_history, default=0.0)
        yield Line("identity", f"{course} (IC {live.snapshot.last_ic:.2f}, lowest {lowest:.2f})")
    else:
        yield Line("identity", "nothing measured yet")


def _event_row(event: HookEvent) -> EventRow:
    kind: Any = event.kind.value
    text = event.output_text if event.kind is EventKind.STOP else event.input_text or event.output_text
    return EventRow(
        at_ms=event.at_ms,
        kind=kind,
        tool=event.tool_name,
        text=one_line(text or event.source or event.reason),
        failed=event.kind is EventKind.POST_TOOL_FAILURE or event.success is False,
        agent_id=event.agent_id,
    )


# The gates


_REFUSALS: Final = frozenset({"denied", "blocked"})
_ENV: Final = ("HOME", "CLAUDE_CONFIG_DIR")
"""They say where the configurations above the project's are."""
_BRANCHES: Final = 50
_ALL: Final = 10_000
"""Entries that the log keeps."""


def gates_of(context: StoreContext, *, limit: int = 500) -> Gates:
    """Return the log, newest first, and the requirements of the project that the store belongs to."""
    everything = gate_rows(context, limit=_ALL)
    refused = Counter(
        (name, entry.branch) for entry in everything if entry.kind in _REFUSALS for name in entry.requirements
    )
    try:
        states = list(_states(context, refused))
    except (ContextGraphError, OSError):  # no repository, or none that can be read: the log is still there
        states = []
    return Gates(rows=everything[:limit], states=states)


def gate_rows(context: StoreContext, *, limit: int, session_id: str = "") -> list[GateRow]:
    """Return the newest entries of the gates' log first."""
    entries = context.store.requirement_log.entries(limit=limit, session_id=session_id)
    return msgspec.convert(entries, list[GateRow])


def _states(context: StoreContext, refused: Mapping[tuple[str, str], int]) -> Iterator[GateState]:
    if context.project is None or not os.path.isdir(context.project):
        return
    env = {name: os.environ[name] for name in _ENV if name in os.environ}
    command = CommandContext(str(context.project), env)
    latest = context.sessions.latest()
    session_id = "" if latest is None else latest.snapshot.session_id
    known = [row["branch"] for row in branches(command) if row["exists"] is not False]
    current = [command.head.branch] if command.head.branch else []
    for branch in list(dict.fromkeys([*current, *known]))[:_BRANCHES]:
        evaluation = command.evaluation(branch, session_id, may_run=False)
        for requirement in command.rules.requirements:
            if not requirement.enabled:
                continue
            verdict = evaluate(requirement, evaluation)
            by = str(verdict.record.get("satisfied_by") or "")
            yield GateState(
                requirement=requirement.name,
                branch=branch,
                is_satisfied=verdict.met,
                text=", ".join(filter(None, (verdict.why, by and f"by {by}"))),
                refused=refused.get((requirement.name, branch), 0),
            )
