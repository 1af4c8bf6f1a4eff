"""Defines the 13 embedding spaces: names, order, sizes, weights (D4.1, D4.2).

An embedding is 1536 float32 (little-endian, 6144 bytes): the spaces side by side, each of length sqrt(weight)
or, where the text says nothing in that space, all zeros. So the dot product of two embeddings is the weighted
mean of 13 cosines, an empty space counting as 0.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Final

SPACES: Final = (
    "Semantic",
    "Temporal",
    "Causal",
    "Paths",
    "Structure",
    "Files",
    "Edited",
    "Seen",
    "Dotted",
    "Steps",
    "Errors",
    "Trigrams",
    "Terms",
)
SIZES: Final = (256, 32, 128, 128, 96, 96, 96, 128, 96, 128, 96, 128, 128)
WEIGHTS: Final = (0.15, 0.08, 0.10, 0.08, 0.06, 0.06, 0.08, 0.07, 0.06, 0.06, 0.08, 0.07, 0.05)
"""Salience weights; their sum is 1."""

DIM: Final = sum(SIZES)
EMBEDDING_BYTES: Final = 4 * DIM
_ENDS: Final = tuple(accumulate(SIZES))
SLICES: Final = {name: slice(end - size, end) for name, size, end in zip(SPACES, SIZES, _ENDS, strict=True)}
"""Space -> its float32 values within an embedding."""
BEGINS: Final = (0, *_ENDS)
LAYOUT: Final = 2
"""Which thirteen these are (docs/dev/specification.md); recorded with each store's provider."""


def space_vector(embedding: bytes | memoryview, space: str) -> array[float]:
    """Return the values of one of ``SPACES``, cut out of an embedding: 6144 bytes, float32 little-endian.

    Raises ValueError for an embedding of another length, KeyError for no such space.
    """
    if len(embedding) != EMBEDDING_BYTES:
        raise ValueError(f"an embedding has {EMBEDDING_BYTES} bytes, got {len(embedding)}")
    part = SLICES[space]
    values = array("f")
    values.frombytes(embedding[4 * part.start : 4 * part.stop])
    return values
