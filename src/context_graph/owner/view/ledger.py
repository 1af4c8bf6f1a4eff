"""Makes the rows of what was put before the model, and its sums by day."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final
from uuid import UUID

from context_graph.errors import ContextGraphError
from context_graph.model import HookEvent
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.view.memories import one_line
from context_graph.view.rows import Day, Ledger, Shown

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
