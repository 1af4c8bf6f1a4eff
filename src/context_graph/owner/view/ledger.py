"""Makes the rows of what was put before the model, its sums by day, and what it came to by week."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

from context_graph.errors import ContextGraphError
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.model import HookEvent
from context_graph.model.memory import MemoryNode
from context_graph.model.note import NoteKind, kind_of_memory
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.view.memories import one_line
from context_graph.text.meaning import Meaning, read_meaning
from context_graph.text.paraphrase import same
from context_graph.view.rows import Broken, Day, Effect, Ledger, Shown, Week

_ENTRIES: Final = 4096
"""More than the ledger keeps."""
_SESSIONS: Final = 4
"""Newest sessions whose events are read for what brought a memory: some 10 ms each."""
_ASKED: Final = frozenset({"prompt", "file", "command", "failure", "held", "work"})
"""Causes that an event of the session's own brought; at a start nothing was asked yet."""
_LATER_MS: Final = 60_000
"""A call that was shown something before it ran is recorded with its result."""


def ledger_of(context: StoreContext, *, limit: int = 500, session_id: str = "") -> Ledger:
    """Return what was put before the model, newest first; the days are those of all sessions.

    Cost: some 5 ms for a full ledger, and a read a row.
    """
    if not context.uses_memory():
        return Ledger(rows=(), days=())
    rows: list[Shown] = []
    with context.memory.uncounted():
        for row in shown_rows(context):
            if session_id and row.session_id != session_id:
                continue
            rows.append(row)
            if len(rows) == limit:
                break
    return Ledger(rows=rows, days=[Day(**day) for day in context.memory_hooks.ledger.by_day()])


def shown_rows(context: StoreContext) -> Iterator[Shown]:
    """Yield each memory of each injection that is kept, newest first."""
    memex = context.memory
    texts: dict[str, str | None] = {}
    occasions = _Occasions(context)

    def text(memory_id: str) -> str | None:
        if memory_id not in texts:
            try:
                node = memex.get(UUID(memory_id))
                texts[memory_id] = None if node is None else one_line(node.content)
            except (ContextGraphError, ValueError):
                texts[memory_id] = None
        return texts[memory_id]

    for entry in context.memory_hooks.ledger.recent(_ENTRIES):
        for memory in entry["memories"]:
            content = text(memory["id"])
            yield Shown(
                memory_id=memory["id"],
                at_ms=entry["at_ms"],
                cause=entry["event"],
                relevance=memory["score"],
                tokens=memory["tokens"],
                used=memory["used"],
                text=content or "",
                is_forgotten=content is None,
                session_id=entry["session_id"],
                parts=memory.get("parts", {}),
                about=occasions.about(entry["session_id"], entry["at_ms"])
                if entry["event"] in _ASKED
                else "",
                near=dict(entry.get("near", ())),
            )


class _Occasions:
    """What the newest sessions were doing when something was shown."""

    def __init__(self, context: StoreContext) -> None:
        self._context = context
        self._events: dict[str, list[tuple[int, str]]] = {}

    def about(self, session_id: str, at_ms: int) -> str:
        """Return the prompt or call of that time, its beginning on one line; "" where it is not kept."""
        name = session_id.split("/")[0]  # a subagent's context is named after its session
        if name not in self._events:
            if len(self._events) == _SESSIONS:
                return ""
            self._events[name] = self._read(name)
        events = self._events[name]
        at = bisect_left(events, (at_ms, ""))
        return events[at][1] if at < len(events) and events[at][0] <= at_ms + _LATER_MS else ""

    def _read(self, session_id: str) -> list[tuple[int, str]]:
        try:
            events = [event for _, event in self._context.store.event_log.numbered_after(session_id, 0)]
        except ContextGraphError:
            return []
        return sorted(
            (event.at_ms, _words_of(event)) for event in events if event.is_prompt or event.tool_name
        )


def _words_of(event: HookEvent) -> str:
    parts = event.parts
    called = f"{event.tool_name}: {parts.file_path or parts.command or parts.description}"
    return one_line(event.input_text if event.is_prompt else called)


_LEDGER_ENTRIES: Final = 4096
"""More than the ledger keeps."""
_RULES: Final = 300
"""The newest, which are compared with each other."""
_STONES: Final = 2000
"""Forgotten memories that are looked through for rules that said the same."""
_BROKEN: Final = 50
_HELD, _FAILURE = "held", "failure"
"""Causes of the ledger: a call was refused for a rule; a failure that had been solved before came again."""
_NAMES: Final = ("memories", "used", "tokens", "rules", "broken", "solved")
_Entry = Mapping[str, Any]


