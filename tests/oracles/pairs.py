"""Finds rows that are close to each other, and connected groups: the twin of ext/kernels/pairs.pyx.

A row comes with 64 codes and a slack, whole numbers, such that for any two rows x, y whose product reaches
``threshold``: sum(codes_x * codes_y) + slack_x + slack_y >= limit (consolidation/finders/closeness.py
makes them so). The exact product is taken of the pairs that pass. It is summed in double in a fixed order,
so that both twins agree to the last bit.

Unlike the other twins this one uses NumPy where it runs, as do those who call it: in plain Python a store of
some thousand memories would take hours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CODES: Final = 64
"""Whole numbers in [-127, 127] of a row."""
GROUP_PAIRS: Final = 128
"""Pairs that are bounded at once: the least room for results."""
KINDS: Final = ("plain",)
"""The inner loops that this processor can run, the fastest last."""
_LARGEST: Final = 1 << 29
_GROUP: Final = 8
_LANES: Final = 16


class Block:
    """Rows that are compared with another block's, or with each other."""

    def __init__(
        self,
        rows: NDArray[np.float32],
        codes: NDArray[np.int8],
        slack: NDArray[np.int32],
        kind: str | None = None,
    ) -> None:
        import numpy as np

        self.rows = rows
        self.codes = codes.astype(np.int64)
        self.slack = slack.astype(np.int64)
        n, dim = self.rows.shape
        if n < 1 or dim < 8 or dim % 8:
            raise ValueError(f"rows must be of a multiple of 8 values, got {n} of {dim}")
        if self.codes.shape != (n, CODES):
            raise ValueError(
                f"codes must be {n} rows of {CODES}, got {self.codes.shape[0]} of {self.codes.shape[1]}"
            )
        if len(self.slack) != n:
            raise ValueError(f"slack must have {n} values, got {len(self.slack)}")
        for i in range(n):
            if not 0 <= self.slack[i] <= _LARGEST:
                raise ValueError(f"slack[{i}] must be in [0, {_LARGEST}], got {self.slack[i]}")
            for k in np.flatnonzero(~np.isfinite(self.rows[i])):
                raise ValueError(f"rows[{i}, {k}] must be finite, got {float(self.rows[i, k])!r}")
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")

    def __len__(self) -> int:
        return len(self.rows)


def close_pairs(
    a: Block,
    b: Block,
    limit: int,
    threshold: float,
    out_i: NDArray[np.int32],
    out_j: NDArray[np.int32],
    out_cosine: NDArray[np.float64],
    *,
    forest: bool = False,
    start: int = 0,
) -> tuple[int, int]:
    """Write pairs (i of a, j of b) with a product of at least ``threshold``."""
    room = min(len(out_i), len(out_j), len(out_cosine))
    _check(a, b, limit, threshold, forest, start, room)
    sets = Sets(len(a) + len(b))
    groups, count = -(-len(a) // _GROUP), 0
    for place in range(start, groups * -(-len(b) // _LANES)):
        tile, group = divmod(place, groups)
        found = _passed(a, b, tile, group, limit)
        if found and not forest and room - count < GROUP_PAIRS:
            return count, place
        for i, j in found:
            product = _product(a.rows[i], b.rows[j])
            if product < threshold or (forest and not sets.joined(i, j if a is b else len(a) + j)):
                continue
            out_i[count], out_j[count], out_cosine[count] = i, j, product
            count += 1
    return count, -1


def _check(a: Block, b: Block, limit: int, threshold: float, forest: bool, start: int, room: int) -> None:
    if a.rows.shape[1] != b.rows.shape[1]:
        raise ValueError("blocks must have rows of one length and codes of one kind")
    if not -_LARGEST <= limit <= _LARGEST:
        raise ValueError(f"limit must be in [{-_LARGEST}, {_LARGEST}], got {limit}")
    if not abs(threshold) < float("inf"):
        raise ValueError(f"threshold must be finite, got {threshold!r}")
    if start < 0 or (forest and start):
        raise ValueError(f"start must not be negative, and 0 for a forest; got {start}")
    needed = len(a) + len(b) if forest else GROUP_PAIRS
    if room < needed:
        raise ValueError(f"the buffers must have room for {needed} pairs, have {room}")


def _passed(a: Block, b: Block, tile: int, group: int, limit: int) -> list[tuple[int, int]]:
    """The pairs of 8 rows and 16 rows whose bound reaches the limit, in order."""
    import numpy as np

    rows, columns = slice(group * _GROUP, (group + 1) * _GROUP), slice(tile * _LANES, (tile + 1) * _LANES)
    bound = a.codes[rows] @ b.codes[columns].T + a.slack[rows, None] + b.slack[None, columns]
    pairs = [(rows.start + int(i), columns.start + int(j)) for i, j in np.argwhere(bound >= limit)]
    return [(i, j) for i, j in pairs if a is not b or i < j]


def _product(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """The product of two rows: eight running sums, then their sum by pairs."""
    import numpy as np

    s = np.zeros(8)
    for k in range(0, len(one), 8):
        s += one[k : k + 8].astype(np.float64) * other[k : k + 8].astype(np.float64)
    return float(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])))


class Sets:
    """Disjoint sets of the numbers 0 .. n - 1, each alone at first (union-find). Not thread-safe."""

    def __init__(self, n: int) -> None:
        if not 0 <= n < 1 << 31:
            raise ValueError(f"n must be in [0, {(1 << 31) - 1}], got {n}")
        self._parent = list(range(n))

    def __len__(self) -> int:
        return len(self._parent)

    def joined(self, one: int, other: int) -> bool:
        """Make one set of the sets of these two; whether they were two."""
        one, other = self._root(one), self._root(other)
        self._parent[max(one, other)] = min(one, other)
        return one != other

    def join(self, ones: NDArray[np.int32], others: NDArray[np.int32]) -> int:
        """Make one set of the sets of each pair; how many sets there are fewer."""
        n = len(self)
        if len(ones) != len(others):
            raise ValueError(f"others must have {len(ones)} values, got {len(others)}")
        for at, (one, other) in enumerate(zip(ones, others, strict=True)):
            if not (0 <= one < n and 0 <= other < n):
                raise IndexError(f"pair {at} must be of numbers in [0, {n}), is {one}, {other}")
        return sum(self.joined(one, other) for one, other in zip(ones, others, strict=True))

    def labels(self, out: NDArray[np.int32]) -> None:
        """Write the least number of each number's set to ``out`` (int32, n of them)."""
        if len(out) != len(self):
            raise ValueError(f"out must have {len(self)} values, got {len(out)}")
        for i in range(len(self)):
            out[i] = self._root(i)

    def _root(self, one: int) -> int:
        while self._parent[one] != one:
            self._parent[one] = self._parent[self._parent[one]]
            one = self._parent[one]
        return one
