"""Ways along edges that answers took: what a consolidation makes shortcuts of. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

__all__ = ["MAX_HOPS", "MIN_HOPS", "TraversedPath"]

MIN_HOPS: Final = 3
"""A shorter way needs no shortcut."""
MAX_HOPS: Final = 8
"""A longer one is followed up to here."""


@dataclass(frozen=True, slots=True)
class TraversedPath:
    """Memories that edges lead through, one to the next in the edges' own direction."""

    nodes: tuple[UUID, ...]
    """4 to 9, each once."""
    traversals: int
    """Answers that took this way whole."""
    confidence: float
    """The least of any edge at any of these times, [0, 1]."""
    last_ms: int
    """Unix ms of the last of them."""

    @property
    def hops(self) -> int:
        """Edges on the way."""
        return len(self.nodes) - 1
