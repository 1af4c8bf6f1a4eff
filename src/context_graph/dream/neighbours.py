"""The near neighbours of each row of a space, as one undirected graph: what clustering works on.

A small store is compared whole. A large one is cut into cells around centres; a row lies in the cells of its
nearest centres, and rows that share a cell are compared. The work of a cell (or of a block of rows) is a pure
function of arrays and gives edges, so cells can be done in any order and anywhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from context_graph.dream import processors
from context_graph.dream.progress import Progress, silent

__all__ = ["EXACT_ROWS", "Graph", "compare", "nearest"]

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Rows = NDArray[np.integer[Any]]
Made = TypeVar("Made")

EXACT_ROWS: Final = 8_000
"""Up to here each row is compared with all; some 0.4 s."""
CELL_ROWS: Final = 300
"""Rows for each centre."""
CELLS_OF_A_ROW: Final = 5
"""Cells that a row lies in: at 100,000 rows 0.9 of the neighbours are found (benches/bench_clusters.py)."""
SAMPLE: Final = 24
"""Rows for each centre that the centres are made of."""
ROUNDS: Final = 4
DENSE: Final = 4
"""Times as many neighbours as are wanted: from there on the best are picked out without sorting all."""
AT_ONCE: Final = 8192
"""Rows that are compared with all centres at a time."""
BLOCK_VALUES: Final = 4_000_000
"""Similarities in memory at a time: 16 MiB."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Undirected, without loops; each edge once, source < target, ordered by both."""

    rows: int
    source: I32
    target: I32
    weight: F32
    """Cosines."""

    def csr(self) -> tuple[I64, I32, NDArray[np.float64]]:
        """Both directions of each edge: where each row's begin (int64[rows + 1]), targets, weights."""
        ends = np.concatenate((self.source, self.target)), np.concatenate((self.target, self.source))
        order = np.lexsort((ends[1], ends[0]))
        starts = np.zeros(self.rows + 1, np.int64)
        np.cumsum(np.bincount(ends[0], minlength=self.rows), out=starts[1:])
        return starts, ends[1][order], np.concatenate((self.weight, self.weight))[order].astype(np.float64)


def nearest(unit: F32, count: int, least: float, *, progress: Progress = silent) -> Graph:
    """An edge from each row to its ``count`` nearest rows, where their cosine is at least ``least``.

    Args:
        unit: float32[n, d], each row of length 1 or all zeros.
        count: Neighbours of a row; it may be the neighbour of more.
        least: In (0, 1].

    Cost: up to 8,000 rows n^2, exact; above about n, and some neighbours are missed. Memory: the edges,
    and 16 MiB.
    """
    parts = _blocks(len(unit)) if len(unit) <= EXACT_ROWS else _in_cells(unit)
    found = list(_shared(unit, parts, count, least, progress))
    source = np.concatenate([part[0] for part in found] or [np.zeros(0, np.int32)])
    target = np.concatenate([part[1] for part in found] or [np.zeros(0, np.int32)])
    weight = np.concatenate([part[2] for part in found] or [np.zeros(0, np.float32)])
    del found
    return _joined(len(unit), *_best(*_once(len(unit), source, target, weight), count))


def _shared(
    unit: F32, parts: Sequence[tuple[I32, I32]], count: int, least: float, progress: Progress
) -> Iterator[tuple[I32, I32, F32]]:
    """`compare` of each part, in their order; a thread for each processor."""
    threads = processors.usable()
    with ThreadPoolExecutor(threads) as pool:
        left = iter(parts)
        running = deque(pool.submit(compare, unit, *part, count, least) for part in islice(left, 2 * threads))
        done = 0
        try:
            while running:
                yield running.popleft().result()
                running.extend(pool.submit(compare, unit, *part, count, least) for part in islice(left, 1))
                done += 1
                progress(done, len(parts))
        finally:
            pool.shutdown(cancel_futures=True)


