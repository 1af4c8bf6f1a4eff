"""Stores vectors as bytes and scans them exactly: the readable twin of ext/kernels/dense.pyx.

Standard library only. A vector is kept as int8 with one scale (a 127th of its largest number), a query as
whole numbers of 1/4095 of its largest: their products are exact, so both twins agree to the last bit.
Measured on LoCoMo, the rounding moves no recall figure. Both twins read each other's bytes.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAX_DIM: Final = 4096
"""Products of longer vectors would overflow 32 bits."""
FINE: Final = 4095
COARSE: Final = 127
SMALLEST: Final = 1e-30

MAGIC: Final = b"CGV\x02"
HEAD: Final = Struct("<4sIQ")


class Vectors:
    """Rows 0, 1, ... of ``dim`` numbers. Not thread-safe; ``scan`` gives the GIL up."""

    def __init__(self, dim: int) -> None:
        if not 1 <= dim <= MAX_DIM:
            raise ValueError(f"dim must be in [1, {MAX_DIM}], got {dim}")
        self._dim = dim
        self._cells = array("b")
        self._scales = array("f")

    def __len__(self) -> int:
        return len(self._scales)

    @property
    def dim(self) -> int:
        """Numbers of a row."""
        return self._dim

    def append(self, vector: Buffer | None) -> int:
        """Append a row (a buffer of floats); None is an empty one. Its number."""
        cells, scale = self._quantised(vector)
        self._cells += cells
        self._scales.append(scale)
        return len(self._scales) - 1

    def put(self, row: int, vector: Buffer | None) -> None:
        """Write a row; rows up to it that don't exist yet are empty."""
        if row < 0:
            raise IndexError(f"row must not be negative, got {row}")
        cells, scale = self._quantised(vector)
        while len(self._scales) <= row:
            self.append(None)
        self._cells[row * self._dim : (row + 1) * self._dim] = cells
        self._scales[row] = scale

    @property
    def filled(self) -> int:
        """Rows that hold a vector that is not zero."""
        return sum(scale > 0.0 for scale in self._scales)

    def _quantised(self, vector: Buffer | None) -> tuple[array[int], float]:
        if vector is None:
            return array("b", bytes(self._dim)), 0.0
        numbers = _finite(vector, self._dim, "vector")
        largest = max(map(abs, numbers))
        if largest < SMALLEST:
            return array("b", bytes(self._dim)), 0.0
        step = largest / COARSE
        return array("b", [math.floor(number / step + 0.5) for number in numbers]), step

    def scan(self, query: Buffer, live: Buffer, scores: array[float]) -> tuple[int, float, float]:
        """Write the product of every live row with the query to scores; (count, mean, standard deviation)."""
        alive, rows = memoryview(live), len(self._scales)
        if len(alive) < rows or len(scores) < rows:
            raise ValueError(f"live and scores must have {rows} values, got {len(alive)} and {len(scores)}")
        if not rows:
            return 0, 0.0, 0.0
        fine, fine_step = self._refined(query)
        count, total, squares, dim = 0, 0.0, 0.0, self._dim
        for row in range(rows):
            scores[row] = 0.0
            if alive[row] and self._scales[row] > 0.0:
                cells = self._cells[row * dim : (row + 1) * dim]
                value = sum(map(int.__mul__, cells, fine)) * (fine_step * self._scales[row])
                scores[row] = value
                count, total, squares = count + 1, total + value, squares + value * value
        if not count:
            return 0, 0.0, 0.0
        mean = total / count
        return count, mean, math.sqrt(max(squares / count - mean * mean, 0.0))

    def _refined(self, query: Buffer) -> tuple[list[int], float]:
        numbers = _finite(query, self._dim, "query")
        largest = max(map(abs, numbers))
        if largest < SMALLEST:
            return [0] * self._dim, 0.0
        step = largest / FINE
        return [math.floor(number / step + 0.5) for number in numbers], step

    def likeness(self, left: Buffer, right: Buffer) -> tuple[int, float]:
        """(pairs of two rows that are not empty, mean cosine of these): row left[i] with row right[i]."""
        one, other = memoryview(left), memoryview(right)
        if len(one) != len(other):
            raise ValueError(f"right must have {len(one)} values, got {len(other)}")
        total, count, rows = 0.0, 0, len(self._scales)
        for i, k in zip(one, other, strict=True):
            if i >= rows or k >= rows:
                raise ValueError(f"rows must be below {rows}, got {i} and {k}")
            if self._scales[i] > 0.0 and self._scales[k] > 0.0:
                a, b = (self._cells[row * self._dim : (row + 1) * self._dim] for row in (i, k))
                ours, theirs = sum(map(int.__mul__, a, a)), sum(map(int.__mul__, b, b))
                total += sum(map(int.__mul__, a, b)) / math.sqrt(float(ours) * float(theirs))
                count += 1
        return count, total / count if count else 0.0

    def kept(self, live: Buffer) -> Vectors:
        """A copy with the live rows alone, in their order."""
        alive = memoryview(live)
        if len(alive) < len(self._scales):
            raise ValueError(f"live must have {len(self._scales)} values, got {len(alive)}")
        other = Vectors(self._dim)
        for row, scale in enumerate(self._scales):
            if alive[row]:
                other._cells += self._cells[row * self._dim : (row + 1) * self._dim]
                other._scales.append(scale)
        return other

    def to_bytes(self) -> bytes:
        """All rows; load_bytes reads them."""
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """The bytes of to_bytes, in pieces."""
        yield HEAD.pack(MAGIC, self._dim, len(self._scales))
        yield self._scales.tobytes()
        yield bytes(_cells_at(len(self)) - HEAD.size - 4 * len(self))
        yield self._cells.tobytes()

    def load_bytes(self, packed: Buffer) -> None:
        """Replace all rows by what to_bytes gave."""
        view = memoryview(packed)
        if len(view) < HEAD.size or bytes(view[:4]) != MAGIC:
            raise ValueError(f"not vectors, or of a later version: {bytes(view[:4])!r}")
        _, dim, rows = HEAD.unpack_from(view)
        if dim != self._dim:
            raise ValueError(f"vectors of {dim} numbers, not {self._dim}")
        split = _cells_at(rows)
        if len(view) != split + rows * dim:
            raise ValueError(f"{rows} vectors don't take {len(view) - HEAD.size} bytes")
        scales = array("f", bytes(view[HEAD.size : HEAD.size + 4 * rows]))
        for row, scale in enumerate(scales):
            if not (math.isfinite(scale) and scale >= 0.0):
                raise ValueError(f"the scale of vector {row} must be finite and not negative")
        self._scales, self._cells = scales, array("b", bytes(view[split:]))

    def borrow(self, packed: Buffer) -> None:
        """As ``load_bytes``, but the compiled one reads the rows where they are, and ``put`` writes there."""
        with memoryview(packed) as view:
            if view.readonly:
                raise ValueError("borrowed bytes must be writable")
        self.load_bytes(packed)


def _cells_at(rows: int) -> int:
    """Where the rows begin: at a multiple of 64 bytes."""
    return (HEAD.size + 4 * rows + 63) // 64 * 64


def _finite(source: Buffer, dim: int, name: str) -> memoryview:
    numbers = memoryview(source)
    if len(numbers) != dim:
        raise ValueError(f"{name} must have {dim} values, got {len(numbers)}")
    for i, number in enumerate(numbers):
        if not math.isfinite(number):
            raise ValueError(f"{name}[{i}] must be finite, got {number!r}")
    return numbers
