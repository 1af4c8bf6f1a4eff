"""Computes entropy, coherence and learning score of a result, and says what is unsettled in a store.

Of the memories told lately, how many are in doubt, how many were used, what to do. Told is what hooks put
into a context and what a tool's answer brought. Their entropy is the share that another contradicts, or whose
files had changed when they were told. Their coherence is the share that was used after it: by words or a path
in what the model did (`context.ledger`), by its id in a later call, or because somebody confirmed it. Both
are 0 while nothing was told (docs/dev/memory-metrics.md).
"""

from __future__ import annotations

import logging
import math
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any, Final, NamedTuple
from uuid import UUID

from context_graph.kernels import topics as kernel
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.metrics.review_tasks import CONTRADICTS, SETTLES, ReviewTask
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import HIGH_ENTROPY, MemoryNode, SuggestedAction
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
    """Return up to two unit vectors of 256 float32: what all texts share in this Semantic space."""
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


_LOG: Final = logging.getLogger(__name__)
FACT: Final = "pulse"
"""Name of the fact (`GraphStore.meta`) that holds what was told."""
LATELY: Final = 64
"""Memories that are kept, those told last."""
_VERSION: Final = 2
_ID_CHARS: Final = 8
_Z: Final = 1.96
"""Of a 95 % interval."""
_SETTLED_BY: Final = "link_memories, forget_memory, or get_memory with accept"
ENDED_BY: Final[Mapping[SuggestedAction, str]] = {
    SuggestedAction.CONSOLIDATE: _SETTLED_BY,
    SuggestedAction.TRIGGER_DREAM: _SETTLED_BY,
    SuggestedAction.EXPLORE: "store_memory",
    SuggestedAction.EPISTEMIC_ACTION: _SETTLED_BY,
    SuggestedAction.CLARIFY: _SETTLED_BY,
    SuggestedAction.CURATE: "what each of curation_tasks names under ended_by",
    SuggestedAction.READY: "",
}


class _State(NamedTuple):
    changed: bool
    """Whether what the memory rests on had changed when it was told."""
    used: bool


class Shares(NamedTuple):
    """Shares of what was told lately, each in [0, 1]; 0 of nothing."""

    entropy: float
    """In doubt."""
    coherence: float
    """Used."""
    memories: int
    """That they are shares of, at most LATELY."""


class Tellings:
    """The memories that one store's sessions were told last. Not thread-safe: used under Memex's lock."""

    def __init__(self) -> None:
        self._states: OrderedDict[UUID, _State] = OrderedDict()
        self.changed = False
        """Whether there is something to be written."""

    def tell(self, memories: Mapping[UUID, bool]) -> None:
        """Note that ``memories`` were told, and whether their files had changed: each may be used anew."""
        for node, changed in memories.items():
            self._states[node] = _State(changed, used=False)
            self._states.move_to_end(node)
        while len(self._states) > LATELY:
            self._states.popitem(last=False)
        self.changed = self.changed or bool(memories)

    def use(self, nodes: Iterable[UUID]) -> None:
        """Note that ``nodes`` were used after they had been told; others are passed over."""
        for node in self._states.keys() & nodes:
            self._states[node] = self._states[node]._replace(used=True)
            self.changed = True

    def confirm(self, node: UUID) -> None:
        """Note that somebody says that it holds."""
        if node in self._states:
            self._states[node] = _State(changed=False, used=True)
            self.changed = True

    def drop(self, nodes: Iterable[UUID]) -> None:
        """Leave out ``nodes``: they are forgotten, or others hold instead."""
        for node in self._states.keys() & nodes:
            del self._states[node]
            self.changed = True

    def change_of(self, nodes: Iterable[UUID]) -> str:
        """Return, by its id, which of ``nodes`` was told after its files had changed; "" for none."""
        changed = (node for node in nodes if node in self._states and self._states[node].changed)
        return next((f"[{str(node)[:_ID_CHARS]}] rests on what has changed since" for node in changed), "")

    def shares(self, is_contradicted: Callable[[UUID], bool]) -> Shares:
        """Return the two numbers of a pulse. Cost: some 10 us."""
        memories = len(self._states)
        if not memories:
            return Shares(0.0, 0.0, 0)
        doubted = sum(state.changed or is_contradicted(node) for node, state in self._states.items())
        return Shares(
            doubted / memories, sum(state.used for state in self._states.values()) / memories, memories
        )

    def as_fact(self) -> dict[str, Any]:
        """JSON-able, some 2.5 KB."""
        rows = [[node.hex, int(state.changed), int(state.used)] for node, state in self._states.items()]
        return {"version": _VERSION, "told": rows}

    @classmethod
    def from_fact(cls, fact: Mapping[str, Any] | None) -> Tellings:
        """Return what `as_fact` gave; nothing was told for None, another version or other content."""
        made = cls()
        if fact is None or fact.get("version") != _VERSION:
            return made
        try:
            for node, changed, used in fact["told"][-LATELY:]:
                made._states[UUID(hex=node)] = _State(bool(changed), bool(used))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            _LOG.warning("what the store's sessions were told can't be read and begins anew: %s", error)
            return cls()
        return made


def action_for(shares: Shares) -> SuggestedAction:
    """Return seed 003's action where most of what was told is in doubt, else ready (REQ-CORE-004).

    Most is so only beyond chance, so a few memories are never enough: the lower end of the share's 95 %
    interval (Wilson's) counts. A coherence that is low by itself asks for nothing: no act would raise it.
    """
    share, count = shares.entropy, shares.memories
    if not count:
        return SuggestedAction.READY
    weight = 1.0 + _Z * _Z / count
    middle = share + _Z * _Z / (2.0 * count)
    half = _Z * math.sqrt(share * (1.0 - share) / count + _Z * _Z / (4.0 * count * count))
    if (middle - half) / weight <= HIGH_ENTROPY:
        return SuggestedAction.READY
    return SuggestedAction.for_state(share, shares.coherence)
