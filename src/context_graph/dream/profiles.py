"""What the members of a group have in common, space by space: from sums alone, in one pass over the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph.dream.progress import Progress, silent
from context_graph.dream.snapshot import Snapshot
from context_graph.model.spaces import DIM, SLICES, SPACES, WEIGHTS

__all__ = ["Profile", "as_centroid", "join", "profiles"]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_WEIGHTS: Final = np.array(WEIGHTS)
_STARTS: Final = np.array([SLICES[name].start for name in SPACES])


@dataclass(frozen=True, slots=True)
class Profile:
    """The sum of some embeddings, and how many of them say something in each space."""

    members: int
    sums: F64
    """float64[1536]."""
    filled: F64
    """float64[13]."""

    def cosines(self) -> F64:
        """float64[13]: mean cosine of a member to the others' centre, [0, 1]; 0 where fewer than two speak.

        Of pairs of different members, so that three that are unlike do not look more alike than thirty.
        """
        squares = np.add.reduceat(self.sums * self.sums, _STARTS) / _WEIGHTS
        pairs = self.filled * (self.filled - 1)
        mean = np.divide(squares - self.filled, pairs, out=np.zeros(len(SPACES)), where=pairs > 0)
        return np.asarray(np.sqrt(np.clip(mean, 0.0, 1.0)))

    def coherence(self) -> float:
        """The cosines' mean by weight, over the spaces in which two members or more speak; [0, 1]."""
        weight = _WEIGHTS * self.filled * (self.filled > 1)
        return float(self.cosines() @ weight / weight.sum()) if weight.any() else 0.0

    def centroid(self) -> bytes:
        """The direction of the sums in each space, as `as_centroid`."""
        return as_centroid(self.sums)


def as_centroid(values: F64) -> bytes:
    """1536 float32 as an embedding's: each space of ``values`` with length sqrt(weight), or zero."""
    lengths = np.sqrt(np.add.reduceat(values * values, _STARTS))
    scale = np.divide(np.sqrt(_WEIGHTS), lengths, out=np.zeros(len(SPACES)), where=lengths > 1e-9)
    return bytes((values * np.repeat(scale, np.diff(np.append(_STARTS, DIM)))).astype(np.float32).data)


def join(parts: Sequence[Profile]) -> Profile:
    """The profile of all members of ``parts``, which share none."""
    return Profile(
        sum(part.members for part in parts),
        np.sum([part.sums for part in parts], axis=0),
        np.sum([part.filled for part in parts], axis=0),
    )


def profiles(snap: Snapshot, groups: Sequence[I64], *, progress: Progress = silent) -> list[Profile]:
    """A profile of each group of rows (no row in two), and as the last one that of all rows.

    Cost: one pass over the store, 100,000 memories some 2 s; memory of 12 KB a group.
    """
    group_of = np.full(len(snap), len(groups), np.int64)
    for number, rows in enumerate(groups):
        group_of[rows] = number
    sums = np.zeros((len(groups) + 1, DIM))
    filled = np.zeros((len(groups) + 1, len(SPACES)))
    for start, block in snap.blocks():
        here = group_of[start : start + len(block)]
        order = np.argsort(here, kind="stable")
        numbers, firsts = np.unique(here[order], return_index=True)
        ordered = block[order]
        speaks = np.add.reduceat(ordered * ordered, _STARTS, axis=1) > 0
        sums[numbers] += np.add.reduceat(ordered, firsts, axis=0, dtype=np.float64)
        filled[numbers] += np.add.reduceat(speaks.astype(np.float64), firsts, axis=0)
        progress(start + len(block), len(snap))
    made = [Profile(len(rows), sums[at], filled[at]) for at, rows in enumerate(groups)]
    return [*made, Profile(len(snap), sums.sum(axis=0), filled.sum(axis=0))]
