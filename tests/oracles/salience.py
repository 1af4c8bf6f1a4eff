"""Scores the salience of a block of memories, space by space: twin of ext/kernels/salience.pyx.

    s_i = 1 - base * (1 - told * near_i)    near_i = greatest most * min(1, cosine) of the centres, or 0

0 in a space that is all zeros; ``unread * (1 - base)`` in every space of a row whose first space, Semantic,
is empty although it tells something: the embedder can't read it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from context_graph.model.spaces import DIM, SIZES, SLICES

LANES: Final = 16
KINDS: Final = ("plain",)
"""How it can be done on this processor; the results are the same."""


def score(
    block: NDArray[np.float32],
    told: NDArray[np.float64],
    base: NDArray[np.float64],
    centres: NDArray[np.float32],
    most: NDArray[np.float64],
    unread: float,
    out: NDArray[np.float64],
    kind: str | None = None,
) -> None:
    """The 13 scores of each row."""
    if kind not in (None, *KINDS):
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    check(block, told, base, centres, most, out)
    for space, part in enumerate(SLICES.values()):
        rows = block[:, part]
        squares = _dots(rows, rows)
        lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        near = np.zeros(len(block))
        for centre, weight in zip(centres[:, part], most, strict=True):
            near = np.maximum(near, np.minimum(_dots(rows, centre) / lengths, 1.0) * weight)
        out[:, space] = np.where(squares > 0.0, 1.0 - base * (1.0 - told * near), 0.0)
        if space == 0:
            lost = (squares == 0.0) & (told > 0.0)
    out[lost] = (unread * (1.0 - base[lost]))[:, None]


def check(
    block: NDArray[Any],
    told: NDArray[Any],
    base: NDArray[Any],
    centres: NDArray[Any],
    most: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Raise ValueError where the sizes do not belong together."""
    if block.shape[1] != DIM or centres.shape[1] != DIM or out.shape[1] != len(SIZES):
        raise ValueError("rows and centres have 1536 values, scores 13")
    if not (len(told) == len(base) == len(out) == len(block) and len(most) == len(centres)):
        raise ValueError("told, base and out are needed for each row, most for each centre")


def _dots(rows: NDArray[np.float32], others: NDArray[Any]) -> NDArray[np.float64]:
    """Row by row, in 16 lanes of single precision, which are then added: j and j + 8, j and j + 4, …"""
    lanes = np.zeros((len(rows), LANES), np.float32)
    for at in range(0, rows.shape[1], LANES):
        lanes += rows[:, at : at + LANES] * others[..., at : at + LANES]
    half = LANES // 2
    while half:
        lanes[:, :half] += lanes[:, half : 2 * half]
        half //= 2
    return lanes[:, 0].astype(np.float64)


def add_weighted(
    block: NDArray[np.float32], weights: NDArray[np.float64], total: NDArray[np.float64]
) -> None:
    """Add each row times its weight to ``total``, row after row."""
    if block.shape[1] != DIM or len(total) != DIM or len(weights) != len(block):
        raise ValueError("rows and total have 1536 values; a weight is needed for each row")
    for row, weight in zip(block, weights, strict=True):
        total += weight * row.astype(np.float64)
