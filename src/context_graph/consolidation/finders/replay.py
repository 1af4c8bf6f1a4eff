"""Replays what was used (NREM): strengthens edges between memories active together, and lets others decay.

The update is Hebb's rule with decay, w' = clamp(0.999 w + 0.01 φ_i φ_j, 0.05, 1); φ is how active a memory
has been. It covers all edges among the replayed memories.

If answers followed the same long path often enough, a shortcut edge joins its first memory to its last.
Recall records the paths (`memory.editing`). A path's product uses each edge's present weight, changes by this
replay included; an edge removed since ends the path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from math import prod
from typing import Final
from uuid import UUID

import numpy as np

from context_graph.consolidation.plan import NewLink, Reweight
from context_graph.consolidation.snapshot import F64, I64, Snapshot
from context_graph.kernels import hebbian
from context_graph.model.edge import MIN_HOPS, TraversedPath

LEARNING: Final = 0.01
DECAY: Final = 0.001
"""Share of its weight that an edge loses in a replay."""
FLOOR: Final = 0.05
"""Weight to which an edge decays; one that was set lower stays as low until it is strengthened."""
ACTIVE: Final = 0.1
"""A memory of this activity or less fires not at all."""
REPLAYED: Final = 100
"""Memories of one replay, and one in a hundred of a large store."""
SHARE: Final = 0.01
RECENT: Final = 0.8
"""What the time of its last use counts for a memory's place in the replay; its activity counts the rest."""
HALF_LIFE_MS: Final = 7 * 86_400_000
USES: Final = 3.0
"""Uses that make a memory half as active as it can be."""
_LEAST_CHANGE: Final = 1e-9

MIN_TRAVERSALS: Final = 5
"""Answers that took the way, those included that went on beyond its ends."""
MIN_CONFIDENCE: Final = 0.7
"""Confidence that every edge of the way had each time, and has now."""
MAX_SHORTCUTS: Final = 100
"""Shortcuts that one run makes: of the ways taken most."""
SHORTCUT: Final = "shortcut"
"""Says that one leads to the other, not how: the hops may be of different kinds."""


def reweigh(snap: Snapshot, rows: Sequence[int] | I64 | None = None) -> list[Reweight]:
    """Return the edges among the replayed memories that change, each with its weight before and after.

    ``rows`` are those that remain, None for all; the answer is in the order of the snapshot's edges. Cost:
    some 10 ns an edge, and sorting the memories by their uses.
    """
    edges = snap.links
    if not len(edges.ids):
        return []
    active = activity(snap)
    chosen = replayed(snap, active, np.arange(len(snap)) if rows is None else np.asarray(rows, np.int64))
    among = np.zeros(len(snap), np.bool_)
    among[chosen] = True
    picked = np.flatnonzero(among[edges.source] & among[edges.target])
    before = np.ascontiguousarray(edges.weight[picked])
    after = np.empty_like(before)
    hebbian.update(
        np.ascontiguousarray(edges.source[picked]),
        np.ascontiguousarray(edges.target[picked]),
        np.where(active > ACTIVE, active, 0.0),
        before,
        after,
        LEARNING,
        DECAY,
        FLOOR,
    )
    changed = np.flatnonzero(np.abs(after - before) > _LEAST_CHANGE)
    return [
        Reweight(edges.ids[edge], old, new)
        for edge, old, new in zip(
            picked[changed].tolist(), before[changed].tolist(), after[changed].tolist(), strict=True
        )
    ]


def activity(snap: Snapshot) -> F64:
    """float64[n] in [0, 1]: how active each memory has been.

    uses / (uses + 3), halved for each week between its last use and the latest use of any, and reduced by up
    to a half for low importance. A memory that was never used is not active.
    """
    if not len(snap):
        return np.zeros(0)
    age = (snap.accessed_ms.max() - snap.accessed_ms).astype(np.float64)
    used = snap.accesses / (snap.accesses + USES)
    active: F64 = used * np.exp2(-age / HALF_LIFE_MS) * (0.5 + 0.5 * snap.importance)
    return active


def replayed(snap: Snapshot, active: F64, rows: I64) -> I64:
    """Return those of ``rows`` that are replayed: the first by 0.8 recency of use + 0.2 activity.

    At most 100, or one in a hundred where that is more. Recency is 0 for the least recent of ``rows``, 1 for
    the latest.
    """
    count = max(REPLAYED, int(SHARE * len(rows)))
    if len(rows) <= count:
        return rows
    at = snap.accessed_ms[rows].astype(np.float64)
    recency = (at - at.min()) / max(1.0, at.max() - at.min())
    score = RECENT * recency + (1.0 - RECENT) * active[rows]
    return np.sort(rows[np.lexsort((-rows, -score))[:count]])


def shortcuts(snap: Snapshot, rows: Sequence[int] | I64 | None = None) -> list[NewLink]:
    """Return a shortcut edge for each path of 3 hops or more, of confidence 0.7 or more, that at least 5
    answers used.

    Its weight is the product of the edges' weights, its confidence the least of theirs; it keeps the whole
    path. There is none if an edge leads from the first to the last already. ``rows`` are those that remain,
    None for all. At most MAX_SHORTCUTS, the most used first.
    """
    known = _strongest(snap)
    here = {snap.ids[row] for row in (range(len(snap)) if rows is None else rows)}
    counts = _counts(snap.paths)
    strongest: dict[tuple[UUID, UUID], tuple[int, NewLink]] = {}
    for path in snap.paths:
        often = len(path.nodes) > MIN_HOPS and counts[path.nodes] >= MIN_TRAVERSALS
        if not often or not here.issuperset(path.nodes):
            continue
        ends = path.nodes[0], path.nodes[-1]
        link = None if ends in known else _shortcut(path, known)
        if link is not None and (ends not in strongest or strongest[ends][1].weight < link.weight):
            strongest[ends] = counts[path.nodes], link
    best = sorted(strongest.values(), key=lambda item: (-item[0], -item[1].weight, item[1].path))
    return [link for _, link in best[:MAX_SHORTCUTS]]


def _strongest(snap: Snapshot) -> dict[tuple[UUID, UUID], tuple[float, float]]:
    """Return (source, target) -> (weight, confidence) of the strongest edge from one to the other."""
    known: dict[tuple[UUID, UUID], tuple[float, float]] = {}
    edges, ids = snap.links, snap.ids
    columns = (edges.source, edges.target, edges.weight, edges.confidence)
    for source, target, weight, confidence in zip(*(column.tolist() for column in columns), strict=True):
        pair = ids[source], ids[target]
        known[pair] = max(known.get(pair, (-1.0, 0.0)), (weight, confidence))
    return known


def _counts(paths: Collection[TraversedPath]) -> dict[tuple[UUID, ...], int]:
    """Return how often each path was used, by itself and as a part of longer ones."""
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
        relationship_type=SHORTCUT,
        weight=prod(hop[0] for hop in there),
        confidence=confidence,
        why="shortcut",
        shortcut=True,
        path=path.nodes,
    )
