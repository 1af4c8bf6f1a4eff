"""Rows of what was put before the model, and its sums by day."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from context_graph.errors import ContextGraphError
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.view.memories import one_line
from context_graph.view.rows import Day, Ledger, Shown

_ENTRIES: Final = 4096
"""More than the ledger keeps."""


def ledger_of(context: StoreContext, *, limit: int = 500, session_id: str = "") -> Ledger:
    """What was put before the model, newest first; the days are those of all sessions.

    Cost: some 5 ms for a full ledger, and a read a row.
    """
    if not context.memory_count() and context.memory_seq() is None:
        return Ledger(rows=(), days=())
    rows: list[Shown] = []
    with context.memory.uncounted():
        for one in shown_rows(context):
            if session_id and one.session_id != session_id:
                continue
            rows.append(one)
            if len(rows) == limit:
                break
    return Ledger(rows=rows, days=[Day(**day) for day in context.memory_hooks.ledger.by_day()])


def shown_rows(context: StoreContext) -> Iterator[Shown]:
    """Each memory of each injection that is kept, newest first."""
    memex = context.memory
    texts: dict[str, str | None] = {}

    def text(memory_id: str) -> str | None:
        if memory_id not in texts:
            try:
                found = memex.get(UUID(memory_id))
                texts[memory_id] = None if found is None else one_line(found.content)
            except (ContextGraphError, ValueError):
                texts[memory_id] = None
        return texts[memory_id]

    for entry in context.memory_hooks.ledger.recent(_ENTRIES):
        for one in entry["memories"]:
            told = text(one["id"])
            yield Shown(
                memory_id=one["id"],
                at_ms=entry["at_ms"],
                cause=entry["event"],
                relevance=one["score"],
                tokens=one["tokens"],
                used=one["used"],
                text=told or "",
                is_forgotten=told is None,
                session_id=entry["session_id"],
                parts=one.get("parts", {}),
            )
