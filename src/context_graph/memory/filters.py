"""Filters what a recall may return (REQ-CORE-015), as a mask of rows."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from context_graph.kernels import ranking
from context_graph.memory.index.rows import QUADRANTS, kind_tag
from context_graph.model.memory import JohariQuadrant, MemoryNode, check_unit, plain_tag
from context_graph.model.note import NoteKind, kind_of_memory
from context_graph.store import layout

if TYPE_CHECKING:
    from context_graph.memory.index.rows import Rows

_LAST_MS: Final = (1 << 63) - 1
_NAMES: Final = ("agent_id", "session_id", "project", "source")
_COLUMNS: Final = {"agent_id": "agent", "session_id": "session", "project": "project", "source": "source"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFilters:
    """Conditions that a memory must meet, all of them. Cost: one pass over a column each."""

    min_importance: float | None = None
    """[0, 1]; a memory of exactly this importance passes."""
    johari_quadrants: tuple[JohariQuadrant, ...] = ()
    """Any of them."""
    created_after_ms: int | None = None
    """Unix ms, exclusive."""
    created_before_ms: int | None = None
    """Unix ms, exclusive."""
    agent_id: str | None = None
    session_id: str | None = None
    project: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    """All of them."""
    kind: NoteKind | None = None
    """Notes of this kind."""

    def __post_init__(self) -> None:
        if self.min_importance is not None:
            check_unit("filters.min_importance", self.min_importance)
        object.__setattr__(self, "tags", tuple(map(plain_tag, self.tags)))

    def key(self) -> str:
        """Return the same text for equal filters, for cursors."""
        return repr(self)

    def prefix(self) -> bytes:
        """Return the beginning of the secondary keys to scan: of the narrowest filter that has its own."""
        if self.session_id is not None:
            return layout.index_prefix(layout.SESSION, self.session_id)
        if self.tags:
            return layout.index_prefix(layout.TAG, self.tags[0])
        if self.agent_id is not None:
            return layout.index_prefix(layout.AGENT, self.agent_id)
        if self.project is not None:
            return layout.index_prefix(layout.PROJECT, self.project)
        return layout.index_prefix(layout.BY_TIME)

    def passes(self, node: MemoryNode) -> bool:
        """Return whether a memory meets all conditions, as its row does by `mask`."""
        return (
            all(getattr(self, name) in (None, getattr(node, name)) for name in _NAMES)
            and (self.min_importance is None or node.importance >= self.min_importance)
            and (not self.johari_quadrants or node.johari_quadrant in self.johari_quadrants)
            and (self.created_after_ms is None or node.created_at_ms > self.created_after_ms)
            and (self.created_before_ms is None or node.created_at_ms < self.created_before_ms)
            and set(self.tags) <= set(node.tags)
            and (self.kind is None or self.kind is kind_of_memory(node.metadata))
        )

    def mask(self, rows: Rows, live: bytearray) -> bytearray:
        """Return one byte a row, nonzero where the row is live and passes. Cost: one pass a filter."""
        mask = bytearray(live)
        if self.min_importance is not None:
            ranking.keep_numbers(mask, rows.importance, self.min_importance, math.inf)
        if self.created_after_ms is not None or self.created_before_ms is not None:
            low = -_LAST_MS if self.created_after_ms is None else self.created_after_ms + 1
            high = _LAST_MS if self.created_before_ms is None else self.created_before_ms - 1
            ranking.keep_times(mask, rows.created, low, high)
        if self.johari_quadrants:
            allowed = bytes(quadrant in self.johari_quadrants for quadrant in QUADRANTS)
            ranking.keep_classes(mask, rows.quadrant, allowed)
        for name in _NAMES:
            text = getattr(self, name)
            if text is not None:
                column = _COLUMNS[name]
                ordinal = rows.names[column].find(text)
                allowed = bytes(ordinal) + b"\1" if ordinal else b"\0"
                ranking.keep_classes(mask, getattr(rows, column), allowed)
        for tag in self.tags:
            ranking.keep_rows(mask, rows.tags.get(tag, array("I")))
        if self.kind is not None:
            ranking.keep_rows(mask, rows.tags.get(kind_tag(self.kind), array("I")))
        return mask
