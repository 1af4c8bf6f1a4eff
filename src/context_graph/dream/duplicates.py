"""Memories that say the same: which of them become one, and which of them stays (D5.2).

Two tests, and both must be passed by every memory that goes and the one that stays: their Semantic spaces
(E1) are at least so close, and by the rules over their words they say the same (`distinct`). So a chain of
small differences never ends in a memory that says something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph.dream import closeness
from context_graph.dream.distinct import KEPT_SOURCES, same_memory
from context_graph.dream.plan import Merge
from context_graph.dream.progress import Progress
from context_graph.dream.snapshot import Snapshot
from context_graph.model.memory import MemoryNode

__all__ = ["DEEP", "LIGHT", "find"]

LIGHT: Final = 0.95
DEEP: Final = 0.90
"""E1 cosine of duplicates, by mode (seed 002)."""


def find(snap: Snapshot, threshold: float, *, progress: Progress) -> list[Merge]:
    """Which memories become one.

    Args:
        snap: The memories.
        threshold: The least E1 cosine of a memory that goes to the one that stays, (0, 1].
        progress: Told of blocks of memories, then of texts; may raise.

    Returns:
        By the survivor's place in the snapshot. No memory is in two of them.

    Cost: see `closeness.groups`; then some 50 us for each memory that is close to another.
    """
    rows = np.flatnonzero([source not in KEPT_SOURCES for source in snap.source]).astype(np.int32)
    values = snap.space("Semantic")
    if len(rows) < len(values):
        values = values[rows]
    merges: list[tuple[int, Merge]] = []
    for group in _together(closeness.groups(values, threshold, progress=progress)):
        merges += _merged(snap, rows[group], values[group], threshold)
    return [merge for _, merge in sorted(merges, key=lambda item: item[0])]


def _together(label: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    """Rows of the same label, where there are at least two."""
    order = np.argsort(label, kind="stable").astype(np.int32)
    ends = np.flatnonzero(np.diff(label[order])) + 1
    yield from (group for group in np.split(order, ends) if len(group) > 1)


def _merged(
    snap: Snapshot, rows: NDArray[np.int32], values: NDArray[np.float32], threshold: float
) -> Iterator[tuple[int, Merge]]:
    nodes: list[MemoryNode] = [snap.node(int(row)) for row in rows]
    left = sorted(range(len(rows)), key=lambda at: _rank(snap, int(rows[at])))
    while len(left) > 1:
        first, *rest = left
        product = values[rest].astype(np.float64) @ values[first].astype(np.float64)
        losers = {
            at: close
            for at, close in zip(rest, product.tolist(), strict=True)
            if close >= threshold and same_memory(nodes[first], nodes[at])
        }
        if losers:
            ids = tuple(nodes[at].id for at in sorted(losers))
            yield int(rows[first]), Merge(nodes[first].id, ids, min(1.0, *losers.values()))
        left = [at for at in rest if at not in losers]


def _rank(snap: Snapshot, row: int) -> tuple[bool, float, int, int, int]:
    """The one that stays comes first: pinned, more important, more used, older."""
    return (
        not snap.pinned[row],
        -float(snap.importance[row]),
        -int(snap.accesses[row]),
        int(snap.created_ms[row]),
        row,
    )
