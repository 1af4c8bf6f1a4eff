"""Keeps the notes of one session from crowding out the others: they share its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.kernels import ranking
from context_graph.memory.index.rows import Rows
from context_graph.model.memory import CAPTURED, NOTED, MemoryNode
from context_graph.model.note import NoteKind, kind_of_memory

_LOOKED_AT: Final = 64
_WHOLE: Final = frozenset({None, NoteKind.CHANGE})
"""What tells a session as a whole: its summary, and its changes."""
_MOST: Final = 2
"""Notes of one session and kind that come first."""


NodeOf = Callable[[UUID], MemoryNode | None]


class Spread(NamedTuple):
    """A ranking in which few notes of any one session come first."""

    rows: list[int]
    distinct: int
    """How many come first."""
    stood_for: dict[int, int]
    """Change note -> its session's summary, in whose place it is."""


def spread(best: list[int], rows: Rows, node_of: NodeOf, first: int) -> Spread:
    """``best`` with few notes of any one session among the ``first``; the others follow in their order.

    What tells a session as a whole comes once: its best change note, where one was found, in the place of
    its summary, which finds it and says less. Of any other kind two come. Cost: nothing in a store without
    notes, else a look at 64 memories.
    """
    noted = rows.names["source"].find(NOTED)
    if not noted:
        return Spread(best, first, {})
    ours = {rows.names["source"].find(CAPTURED), noted} - {0}
    kinds = {row: _kind(row, rows, node_of) for row in best[:_LOOKED_AT] if rows.source[row] in ours}
    changes: dict[int, int] = {}
    summaries: dict[int, int] = {}
    for row, kind in kinds.items():
        if kind is NoteKind.CHANGE:
            changes.setdefault(rows.session[row], row)
        elif kind is None:
            summaries.setdefault(rows.session[row], row)
    stood_for = {row: summaries[session] for session, row in changes.items() if session in summaries}
    taken, held = list[int](), list[int]()
    seen: Counter[tuple[int, NoteKind | None]] = Counter()
    for row in best[:_LOOKED_AT]:
        session = rows.session[row]
        if len(taken) == first or row not in kinds or not session:
            (held if len(taken) == first else taken).append(row)
            continue
        whole = kinds[row] in _WHOLE
        kind = None if whole else kinds[row]
        seen[session, kind] += 1
        if seen[session, kind] > (1 if whole else _MOST):
            held.append(row)
        elif not whole or changes.get(session, row) == row:
            taken.append(row)
        else:
            taken.append(changes[session])
            held.append(row)
    chosen = set(taken)
    rest = (row for row in held if row not in chosen)
    return Spread([*taken, *rest, *best[_LOOKED_AT:]], min(first, len(taken)), stood_for)


def without_notes(live: bytearray, rows: Rows) -> bytearray:
    """``live`` without the rows of notes; the same where there are none. Cost: one pass over a column."""
    noted = rows.names["source"].find(NOTED)
    if not noted:
        return live
    kept = bytearray(live)
    allowed = bytes(number != noted for number in range(len(rows.names["source"])))
    ranking.keep_classes(kept, rows.source, allowed)
    return kept


def _kind(row: int, rows: Rows, node_of: NodeOf) -> NoteKind | None:
    node = node_of(UUID(bytes=rows.id_of(row)))
    return kind_of_memory(node.metadata) if node is not None else None
