"""Memories that say the same: which of them become one, and which of them stays (D5.2).

Two tests, and both must be passed by every memory that goes and the one that stays: their Semantic spaces
(E1) are at least so close, and by the rules over their words they say the same (`distinct`). So a chain of
small differences never ends in a memory that says something else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph.dream import closeness
from context_graph.dream.distinct import Kind, kind_of, may_merge
from context_graph.dream.plan import Merge
from context_graph.dream.progress import Progress
from context_graph.dream.snapshot import Snapshot
from context_graph.memory.likeness import same
from context_graph.memory.saying import Saying, saying

__all__ = ["DEEP", "LIGHT", "find"]

LIGHT: Final = 0.95
DEEP: Final = 0.90
"""E1 cosine of duplicates, by mode (seed 002)."""
_ROUNDING: Final = 1e-6
"""What a cosine of float32 vectors may be short by: equal texts pass a threshold of 1."""
_READ_EVERY: Final = 256


def find(snap: Snapshot, threshold: float, *, progress: Progress) -> list[Merge]:
    """Which memories become one.

    Args:
        snap: The memories.
        threshold: The least E1 cosine of a memory that goes to the one that stays, (0, 1].
        progress: Told of blocks of memories, then of texts; may raise.

    Returns:
        By the survivor's place in the snapshot. No memory is in two of them; a pinned one never goes.

    Cost: see `closeness.groups`; then some 60 us for each memory that is close to another. A text is held
    only while it is compared.
    """
    rows = np.flatnonzero([may_merge(snap, row) for row in range(len(snap))]).astype(np.int32)
    values = snap.space("Semantic")
    if len(rows) < len(values):
        values = values[rows]
    label = closeness.groups(
        values, threshold - _ROUNDING, progress=lambda done, total: progress(done, 2 * total)
    )
    merges: list[tuple[int, Merge]] = []
    for kind in _kinds(snap, rows, label, progress):
        merges += _merged(snap, rows[kind], values[kind], threshold - _ROUNDING)
    return [merge for _, merge in sorted(merges, key=lambda item: item[0])]


def _kinds(
    snap: Snapshot, rows: NDArray[np.int32], label: NDArray[np.int32], progress: Progress
) -> Iterator[list[int]]:
    """Places in ``rows`` of memories that hang together and are of one kind, where there are at least two."""
    sizes = np.bincount(label, minlength=1)
    close = np.flatnonzero(sizes[label] > 1).tolist()
    kinds: dict[tuple[int, Kind], list[int]] = defaultdict(list)
    for done, at in enumerate(close):
        if done % _READ_EVERY == 0:
            progress(len(close) + done, 2 * len(close))
        kinds[int(label[at]), kind_of(snap, int(rows[at]))].append(at)
    yield from (places for places in kinds.values() if len(places) > 1)


def _merged(
    snap: Snapshot, rows: NDArray[np.int32], values: NDArray[np.float32], threshold: float
) -> Iterator[tuple[int, Merge]]:
    """What becomes one among memories of one kind, each with the first in rank that it may be merged into."""
    sayings = _sayings(snap, rows)
    left = sorted(range(len(rows)), key=lambda at: _rank(snap, int(rows[at])))
    while len(left) > 1:
        first, *rest = left
        product = values[rest].astype(np.float64) @ values[first].astype(np.float64)
        losers = {
            at: cosine
            for at, cosine in zip(rest, product.tolist(), strict=True)
            if cosine >= threshold and not snap.pinned[rows[at]] and same(sayings[first], sayings[at])
        }
        if losers:
            ids = tuple(snap.ids[rows[at]] for at in sorted(losers))
            yield int(rows[first]), Merge(snap.ids[rows[first]], ids, min(1.0, *losers.values()))
        left = [at for at in rest if at not in losers]


def _sayings(snap: Snapshot, rows: NDArray[np.int32]) -> Sequence[Saying]:
    """What the memories say; texts that are equal but for their spaces share one."""
    known: dict[str, Saying] = {}
    sayings = []
    for row in rows.tolist():
        text = snap.text(row)
        plain = " ".join(text.split())
        if plain not in known:
            known[plain] = saying(text)
        sayings.append(known[plain])
    return sayings


def _rank(snap: Snapshot, row: int) -> tuple[bool, float, int, int, int]:
    """The one that stays comes first: pinned, more important, more used, older."""
    return (
        not snap.pinned[row],
        -float(snap.importance[row]),
        -int(snap.accesses[row]),
        int(snap.created_ms[row]),
        row,
    )
