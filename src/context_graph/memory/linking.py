"""Edges between memories, as Memex offers them. Everything here runs inside a turn of the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from context_graph.errors import GraphQueryError, InvalidParamsError
from context_graph.memory.core import Core, now_ms
from context_graph.memory.editing import followed
from context_graph.memory.writing import redacted
from context_graph.model.edge import Domain, GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import check_range

__all__ = ["link", "traverse", "unlink"]


def link(
    core: Core,
    source: UUID,
    target: UUID,
    *,
    relationship_type: str,
    weight: float,
    confidence: float,
    domain: str,
    metadata: Mapping[str, Any] | None,
    edge_id: UUID | None,
) -> GraphEdge:
    """Connect two live memories; the same relation again changes the edge that is there."""
    if source == target:
        raise InvalidParamsError.of("target", f"is {target}, the same as source; an edge needs two memories")
    core.live(source)
    core.live(target)
    there = core.store.edges.get(edge_id.bytes) if edge_id is not None else None
    if there is not None:
        return there
    kind, at = _domain(domain), now_ms()
    clean = redacted(metadata, core.redactor) if metadata else {}
    relationship_type = core.redactor.redact_id(relationship_type)
    known = core.store.edges.find(source.bytes, target.bytes, relationship_type)
    if known is not None:
        edge = replace(known, weight=weight, confidence=confidence, domain=kind, metadata=clean)
        edge = replace(edge, neurotransmitter_weights=NeurotransmitterWeights.for_domain(kind))
    else:
        edge = GraphEdge(
            id=edge_id or uuid4(),
            source_id=source,
            target_id=target,
            relationship_type=relationship_type,
            weight=weight,
            created_at_ms=at,
            last_traversed_ms=at,
            neurotransmitter_weights=NeurotransmitterWeights.for_domain(kind),
            domain=kind,
            confidence=confidence,
            metadata=clean,
        )
    _put(core, [edge], new=known is None)
    return edge


def traverse(core: Core, edge_ids: Iterable[UUID], reward: float) -> list[GraphEdge]:
    """Count a traversal of each edge and what it was worth."""
    check_range("reward", reward, -1.0, 1.0)
    at = now_ms()
    edges = [_edge(core, edge_id).traversed(reward, at) for edge_id in dict.fromkeys(edge_ids)]
    if edges:
        _put(core, edges, new=False)
    return edges


def unlink(core: Core, edge_id: UUID) -> GraphEdge:
    """Take an edge out."""
    edge, derived = _edge(core, edge_id), core.derived
    core.store.remove_edges([edge])
    with followed(core):
        derived.figures.unlinked(edge)
    return edge


def _put(core: Core, edges: list[GraphEdge], *, new: bool) -> None:
    derived = core.derived if new else None
    core.store.put_edges(edges)
    with followed(core):
        if derived is not None:
            for edge in edges:
                derived.figures.linked(edge)


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
