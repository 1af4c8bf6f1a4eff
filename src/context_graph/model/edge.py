"""Describes edges between memories (seed 003's GraphEdge with its profile, REQ-CORE-027), and paths of them.

All numbers are Python floats; formulas and thresholds are the seed's. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.model.memory import check_range, check_unit

MAX_RELATIONSHIP_CHARS: Final = 64
STEERING_DECAY: Final = 0.9
STEERING_GAIN: Final = 0.2
SHORTCUT_TRAVERSALS: Final = 5
SHORTCUT_REWARD: Final = 0.3
MADE_BY: Final = "made_by"
CONSOLIDATION: Final = "consolidation"
"""In an edge's metadata: who drew it, where nobody asked for it."""
MIN_HOPS: Final = 3
"""A shorter way needs no shortcut."""
MAX_HOPS: Final = 8
"""A longer one is followed up to here."""


class Domain(StrEnum):
    """The kind of knowledge an edge belongs to; selects its profile."""

    CODE = "code"
    LEGAL = "legal"
    MEDICAL = "medical"
    CREATIVE = "creative"
    RESEARCH = "research"
    GENERAL = "general"


class Direction(StrEnum):
    """Which edges of a memory: those that leave it, those that reach it, or both."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class NeurotransmitterWeights:
    """Excitatory, inhibitory and modulatory weight, each in [0, 1]."""

    excitatory: float = 0.5
    inhibitory: float = 0.2
    modulatory: float = 0.3

    def __post_init__(self) -> None:
        check_unit("excitatory", self.excitatory)
        check_unit("inhibitory", self.inhibitory)
        check_unit("modulatory", self.modulatory)

    def net_activation(self) -> float:
        """Return (excitatory - inhibitory) * (0.5 + 0.5 * modulatory), in [-1, 1]."""
        return (self.excitatory - self.inhibitory) * (0.5 + 0.5 * self.modulatory)

    @classmethod
    def for_domain(cls, domain: Domain) -> NeurotransmitterWeights:
        """Return the profile of ``domain`` (TC-CORE-030)."""
        return _PROFILES[domain]


_PROFILES: Final = {
    Domain.CODE: NeurotransmitterWeights(0.7, 0.1, 0.4),
    Domain.LEGAL: NeurotransmitterWeights(0.5, 0.4, 0.2),
    Domain.MEDICAL: NeurotransmitterWeights(0.6, 0.3, 0.5),
    Domain.CREATIVE: NeurotransmitterWeights(0.8, 0.05, 0.7),
    Domain.RESEARCH: NeurotransmitterWeights(0.6, 0.2, 0.6),
    Domain.GENERAL: NeurotransmitterWeights(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """A directed relation between two memories. A value: what changes one returns another."""

    id: UUID
    source_id: UUID
    target_id: UUID
    relationship_type: str = "related_to"
    weight: float = 0.5
    """Base weight, [0, 1]."""
    created_at_ms: int = 0
    last_traversed_ms: int = 0
    traversal_count: int = 0
    neurotransmitter_weights: NeurotransmitterWeights = _PROFILES[Domain.GENERAL]
    is_amortized_shortcut: bool = False
    """Made by a consolidation's replay."""
    steering_reward: float = 0.0
    """[-1, 1]: of the last traversal, or the decaying mean of what it was worth to sessions (`rewarded`)."""
    domain: Domain = Domain.GENERAL
    confidence: float = 1.0
    """[0, 1]."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """A JSON object. Not to be changed."""

    def __post_init__(self) -> None:
        kind = self.relationship_type
        if not 1 <= len(kind) <= MAX_RELATIONSHIP_CHARS or "\0" in kind:
            raise InvalidParamsError.of(
                "relationship_type", f"must be text of 1 to {MAX_RELATIONSHIP_CHARS} characters without NUL"
            )
        check_unit("weight", self.weight)
        check_unit("confidence", self.confidence)
        check_range("steering_reward", self.steering_reward, -1.0, 1.0)

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def is_made_by_consolidation(self) -> bool:
        """Whether a consolidation drew it, because the two looked alike: nobody has decided anything."""
        return self.metadata.get(MADE_BY) == CONSOLIDATION

    def effective_weight(self) -> float:
        """weight * (0.5 + 0.5 * net activation) * (1 + 0.2 * steering reward), clamped to [0, 1]."""
        modulated = self.weight * (0.5 + 0.5 * self.neurotransmitter_weights.net_activation())
        return min(1.0, max(0.0, modulated * (1.0 + self.steering_reward * STEERING_GAIN)))

    def apply_steering(self, reward: float) -> GraphEdge:
        """This edge with the reward of its last traversal: clamped to [-1, 1], then decayed by 0.9.

        Raises InvalidParamsError if ``reward`` is NaN or no number.
        """
        check_range("reward", reward, float("-inf"), float("inf"))
        return replace(self, steering_reward=min(1.0, max(-1.0, reward)) * STEERING_DECAY)

    def traversed(self, reward: float, at_ms: int) -> GraphEdge:
        """This edge after one more traversal at ``at_ms`` that earned ``reward``."""
        steered = self.apply_steering(reward)
        return replace(steered, traversal_count=self.traversal_count + 1, last_traversed_ms=at_ms)

    def rewarded(self, worth: float) -> GraphEdge:
        """This edge after a memory it led to was shown: the mean of ``worth`` in [-1, 1], the past times 0.9.

        Raises InvalidParamsError if ``worth`` is no number in [-1, 1].
        """
        check_range("worth", worth, -1.0, 1.0)
        mean = STEERING_DECAY * self.steering_reward + (1.0 - STEERING_DECAY) * worth
        return replace(self, steering_reward=min(1.0, max(-1.0, mean)))

    def is_valuable_shortcut(self) -> bool:
        """Return whether it was traversed more than 5 times with a reward above 0.3 (TC-CORE-032)."""
        return (
            self.is_amortized_shortcut
            and self.traversal_count > SHORTCUT_TRAVERSALS
            and self.steering_reward > SHORTCUT_REWARD
        )


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
