"""Scores salience by Numba, for large runs (extra ``numba``; `kernels.salience_for` chooses).

The same as the compiled `salience` within 1e-6: LLVM may add in another order. Numba takes most of a
second to load and some seconds to compile; what it compiled is kept beside this file, as Python keeps its
own, or in the user's cache folder.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from context_graph.kernels import salience as _compiled
from context_graph.model.spaces import DIM, SIZES

__all__ = ["KINDS", "add_weighted", "score"]

KINDS: Final = ("numba",)
_njit: Any = import_module("numba").njit
add_weighted = _compiled.add_weighted


@_njit(fastmath=True, nogil=True, forceinline=True)
def _near(row, centres, most, start, size):  # type: ignore[no-untyped-def]  # Numba gives the types
    """Return the greatest of cosine times weight over the centres, in [0, 1]; -1 in a space of zeros."""
    square = np.float32(0.0)
    for k in range(start, start + size):
        square += row[k] * row[k]
    if square <= 0.0:
        return -1.0
    length, near = np.sqrt(np.float64(square)), 0.0
    for c in range(centres.shape[0]):
        product = np.float32(0.0)
        for k in range(start, start + size):
            product += row[k] * centres[c, k]
        near = max(near, min(product / length, 1.0) * most[c])
    return near


@_njit(fastmath=True, nogil=True, cache=True)
def _score(block, told, base, centres, most, unread, out):  # type: ignore[no-untyped-def]  # as above
    near = np.empty(13)
    for i in range(block.shape[0]):
        row = block[i]
        near[0] = _near(row, centres, most, 0, 256)
        if near[0] < 0.0 and told[i] > 0.0:
            out[i, :] = unread * (1.0 - base[i])
            continue
        # Places and sizes are numbers, so that each space gets a loop of its own.
        near[1] = _near(row, centres, most, 256, 32)
        near[2] = _near(row, centres, most, 288, 128)
        near[3] = _near(row, centres, most, 416, 128)
        near[4] = _near(row, centres, most, 544, 96)
        near[5] = _near(row, centres, most, 640, 96)
        near[6] = _near(row, centres, most, 736, 96)
        near[7] = _near(row, centres, most, 832, 128)
        near[8] = _near(row, centres, most, 960, 96)
        near[9] = _near(row, centres, most, 1056, 128)
        near[10] = _near(row, centres, most, 1184, 96)
        near[11] = _near(row, centres, most, 1280, 128)
        near[12] = _near(row, centres, most, 1408, 128)
        for s in range(13):
            out[i, s] = 0.0 if near[s] < 0.0 else 1.0 - base[i] * (1.0 - told[i] * near[s])


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
    """Write the 13 scores of each row to ``out``; arguments and errors as of the compiled `salience`.

    Cost: the first call compiles; then 0.3 us a row, and 0.1 us for each centre of it.
    """
    if block.shape[1] != DIM or centres.shape[1] != DIM or out.shape[1] != len(SIZES):
        raise ValueError("rows and centres have 1536 values, scores 13")
    if not (len(told) == len(base) == len(out) == len(block) and len(most) == len(centres)):
        raise ValueError("told, base and out are needed for each row, most for each centre")
    if kind not in (None, *KINDS):
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    _score(block, told, base, centres, most, float(unread), out)


assert sum(SIZES) == DIM and len(SIZES) == 13, "the spaces that `_score` was written for"
