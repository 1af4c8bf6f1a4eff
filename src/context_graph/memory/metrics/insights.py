"""Finds what is known about memories besides their texts: causes, containment, neighbours, contradictions.

All of it is read from edges or computed from vectors and words, and says which. All lists are short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from context_graph.kernels.topics import mean_cosine
from context_graph.memory.metrics.metrics import Metrics, result_metrics
from context_graph.memory.metrics.review_tasks import CONTRADICTS, SETTLES, Reader
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode
from context_graph.text.paraphrase import opposition
from context_graph.text.sentences import content_words

INSIGHTS: Final = ("causal_links", "entailment_cones", "neighborhood", "conflicts")
"""What `include_metadata` may name (REQ-CORE-016)."""
MAX_ENTRIES: Final = 12
CAUSAL: Final = frozenset(
    [
        *("causes", "caused_by", "leads_to", "results_in", "triggers", "triggered_by", "enables", "prevents"),
        *("blocks", "fixes", "fixed_by", "breaks", "depends_on", "requires", "explains", "because_of"),
    ]
)
PARENTS: Final = frozenset(
    {"part_of", "is_a", "specializes", "refines", "entails", "instance_of", "implements"}
)
"""Types of edges that lead from the special to the general."""
CONE_DEPTH: Final = 3
CONTAINED: Final = 0.8
"""Share of the general text's informative words that the special text has."""
SPECIAL: Final = 1.4
"""How many times as many informative words the special text has, at least."""
LEAST_WORDS: Final = 3
SIMILAR: Final = 0.35
"""Cosine from which two memories are neighbours."""
OPPOSABLE: Final = 0.5
"""Cosine from which two texts are compared for a contradiction."""


def causal_links(nodes: Sequence[MemoryNode], reader: Reader) -> list[dict[str, Any]]:
    """Edges of a causal type from or to one of ``nodes``, strongest first."""
    links = [edge for edge in _edges(nodes, reader) if edge.relationship_type in CAUSAL]
    links.sort(key=lambda edge: -edge.effective_weight())
    return [_edge_entry(edge) for edge in links[:MAX_ENTRIES]]


def _edges(nodes: Iterable[MemoryNode], reader: Reader) -> list[GraphEdge]:
    return list({edge.id: edge for node in nodes for edge in reader.edges(node.id)}.values())


def _edge_entry(edge: GraphEdge) -> dict[str, Any]:
    return {
        "source_id": str(edge.source_id),
        "target_id": str(edge.target_id),
        "relationship_type": edge.relationship_type,
        "weight": round(edge.effective_weight(), 4),
    }


def entailment_cones(nodes: Sequence[MemoryNode], reader: Reader) -> list[dict[str, Any]]:
    """Return which of ``nodes`` are general, and which memories are special cases of them.

    A memory is below another if an edge leads up to it (part_of, is_a, ...) in at most three steps, or if its
    text has nearly all informative words of the other and many more.

    Returns:
        {"apex": id, "members": [{"id", "depth"} or {"id", "containment"}]} for each apex with members.
    """
    cones = []
    words = {node.id: content_words(node.content) for node in nodes}
    for apex in nodes:
        members: list[dict[str, Any]] = [
            {"id": str(node), "depth": depth} for node, depth in _below(apex.id, reader).items()
        ]
        known = {member["id"] for member in members}
        for node in nodes:
            share = _containment(words[apex.id], words[node.id])
            if node.id != apex.id and str(node.id) not in known and share is not None:
                members.append({"id": str(node.id), "containment": round(share, 4)})
        if members:
            cones.append({"apex": str(apex.id), "members": members[:MAX_ENTRIES]})
    return cones[:MAX_ENTRIES]


def _below(apex: UUID, reader: Reader) -> dict[UUID, int]:
    """Memories from which edges lead up to ``apex``, with the number of steps."""
    steps: dict[UUID, int] = {}
    level = [apex]
    for depth in range(1, CONE_DEPTH + 1):
        level = [
            edge.source_id
            for node in level
            for edge in reader.edges(node)
            if edge.target_id == node and edge.relationship_type in PARENTS
        ]
        level = [node for node in dict.fromkeys(level) if node != apex and node not in steps][:MAX_ENTRIES]
        steps.update(dict.fromkeys(level, depth))
    return steps


def _containment(general: frozenset[str], special: frozenset[str]) -> float | None:
    """Share of the general text's words in the special one, when it is a case of containment."""
    if len(general) < LEAST_WORDS or len(special) < SPECIAL * len(general):
        return None
    share = len(general & special) / len(general)
    return share if share >= CONTAINED else None


