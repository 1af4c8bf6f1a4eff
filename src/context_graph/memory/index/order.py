"""Keeps a ranking since its first page: the best by their relevance, the others by their score.

A cursor says where the next page begins.
"""

from __future__ import annotations

import math
from array import array
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from struct import error as StructError
from typing import Final

from context_graph.errors import InvalidParamsError
from context_graph.memory.index.blend import NEAR

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
    """Return (place, commit) of a cursor; (0, None) for none. InvalidParamsError for one of another
    ranking."""
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
