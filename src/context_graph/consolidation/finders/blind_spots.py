"""Finds blind spots: related clusters that have no edge between them.

There are two kinds of evidence: a memory outside both has causal edges into each, or each is the other's
nearest in causes, aims, actions or computation while their subjects (Semantic) differ. A run adds a few weak
edges; use strengthens them, and unused ones decay.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from context_graph.consolidation.plan import Cluster, NewLink
from context_graph.consolidation.snapshot import F32, I64, Snapshot, unit_rows
from context_graph.memory.metrics.insights import CAUSAL

WEIGHT: Final = 0.3
CONFIDENCE: Final = 0.5
RELATION: Final = "related_to"
MAX_LINKS: Final = 20
"""Of one run."""
MAX_OF_CLUSTER: Final = 2
"""Of one cluster in one run."""
MAX_NEIGHBOURS: Final = 16
"""Clusters around one memory; whatever causes more of them than that is no reason for any two."""
NEAR_SPACES: Final = ("Causal", "Teleological", "Behavioral", "Code")
"""Where likeness is a reason. In the others texts are alike by form, mood or words alone."""
FAR: Final = 0.3
"""Semantic cosine of two clusters, without what all share, up to which they are about different things."""
NEAR: Final = 0.6
"""Least cosine in another space, likewise."""
DEVIATIONS: Final = 3.0
"""By how many standard deviations it must exceed that of all pairs."""
SPEAKS: Final = 0.5
"""Share of a cluster's members that must say something in a space."""
ROWS: Final = 1024
"""Clusters that are compared with all others at a time."""


class _Spot(NamedTuple):
    strength: float
    one: int
    other: int
    """Clusters."""
    source: int
    target: int
    """Rows."""


def links(snap: Snapshot, clusters: Sequence[Cluster]) -> list[NewLink]:
    """Edges of weight 0.3 and confidence 0.5 between clusters that have none, shared causes first.

    At most 20, at most 2 a cluster; the same for the same snapshot. Each memory is in one cluster at most.

    Cost: four spaces of the store at hand, and k² products of centres for k clusters, 1024 rows at a time.
    """
    rows = [snap.rows_of(one.members) for one in clusters]
    if len(rows) < 2:
        return []
    cluster_of = np.full(len(snap), -1, np.int64)
    for number, members in enumerate(rows):
        cluster_of[members] = number
    joined = _joined(snap, cluster_of)
    causal = sorted(_shared_causes(snap, cluster_of, joined), reverse=True)
    near = sorted(_near(snap, rows, joined), reverse=True)
    taken: set[tuple[int, int]] = set()
    of_cluster: Counter[int] = Counter()
    found = []
    for spot in [*causal, *near]:
        pair = min(spot.one, spot.other), max(spot.one, spot.other)
        if pair in taken or max(of_cluster[pair[0]], of_cluster[pair[1]]) >= MAX_OF_CLUSTER:
            continue
        taken.add(pair)
        of_cluster.update(pair)
        ends = snap.ids[spot.source], snap.ids[spot.target]
        found.append(NewLink(*ends, RELATION, WEIGHT, CONFIDENCE, "blind_spot"))
        if len(found) == MAX_LINKS:
            break
    return found


def _joined(snap: Snapshot, cluster_of: I64) -> set[tuple[int, int]]:
    """Pairs of clusters, the lower number first, with an edge between any two members."""
    ends = np.sort(np.stack([cluster_of[snap.links.source], cluster_of[snap.links.target]]), axis=0)
    ends = ends[:, (ends[0] >= 0) & (ends[0] != ends[1])]
    return set(zip(ends[0].tolist(), ends[1].tolist(), strict=True))


