"""Orders what a recall ranks: the best by their relevance, the others by their score, for all its pages.

A cursor says where the next page begins. The notes of one session do not crowd out the others, although they
share its words.
"""

from __future__ import annotations

import math
from array import array
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.kernels import ranking
from context_graph.memory.index.blend import NEAR
from context_graph.memory.index.rows import Rows
from context_graph.model.memory import CAPTURED, NOTED, SEARCHED, MemoryNode
from context_graph.model.note import NoteKind, kind_of_memory

Judged = tuple[int, float, dict[str, float]]
"""A row, its relevance, and what that is made of."""


@dataclass(frozen=True, slots=True)
class Order:
    """A ranking, kept since its first page."""

    rows: list[int]
    scores: array[float]
    """What they were ranked by, falling."""
    judged: list[float]
    """The relevance of the first rows, falling."""
    likeliest: float
    """The highest relevance among them."""
    signs: dict[int, dict[str, float]]
    """What the relevance of these rows is made of."""
    sweeps: int
    """The index's count when it was made; another one means other row numbers."""
    seconds: int
    """The commit up to which second vectors were used, -1 for none; a first page wants the newest."""
    knows_work: bool
    """The work of the session that asked had a part in it; a first page wants that of its own."""

    def relevance(self, place: int) -> float:
        """Beyond the rows that were judged it falls from the last one's with the score, never below 0."""
        last = len(self.judged) - 1
        if place <= last:
            return self.judged[place]
        return self.judged[last] * min(1.0, _grade(self.scores[place]) / _grade(self.scores[last]))


def end_of_evidence(parts: Sequence[dict[str, float]]) -> int:
    """Return how many of these memories, best first, something speaks for: a word, a meaning, a neighbour."""
    speaks = [
        signs.get("opening", signs["terms"]) > 0.0 or signs["cosine"] >= NEAR or signs["others"] > 0.0
        for signs in parts
    ]
    return len(speaks) - speaks[::-1].index(True) if True in speaks else 0


def _grade(score: float) -> float:
    """Positive, rises with the score, close to it where it is large."""
    return max(score, 0.0) + math.log1p(math.exp(-abs(score)))


MAX_DEPTH: Final = 1000
"""Memories that one query's cursor can reach."""
_CURSOR: Final = Struct("<BIQ8s")
_CURSOR_VERSION: Final = 1


def key_of(query: str, filters: str, recency: float) -> bytes:
    """Return what tells one ranking from another."""
    return blake2b(f"{query}\0{filters}\0{recency!r}".encode(), digest_size=8).digest()


def cursor_of(start: int, watermark: int, key: bytes) -> str:
    """Return the cursor of the place ``start`` in a ranking, as of the commit ``watermark``."""
    return urlsafe_b64encode(_CURSOR.pack(_CURSOR_VERSION, start, watermark, key)).decode()


def read_cursor(cursor: str | None, key: bytes) -> tuple[int, int | None]:
    """Return (place, commit) of a cursor, (0, None) for none; InvalidParamsError for another ranking's."""
    if cursor is None:
        return 0, None
    try:
        version, start, watermark, of = _CURSOR.unpack(urlsafe_b64decode(cursor))
    except (ValueError, TypeError, StructError) as error:
        raise InvalidParamsError.of("cursor", "is not one of recall_memory's next_cursor") from error
    if version != _CURSOR_VERSION or of != key or start > MAX_DEPTH:
        raise InvalidParamsError.of(
            "cursor", "belongs to another query or other filters; repeat those of its page"
        )
    return start, watermark


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
    """Return the ``first`` of ``best``: of each session one that tells it whole, two of any other kind."""
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
    """Return ``live`` without the rows of notes. Cost: one pass over a column."""
    noted = rows.names["source"].find(NOTED)
    if not noted:
        return live
    kept = bytearray(live)
    allowed = bytes(number != noted for number in range(len(rows.names["source"])))
    ranking.keep_classes(kept, rows.source, allowed)
    return kept


def _is_bare(node: MemoryNode) -> bool:
    """Return whether it is the summary of a session that left nothing to find it by but its goal."""
    searched = str(node.metadata.get(SEARCHED) or "")
    return node.source == CAPTURED and "\n" not in node.content and 0 < len(searched) <= len(node.content)
