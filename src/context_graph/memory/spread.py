"""Keeps the notes of one session from crowding out the others: they share its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final
from uuid import UUID

from context_graph.memory.index.rows import Rows
from context_graph.model.memory import CAPTURED, NOTED, MemoryNode
from context_graph.model.note import NoteKind, kind_of_memory

_LOOKED_AT: Final = 64
_OWN_WORDS: Final = frozenset({NoteKind.RULE, NoteKind.DECISION, NoteKind.LESSON, NoteKind.FINDING})
"""Kinds of notes that each say something of their own."""
_MOST: Final = 2


def spread(
    best: list[int], rows: Rows, node_of: Callable[[UUID], MemoryNode | None], first: int
) -> list[int]:
    """``best`` with few notes of any one session among the ``first``; the others follow in their order.

    What tells a session as a whole (its summary, changes, ways, what is open) comes once; lessons, decisions,
    findings and rules twice. Cost: nothing in a store without notes, else a look at 64 memories at most.
    """
    ours = {rows.names["source"].find(name) for name in (CAPTURED, NOTED)} - {0}
    if not rows.names["source"].find(NOTED):
        return best
    taken, held = list[int](), list[int]()
    seen: Counter[tuple[int, bool]] = Counter()
    for place, row in enumerate(best[:_LOOKED_AT]):
        if len(taken) == first:
            return [*taken, *held, *best[place:]]
        if rows.source[row] not in ours or not rows.session[row]:
            taken.append(row)
            continue
        node = node_of(UUID(bytes=rows.id_of(row)))
        own = node is not None and kind_of_memory(node.metadata) in _OWN_WORDS
        seen[rows.session[row], own] += 1
        few = seen[rows.session[row], own] <= (_MOST if own else 1)
        (taken if few else held).append(row)
    return [*taken, *held, *best[_LOOKED_AT:]]
