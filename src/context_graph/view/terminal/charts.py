"""Draws numbers with block and braille characters: bars, a line over time, points on a plane."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_ACROSS: Final = " ▏▎▍▌▋▊▉█"
_UP: Final = " ▁▂▃▄▅▆▇█"
_BRAILLE: Final = 0x2800
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Of a braille character: the bit of each dot, by row and column."""


def bar(share: float, width: int) -> str:
    """Return a horizontal bar of at most ``width`` cells; a share above 0 shows as an eighth of a cell at
    least."""
    share = min(1.0, max(0.0, share))
    eighths = round(share * width * 8) or (1 if share and width else 0)
    whole, rest = divmod(eighths, 8)
    return _ACROSS[8] * whole + (_ACROSS[rest] if rest else "")


def signed(share: float, width: int) -> tuple[str, str]:
    """Return a bar of a share in [-1, 1]: what stands left of its middle, for less than 0, and what right."""
    half = max(1, (width - 1) // 2)
    filled = min(half, round(abs(share) * half) or (1 if share else 0))
    drawn = _ACROSS[8] * filled
    return ((drawn if share < 0 else "").rjust(half), (drawn if share > 0 else "").ljust(half))


def columns(values: Sequence[float], low: float, high: float, height: int) -> list[str]:
    """Return values as columns of blocks: ``height`` lines, the top one first."""
    span = (high - low) or 1.0
    # An eighth at least: a value at the bottom is not a gap.
    levels = [max(1, round(min(1.0, max(0.0, (value - low) / span)) * height * 8)) for value in values]
    return [
        "".join(_UP[min(8, max(0, level - row * 8))] for level in levels) for row in reversed(range(height))
    ]


def spread(values: Sequence[float], width: int) -> list[float]:
    """Return a value for each of ``width`` cells.

    With more values than cells it is the lowest of the cell's, so that no fall is hidden; with fewer each
    value takes several.
    """
    count = len(values)
    if count <= width:
        return [values[at * count // width] for at in range(width)] if values else []
    edges = [at * count // width for at in range(width + 1)]
    return [min(values[begin:end]) for begin, end in pairwise(edges)]


def cell_of(index: int, count: int, width: int) -> int:
    """Return the first cell of `spread` that shows value ``index`` of ``count``."""
    if count <= width:
        return -(-index * width // count)
    edges = [at * count // width for at in range(width + 1)]
    return next(at for at in range(width) if index < edges[at + 1])


def plane(points: Sequence[tuple[float, float, int]], width: int, height: int) -> list[list[tuple[str, int]]]:
    """Return points in [0, 1] as braille characters, y upwards: lines of cells, each with its cluster.

    A cell where clusters meet takes the one of its last point; -1 where there is none.
    """
    bits = [[0] * width for _ in range(height)]
    owner = [[-1] * width for _ in range(height)]
    for x, y, cluster in points:
        across = min(2 * width - 1, max(0, int(x * 2 * width)))
        down = min(4 * height - 1, max(0, int((1.0 - y) * 4 * height)))
        bits[down // 4][across // 2] |= _DOTS[down % 4][across % 2]
        owner[down // 4][across // 2] = cluster
    return [
        [(chr(_BRAILLE + bit) if bit else " ", of) for bit, of in zip(line, owners, strict=True)]
        for line, owners in zip(bits, owner, strict=True)
    ]
