"""What a store says of itself when asked: figures, what is used most, what is to be done (REQ-CORE-017)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from context_graph.memory.curation import CurationTask
from context_graph.memory.utl_metrics import UtlMetrics
from context_graph.model.memory import MemoryNode, SuggestedAction

__all__ = ["ActiveConcept", "MemeticStatus", "MostUsed"]

MAX_CONCEPTS: Final = 5
KEPT: Final = 64
"""Candidates for the top five: some may be forgotten before they are asked for."""


@dataclass(frozen=True, slots=True)
class ActiveConcept:
    """A memory that is used much."""

    id: UUID
    name: str
    """From its own text."""
    access_count: int

    def as_dict(self) -> dict[str, object]:
        return {"id": str(self.id), "name": self.name, "access_count": self.access_count}


@dataclass(frozen=True, slots=True)
class MemeticStatus:
    """Answer of get_memetic_status. All figures in [0, 1]."""

    coherence_score: float
    entropy_level: float
    top_active_concepts: tuple[ActiveConcept, ...]
    suggested_action: SuggestedAction
    dream_available: bool
    """Whether a consolidation could run now."""
    curation_tasks: tuple[CurationTask, ...]
    metrics: UtlMetrics

    def as_dict(self) -> dict[str, object]:
        """JSON-able, by seed 003's field names (appendix B), without the pulse."""
        return {
            "coherence_score": round(self.coherence_score, 4),
            "entropy_level": round(self.entropy_level, 4),
            "top_active_concepts": [concept.as_dict() for concept in self.top_active_concepts],
            "suggested_action": self.suggested_action.value,
            "dream_available": self.dream_available,
            "curation_tasks": [task.as_dict() for task in self.curation_tasks],
        }


class MostUsed:
    """The memories with the highest access counts, as they are touched. Not thread-safe."""

    def __init__(self) -> None:
        self._counts: dict[UUID, int] = {}

    def touched(self, node: MemoryNode) -> None:
        """A memory has that access count now. Cost: 0.2 us."""
        if node.access_count:
            self.put(node.id, node.access_count)

    def put(self, node: UUID, count: int) -> None:
        """As `touched`, for a memory that is not at hand."""
        self._counts[node] = count
        if len(self._counts) >= 2 * KEPT:
            self._counts = dict(heapq.nlargest(KEPT, self._counts.items(), key=_by_count))

    def removed(self, node: UUID) -> None:
        """A memory went."""
        self._counts.pop(node, None)

    def best(self) -> list[UUID]:
        """At most five, the most used first; none that was never used."""
        return [node for node, _ in heapq.nlargest(MAX_CONCEPTS, self._counts.items(), key=_by_count)]

    def counts(self) -> dict[UUID, int]:
        """All candidates."""
        return self._counts


def _by_count(entry: tuple[UUID, int]) -> tuple[int, int]:
    return entry[1], -entry[0].int