def neighborhood(
    nodes: Sequence[MemoryNode], reader: Reader, others: Mapping[UUID, bytes], packed: Mapping[UUID, bytes]
) -> list[dict[str, Any]]:
    """Memories next to ``nodes`` that are not among them: by an edge, or by similarity.

    ``packed`` has the vectors of ``nodes``, ``others`` those of candidates, both by `StoreMetrics.pack`.
    """
    here = {node.id for node in nodes}
    entries = []
    for edge in _edges(nodes, reader):
        if not (edge.source_id in here and edge.target_id in here):
            mine, other = edge.source_id, edge.target_id
            if mine not in here:
                mine, other = other, mine
            entries.append(_neighbour(mine, other, edge.relationship_type, edge.effective_weight()))
    for other, vector in others.items():
        cosine, mine = max(
            ((mean_cosine((vector, own)), node) for node, own in packed.items()), default=(0.0, other)
        )
        if other not in here and cosine >= SIMILAR:
            entries.append(_neighbour(mine, other, "similar", cosine))
    entries.sort(key=lambda entry: -entry["weight"])
    return entries[:MAX_ENTRIES]


def _neighbour(mine: UUID, other: UUID, kind: str, weight: float) -> dict[str, Any]:
    return {
        "node_id": str(mine),
        "neighbor_id": str(other),
        "relationship_type": kind,
        "weight": round(weight, 4),
    }


def conflicts(
    nodes: Sequence[MemoryNode], reader: Reader, packed: Mapping[UUID, bytes]
) -> list[dict[str, Any]]:
    """Contradictions of ``nodes``: stated by an edge that nothing settles, or suspected from the words.

    ``packed`` has the vectors of ``nodes``; only similar memories are compared word by word.

    Returns:
        {"nodes": [id, id], "kind": "stated" or "suspected", "reason"} for each pair.
    """
    edges = _edges(nodes, reader)
    related = {_ends(edge) for edge in edges if not edge.is_made_by_consolidation}
    settled = {_ends(edge) for edge in edges if edge.relationship_type in SETTLES}
    entries = [
        _conflict(edge.source_id, edge.target_id, "stated", "linked as contradicting each other")
        for edge in edges
        if edge.relationship_type == CONTRADICTS and _ends(edge) not in settled
    ]
    for i, node in enumerate(nodes):
        for other in nodes[:i]:
            if node.id not in packed or other.id not in packed or frozenset((node.id, other.id)) in related:
                continue
            if mean_cosine((packed[node.id], packed[other.id])) >= OPPOSABLE:
                difference = opposition(node.content, other.content)
                if difference is not None:
                    entries.append(_conflict(other.id, node.id, "suspected", f"differ in: {difference}"))
    return entries[:MAX_ENTRIES]


def _ends(edge: GraphEdge) -> frozenset[UUID]:
    return frozenset((edge.source_id, edge.target_id))


def _conflict(node: UUID, other: UUID, kind: str, reason: str) -> dict[str, Any]:
    return {"nodes": [str(node), str(other)], "kind": kind, "reason": reason}


class Insights:
    """Computes on demand what is known about ``nodes``.

    ``vectors`` are theirs and those of memories that may be similar, by `StoreMetrics.pack`.
    """

    def __init__(self, nodes: Sequence[MemoryNode], reader: Reader, vectors: Mapping[UUID, bytes]) -> None:
        self._nodes, self._reader, self._vectors = nodes, reader, vectors
        here = {node.id for node in nodes}
        mine = {key: vector for key, vector in vectors.items() if key in here}
        others = {key: vector for key, vector in vectors.items() if key not in here}
        self._makers: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "causal_links": lambda: causal_links(nodes, reader),
            "entailment_cones": lambda: entailment_cones(nodes, reader),
            "neighborhood": lambda: neighborhood(nodes, reader, others, mine),
            "conflicts": lambda: conflicts(nodes, reader, mine),
        }

    def named(self, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
        """Return those of ``names`` (`INSIGHTS`), each once, in order."""
        return {name: self._makers[name]() for name in dict.fromkeys(names)}

    def metrics(self) -> Metrics:
        """Entropy, coherence and learning score of the memories together."""
        packed = [self._vectors.get(node.id) for node in self._nodes]
        return result_metrics(self._nodes, packed, _edges(self._nodes, self._reader))
