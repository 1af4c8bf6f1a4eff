"""Finds what a person or model means: a memory by the beginning of its id, memories by filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from context_graph.errors import GraphQueryError, InvalidParamsError
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.operations.filters import Filters
from context_graph.operations.operation import read

_MIN_CHARS: Final = 4
"""Characters of a shortened id at least: a single letter would fit some memory by chance, and forget it."""
_HEX: Final = frozenset("0123456789abcdef")
_SHOWN: Final = 8
_SHOWN_CHARS: Final = 60
_ALIASES: Final = {"agent": "agent_id", "session": "session_id", "johari_quadrant": "johari_quadrants"}
_WORDS: Final = ("johari_quadrants", "kind")
"""Taken in any case."""


def memory_named(memex: Memex, text: str, parameter: str = "node_id") -> UUID:
    """Return the id that ``text`` means: a whole one, or a unique beginning of at least four characters.

    ``node_1a2b3c4d`` and ``[node_1a2b3c4d]``, as inject_context writes ids, are accepted too.

    Raises:
        InvalidParamsError: Not an id, too short, or it fits several memories, which are listed.
        GraphQueryError: No memory fits.
    """
    start = text.strip().removeprefix("[").removesuffix("]").removeprefix("node_")
    digits = start.replace("-", "")
    if not set(digits.lower()) <= _HEX or len(digits) > 32:
        raise InvalidParamsError.of(parameter, f"is {text!r:.80}; give a UUID or its first digits")
    if len(digits) < _MIN_CHARS:
        raise InvalidParamsError.of(
            parameter, f"is {text!r}, too short to name a memory; give at least {_MIN_CHARS} of its digits"
        )
    ids = memex.ids_with_prefix(start, _SHOWN + 1)
    if not ids:
        raise GraphQueryError(f"no memory {text!r} in this store")
    if len(ids) > 1:
        listed = "; ".join(_line(memex, node_id) for node_id in ids[:_SHOWN])
        more = "; …" if len(ids) > _SHOWN else ""
        raise InvalidParamsError.of(
            parameter, f"{text!r} fits several memories: {listed}{more}; give more of it"
        )
    return ids[0]


def check_not_pinned(memex: Memex, node_id: UUID) -> None:
    """Refuse to forget a pinned memory that is not forgotten yet."""
    stored = memex.stored(node_id)
    if stored is not None and stored.node.pinned and not stored.deleted:
        raise InvalidParamsError.of(
            "node_id",
            f"is {_line(memex, node_id)}, which is pinned; "
            "ask the user, and only if they agree give pinned: true (--pinned)",
        )


def _line(memex: Memex, node_id: UUID) -> str:
    return f'{node_id} "{text_of(memex, node_id)}"'


def text_of(memex: Memex, node_id: UUID) -> str:
    """Return the beginning of a memory's text, on one line."""
    stored = memex.stored(node_id)
    content = "" if stored is None else " ".join(stored.node.content.split())
    return content if len(content) <= _SHOWN_CHARS else content[:_SHOWN_CHARS] + "…"


def filters_of(document: Mapping[str, Any] | None) -> RecallFilters:
    """Return what JSON says: seed 003's names, times as ISO 8601 or Unix ms, quadrants by name.

    Raises:
        InvalidParamsError: Names the field, what it must be and what was given.
    """
    if document is None:
        return RecallFilters()
    if not isinstance(document, Mapping):
        raise InvalidParamsError.of("filters", f"must be an object, is {type(document).__name__}")
    values = {_ALIASES.get(key, key): value for key, value in document.items()}
    values |= {name: _lower(values[name]) for name in _WORDS if name in values}
    if isinstance(values.get("johari_quadrants"), str):
        values["johari_quadrants"] = [values["johari_quadrants"]]
    try:
        fields = msgspec.structs.asdict(read(Filters, values, "filters"))
    except InvalidParamsError as error:
        raise InvalidParamsError.of(f"filters.{error.parameter}", error.what) from None
    for name in ("created_after", "created_before"):
        fields[f"{name}_ms"] = fields.pop(name)
    return RecallFilters(**fields)


def _lower(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_lower(item) for item in value]
    return value.lower() if isinstance(value, str) else value
