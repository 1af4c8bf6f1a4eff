"""Amortised shortcuts: where answers went the same long way often enough, an edge from its first to its last.

The ways are recorded by what answers (`memory.traversal`). An edge counts for its way as it is now: one that
was taken out since ends it, and what a replay made of its weight is in the product.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from math import prod
from typing import Final
from uuid import UUID

from context_graph.dream.plan import NewLink
from context_graph.dream.snapshot import Snapshot
from context_graph.model.path import MIN_HOPS, TraversedPath

__all__ = ["MAX_LINKS", "MIN_CONFIDENCE", "MIN_TRAVERSALS", "RELATION", "links"]

MIN_TRAVERSALS: Final = 5
"""Answers that took the way; one that went on beyond its ends took it too."""
MIN_CONFIDENCE: Final = 0.7
"""Of every edge, at every one of those times and now."""
MAX_LINKS: Final = 100
"""Of one run: those taken most."""
RELATION: Final = "shortcut"
"""Says that one leads to the other, not how: the hops may be of different kinds."""


def links(snap: Snapshot, rows: Collection[int] | None = None) -> list[NewLink]:
    """An edge past each way of at least 3 hops, of confidence 0.7 or more, that at least 5 answers took.

    Its weight is the product of the edges' weights, its confidence the least of theirs; it keeps the whole
    way. There is none where an edge leads from the first to the last already.

    Args:
        rows: Those that remain; None for all.

    Returns:
        At most MAX_LINKS, the most taken first.
    """
    known = _strongest(snap)
    here = None if rows is None else {snap.ids[row] for row in rows}
    counts = _counts(snap.paths)
    found: dict[tuple[UUID, UUID], tuple[int, NewLink]] = {}
    for path in snap.paths:
        if len(path.nodes) <= MIN_HOPS or counts[path.nodes] < MIN_TRAVERSALS:
            continue
        if here is not None and not here.issuperset(path.nodes):
            continue
        ends = path.nodes[0], path.nodes[-1]
        link = None if ends in known else _shortcut(path, known)
        if link is not None and (ends not in found or found[ends][1].weight < link.weight):
            found[ends] = counts[path.nodes], link
    best = sorted(found.values(), key=lambda item: (-item[0], -item[1].weight, item[1].path))
    return [link for _, link in best[:MAX_LINKS]]


def _strongest(snap: Snapshot) -> dict[tuple[UUID, UUID], tuple[float, float]]:
    """(source, target) -> (weight, confidence) of the strongest edge from one to the other."""
    known: dict[tuple[UUID, UUID], tuple[float, float]] = {}
    edges = snap.links
    ids = snap.ids
    for source, target, weight, confidence in zip(
        edges.source.tolist(),
        edges.target.tolist(),
        edges.weight.tolist(),
        edges.confidence.tolist(),
        strict=True,
    ):
        pair = ids[source], ids[target]
        known[pair] = max(known.get(pair, (-1.0, 0.0)), (weight, confidence))
    return known


def _counts(paths: Collection[TraversedPath]) -> dict[tuple[UUID, ...], int]:
    """How often each way was taken, by itself and as a part of longer ones."""
    counts: dict[tuple[UUID, ...], int] = defaultdict(int)
    for path in paths:
        nodes = path.nodes
        for start in range(len(nodes) - MIN_HOPS):
            for end in range(start + MIN_HOPS + 1, len(nodes) + 1):
                counts[nodes[start:end]] += path.traversals
    return counts


def _shortcut(path: TraversedPath, known: dict[tuple[UUID, UUID], tuple[float, float]]) -> NewLink | None:
    hops = [known.get(hop) for hop in zip(path.nodes, path.nodes[1:], strict=False)]
    there = [hop for hop in hops if hop is not None]
    if len(there) < len(hops):  # it was taken out, or one of its memories was
        return None
    confidence = min(path.confidence, *(hop[1] for hop in there))
    if confidence < MIN_CONFIDENCE:
        return None
    return NewLink(
        source=path.nodes[0],
        target=path.nodes[-1],
        relationship_type=RELATION,
        weight=prod(hop[0] for hop in there),
        confidence=confidence,
        why="shortcut",
        shortcut=True,
        path=path.nodes,
    )
