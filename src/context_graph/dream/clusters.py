"""Clusters: memories that share rare words (E13), found by Leiden's method on a graph of near neighbours.

E13 holds each text's terms as signed hashes, all terms alike. Directions in which everything varies are
common words: they are weighed down first, as the rarity of terms would (docs/adr/0015-clustering.md). Then
each memory is linked to its nearest others, as far as chance would not link them, and communities are cut out
whose links are dense (constant Potts model: a small cluster in a large store is found too).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final
from uuid import UUID

import graspologic_native  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from context_graph.dream.labels import RareWords
from context_graph.dream.neighbours import Graph, nearest
from context_graph.dream.plan import Cluster
from context_graph.dream.progress import Progress, silent
from context_graph.dream.snapshot import Snapshot, unit_rows

__all__ = ["MIN_MEMBERS", "cluster_id", "communities", "find", "rarity_weighted"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

MIN_MEMBERS: Final = 3
"""Two alike are a pair."""
NEIGHBOURS: Final = 10
LEAST_COSINE: Final = 0.3
"""Below it texts share a word or two by chance, in a store of any size."""
RESOLUTION: Final = 0.05
"""The density (mean weight over all pairs) that holds a community together; at ten neighbours some hundred
memories at most."""
SEED: Final = 1
DAMPING: Final = 1.0
"""Share of the mean variance that is added to each direction's before it is divided by it."""
SMALL: Final = 500.0
"""Rows below which their mean and variance are hardly trusted: what they share may be what they are about."""
CHANCE: Final = 0.02
"""Links to unrelated memories that a memory has by chance."""
WIDEST: Final = 0.1
"""Standard deviation of the cosine of unrelated rows: 0.08 to 0.1 in every store that was looked at."""
PAIRS: Final = 20_000
"""Random pairs that tell the cosine of unrelated texts."""
LABELLED: Final = 6
"""Members that are read for a label: those nearest to the centre."""


def find(snap: Snapshot, rows: Sequence[int] | I64, *, progress: Progress = silent) -> list[Cluster]:
    """The clusters of ``rows``, largest first. A memory is in one cluster or in none.

    Args:
        snap: The store.
        rows: The memories to look at: those that remain after merging and pruning.

    Returns:
        Clusters of at least 3 members each, in the order of their rows. The same rows give the same clusters.

    Cost: 100,000 memories some 8 s and 250 MB beside the space itself (benches/bench_clusters.py).
    """
    chosen = np.asarray(rows, np.int64)
    if len(chosen) < MIN_MEMBERS:
        return []
    space = snap.space("SPLADE")[chosen]
    unit = rarity_weighted(space)
    graph = nearest(unit, NEIGHBOURS, chance(unit), progress=progress)
    del unit
    groups = communities(graph, RESOLUTION)
    words = RareWords(snap) if groups else None
    found = []
    for group in groups:
        assert words is not None
        found.append(_cluster(snap, chosen[group], space[group], words))
    return sorted(found, key=lambda cluster: (-len(cluster.members), cluster.id))


def rarity_weighted(space: F32) -> F32:
    """float32[n, d] of unit rows: ``space`` centred, with directions in which all rows vary weighed down.

    Rows of zeros stay. Of few rows little is taken: their mean may be their subject.
    """
    trust = len(space) / (len(space) + SMALL)
    centred = space - space.mean(axis=0, dtype=np.float64).astype(np.float32) * np.float32(trust)
    moments = (centred.T @ centred / len(space)).astype(np.float64)
    variance, directions = np.linalg.eigh(moments)
    variance = np.clip(variance, 0.0, None)
    damping = (DAMPING / trust) * variance.mean() or 1.0
    weighted = centred @ (directions / np.sqrt(variance + damping)).astype(np.float32)
    weighted[~space.any(axis=1)] = 0.0
    return unit_rows(weighted)


def chance(unit: F32) -> float:
    """The cosine that one in fifty rows would reach with some unrelated row by chance; at least 0.3.

    By the middle half of random pairs, as far as that is no wider than unrelated pairs are in any store: in a
    small one about two things, half of all pairs are related.
    """
    draws = np.random.default_rng(SEED).integers(0, len(unit), (2, PAIRS))
    draws = draws[:, draws[0] != draws[1]]
    low, middle, high = np.quantile(np.einsum("ij,ij->i", unit[draws[0]], unit[draws[1]]), (0.25, 0.5, 0.75))
    normal = NormalDist()
    seldom = normal.inv_cdf(1 - CHANCE / len(unit))
    measured = float(middle + (high - low) / (2 * normal.inv_cdf(0.75)) * seldom)
    return max(LEAST_COSINE, min(measured, WIDEST * seldom))


def communities(graph: Graph, resolution: float) -> list[I64]:
    """Nodes of each community, in ascending order; by Leiden's method, seeded.

    Only communities of at least 3 nodes and as many links: three that are alike are linked all three ways,
    while links that chance made form chains.

    Raises:
        RuntimeError: The library failed.
    """
    if not len(graph.source):
        return []
    starts, targets, weights = graph.csr()
    try:
        _, member_of = graspologic_native.leiden_csr(
            starts, targets, weights, graph.rows, resolution=resolution, use_modularity=False, seed=SEED
        )
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the library is no Exception
        raise RuntimeError(f"the clustering library failed: {error}") from error
    nodes = np.fromiter(member_of.keys(), np.int64, len(member_of))
    groups = np.fromiter(member_of.values(), np.int64, len(member_of))
    order = np.lexsort((nodes, groups))
    nodes, groups = nodes[order], groups[order]
    group_of = np.full(graph.rows, -1)
    group_of[nodes] = groups
    inside = group_of[graph.source] == group_of[graph.target]
    links = np.bincount(group_of[graph.source[inside]], minlength=int(groups.max()) + 1)
    parts = np.split(nodes, np.flatnonzero(np.diff(groups)) + 1)
    return [part for part in parts if MIN_MEMBERS <= len(part) <= links[group_of[part[0]]]]


def cluster_id(members: Sequence[UUID]) -> UUID:
    """The id of these memories as a cluster, whatever their order."""
    digest = hashlib.blake2b(b"".join(sorted(member.bytes for member in members)), digest_size=16)
    return UUID(bytes=digest.digest(), version=5)


def _cluster(snap: Snapshot, rows: I64, space: F32, words: RareWords) -> Cluster:
    centre = space.mean(axis=0)
    length = float(np.sqrt(centre @ centre))
    cosines = space @ centre / length if length > 0 else np.zeros(len(rows), np.float32)
    nearest_rows = rows[np.lexsort((rows, -cosines))[:LABELLED]]
    members = tuple(snap.ids[row] for row in rows.tolist())
    return Cluster(
        id=cluster_id(members),
        members=members,
        label=words.label(snap.text(row) for row in nearest_rows.tolist()),
        coherence=min(1.0, max(0.0, float(cosines.mean()))),
    )
