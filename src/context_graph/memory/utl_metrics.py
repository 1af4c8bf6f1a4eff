"""Entropy, coherence and learning score: the figures, the formula, and what they are for one result.

docs/memory-metrics.md says in sober words what each is and what it was shown to react to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from context_graph._kernels import topics as kernel
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode

__all__ = ["CONTRADICTS", "SETTLES", "UtlMetrics", "learning_score", "result_metrics", "with_conflict"]

CONTRADICTS: Final = "contradicts"
"""The relationship type that counts against coherence, until one that settles it joins the same two."""
SETTLES: Final = frozenset({"supersedes", "replaces", "resolves"})
"""Such an edge says which of two contradicting memories holds."""


@dataclass(frozen=True, slots=True)
class UtlMetrics:
    """Entropy, coherence and learning score of a store or of a result, each in [0, 1], with their parts."""

    entropy: float = 0.0
    coherence: float = 0.0
    learning_score: float = 0.0
    diversity: float = 0.0
    novelty: float = 0.0
    connectedness: float = 0.0
    conflict: float = 0.0
    memories: int = 0
    topics: int = 0

    def as_dict(self) -> dict[str, float]:
        """The three that seed 003's `utl_metrics` has, rounded."""
        return {
            "entropy": round(self.entropy, 4),
            "coherence": round(self.coherence, 4),
            "learning_score": round(self.learning_score, 4),
        }


def learning_score(surprise: float, coherence: float, emotion: float, phase_cosine: float) -> float:
    """L = f((delta_S * delta_C) * w_e * cos phi), with f the square root of what lies in [0, 1].

    The root brings the product back to the scale of its factors: surprise and coherence of 0.5 give 0.5.
    A negative cosine gives 0. Source: seed 003 REQ-CORE-006, which leaves f open.
    """
    return math.sqrt(min(1.0, max(0.0, surprise * coherence * emotion * phase_cosine)))


def with_conflict(diversity: float, novelty: float, conflict: float, trust: float = 1.0) -> float:
    """Entropy: the mean of diversity and novelty, times ``trust``; the share in conflict fills up the rest.

    All in [0, 1]. It rises with each of them. Source: seed 003 REQ-CORE-024 (diverse, novel or conflicting).
    """
    calm = (diversity + novelty) / 2.0 * trust
    return calm + (1.0 - calm) * conflict


def result_metrics(
    nodes: Sequence[MemoryNode], packed: Sequence[bytes | None], edges: Iterable[GraphEdge]
) -> UtlMetrics:
    """The figures of a result: of some memories and the edges among them, whatever else the store holds.

    Diversity is how unlike they are, novelty how new each was when it was stored. Coherence is
    1 - (1 - edge density) * (1 - likeness), times the share without a contradiction. One memory has its own
    delta_s and delta_c; none has zeros.

    Args:
        packed: Their embeddings by `Utl.pack`; None for one that says nothing.
        edges: Those with an end elsewhere are left out.

    Cost: 1 us a memory. Source: seed 003 REQ-CORE-025 (edge density in the retrieved subgraph).
    """
    count = len(nodes)
    if not count:
        return UtlMetrics()
    novelty = math.fsum(node.utl_state.delta_s for node in nodes) / count
    linked, opposed = _pairs({node.id for node in nodes}, edges)
    conflict = len({end for pair in opposed for end in pair}) / count
    if count == 1:
        diversity, entropy, connectedness = 0.0, novelty, nodes[0].utl_state.delta_c
    else:
        cosine = kernel.mean_cosine([one for one in packed if one is not None])
        likeness = math.sqrt(kernel.likeness(cosine))
        diversity = 1.0 - likeness
        entropy = with_conflict(diversity, novelty, conflict)
        density = len(linked) / (count * (count - 1) / 2)
        connectedness = 1.0 - (1.0 - density) * (1.0 - likeness * (count - 1) / count)
    coherence = connectedness * (1.0 - conflict)
    emotion = math.fsum(node.utl_state.w_e for node in nodes) / count
    phase = math.fsum(math.cos(node.utl_state.phi) for node in nodes) / count
    return UtlMetrics(
        entropy=entropy,
        coherence=coherence,
        learning_score=learning_score(entropy, coherence, emotion, phase),
        diversity=diversity,
        novelty=novelty,
        connectedness=connectedness,
        conflict=conflict,
        memories=count,
    )


def _pairs(ids: set[UUID], edges: Iterable[GraphEdge]) -> tuple[set[frozenset[UUID]], set[frozenset[UUID]]]:
    """(pairs that are linked, pairs that contradict each other) among ``ids``."""
    linked: set[frozenset[UUID]] = set()
    opposed: set[frozenset[UUID]] = set()
    settled: set[frozenset[UUID]] = set()
    for edge in edges:
        pair = frozenset((edge.source_id, edge.target_id))
        if len(pair) == 2 and pair <= ids:
            (opposed if edge.relationship_type == CONTRADICTS else linked).add(pair)
            if edge.relationship_type in SETTLES:
                settled.add(pair)
    return linked, opposed - settled
