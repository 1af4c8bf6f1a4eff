"""Finds all pairs of rows with at least a given cosine, exactly, block by block.

Unit rows are rotated to the axes along which they differ most. The first 64 coordinates, quantised to
integers, and the length of the rest bound every product from above (Cauchy-Schwarz; rounding errors count as
rest), so 64 bytes a row rule out most pairs. Two blocks of two thousand rows are compared in some
milliseconds without the GIL; pairs of blocks are independent, so threads share the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from context_graph.consolidation.progress import Progress, shared_out, silent
from context_graph.consolidation.snapshot import F32, I32
from context_graph.kernels import pairs as kernel

BLOCK_ROWS: Final = 2048
SAMPLE_ROWS: Final = 20_000
"""Rows from which the axes are taken: others bound as correctly, only less tightly."""
FEW_ROWS: Final = 512
"""Up to so many, comparing every pair costs less than looking for axes; bounds hold on any axes."""
CLIPPED: Final = 1e-4
"""Share of the coordinates that are longer than 127 steps; they are cut and count as left over."""
ROUNDING: Final = 1e-5
"""More than float32 can lose in 256 coordinates of a unit row."""


class Close(NamedTuple):
    """Pairs of rows, i < j where both are of the same block of rows."""

    i: I32
    j: I32
    product: NDArray[np.float64]


Search = Callable[[F32, float, Progress], Iterator[Close]]
"""Finds what hangs together over pairs of at least a cosine among unit rows, in portions, in any order."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How rows are coded: the same for all blocks that are to be compared."""

    axes: F32
    """(64, d), orthonormal rows; fewer dimensions are filled up with zeros."""
    step: float
    """The length that one unit of a code stands for."""
    reach: float
    """The length of the longest row of codes, times the step."""

    @classmethod
    def of(cls, rows: F32) -> Bound:
        """Choose the axes and step that bound these rows' products tightly; some 30 ms for 256 dimensions."""
        sample = rows[:: max(1, len(rows) // SAMPLE_ROWS)]
        axes = np.eye(kernel.CODES, rows.shape[1], dtype=np.float32)
        if len(rows) > FEW_ROWS:
            _, vectors = np.linalg.eigh((sample.T @ sample).astype(np.float64))
            used = min(kernel.CODES, rows.shape[1])
            axes[:used] = vectors[:, ::-1].T[:used]
        spread = np.abs(sample @ axes.T).ravel()
        at = min(len(spread) - 1, int(len(spread) * (1 - CLIPPED)))
        step = max(float(np.partition(spread, at)[at]) / 127, 1e-4)
        return cls(axes, step, 1.0 + step * math.sqrt(kernel.CODES) / 2)

    def block(self, rows: F32) -> kernel.Block:
        """These unit rows, ready to be compared; a copy of 64 to 256 bytes a row."""
        return kernel.Block(rows, *self.codes(rows))

    def blocks(self, rows: F32) -> list[kernel.Block]:
        """Return blocks of BLOCK_ROWS of them."""
        return [self.block(rows[at : at + BLOCK_ROWS]) for at in range(0, len(rows), BLOCK_ROWS)]

    def codes(self, rows: F32) -> tuple[NDArray[np.int8], I32]:
        """Return (int8[n, 64], int32[n]): codes and slacks that bound these rows' products with any row."""
        head = rows @ self.axes.T
        codes = np.clip(np.rint(head / self.step), -127, 127).astype(np.int8)
        lost = head - codes * np.float32(self.step)
        left = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", head, head)  # off the axes
        loss = np.einsum("ij,ij->i", lost, lost)
        # x.y <= a.b + |a||lost_y| + |lost_x||b| + (left_x + left_y) / 2
        slack = (np.maximum(left, 0.0) + loss) / 2 + self.reach * np.sqrt(loss) + ROUNDING
        return codes, np.ceil(slack / self.step**2).astype(np.int32)

    def limit(self, threshold: float) -> int:
        """Bound the codes' product plus both slacks from below, for pairs of at least ``threshold``."""
        return math.floor(threshold / self.step**2)


def groups(
    rows: F32,
    threshold: float,
    *,
    progress: Progress = silent,
    threads: int | None = None,
    search: Search | None = None,
) -> I32:
    """int32[n]: the least row that each row hangs together with over pairs of at least ``threshold``, (0, 1].

    ``rows`` are float32[n, d], unit or zero rows, contiguous, d a multiple of 8. ``search`` is for rows that
    are compared elsewhere than on this process's threads.

    Cost: n^2 / 2 bounds of 64 bytes, some 0.3 ns each on one core with AVX-512; 140 to 270 bytes a row.
    """
    sets = kernel.Sets(len(rows))
    if search is None:
        portions = close_pairs(rows, threshold, progress=progress, threads=threads, forest=True)
    else:
        portions = search(rows, threshold, progress)
    for close in portions:
        sets.join(close.i, close.j)
    label = np.empty(len(rows), np.int32)
    sets.labels(label)
    return label


def close_pairs(
    rows: F32,
    threshold: float,
    *,
    progress: Progress = silent,
    threads: int | None = None,
    forest: bool = False,
) -> Iterator[Close]:
    """Yield all pairs of at least ``threshold``, in portions of one pair of blocks. As `groups`.

    Args:
        forest: Only as many pairs of two blocks as tell what hangs together.

    Memory: a portion's pairs are bounded by 2048^2, all pairs by nothing but n^2 / 2.
    """
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold must be in (0, 1], got {threshold}")
    if not len(rows):
        return
    bound = Bound.of(rows)
    blocks, limit = bound.blocks(rows), bound.limit(threshold)
    compared = partial(_compared, blocks, blocks, limit, threshold, forest)
    order = [(i, j) for i in range(len(blocks)) for j in range(i, len(blocks))]
    yield from shared_out(compared, order, progress, threads=threads)


def joined_pairs(bound: Bound, part: F32, other: F32 | None, threshold: float) -> Close:
    """Return as many pairs of two parts of the rows, or of ``part`` alone, as tell what hangs together.

    Args:
        bound: Of all the rows.

    Returns:
        Rows of ``part`` and of ``other``.
    """
    blocks, limit = bound.blocks(part), bound.limit(threshold)
    others = blocks if other is None else bound.blocks(other)
    order = [(i, j) for i in range(len(blocks)) for j in range(i if other is None else 0, len(others))]
    parts = [_compared(blocks, others, limit, threshold, True, pair) for pair in order]
    return Close(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _compared(
    blocks: list[kernel.Block],
    others: list[kernel.Block],
    limit: int,
    threshold: float,
    forest: bool,
    pair: tuple[int, int],
) -> Close:
    """Return the pairs of one block and another, by their rows among all."""
    i, j = pair
    close = _pairs(blocks[i], others[j], limit, threshold, forest)
    return Close(close.i + i * BLOCK_ROWS, close.j + j * BLOCK_ROWS, close.product)


def _pairs(block: kernel.Block, other: kernel.Block, limit: int, threshold: float, forest: bool) -> Close:
    room = max(len(block) + len(other), kernel.GROUP_PAIRS)
    start, parts = 0, []
    while start >= 0:
        i, j = np.empty(room, np.int32), np.empty(room, np.int32)
        product = np.empty(room, np.float64)
        count, start = kernel.close_pairs(
            block, other, limit, threshold, i, j, product, forest=forest, start=start
        )
        parts.append((i[:count], j[:count], product[:count]))
        room = min(2 * room, BLOCK_ROWS * 64)
    return Close(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
