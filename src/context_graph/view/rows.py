"""Defines the rows that people look at: one model for text, terminal view, report and JSON.

The owner fills them in (`owner/commands/view.py`); renderers show them and compute nothing. All texts are
redacted already, as everything in a store is, and hold no control characters but line ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from context_graph.consolidation.plan import Group, Measured, Recurring

TEXT_CHARS: Final = 160
"""Of a memory's or event's text in a table."""
WHOLE_CHARS: Final = 2000
"""Of a memory's text in a report: more than all but a few have."""


class Line(msgspec.Struct, frozen=True):
    """One line of the health: a name and a sentence or figures."""

    name: str
    text: str
    is_problem: bool = False


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it works, in one sentence, and the lines that show it, the most important first."""

    project: str
    works: bool
    sentence: str
    lines: Sequence[Line] = ()
    figures: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The numbers behind the lines, for programs: identity, store, requirements, owner."""


class MemoryRow(msgspec.Struct, frozen=True, kw_only=True):
    """One memory in a table."""

    id: str
    text: str
    """Its beginning, on one line."""
    created_ms: int
    source: str
    """tool, capture, import, cli, library."""
    importance: float
    """In [0, 1]."""
    recalled: int
    """Times it was recalled or read by hand."""
    shown: int
    """Times it was put before the model, of the kept injections."""
    used: int
    """Of those, times the model used it."""
    standing: str = ""
    """What its evidence says today, as `verified` or `changed since: a.py`; "" where it rests on no file."""
    standing_kind: str = ""
    """Its first word, for a colour: verified, unchecked, changed, gone, superseded."""
    tags: Sequence[str] = ()
    session_id: str = ""
    is_pinned: bool = False
    is_forgotten: bool = False
    """Soft-deleted: it can be restored."""
    relevance: float | None = None
    """In [0, 1]; only in the answer to a search."""


class MemoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some memories, newest first or, of a search, the most relevant first."""

    rows: Sequence[MemoryRow]
    total: int
    """Memories that match."""
    next_cursor: str = ""
    """Where the next page begins; "" for the last."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A link between the memory that is shown and another one."""

    id: str
    relation: str
    is_outgoing: bool
    other_id: str
    other_text: str
    """Its beginning; "" if it was forgotten."""
    weight: float
    """In [0, 1]."""


class FieldChange(msgspec.Struct, frozen=True):
    """One field of a memory before and after a change, as text."""

    name: str
    before: str
    after: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a memory's history."""

    at_ms: int
    what: str
    """added, changed, forgotten, merged, restored, linked, unlinked, relinked."""
    fields: Sequence[FieldChange] = ()
    reason: str = ""
    run: str = ""
    """The consolidation it belongs to."""
    other_id: str = ""
    """Of a link: the memory at its other end."""


class MemoryDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One memory with everything that is known about it."""

    row: MemoryRow
    content: str
    rationale: str
    facts: Sequence[Line]
    """Names and values of the rest: files it rests on, metadata, quadrant, project."""
    links: Sequence[Link]
    changes: Sequence[Change]
    """Newest first, of the last 30 days."""
    as_of_ms: int | None = None
    """It is shown as it was then; None as it is now."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One memory that was put before the model."""

    memory_id: str
    at_ms: int
    cause: str
    """prompt, startup, resume, clear, compact, file, subagent."""
    relevance: float
    """In [0, 1]; 0 where a rule chose it."""
    tokens: int
    used: str
    """What showed that the model used it; "" if nothing did."""
    text: str
    """Its beginning, on one line; "" if it was forgotten."""
    is_forgotten: bool
    session_id: str = ""
    parts: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What its relevance was made of, in log-odds, the largest first; {} where a rule chose it."""
    about: str = ""
    """The beginning of the prompt, or the call, that brought it; "" where its event is not kept."""
    near: Mapping[str, float] = msgspec.field(default_factory=dict)
    """Memories that came next and were not shown, with their relevance, the best first."""


class Day(msgspec.Struct, frozen=True):
    """What was put before the model on one day (UTC)."""

    day: str
    """As 2026-11-23."""
    tokens: int
    memories: int
    used: int


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """What was put before the model: each memory and time, newest first, and sums by day, oldest first."""

    rows: Sequence[Shown]
    days: Sequence[Day]


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a table."""

    id: str
    last_ms: int
    events: int
    goal: str = ""
    """What its first prompt asked for."""
    ic: float | None = None
    """Identity continuity now, in [-1, 1]; None before anything was measured."""
    ic_level: str = ""
    previous_id: str = ""
    relation: str = ""
    """To the session before: continues, new work; "" where nothing was measured."""
    cross_session_ic: float | None = None
    """Measured likelihood that it goes on with the work of the session before, in [0, 1]."""
    damage: str = ""
    """Why its record can't be read; "" if it can."""


class SessionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some sessions, newest first."""

    rows: Sequence[SessionRow]
    total: int
    next_cursor: str = ""


class Point(msgspec.Struct, frozen=True):
    """Identity continuity after one event."""

    at_ms: int
    ic: float


class Mark(msgspec.Struct, frozen=True):
    """Something to be marked on a session's line of time."""

    at_ms: int
    kind: str
    """prompt, edit, green, red (runs of tests), failure, compaction, subagent, gate, consolidation,
    injection, used (an injection of which something was used), start, end."""
    text: str
    """What happened; of an edit the file."""


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a session."""

    at_ms: int
    kind: str
    tool: str = ""
    text: str = ""
    failed: bool = False
    agent_id: str = ""
    """The subagent that did it; "" for the session's own work."""


class SessionDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One session: its line of time, the sessions before it, and its events."""

    row: SessionRow
    facts: Sequence[Line]
    points: Sequence[Point]
    """Oldest first; at most 200, the newest."""
    marks: Sequence[Mark]
    """Oldest first."""
    chain: Sequence[SessionRow]
    """Itself, the session it continues, and so on, at most 20."""
    chain_end: str
    """Why that ends: start, missing, damaged, cycle or limit."""
    events: Sequence[EventRow]
    """Newest first; a session keeps some 500."""
    goal: str = ""
    """The prompt on which most was changed; the row has the first one."""
    damage: str = ""
    """What of it could not be read; "" if all could."""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One consolidation, or the undoing of one."""

    token: str
    at_ms: int
    mode: str
    """light, deep, rem, undo."""
    trigger: str = ""
    """Why it ran: asked for, session end, identity crisis, entropy, quiet time."""
    counts: Mapping[str, int] = msgspec.field(default_factory=dict)
    """merged, pruned, links, reweighted; of an undo restored, forgotten, changed, edges."""
    undoes: str = ""
    undone_by: str = ""


class RunChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change that a run made, or a dry run would make."""

    kind: str
    """merged, pruned, linked, unlinked, reweighted, changed, restored."""
    id: str
    """The memory, or of a link its source."""
    text: str
    reason: str = ""
    into_id: str = ""
    """Merged: the memory it became part of. Linked: the target."""
    into_text: str = ""


class RunDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One run as a difference."""

    row: RunRow
    changes: Sequence[RunChange]
    total: int
    """Changes it made in all; ``changes`` are the first of them."""
    notes: Sequence[str] = ()
    is_dry: bool = False
    """It would do this; nothing was changed."""


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the gates' log."""

    at_ms: int
    kind: str
    """denied, blocked, satisfied, carried_over, consumed, cleared, paused, resumed, error and the like."""
    requirements: Sequence[str] = ()
    session_id: str = ""
    branch: str = ""
    tool: str = ""
    by: str = ""
    """What satisfied or lifted it: a skill, a command, a person."""
    detail: str = ""


class GateState(msgspec.Struct, frozen=True, kw_only=True):
    """How one requirement stands on one branch."""

    requirement: str
    branch: str
    is_satisfied: bool
    text: str = ""
    """By what and until when, or what it waits for."""
    refused: int = 0
    """Times it refused something there, of the kept log."""


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """The gates' log, newest first, and how each requirement stands."""

    rows: Sequence[GateRow]
    states: Sequence[GateState]


class MapSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session on the map."""

    id: str
    at_ms: int
    goal: str
    memory_id: str
    """Its summary."""
    files: Mapping[str, int]
    """File -> how often it was changed there."""


class MapNote(msgspec.Struct, frozen=True, kw_only=True):
    """One rule, decision or solved failure on the map."""

    id: str
    kind: str
    """rule, decision, or lesson: a failure and what solved it."""
    at_ms: int
    text: str
    session_id: str
    """Where it was said, decided or solved; "" where somebody stored it."""
    files: Sequence[str] = ()
    """Files that it is about."""
    replaced_by: str = ""
    """The memory that holds instead of it."""


class GoalRow(msgspec.Struct, frozen=True, kw_only=True):
    """One goal that the memories show."""

    id: str
    text: str
    level: str
    confidence: float
    memories: int


class Map(msgspec.Struct, frozen=True, kw_only=True):
    """Which session changed which file, and what was decided and solved there: a graph of these."""

    sessions: Sequence[MapSession] = ()
    """Oldest first; the newest 200."""
    notes: Sequence[MapNote] = ()
    """Oldest first."""
    at_ms: int | None = None
    """When a deep or rem consolidation found clusters, patterns and drift; None if none did."""
    clusters: Sequence[Group] = ()
    goals: Sequence[GoalRow] = ()
    patterns: Sequence[Recurring] = ()
    drift: Sequence[Measured] = ()
    """Oldest first."""


class Week(msgspec.Struct, frozen=True, kw_only=True):
    """What telling came to in one week (UTC)."""

    begin: str
    """Its Monday, as 2026-11-23."""
    memories: int
    """Put before the model."""
    used: int
    """Of these, those that the model used."""
    tokens: int
    rules: int
    """Rules that a session was told, each once a session."""
    broken: int
    """Rules that were broken though they had been told."""
    solved: int
    """Failures for which what had solved them before was told and used."""


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that was told and broken again."""

    memory_id: str
    at_ms: int
    session_id: str
    """Where it was broken."""
    text: str
    how: str
    """How that is known."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What telling came to."""

    weeks: Sequence[Week]
    """Oldest first."""
    broken: Sequence[Broken]
    """Newest first."""


class Pane(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one look at the plugin's pane shows."""

    health: Health
    effect: Effect
    shown: Sequence[Shown]
    """Newest first, each memory once."""


PARTS: Final = ("health", "memories", "ledger", "sessions", "runs", "gates", "map", "effect")
"""The parts of the view in their order; the owner names those that changed (verb `view.follow`)."""


def to_json(rows: Any) -> Any:
    """Return any of these as plain values for JSON."""
    return msgspec.to_builtins(rows)
