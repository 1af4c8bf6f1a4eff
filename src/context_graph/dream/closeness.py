"""Which rows are at least so close to each other: all pairs, exactly, block by block.

A row of unit length is turned into the axes along which the rows differ most. Its first 64 coordinates, as
whole numbers of a step, and the length of what is left over bound every product from above
(Cauchy-Schwarz; what rounding loses is part of what is left over), so that most pairs are told apart by 64
bytes each. A block of two thousand rows is worked on with another in some milliseconds, without the GIL, and
knows of nothing but its two blocks: threads share the work here, machines could.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph._kernels import pairs as kernel
from context_graph.dream import processors
from context_graph.dream.progress import Progress, silent

__all__ = ["BLOCK_ROWS", "Bound", "Close", "close_pairs", "groups"]

BLOCK_ROWS: Final = 2048
SAMPLE_ROWS: Final = 20_000
"""Rows from which the axes are taken: others bound as correctly, only less tightly."""
CLIPPED: Final = 1e-4
"""Share of the coordinates that are longer than 127 steps; they are cut and count as left over."""
ROUNDING: Final = 1e-5
"""More than float32 can lose in 256 coordinates of a unit row."""

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Close:
    """Pairs of rows, i < j where both are of the same block of rows."""

    i: I32
    j: I32
    product: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bound:
    """How rows are coded: the same for all blocks that are to be compared."""

    axes: F32
    """(64, d), orthonormal rows; fewer dimensions are filled up with zeros."""
    step: float
    """Of a code."""
    reach: float
    """No row of codes is longer, times the step."""

    @classmethod
    def of(cls, rows: F32) -> Bound:
        """The bound that tells most of these rows apart; some 30 ms for 256 dimensions."""
        sample = rows[:: max(1, len(rows) // SAMPLE_ROWS)]
        _, vectors = np.linalg.eigh((sample.T @ sample).astype(np.float64))
        axes = np.zeros((kernel.CODES, rows.shape[1]), np.float32)
        used = min(kernel.CODES, rows.shape[1])
        axes[:used] = vectors[:, ::-1].T[:used]
        spread = np.abs(sample @ axes.T).ravel()
        at = min(len(spread) - 1, int(len(spread) * (1 - CLIPPED)))
        step = max(float(np.partition(spread, at)[at]) / 127, 1e-4)
        return cls(axes, step, 1.0 + step * math.sqrt(kernel.CODES) / 2)

    def block(self, rows: F32) -> kernel.Block:
        """These unit rows, ready to be compared; a copy of 64 to 256 bytes a row."""
        return kernel.Block(rows, *self.codes(rows))

    def codes(self, rows: F32) -> tuple[NDArray[np.int8], I32]:
        """(int8[n, 64], int32[n]): what bounds the products of these rows with any."""
        head = rows @ self.axes.T
        codes = np.clip(np.rint(head / self.step), -127, 127).astype(np.int8)
        lost = head - codes * np.float32(self.step)
        left = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", head, head)  # off the axes
        loss = np.einsum("ij,ij->i", lost, lost)
        # x.y <= a.b + |a||lost_y| + |lost_x||b| + (left_x + left_y) / 2
        slack = (np.maximum(left, 0.0) + loss) / 2 + self.reach * np.sqrt(loss) + ROUNDING
        return codes, np.ceil(slack / self.step**2).astype(np.int32)

    def limit(self, threshold: float) -> int:
        """What the codes' product and both slacks reach for every pair of at least ``threshold``."""
        return math.floor(threshold / self.step**2)


def groups(rows: F32, threshold: float, *, progress: Progress = silent, threads: int | None = None) -> I32:
    """int32[n]: the least row that each row hangs together with over pairs of at least ``threshold``.

    Args:
        rows: float32[n, d], unit or zero rows, contiguous, d a multiple of 8.
        threshold: In (0, 1].
        progress: Told of blocks; may raise, then nothing is left running.
        threads: As many as there are processors.

    Cost: n^2 / 2 bounds of 64 bytes, some 0.3 ns each on one core with AVX-512; 140 to 270 bytes a row.
    """
    sets = kernel.Sets(len(rows))
    for close in _blocks(rows, threshold, progress, threads, forest=True):
        sets.join(close.i, close.j)
    label = np.empty(len(rows), np.int32)
    sets.labels(label)
    return label


def close_pairs(
    rows: F32, threshold: float, *, progress: Progress = silent, threads: int | None = None
) -> Iterator[Close]:
    """All pairs of at least ``threshold``, in portions of one pair of blocks, in no fixed order.

    As `groups`; the pairs' number is bounded by nothing but n^2 / 2, a portion's by 2048^2.
    """
    return _blocks(rows, threshold, progress, threads, forest=False)


def _blocks(
    rows: F32, threshold: float, progress: Progress, threads: int | None, *, forest: bool
) -> Iterator[Close]:
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold must be in (0, 1], got {threshold}")
    if not len(rows):
        return
    bound = Bound.of(rows)
    blocks = [bound.block(rows[at : at + BLOCK_ROWS]) for at in range(0, len(rows), BLOCK_ROWS)]
    limit = bound.limit(threshold)

    def work(one: int, other: int) -> Close:
        found = _pairs(blocks[one], blocks[other], limit, threshold, forest)
        return Close(found.i + one * BLOCK_ROWS, found.j + other * BLOCK_ROWS, found.product)

    order = ((one, other) for one in range(len(blocks)) for other in range(one, len(blocks)))
    total = len(blocks) * (len(blocks) + 1) // 2
    jobs = (lambda one=one, other=other: work(one, other) for one, other in order)
    for done, close in enumerate(_shared(jobs, threads or processors.usable()), 1):
        yield close
        progress(done, total)


def _shared(jobs: Iterator[Callable[[], Close]], threads: int) -> Iterator[Close]:
    """Results as they come; few are waited for at a time, so that an end by force is an end soon."""
    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[Close]] = {pool.submit(job) for job in islice(jobs, 2 * threads)}
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {pool.submit(job) for job in islice(jobs, len(done))}
                yield from (future.result() for future in done)
        finally:
            pool.shutdown(cancel_futures=True)


def _pairs(one: kernel.Block, other: kernel.Block, limit: int, threshold: float, forest: bool) -> Close:
    room = max(len(one) + len(other), kernel.GROUP_PAIRS)
    start, parts = 0, []
    while start >= 0:
        i, j = np.empty(room, np.int32), np.empty(room, np.int32)
        product = np.empty(room, np.float64)
        count, start = kernel.close_pairs(
            one, other, limit, threshold, i, j, product, forest=forest, start=start
        )
        parts.append((i[:count], j[:count], product[:count]))
        room = min(2 * room, BLOCK_ROWS * 64)
    return Close(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