class _Told(NamedTuple):
    """A rule that a session was told for the first time."""

    at_ms: int
    session_id: str
    rule_id: str


def effect_of(context: StoreContext) -> Effect:
    """Return what telling came to, by the kept entries of the ledger.

    A rule that a session was told is kept there unless it was broken again: a call was refused that went
    against it, or the user had to say it again later, in words that mean the same.

    Cost: some 5 ms for a full ledger, a read for each memory told, and some 10 us for each two rules.
    """
    if not context.uses_memory():
        return Effect(weeks=(), broken=())
    entries = context.memory_hooks.ledger.recent(_LEDGER_ENTRIES)[::-1]
    memex = context.memory
    with memex.uncounted():
        rules = _rules(memex, entries)
        tellings = list(_rules_told(entries, rules))
        broken = sorted((*_held(entries, rules), *_said_again(tellings, rules)), key=lambda row: row.at_ms)
    sums: dict[str, dict[str, int]] = {}

    def add(at_ms: int, name: str, count: int = 1) -> None:
        week = sums.setdefault(_monday(at_ms), dict.fromkeys(_NAMES, 0))
        week[name] += count

    for entry in entries:
        used = sum(bool(memory["used"]) for memory in entry["memories"])
        add(entry["at_ms"], "memories", len(entry["memories"]))
        add(entry["at_ms"], "used", used)
        add(entry["at_ms"], "tokens", entry["tokens"])
        add(entry["at_ms"], "solved", used if entry["event"] == _FAILURE else 0)
    for row in tellings:
        add(row.at_ms, "rules")
    for again in broken:
        add(again.at_ms, "broken")
    weeks = [Week(begin=begin, **sums[begin]) for begin in sorted(sums)]
    return Effect(weeks=weeks, broken=broken[-_BROKEN:][::-1])


def _monday(at_ms: int) -> str:
    """Return the first day (UTC) of the week of a time."""
    day = datetime.fromtimestamp(at_ms / 1000, UTC)
    return (day - timedelta(days=day.weekday())).strftime("%Y-%m-%d")


def _rules(memex: Memex, entries: Iterable[_Entry]) -> dict[str, MemoryNode]:
    """Return the newest rules, and of the others those that were told or became part of another one."""
    newest = memex.list(limit=_RULES, filters=RecallFilters(kind=NoteKind.RULE)).nodes
    rules = {node.id: node for node in newest}
    shown = {UUID(memory["id"]) for entry in entries for memory in entry["memories"]}
    stones = islice(memex.tombstones(), _STONES)
    merged = {stone.id for stone in stones if stone.soft and stone.merged_into in rules}
    for memory_id in (shown | merged) - rules.keys():
        stored = memex.stored(memory_id)
        if stored is not None and kind_of_memory(stored.node.metadata) is NoteKind.RULE:
            rules[memory_id] = stored.node
    return {str(name): node for name, node in rules.items()}


def _rules_told(entries: Iterable[_Entry], rules: Mapping[str, MemoryNode]) -> Iterator[_Told]:
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        for memory in entry["memories"]:
            key = (entry["session_id"].split("/")[0], memory["id"])
            if memory["id"] in rules and key not in seen and entry["event"] != _HELD:
                seen.add(key)
                yield _Told(entry["at_ms"], *key)


def _held(entries: Iterable[_Entry], rules: Mapping[str, MemoryNode]) -> Iterator[Broken]:
    for entry in entries:
        for memory in entry["memories"] if entry["event"] == _HELD else ():
            node = rules.get(memory["id"])
            yield Broken(
                memory_id=memory["id"],
                at_ms=entry["at_ms"],
                session_id=entry["session_id"],
                text="" if node is None else one_line(node.content),
                how="a call was refused that goes against it",
            )


def _said_again(tellings: Iterable[_Told], rules: Mapping[str, MemoryNode]) -> Iterator[Broken]:
    """Yield the rules that the user stated after a rule was told that means the same."""
    first_told: dict[str, int] = {}
    for row in tellings:
        first_told[row.rule_id] = min(row.at_ms, first_told.get(row.rule_id, row.at_ms))
    meanings: dict[str, Meaning] = {name: read_meaning(node.content) for name, node in rules.items()}
    for name, node in rules.items():
        before = [
            other
            for other, at_ms in first_told.items()
            if other != name and at_ms < node.created_at_ms and same(meanings[other], meanings[name])
        ]
        if before:
            yield Broken(
                memory_id=before[0],
                at_ms=node.created_at_ms,
                session_id=node.session_id or "",
                text=one_line(node.content),
                how="it had been told, and was said again",
            )
