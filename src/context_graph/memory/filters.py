"""Filters what a recall may return (REQ-CORE-015): values from JSON, and a mask of rows."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from context_graph.errors import InvalidParamsError
from context_graph.kernels import ranking
from context_graph.memory.index.rows import QUADRANTS, kind_tag
from context_graph.model.memory import JohariQuadrant, MemoryNode, check_unit, parse_time, plain_tag
from context_graph.model.note import NoteKind, kind_of_memory
from context_graph.store import layout

if TYPE_CHECKING:
    from context_graph.memory.index.rows import Rows

_LAST_MS: Final = (1 << 63) - 1
_NAMES: Final = ("agent_id", "session_id", "project", "source")
_COLUMNS: Final = {"agent_id": "agent", "session_id": "session", "project": "project", "source": "source"}
_ALIASES: Final = {"agent": "agent_id", "session": "session_id", "johari_quadrant": "johari_quadrants"}
_TIMES: Final = ("created_after", "created_before")
_MAX_LIST: Final = 100


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

    @classmethod
    def parse(cls, document: Mapping[str, Any] | None) -> RecallFilters:
        """From JSON: seed 003's names, times as ISO 8601 or Unix ms, quadrants by name.

        Raises:
            InvalidParamsError: Names the field, what it must be and what was given.
        """
        if document is None:
            return cls()
        if not isinstance(document, Mapping):
            raise InvalidParamsError.of("filters", f"must be an object, is {type(document).__name__}")
        fields: dict[str, Any] = {}
        for key, value in document.items():
            name = _ALIASES.get(key, key)
            if value is None:
                continue
            if name in _TIMES:
                fields[f"{name}_ms"] = parse_time(f"filters.{key}", value)
            elif name in _READERS:
                fields[name] = _READERS[name](f"filters.{key}", value)
            else:
                known = ", ".join([*_READERS, *_TIMES])
                raise InvalidParamsError.of("filters", f"has no field {key!r}; fields are {known}")
        return cls(**fields)

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


def _number(name: str, value: object) -> float:
    check_unit(name, value)
    assert isinstance(value, int | float)
    return float(value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidParamsError.of(name, f"must be a text of at least one character, is {value!r}")
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > _MAX_LIST:
        raise InvalidParamsError.of(name, f"must be a list of at most {_MAX_LIST} texts")
    return tuple(_text(f"{name}[{i}]", item) for i, item in enumerate(value))


def _quadrants(name: str, value: object) -> tuple[JohariQuadrant, ...]:
    quadrants = []
    for text in _texts(name, [value] if isinstance(value, str) else value):
        try:
            quadrants.append(JohariQuadrant(text.lower()))
        except ValueError:
            known = ", ".join(QUADRANTS)
            raise InvalidParamsError.of(name, f"has {text!r}; quadrants are {known}") from None
    return tuple(quadrants)


def _kind(name: str, value: object) -> NoteKind:
    try:
        return NoteKind(_text(name, value).lower())
    except ValueError:
        raise InvalidParamsError.of(name, f"has {value!r}; kinds are {', '.join(NoteKind)}") from None


_READERS: Final = {
    "min_importance": _number,
    "johari_quadrants": _quadrants,
    "tags": _texts,
    "kind": _kind,
    **dict.fromkeys(_NAMES, _text),
}
