"""Links memories: makes, changes and removes the edges between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from context_graph.errors import GraphQueryError, InvalidParamsError
from context_graph.memory.core import Core, now_ms
from context_graph.memory.editing import followed
from context_graph.memory.reading import Reading
from context_graph.memory.writing import as_uuid, redacted
from context_graph.model.edge import Domain, GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import check_range


class Linking(Reading):
    """The part of Memex that changes edges. Thread-safe."""

    def link(
        self,
        source: UUID | str,
        target: UUID | str,
        relationship_type: str = "related_to",
        *,
        weight: float = 0.5,
        confidence: float = 1.0,
        domain: str = "general",
        metadata: Mapping[str, Any] | None = None,
        edge_id: UUID | None = None,
    ) -> GraphEdge:
        """Connect two memories and return the edge; the same relation again changes the one that is there.

        Args:
            weight, confidence: [0, 1].
            domain: code, legal, medical, creative, research or general; selects the edge's profile.
            edge_id: The id to give; an edge of that id is returned as it is, and nothing is written.

        Raises:
            GraphQueryError: One of the memories is not in the store (-32001).
            InvalidParamsError: Names the field.
        """
        ends = as_uuid("source", source), as_uuid("target", target)
        with self._core.operation("link", writes=True) as core:
            if ends[0] == ends[1]:
                raise InvalidParamsError.of(
                    "target", f"is {target}, the same as source; an edge needs two memories"
                )
            for end in ends:
                core.live(end)
            there = core.store.edges.get(edge_id.bytes) if edge_id is not None else None
            if there is not None:
                return there
            kind = _domain(domain)
            relationship_type = core.redactor.redact_id(relationship_type)
            known = core.store.edges.find(ends[0].bytes, ends[1].bytes, relationship_type)
            edge = replace(
                known or _new(*ends, relationship_type, edge_id),
                weight=weight,
                confidence=confidence,
                domain=kind,
                neurotransmitter_weights=NeurotransmitterWeights.for_domain(kind),
                metadata=redacted(metadata, core.redactor) if metadata else {},
            )
            _put(core, [edge], new=known is None)
            return edge

    def unlink(self, edge_id: UUID | str) -> GraphEdge:
        """Take an edge out and return it. Raises GraphQueryError if there is none."""
        wanted = as_uuid("edge_id", edge_id)
        with self._core.operation("link", writes=True) as core:
            edge, derived = _edge(core, wanted), core.derived
            core.store.remove_edges([edge])
            with followed(core):
                derived.metrics.unlinked(edge)
            return edge

    def traverse(self, edge_ids: Iterable[UUID | str], reward: float) -> Sequence[GraphEdge]:
        """Count a traversal of each edge, worth ``reward`` in [-1, 1], and return them as they are now."""
        wanted = [as_uuid("edge_ids", one) for one in edge_ids]
        with self._core.operation("link", writes=True) as core:
            check_range("reward", reward, -1.0, 1.0)
            at = now_ms()
            edges = [_edge(core, edge_id).traversed(reward, at) for edge_id in dict.fromkeys(wanted)]
            if edges:
                _put(core, edges, new=False)
            return edges


def _new(source: UUID, target: UUID, relationship_type: str, edge_id: UUID | None) -> GraphEdge:
    at = now_ms()
    return GraphEdge(
        id=edge_id or uuid4(),
        source_id=source,
        target_id=target,
        relationship_type=relationship_type,
        created_at_ms=at,
        last_traversed_ms=at,
    )


def _put(core: Core, edges: list[GraphEdge], *, new: bool) -> None:
    derived = core.derived if new else None
    core.store.put_edges(edges)
    with followed(core):
        if derived is not None:
            for edge in edges:
                derived.metrics.linked(edge)


def _edge(core: Core, edge_id: UUID) -> GraphEdge:
    found = core.store.edges.get(edge_id.bytes)
    if found is None:
        raise GraphQueryError(f"no edge {edge_id} in this store")
    return found


def _domain(name: str) -> Domain:
    try:
        return Domain(name)
    except ValueError:
        raise InvalidParamsError.of("domain", f"is {name!r}, must be one of {', '.join(Domain)}") from None
