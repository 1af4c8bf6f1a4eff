"""Keeps the notes of one session from crowding out the others: they share its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.kernels import ranking
from context_graph.memory.index.rows import Rows
from context_graph.model.memory import CAPTURED, NOTED, SEARCHED, MemoryNode
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
    """Return ``best`` with few notes of any one session among the ``first``; the others follow in their
    order.

    What tells a session as a whole comes once: its best change note, where one was found, in the place of
    its summary, which finds it and says less. Of any other kind two come. A summary that has only its goal
    follows them: what asks something says nothing about it. Cost: nothing in a store without notes, else a
    look at 64 memories.
    """
    noted = rows.names["source"].find(NOTED)
    if not noted:
        return Spread(best, first, {})
    sources = {rows.names["source"].find(CAPTURED), noted} - {0}
    nodes = {
        row: node_of(UUID(bytes=rows.id_of(row))) for row in best[:_LOOKED_AT] if rows.source[row] in sources
    }
    there = {row: node for row, node in nodes.items() if node is not None}
    kinds = {row: kind_of_memory(node.metadata) for row, node in there.items()}
    bare = {row for row, node in there.items() if _is_bare(node)}
    if len(bare) == len(nodes):
        return Spread(best, first, {})
    changes: dict[int, int] = {}
    summaries: dict[int, int] = {}
    for row, kind in kinds.items():
        if kind is NoteKind.CHANGE:
            changes.setdefault(rows.session[row], row)
        elif kind is None:
            summaries.setdefault(rows.session[row], row)
    stood_for = {row: summaries[session] for session, row in changes.items() if session in summaries}
    looked_at = [row for row in best[:_LOOKED_AT] if row not in bare]
    taken = _taken(looked_at, rows, kinds, changes, first)
    chosen = set(taken)
    rest = (row for row in best[:_LOOKED_AT] if row not in chosen)
    return Spread([*taken, *rest, *best[_LOOKED_AT:]], len(taken), stood_for)


def _taken(
    best: list[int], rows: Rows, kinds: dict[int, NoteKind | None], changes: dict[int, int], first: int
) -> list[int]:
    """Return the ``first`` of ``best``: of each session one that tells it as a whole, and two of any other
    kind."""
    taken = list[int]()
    seen: Counter[tuple[int, NoteKind | None]] = Counter()
    for row in best:
        if len(taken) == first:
            break
        session = rows.session[row]
        if row not in kinds or not session:
            taken.append(row)
            continue
        whole = kinds[row] in _WHOLE
        kind = None if whole else kinds[row]
        seen[session, kind] += 1
        if seen[session, kind] <= (1 if whole else _MOST):
            taken.append(changes.get(session, row) if whole else row)
    return taken


def without_notes(live: bytearray, rows: Rows) -> bytearray:
    """Return ``live`` without the rows of notes; the same where there are none. Cost: one pass over a
    column."""
    noted = rows.names["source"].find(NOTED)
    if not noted:
        return live
    kept = bytearray(live)
    allowed = bytes(number != noted for number in range(len(rows.names["source"])))
    ranking.keep_classes(kept, rows.source, allowed)
    return kept


def _is_bare(node: MemoryNode) -> bool:
    """Return whether it is a summary that says what was asked, of a session that left nothing else to find it
    by."""
    searched = str(node.metadata.get(SEARCHED) or "")
    return node.source == CAPTURED and "\n" not in node.content and 0 < len(searched) <= len(node.content)
