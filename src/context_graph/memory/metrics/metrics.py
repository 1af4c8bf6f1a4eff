"""Computes entropy, coherence and learning score of a result (docs/dev/memory-metrics.md)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final
from uuid import UUID

from context_graph.kernels import topics as kernel
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.metrics.review_tasks import CONTRADICTS, SETTLES, ReviewTask
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, SuggestedAction
from context_graph.model.spaces import space_vector


@dataclass(frozen=True, slots=True)
class Metrics:
    """Entropy, coherence and learning score of a result, each in [0, 1]."""

    entropy: float = 0.0
    coherence: float = 0.0
    learning_score: float = 0.0
    conflict: float = 0.0
    """Share of the memories that contradict another of them."""

    def as_dict(self) -> dict[str, float]:
        """Return the three that seed 003's `utl_metrics` has, rounded."""
        return {
            "entropy": round(self.entropy, 4),
            "coherence": round(self.coherence, 4),
            "learning_score": round(self.learning_score, 4),
        }


def learning_score(surprise: float, coherence: float, emotion: float, phase_cosine: float) -> float:
    """L = f((delta_S * delta_C) * w_e * cos phi), with f the square root of what lies in [0, 1].

    The root brings the product back to the scale of its factors. A negative cosine gives 0. Source: seed 003
    REQ-CORE-006, which leaves f open.
    """
    return math.sqrt(min(1.0, max(0.0, surprise * coherence * emotion * phase_cosine)))


def result_metrics(
    nodes: Sequence[MemoryNode], packed: Sequence[bytes | None], edges: Iterable[GraphEdge]
) -> Metrics:
    """Return the metrics of a result: of some memories and the edges among them, whatever else the store
    holds.

    Diversity is how different they are, novelty how new each was when it was stored. Coherence is
    1 - (1 - edge density) * (1 - likeness), times the share without a contradiction. A single memory has its
    own delta_s and delta_c; none gives zeros.

    Args:
        packed: Their embeddings by `StoreMetrics.pack`; None for one without content.
        edges: Those with an end elsewhere are ignored.

    Cost: 1 us a memory. Source: seed 003 REQ-CORE-025 (edge density in the retrieved subgraph).
    """
    count = len(nodes)
    if not count:
        return Metrics()
    novelty = math.fsum(node.utl_state.delta_s for node in nodes) / count
    linked, opposed = _pairs({node.id for node in nodes}, edges)
    conflict = len({end for pair in opposed for end in pair}) / count
    if count == 1:
        entropy, connectedness = novelty, nodes[0].utl_state.delta_c
    else:
        cosine = kernel.mean_cosine([vector for vector in packed if vector is not None])
        likeness = math.sqrt(kernel.likeness(cosine))
        calm = (1.0 - likeness + novelty) / 2.0
        entropy = calm + (1.0 - calm) * conflict
        density = len(linked) / (count * (count - 1) / 2)
        connectedness = 1.0 - (1.0 - density) * (1.0 - likeness * (count - 1) / count)
    coherence = connectedness * (1.0 - conflict)
    emotion = math.fsum(node.utl_state.w_e for node in nodes) / count
    phase = math.fsum(math.cos(node.utl_state.phi) for node in nodes) / count
    return Metrics(
        entropy=entropy,
        coherence=coherence,
        learning_score=learning_score(entropy, coherence, emotion, phase),
        conflict=conflict,
    )


def _pairs(ids: set[UUID], edges: Iterable[GraphEdge]) -> tuple[set[frozenset[UUID]], set[frozenset[UUID]]]:
    """Return (pairs that are linked, pairs that contradict each other) among ``ids``."""
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


@dataclass(frozen=True, slots=True)
class ActiveConcept:
    """A memory that is used often."""

    id: UUID
    name: str
    """From its own text."""
    access_count: int

    def as_dict(self) -> dict[str, object]:
        return {"id": str(self.id), "name": self.name, "access_count": self.access_count}


@dataclass(frozen=True, slots=True)
class MemeticStatus:
    """Answer of get_memetic_status; numbers in [0, 1]."""

    coherence_score: float
    entropy_level: float
    top_active_concepts: tuple[ActiveConcept, ...]
    suggested_action: SuggestedAction
    reason: str
    """Why that is suggested."""
    ended_by: str
    """Tools by which it is followed, so that it is not suggested again until enough has come in."""
    dream_available: bool
    """Whether a consolidation could run now."""
    curation_tasks: tuple[ReviewTask, ...]

    def as_dict(self) -> dict[str, object]:
        """JSON-able, by seed 003's field names (appendix B), without the pulse."""
        return {
            "coherence_score": round(self.coherence_score, 4),
            "entropy_level": round(self.entropy_level, 4),
            "top_active_concepts": [concept.as_dict() for concept in self.top_active_concepts],
            "suggested_action": self.suggested_action.value,
            "suggested_because": self.reason,
            **({"ended_by": self.ended_by} if self.ended_by else {}),
            "dream_available": self.dream_available,
            "curation_tasks": [task.as_dict() for task in self.curation_tasks],
        }


# Means of token vectors lie close together whatever they are about, because half of every text is the same
# function words. Two directions make up most of that, the mean of talk and the mean of technical prose;
# without them, and beside the space of Terms, the cosine of unrelated texts comes to about 0.1, and texts of
# one session stand out (docs/dev/memory-metrics.md).
_TALK: Final = """Yes, that sounds good to me! What do you want to do about the other one? She said that
her family went to the park last weekend and that they had a really great time together. Thanks for your
help, it was very nice of you, and I hope to see you again soon. I think that this is a good idea, but
we should look at it again next week when there is more time. He has been working on this for a long
time and wants to know what other people think about it. It's been a while, how are you? I'm so happy
for you, that must feel amazing."""

_WORK: Final = """The user asked to change how the tests are run, and we decided to keep the old command
for now. The function returns the value of the first item, or an error if the list is empty. Use the new
option in the config file instead of the environment variable, because it is easier to find. The service
reads data from the queue, writes it to the database and sends a message when it is done. The build
failed because a file was missing; it was fixed by adding it to the project. def get(self, name): return
self.items[name] if name in self.items else None"""


_KNOWN: Final[dict[str, bytes]] = {}
"""By the embedder's digest."""


def common_of(provider: EmbeddingProvider) -> bytes:
    """Return up to two orthogonal unit vectors of 256 float32: what all texts share in this embedder's
    Semantic space.

    Cost: two texts encoded, once for each embedder.
    """
    digest = provider.digest
    if digest not in _KNOWN:
        _KNOWN[digest] = _computed(provider)
    return _KNOWN[digest]


def _computed(provider: EmbeddingProvider) -> bytes:
    vectors: list[list[float]] = []
    for text in (_TALK, _WORK):
        vector = list(space_vector(provider.encode(text).embedding, "Semantic"))
        for other in vectors:
            along = math.fsum(map(mul, vector, other))
            vector = [value - along * shared for value, shared in zip(vector, other, strict=True)]
        length = math.sqrt(math.fsum(map(mul, vector, vector)))
        if length > 1e-6:
            vectors.append([value / length for value in vector])
    return b"".join(array("f", vector).tobytes() for vector in vectors)