def _shared_causes(snap: Snapshot, cluster_of: I64, joined: set[tuple[int, int]]) -> Iterator[_Spot]:
    """Pairs of clusters around a memory that is in neither, each reached over a causal edge."""
    around: dict[int, dict[int, tuple[float, int]]] = defaultdict(dict)
    edges = snap.links
    for kind, source, target, weight in zip(
        edges.kind, edges.source.tolist(), edges.target.tolist(), edges.weight.tolist(), strict=True
    ):
        if kind not in CAUSAL:
            continue
        for middle, member in ((source, target), (target, source)):
            cluster = int(cluster_of[member])
            if cluster >= 0 and cluster != cluster_of[middle]:
                strongest = around[middle].get(cluster, (-1.0, -1))
                around[middle][cluster] = max(strongest, (weight, -member))
    for reached in around.values():
        if len(reached) > MAX_NEIGHBOURS:
            continue
        numbers = sorted(reached)
        for at, one in enumerate(numbers):
            for other in numbers[at + 1 :]:
                if (one, other) not in joined:
                    (ours, source), (theirs, target) = reached[one], reached[other]
                    yield _Spot(ours * theirs, one, other, -source, -target)


def _near(snap: Snapshot, rows: Sequence[I64], joined: set[tuple[int, int]]) -> Iterator[_Spot]:
    """Pairs of clusters that are each other's nearest in one space and far apart in meaning."""
    snap.load("Semantic", *NEAR_SPACES)
    meaning = _centres(snap.space("Semantic"), rows)
    for name in NEAR_SPACES:
        space = snap.space(name)
        speaks = np.array([space[members].any(axis=1).mean() >= SPEAKS for members in rows])
        numbers = np.flatnonzero(speaks)
        if len(numbers) < 3:  # of two, each is the other's nearest
            continue
        centres = _centres(space, [rows[number] for number in numbers.tolist()])
        for cosine, one, other in _mutual(centres, meaning[numbers], numbers, joined):
            between = space[rows[one]] @ space[rows[other]].T
            source, target = np.unravel_index(int(between.argmax()), between.shape)
            yield _Spot(cosine, one, other, int(rows[one][source]), int(rows[other][target]))


def _centres(space: F32, rows: Sequence[I64]) -> F32:
    """float32[k, d] of unit rows: the clusters' means, without what all clusters have in common."""
    means = np.stack([space[members].mean(axis=0) for members in rows])
    return unit_rows(means - means.mean(axis=0))


def _mutual(
    centres: F32, meaning: F32, numbers: I64, joined: set[tuple[int, int]]
) -> list[tuple[float, int, int]]:
    """(cosine, cluster, cluster) of pairs that are each other's nearest among those they may be linked to."""
    count = len(centres)
    nearest, cosines = np.zeros(count, np.int64), np.zeros(count)
    place = {int(number): at for at, number in enumerate(numbers)}
    pairs = [(place[one], place[other]) for one, other in joined if one in place and other in place]
    barred = np.array(pairs, np.int64).reshape(-1, 2)
    barred = np.concatenate([barred, barred[:, ::-1]])
    total = squares = 0.0
    for start in range(0, count, ROWS):
        block = centres[start : start + ROWS] @ centres.T
        own = np.arange(len(block))
        block[own, own + start] = 0.0
        total += float(block.sum(dtype=np.float64))
        squares += float(np.einsum("ij,ij->", block, block, dtype=np.float64))
        block[meaning[start : start + ROWS] @ meaning.T > FAR] = -1.0
        here = barred[(barred[:, 0] >= start) & (barred[:, 0] < start + len(block))]
        block[here[:, 0] - start, here[:, 1]] = -1.0
        block[own, own + start] = -1.0
        nearest[start : start + len(block)] = block.argmax(axis=1)
        cosines[start : start + len(block)] = block.max(axis=1)
    mean = total / (count * (count - 1))
    spread = max(0.0, squares / (count * (count - 1)) - mean * mean) ** 0.5
    chosen = np.flatnonzero(
        (nearest[nearest] == np.arange(count))
        & (np.arange(count) < nearest)
        & (cosines >= max(NEAR, mean + DEVIATIONS * spread))
    )
    return [(float(cosines[at]), int(numbers[at]), int(numbers[nearest[at]])) for at in chosen]
