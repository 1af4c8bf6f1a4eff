"""Spreads the search for pairs in one huge project over Dask's workers, block of memories by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from distributed import as_completed, worker_client

from context_graph.consolidation.finders import closeness
from context_graph.consolidation.finders.closeness import Bound, Close
from context_graph.consolidation.progress import Progress
from context_graph.consolidation.snapshot import F32

PART_ROWS: Final = 8 * closeness.BLOCK_ROWS
"""Rows that one task compares with as many others: 16 MiB of each, some 100 ms."""


def spread_search(split_from: int) -> closeness.Search:
    """Return a search on all workers for at least that many rows, on this one's threads for fewer."""

    def search(rows: F32, threshold: float, progress: Progress) -> Iterator[Close]:
        if len(rows) < split_from:
            yield from closeness.close_pairs(rows, threshold, progress=progress, forest=True)
        else:
            yield from _spread(rows, threshold, progress)

    return search


def _spread(rows: F32, threshold: float, progress: Progress) -> Iterator[Close]:
    bound, starts = Bound.of(rows), range(0, len(rows), PART_ROWS)
    with worker_client() as client:
        parts = {at: client.scatter(rows[at : at + PART_ROWS], hash=False) for at in starts}
        places = {
            client.submit(
                closeness.joined_pairs,
                bound,
                parts[start],
                None if start == other else parts[other],
                threshold,
                pure=False,
            ): (start, other)
            for start in starts
            for other in starts
            if other >= start
        }
        waiting = as_completed(list(places))
        for done, future in enumerate(waiting, 1):
            start, other = places.pop(future)
            close = future.result()
            future.release()
            yield Close(close.i + start, close.j + other, close.product)
            progress(done, done + len(places))
