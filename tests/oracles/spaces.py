"""Computes the spaces of an embedding that are made of a text's pieces: twin of ext/kernels/_spaces.pxd.

Semantic is the sum of the pieces' rows (a query's: each times its weight), Temporal and Steps the sums of
the rows of the words of their lexicons; after an article a word is no step. Temporal has what `form` adds
(years, hours), too. Words are of one piece, or have an inflection after it (week ##s).

Causal has, at a connective of one piece, the first 64 values of the pieces on the cause's side in its first
half, of those on the effect's side in its second, in the same sentence and at most 16 pieces away.

Terms are signed hashes (`tokens`); the spaces between are bags (`features.EventFeatures.fold`). Every space
is scaled to length sqrt(weight), an empty one stays zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 256
TEMPORAL: Final = slice(256, 288)
CAUSAL: Final = slice(288, 416)
STEPS: Final = slice(1056, 1184)
TERMS: Final = slice(1408, 1536)
NEAR: Final = 16

# A piece's role, in the data file: connectives with the cause before or after them, and others.
BEFORE: Final = 1
AFTER: Final = 2
BY: Final = 3
"""After a connective: caused by."""
INFLECTION: Final = 4
ARTICLE: Final = 5
"""Or whatever makes a noun of the next word."""

# Flags of a piece, in the data file.
STOPS: Final = 4
COMMA: Final = 8
INNER: Final = 16

# Of a piece in its text.
FIRST: Final = 1
ALONE: Final = 2
OPENS: Final = 4
INFLECTED: Final = 16
"""Its word has one more piece, an inflection."""


@dataclass(slots=True)
class Pieces:
    """A text's pieces: ids, flags, and the bytes of the text up to the end of each one's word."""

    ids: list[int]
    flags: list[int]
    ends: list[int]

    def sentence(self, k: int) -> tuple[int, int]:
        """The sentence around piece ``k``, at most 16 pieces to each side."""
        start = k
        while start > 0 and not self.flags[start] & OPENS and k - start < NEAR:
            start -= 1
        end = k + 1
        while end < len(self.ids) and not self.flags[end] & OPENS and end - k <= NEAR:
            end += 1
        return start, end


@dataclass(slots=True)
class Table:
    """The data file's sections."""

    rows: memoryview
    scales: memoryview
    marks: bytes
    temporal: Mapping[int, Sequence[float]]
    steps: Mapping[int, Sequence[float]]

    def role(self, piece: int) -> int:
        return self.marks[2 * piece] & 15

    def flags(self, piece: int) -> int:
        return self.marks[2 * piece + 1]

    def row(self, piece: int, width: int = WIDTH) -> list[float]:
        start, scale = WIDTH * piece, self.scales[piece]
        return [scale * value for value in self.rows[start : start + width]]


def meaning(table: Table, pieces: Pieces, weights: Sequence[float] | None) -> list[float]:
    """Semantic."""
    total = [0.0] * WIDTH
    for k, piece in enumerate(pieces.ids):
        _add(total, table.row(piece), 1.0 if weights is None else weights[k])
    return total


def times(table: Table, pieces: Pieces) -> list[float]:
    """Temporal, as words say it."""
    total = [0.0] * (TEMPORAL.stop - TEMPORAL.start)
    for piece, flags in zip(pieces.ids, pieces.flags, strict=True):
        if flags & (ALONE | INFLECTED) and piece in table.temporal:
            _add(total, table.temporal[piece], 1.0)
    return total


def steps(table: Table, pieces: Pieces) -> list[float]:
    """Steps."""
    total, noun = [0.0] * (STEPS.stop - STEPS.start), False
    for piece, flags in zip(pieces.ids, pieces.flags, strict=True):
        if flags & (ALONE | INFLECTED) and piece in table.steps and not noun:
            _add(total, table.steps[piece], 1.0)
        noun = bool(flags & ALONE) and table.role(piece) == ARTICLE
    return total


def causes(table: Table, pieces: Pieces) -> list[float]:
    """Causal."""
    half = (CAUSAL.stop - CAUSAL.start) // 2
    before, after = [0.0] * half, [0.0] * half
    for k, flags in enumerate(pieces.flags):
        if flags & ALONE and table.role(pieces.ids[k]) in (BEFORE, AFTER):
            weight = (table.marks[2 * pieces.ids[k]] >> 4) / 15.0
            for total, run in zip((before, after), _sides(table, pieces, k), strict=True):
                for j in run:
                    _add(total, table.row(pieces.ids[j], half), weight)
    return before + after


def _sides(table: Table, pieces: Pieces, k: int) -> tuple[range, range]:
    """The pieces on the cause's side of the connective ``k``, and those on the effect's."""
    start, end = pieces.sentence(k)
    before, after = range(start, k), range(k + 1, end)
    passive = bool(after) and table.role(pieces.ids[k + 1]) == BY
    if table.role(pieces.ids[k]) == BEFORE and not passive:
        return before, after
    if before:
        return after, before
    comma = next((j for j in after if table.flags(pieces.ids[j]) & COMMA), end)  # Because of this, that.
    return range(k + 1, comma), range(comma, end)


def _add(target: list[float], row: Sequence[float], weight: float) -> None:
    for j, value in enumerate(row):
        target[j] += weight * value


def add_signed(target: list[float], hashed: int, weight: float) -> None:
    """A feature at the place and with the sign that its hash says."""
    target[(hashed >> 8) % len(target)] += weight if hashed & 1 else -weight


def scaled(values: Sequence[float], weight: float) -> list[float]:
    """At length sqrt(weight), or 0."""
    squares = sum(value * value for value in values)
    factor = math.sqrt(weight / squares) if squares > 1e-20 else 0.0
    return [factor * value for value in values]
