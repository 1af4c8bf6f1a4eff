"""Finds clusters, memories that share rare words (E13), by Leiden's method on a graph of near neighbours.

E13 holds each text's terms as signed hashes, all with equal weight. Directions in which everything varies are
common words; they are damped first, as weighting by rarity would (docs/dev/adr/0015-clustering.md). Then each
memory is linked to its nearest neighbours, unless chance would link them too, and communities with dense
links are found (constant Potts model, which also finds a small cluster in a large store).

A small store is compared whole. A large one is divided into cells around centres; a row belongs to the cells
of its nearest centres, and rows that share a cell are compared. The work on a cell (or a block of rows) is a
pure function from arrays to edges, so cells can be done in any order and anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any, Final
from uuid import UUID

import graspologic_native  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from context_graph.consolidation.finders.words import RareWords
from context_graph.consolidation.plan import Cluster
from context_graph.consolidation.progress import Progress, shared_out, silent
from context_graph.consolidation.snapshot import F32, I32, I64, Snapshot, unit_rows

Rows = NDArray[np.integer[Any]]
EXACT_ROWS: Final = 8_000
"""Rows up to which each is compared with all; some 0.4 s."""
CELL_ROWS: Final = 300
"""Rows for each centre."""
CELLS_OF_A_ROW: Final = 5
"""Cells that a row lies in. With 100,000 rows 0.9 of the neighbours are found
(benches/consolidation/clusters.py)."""
SAMPLE: Final = 24
"""Rows for each centre that the centres are made of."""
ROUNDS: Final = 4
DENSE: Final = 4
"""Times as many neighbours as are wanted: from there on the best are picked out without sorting all."""
AT_ONCE: Final = 8192
"""Rows that are compared with all centres at a time."""
BLOCK_VALUES: Final = 4_000_000
"""Similarities in memory at a time: 16 MiB."""
MIN_MEMBERS: Final = 3
"""Members of a cluster at least; two alike memories are a pair."""
NEIGHBOURS: Final = 10
LEAST_COSINE: Final = 0.3
"""Below it texts share a word or two by chance, in a store of any size."""
RESOLUTION: Final = 0.05
"""The density (mean weight over all pairs) that holds a community together; at ten neighbours some hundred
memories at most."""
SEED: Final = 1
_ALL_BITS: Final = np.uint32(0xFFFFFFFF)
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


@dataclass(frozen=True, slots=True)
class Graph:
    """Undirected, without loops; each edge once, source < target, ordered by both."""

    rows: int
    source: I32
    target: I32
    weight: F32
    """Cosines."""

    def csr(self) -> tuple[I64, I32, NDArray[np.float64]]:
        """Return both directions of each edge: where each row's begin (int64[rows + 1]), targets, weights."""
        ends = np.concatenate((self.source, self.target)), np.concatenate((self.target, self.source))
        order = np.lexsort((ends[1], ends[0]))
        starts = np.zeros(self.rows + 1, np.int64)
        np.cumsum(np.bincount(ends[0], minlength=self.rows), out=starts[1:])
        return starts, ends[1][order], np.concatenate((self.weight, self.weight))[order].astype(np.float64)


def find(snap: Snapshot, rows: Sequence[int] | I64, *, progress: Progress = silent) -> list[Cluster]:
    """Return the clusters of ``rows``, largest first, of at least 3 members each; a memory is in one or in
    none.

    Members are in the order of their rows. The same rows give the same clusters.

    Cost: 100,000 memories some 8 s and 250 MB beside the space itself (benches/consolidation/clusters.py).
    """
    chosen = np.asarray(rows, np.int64)
    if len(chosen) < MIN_MEMBERS:
        return []
    space = snap.space("Terms")[chosen]
    unit = rarity_weighted(space)
    graph = nearest(unit, NEIGHBOURS, chance(unit), progress=progress)
    del unit
    groups = communities(graph, RESOLUTION)
    words = RareWords(snap)
    clusters = [_cluster(snap, chosen[group], space[group], words) for group in groups]
    return sorted(clusters, key=lambda cluster: (-len(cluster.members), cluster.id))


def rarity_weighted(space: F32) -> F32:
    """float32[n, d] of unit rows: ``space`` centred, directions in which all rows vary weighed down."""
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
    """Return the cosine that one in fifty rows would reach with some unrelated row by chance; at least 0.3.

    Estimated from the middle half of random pairs, but no wider than unrelated pairs are in any store: in a
    small store about two things, half of all pairs are related.
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

    Raises RuntimeError: The library failed.
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
    """Return the id of these memories as a cluster, whatever their order."""
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


def nearest(unit: F32, count: int, least: float, *, progress: Progress = silent) -> Graph:
    """Return an edge from each row to its ``count`` nearest rows, where their cosine is at least ``least``.

    Args:
        unit: float32[n, d], each row of length 1 or all zeros.
        count: Neighbours of a row; it may be the neighbour of more.
        least: In (0, 1].

    Cost: up to 8,000 rows n^2, exact; above about n, and some neighbours are missed. Memory: the edges,
    and 16 MiB.
    """
    parts = _blocks(len(unit)) if len(unit) <= EXACT_ROWS else _in_cells(unit)
    portions = list(shared_out(lambda part: compare(unit, *part, count, least), parts, progress))
    edges = _concatenated(portions)
    del portions
    source, target, weight = _best(*_once(len(unit), *edges), count)
    return Graph(len(unit), *_once(len(unit), np.minimum(source, target), np.maximum(source, target), weight))


def compare(unit: F32, rows: I32, others: I32, count: int, least: float) -> tuple[I32, I32, F32]:
    """Return (source, target, cosine) of the ``count`` nearest of ``others`` to each of ``rows``."""
    portions = []
    candidates = unit[others]
    step = max(1, BLOCK_VALUES // max(1, len(others)))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        cosines = unit[some] @ candidates.T
        at = np.minimum(np.searchsorted(others, some), len(others) - 1)
        itself = np.flatnonzero(others[at] == some)  # no row is its own neighbour
        cosines[itself, at[itself]] = -1.0
        row, other, cosine = _best_of_block(*_above(cosines, count, least), cosines, count)
        portions.append((some[row], others[other], cosine))
    return _concatenated(portions)


def _concatenated(parts: Sequence[tuple[I32, I32, F32]]) -> tuple[I32, I32, F32]:
    none = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32)
    source, target, weight = (np.concatenate(column) for column in zip(none, *parts, strict=True))
    return source, target, weight


def _above(cosines: F32, count: int, least: float) -> tuple[Rows, Rows]:
    """Return where a row's neighbours can be: all of at least ``least``, or of many its best."""
    enough = cosines >= least
    columns = cosines.shape[1]
    if count < columns and np.count_nonzero(enough) > DENSE * count * len(cosines):
        best = np.argpartition(cosines, columns - count, axis=1)[:, columns - count :].ravel()
        rows = np.repeat(np.arange(len(cosines)), count)
        kept = enough[rows, best]
        return rows[kept], best[kept]
    flat = np.flatnonzero(enough)
    return flat // columns, flat % columns