def compare(unit: F32, rows: I32, others: I32, count: int, least: float) -> tuple[I32, I32, F32]:
    """(source, target, cosine) of the ``count`` nearest of ``others``, ascending, to each of ``rows``."""
    sources, targets, weights = [], [], []
    candidates = unit[others]
    step = max(1, BLOCK_VALUES // max(1, len(others)))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        cosines = unit[some] @ candidates.T
        _leave_out(cosines, some, others)
        row, other = _above(cosines, count, least)
        row, other, cosine = _best(row, other, cosines[row, other], count)
        sources.append(some[row])
        targets.append(others[other])
        weights.append(cosine)
    empty = np.zeros(0, np.int32)
    return (
        np.concatenate(sources or [empty]),
        np.concatenate(targets or [empty]),
        np.concatenate(weights or [np.zeros(0, np.float32)]),
    )


def _leave_out(cosines: F32, rows: I32, others: I32) -> None:
    """No row is its own neighbour."""
    at = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    itself = np.flatnonzero(others[at] == rows)
    cosines[itself, at[itself]] = -1.0


def _above(cosines: F32, count: int, least: float) -> tuple[Rows, Rows]:
    """Where a row's neighbours can be: all that are at least ``least``, or, if those are many, its best."""
    enough = cosines >= least
    columns = cosines.shape[1]
    if count < columns and np.count_nonzero(enough) > DENSE * count * len(cosines):
        best = np.argpartition(cosines, columns - count, axis=1)[:, columns - count :].ravel()
        rows = np.repeat(np.arange(len(cosines)), count)
        kept = enough[rows, best]
        return rows[kept], best[kept]
    flat = np.flatnonzero(enough)
    return flat // columns, flat % columns


def _best(source: Rows, target: Rows, weight: F32, count: int) -> tuple[Rows, Rows, F32]:
    """The ``count`` heaviest edges of each source; of equals those to the lowest targets."""
    order = np.lexsort((target, -weight, source))
    ordered = source[order]
    first = np.searchsorted(ordered, ordered, side="left")
    kept = order[np.arange(len(order)) - first < count]
    return source[kept], target[kept], weight[kept]


def _once(rows: int, source: Rows, target: Rows, weight: F32) -> tuple[I32, I32, F32]:
    """Ordered by source and target, without the edges that were found twice."""
    edges, first = np.unique(source.astype(np.int64) * rows + target, return_index=True)
    return (edges // rows).astype(np.int32), (edges % rows).astype(np.int32), weight[first]


def _joined(rows: int, source: Rows, target: Rows, weight: F32) -> Graph:
    low, high = np.minimum(source, target), np.maximum(source, target)
    return Graph(rows, *_once(rows, low, high, weight))


def _blocks(rows: int) -> list[tuple[I32, I32]]:
    everyone = np.arange(rows, dtype=np.int32)
    step = max(1, BLOCK_VALUES // max(1, rows))
    return [(everyone[start : start + step], everyone) for start in range(0, rows, step)]


def _in_cells(unit: F32) -> list[tuple[I32, I32]]:
    centres = _centres(unit)
    nearest_centres = _side_by_side(
        lambda start: np.argpartition(-(unit[start : start + AT_ONCE] @ centres.T), CELLS_OF_A_ROW, axis=1)[
            :, :CELLS_OF_A_ROW
        ].astype(np.int32),
        len(unit),
    )
    own = np.concatenate(nearest_centres)
    order = np.argsort(own, axis=None, kind="stable")
    ends = np.searchsorted(own.ravel()[order], np.arange(len(centres) + 1))
    cells = (np.sort(order[ends[cell] : ends[cell + 1]] // CELLS_OF_A_ROW) for cell in range(len(centres)))
    return [(rows, rows) for rows in (cell.astype(np.int32) for cell in cells)]


def _side_by_side(work: Callable[[int], Made], rows: int) -> list[Made]:
    """``work`` of the first of each AT_ONCE rows, on all processors, in order."""
    with ThreadPoolExecutor(processors.usable()) as pool:
        return list(pool.map(work, range(0, rows, AT_ONCE)))


def _centres(unit: F32) -> F32:
    """Centres of cells, by spherical k-means over rows at equal distances: same rows, same centres."""
    cells = max(2, len(unit) // CELL_ROWS)
    sample = unit[np.linspace(0, len(unit) - 1, min(len(unit), SAMPLE * cells)).astype(np.int64)]
    centres = sample[np.linspace(0, len(sample) - 1, cells).astype(np.int64)].copy()
    for _ in range(ROUNDS):
        nearest_centre = np.concatenate(_side_by_side(partial(_nearest_centre, sample, centres), len(sample)))
        order = np.argsort(nearest_centre, kind="stable")
        taken, firsts = np.unique(nearest_centre[order], return_index=True)
        centres[taken] = np.add.reduceat(sample[order], firsts, axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->i", centres, centres))[:, None]
        np.divide(centres, lengths, out=centres, where=lengths > 0)
    return centres


def _nearest_centre(sample: F32, centres: F32, start: int) -> I64:
    return np.asarray(np.argmax(sample[start : start + AT_ONCE] @ centres.T, axis=1))
