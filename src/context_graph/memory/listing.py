"""Memories in order of time, filtered, page by page. Everything here runs inside a turn of the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.memory.core import Core
from context_graph.memory.filters import RecallFilters
from context_graph.model.memory import MemoryNode, check_range
from context_graph.store import graph_layout as layout
from context_graph.store.graph import Place

__all__ = ["MemoryPage", "page"]

MAX_LIMIT: Final = 1000
SCAN_AT_MOST: Final = 10_000
"""Memories one page looks at; a page may so be short, or empty, and still have a next one."""
_STEP: Final = 256


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of memories, newest first."""

    nodes: list[MemoryNode]
    next_cursor: str | None
    """For the next page; None at the end."""


def page(core: Core, cursor: str | None, limit: int, filters: RecallFilters) -> MemoryPage:
    """The memories that pass ``filters``, newest first, from where ``cursor`` says."""
    check_range("limit", limit, 1, MAX_LIMIT)
    prefix, start = _prefix(filters), _read_cursor(cursor)
    found: list[MemoryNode] = []
    seen = 0
    while seen < SCAN_AT_MOST:
        places = core.store.page(prefix, _STEP, start=start)
        for place in places:
            start = place
            node = core.readable(UUID(bytes=place.id))
            if node is not None and _passes(node, filters):
                found.append(node)
                if len(found) == limit:
                    return MemoryPage(found, _cursor(start))
        if len(places) < _STEP:
            return MemoryPage(found, None)
        seen += len(places)
    return MemoryPage(found, None if start is None else _cursor(start))


def _prefix(filters: RecallFilters) -> bytes:
    """The keys to go through: those of the narrowest filter that has keys of its own."""
    if filters.session_id is not None:
        return layout.index_prefix(layout.SESSION, filters.session_id)
    if filters.tags:
        return layout.index_prefix(layout.TAG, filters.tags[0])
    if filters.agent_id is not None:
        return layout.index_prefix(layout.AGENT, filters.agent_id)
    if filters.project is not None:
        return layout.index_prefix(layout.PROJECT, filters.project)
    return layout.index_prefix(layout.BY_TIME)


def _passes(node: MemoryNode, filters: RecallFilters) -> bool:
    named = ("agent_id", "session_id", "project", "source")
    return (
        all(getattr(filters, name) in (None, getattr(node, name)) for name in named)
        and (filters.min_importance is None or node.importance >= filters.min_importance)
        and (not filters.johari_quadrants or node.johari_quadrant in filters.johari_quadrants)
        and (filters.created_after_ms is None or node.created_at_ms > filters.created_after_ms)
        and (filters.created_before_ms is None or node.created_at_ms < filters.created_before_ms)
        and set(filters.tags) <= set(node.tags)
    )


def _cursor(place: Place) -> str:
    return f"{place.created_at_ms:x}-{place.seq:x}"


def _read_cursor(cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    try:
        created, seq = (int(part, 16) for part in cursor.split("-"))
        if 0 <= created < 1 << 63 and 0 <= seq < 1 << 63:
            return Place(created, seq, b"")
    except (ValueError, AttributeError):
        pass
    raise InvalidParamsError.of("cursor", f"is {cursor!r:.80}, which is none that a page gave")