def _best_of_block(row: Rows, other: Rows, cosines: F32, count: int) -> tuple[Rows, Rows, F32]:
    """Return the ``count`` highest of each row of ``cosines``, all above 0; of equals those in the lowest
    columns.

    Row, cosine and column are packed into one number: sorting those takes a tenth of the time that
    sorting by three keys does. A block has BLOCK_VALUES, so that row and column have 23 bits or little more.
    """
    width = np.uint64(int(cosines.shape[1]).bit_length())
    falling = _ALL_BITS - cosines[row, other].view(np.uint32)  # of numbers above 0 the bits grow as they do
    keys = (row.astype(np.uint64) << np.uint64(32) | falling) << width | other.astype(np.uint64)
    keys.sort()
    row = (keys >> (width + np.uint64(32))).astype(np.int64)
    ends = np.cumsum(np.bincount(row, minlength=len(cosines)))
    kept = np.arange(len(row)) - np.concatenate(([0], ends))[row] < count
    row, other = row[kept], (keys[kept] & ((np.uint64(1) << width) - np.uint64(1))).astype(np.int64)
    return row, other, cosines[row, other]


def _best(source: Rows, target: Rows, weight: F32, count: int) -> tuple[Rows, Rows, F32]:
    """Return the ``count`` heaviest of ordered edges of each source; of equals the lowest targets."""
    order = np.lexsort((-weight, source))
    ordered = source[order]
    first = np.searchsorted(ordered, ordered, side="left")
    kept = order[np.arange(len(order)) - first < count]
    return source[kept], target[kept], weight[kept]


def _once(rows: int, source: Rows, target: Rows, weight: F32) -> tuple[I32, I32, F32]:
    """Ordered by source and target, without the edges that were found twice: the first of them stays."""
    edges = source.astype(np.int64) * rows + target
    order = np.argsort(edges)  # not a stable sort, which takes three times as long
    edges = edges[order]
    starts = np.flatnonzero(np.diff(edges, prepend=-1))
    edges, first = edges[starts], np.minimum.reduceat(order, starts) if len(order) else order
    return (edges // rows).astype(np.int32), (edges % rows).astype(np.int32), weight[first]


def _blocks(rows: int) -> list[tuple[I32, I32]]:
    everyone = np.arange(rows, dtype=np.int32)
    step = max(1, BLOCK_VALUES // max(1, rows))
    return [(everyone[start : start + step], everyone) for start in range(0, rows, step)]


def _in_cells(unit: F32) -> list[tuple[I32, I32]]:
    centres = _centres(unit)

    def nearest_centres(start: int) -> I32:
        cosines = unit[start : start + AT_ONCE] @ centres.T
        return np.argpartition(-cosines, CELLS_OF_A_ROW, axis=1)[:, :CELLS_OF_A_ROW].astype(np.int32)

    own = np.concatenate(list(shared_out(nearest_centres, range(0, len(unit), AT_ONCE))))
    order = np.argsort(own, axis=None, kind="stable")
    ends = np.searchsorted(own.ravel()[order], np.arange(len(centres) + 1))
    cells = (np.sort(order[ends[cell] : ends[cell + 1]] // CELLS_OF_A_ROW) for cell in range(len(centres)))
    return [(rows, rows) for rows in (cell.astype(np.int32) for cell in cells)]


def _centres(unit: F32) -> F32:
    """Centres of cells, by spherical k-means over rows at equal distances: same rows, same centres."""
    cells = max(2, len(unit) // CELL_ROWS)
    sample = unit[np.linspace(0, len(unit) - 1, min(len(unit), SAMPLE * cells)).astype(np.int64)]
    centres = sample[np.linspace(0, len(sample) - 1, cells).astype(np.int64)].copy()
    for _ in range(ROUNDS):
        starts = range(0, len(sample), AT_ONCE)
        nearest_centre = np.concatenate(list(shared_out(partial(_nearest_centre, sample, centres), starts)))
        order = np.argsort(nearest_centre, kind="stable")
        taken, firsts = np.unique(nearest_centre[order], return_index=True)
        centres[taken] = np.add.reduceat(sample[order], firsts, axis=0)
        unit_rows(centres)
    return centres


def _nearest_centre(sample: F32, centres: F32, start: int) -> I64:
    return np.asarray(np.argmax(sample[start : start + AT_ONCE] @ centres.T, axis=1))
