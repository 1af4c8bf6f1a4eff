"""Computes each space of an embedding from a text's pieces: twin of ext/kernels/_spaces.pxd.

==============  ==========================================================================================
Semantic        sum of the pieces' rows (a query's: each times its weight)
Contextual      for neighbouring pieces a, b that are no punctuation: row a's value j times row b's 255 - j
Temporal        rows of the temporal lexicon, and what `form` adds (years, hours)
Moral           rows of words of that lexicon; a negation up to three pieces before, in the same sentence,
Aesthetic       turns the first eight values, the polarity, round
Emotional
Behavioral      rows of words of that lexicon that don't follow an article
Causal          at a connective: the first 64 values of the pieces on the cause's side in the first half, of
                those on the effect's side in the second
Counterfactual  16 kinds of markers; the first 80 values of the pieces around a marker
Teleological    16 kinds of markers; the first 176 values of the pieces after a marker
==============  ==========================================================================================

Around: in the same sentence, at most 16 pieces away. Markers are words of one piece; those of a lexicon may
have an inflection after it (hike ##d). Every space is scaled to length sqrt(weight), an empty one stays zero.
Kinds count as much as pieces in Counterfactual, a third as much in Teleological.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

WIDTH: Final = 256
SIZES: Final = {
    "Semantic": 256,
    "Temporal": 32,
    "Causal": 128,
    "Counterfactual": 96,
    "Moral": 64,
    "Aesthetic": 64,
    "Teleological": 192,
    "Contextual": 128,
    "Structural": 96,
    "Behavioral": 128,
    "Emotional": 32,
    "Code": 192,
    "SPLADE": 128,
}
WEIGHTS: Final = (0.15, 0.08, 0.10, 0.06, 0.05, 0.04, 0.12, 0.10, 0.08, 0.06, 0.04, 0.07, 0.05)
LEXICONS: Final = ("Temporal", "Moral", "Aesthetic", "Behavioral", "Emotional")
POLAR: Final = ("Moral", "Aesthetic", "Emotional")
POLARITY: Final = 8
KINDS: Final = 16
NEAR: Final = 16
NEGATES: Final = 3

# A piece's first mark, in the data file: connectives with the cause before or after them, and other roles.
BEFORE: Final = 1
AFTER: Final = 2
BY: Final = 3
"""After a connective: caused by."""
INFLECTION: Final = 4
ARTICLE: Final = 5
"""Or whatever makes a noun of the next word."""

# Flags of a piece, in the data file.
NEGATION: Final = 1
BASE_VERB: Final = 2
STOPS: Final = 4
COMMA: Final = 8
INNER: Final = 16
MARKS_ONLY: Final = 32
KEYWORD: Final = 64

# Flags of a piece in its text.
FIRST: Final = 1
ALONE: Final = 2
OPENS: Final = 4
DENIES: Final = 8
INFLECTED: Final = 16
"""Its word has one more piece, an inflection."""

Vector = dict[str, list[float]]


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
    lexicons: Mapping[str, Mapping[int, Sequence[float]]]

    def mark(self, piece: int, column: int) -> int:
        """Column 0 causal, 1 counterfactual, 2 teleological, 3 flags."""
        return self.marks[4 * piece + column]

    def row(self, piece: int, width: int = WIDTH) -> list[float]:
        start, scale = WIDTH * piece, self.scales[piece]
        return [scale * value for value in self.rows[start : start + width]]


def empty() -> Vector:
    return {name: [0.0] * size for name, size in SIZES.items()}


def add_spaces(vector: Vector, table: Table, pieces: Pieces, weights: Sequence[float] | None) -> None:
    """Everything that pieces say."""
    for k, piece in enumerate(pieces.ids):
        _add(vector["Semantic"], 0, table.row(piece), 1.0 if weights is None else weights[k])
    _add_pairs(vector["Contextual"], table, pieces)
    _add_lexicons(vector, table, pieces)
    for k, piece in enumerate(pieces.ids):
        if pieces.flags[k] & ALONE:
            _add_cause(vector["Causal"], table, pieces, k)
            _add_counterfactual(vector["Counterfactual"], table, pieces, k, table.mark(piece, 1))
            _add_goal(vector["Teleological"], table, pieces, k, table.mark(piece, 2))


def _add(target: list[float], start: int, row: Sequence[float], weight: float = 1.0) -> None:
    for j, value in enumerate(row):
        target[start + j] += weight * value


def _add_run(
    target: list[float], at: tuple[int, int], table: Table, pieces: Pieces, run: range, weight: float
) -> None:
    """Rows of a run of pieces into the values [start, end) of a space."""
    start, end = at
    for k in run:
        _add(target, start, table.row(pieces.ids[k], end - start), weight)


def _add_pairs(target: list[float], table: Table, pieces: Pieces) -> None:
    words = [piece for piece in pieces.ids if not table.mark(piece, 3) & MARKS_ONLY]
    for first, second in pairwise(words):
        row, after = table.row(first, len(target)), table.row(second)
        _add(target, 0, [a * b for a, b in zip(row, reversed(after), strict=False)])


def _add_lexicons(vector: Vector, table: Table, pieces: Pieces) -> None:
    negation = -NEGATES - 1
    noun = False
    for k, (piece, flags) in enumerate(zip(pieces.ids, pieces.flags, strict=True)):
        if flags & OPENS:
            negation = -NEGATES - 1
        if flags & DENIES:
            negation = k
        if not flags & (ALONE | INFLECTED):
            noun = False
            continue
        for space in LEXICONS:
            row = table.lexicons[space].get(piece)
            if row is None or (noun and space == "Behavioral"):
                continue
            turned = space in POLAR and k - negation <= NEGATES
            _add(vector[space], 0, [-value for value in row[:POLARITY]] if turned else row[:POLARITY])
            _add(vector[space], POLARITY, row[POLARITY:])
        noun = bool(flags & ALONE) and table.mark(piece, 0) & 15 == ARTICLE


def _split(mark: int) -> tuple[int, float]:
    """Kind and weight of a marker."""
    return mark & 15, (mark >> 4) / 15.0


def _add_cause(target: list[float], table: Table, pieces: Pieces, k: int) -> None:
    role, weight = _split(table.mark(pieces.ids[k], 0))
    if role not in (BEFORE, AFTER):
        return
    start, end = pieces.sentence(k)
    before, after = range(start, k), range(k + 1, end)
    passive = bool(after) and table.mark(pieces.ids[k + 1], 0) & 15 == BY
    if role == BEFORE and not passive:
        causes, effects = before, after
    elif before:
        causes, effects = after, before
    else:  # Because of this, that.
        comma = next((j for j in after if table.mark(pieces.ids[j], 3) & COMMA), end)
        causes, effects = range(k + 1, comma), range(comma, end)
    half = len(target) // 2
    _add_run(target, (0, half), table, pieces, causes, weight)
    _add_run(target, (half, 2 * half), table, pieces, effects, weight)


def _add_counterfactual(target: list[float], table: Table, pieces: Pieces, k: int, mark: int) -> None:
    if not mark:
        return
    kind, weight = _split(mark)
    target[kind] += weight
    start, end = pieces.sentence(k)
    _add_run(target, (KINDS, len(target)), table, pieces, range(start, k), weight)
    _add_run(target, (KINDS, len(target)), table, pieces, range(k + 1, end), weight)


def _add_goal(target: list[float], table: Table, pieces: Pieces, k: int, mark: int) -> None:
    end = pieces.sentence(k)[1]
    if mark:
        kind, weight = _split(mark)
        target[kind] += weight
        _add_run(target, (KINDS, len(target)), table, pieces, range(k + 1, end), weight)
    elif table.mark(pieces.ids[k], 3) & BASE_VERB and pieces.flags[k] & OPENS:  # an imperative
        target[0] += 1.0
        _add_run(target, (KINDS, len(target)), table, pieces, range(k, end), 1.0)


def add_signed(target: list[float], hashed: int, weight: float) -> None:
    """A feature at the place and with the sign that its hash says."""
    target[(hashed >> 8) % len(target)] += weight if hashed & 1 else -weight


def finish(vector: Vector) -> list[float]:
    """Scale each space to its length and join them."""
    for name, weight in (("Counterfactual", 1.0), ("Teleological", 3.0)):
        values = vector[name]
        vector[name] = [*_scaled(values[:KINDS], 1.0), *_scaled(values[KINDS:], weight)]
    return [
        value
        for (_, values), weight in zip(vector.items(), WEIGHTS, strict=True)
        for value in _scaled(values, weight)
    ]


def _scaled(values: Sequence[float], weight: float) -> list[float]:
    squares = sum(value * value for value in values)
    factor = math.sqrt(weight / squares) if squares > 1e-20 else 0.0
    return [factor * value for value in values]
