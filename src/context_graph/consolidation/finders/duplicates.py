"""Finds memories that mean the same, and chooses which of them stays (D5.2).

A memory is merged into another if their Semantic vectors (E1) are close enough and, by the rules over their
words, they mean the same (`text.paraphrase`, which review tasks use too). Both must hold with the memory that
stays, so a chain of small differences never ends in something else.

A session's summary is never merged, because its session rewrites it. Memories of different projects or
modalities are not merged, because a query for one does not find the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph.consolidation.finders import closeness
from context_graph.consolidation.plan import Merge
from context_graph.consolidation.progress import Progress
from context_graph.consolidation.snapshot import F32, Snapshot
from context_graph.model.memory import CAPTURED
from context_graph.text.meaning import Meaning, read_meaning
from context_graph.text.paraphrase import same

LIGHT: Final = 0.95
DEEP: Final = 0.90
"""E1 cosine of duplicates, by mode (seed 002)."""
_ROUNDING: Final = 1e-6
"""What a cosine of float32 vectors may be short by: equal texts pass a threshold of 1."""
_READ_EVERY: Final = 256
Kind = tuple[int, str, int]
"""Memories of different kinds are never merged: project, modality, and what words the meaning has."""


def find(
    snap: Snapshot, threshold: float, *, progress: Progress, search: closeness.Search | None = None
) -> list[Merge]:
    """Find the memories that become one.

    Args:
        threshold: The least E1 cosine of a memory that goes to the one that stays, (0, 1].
        progress: Told of blocks of memories, then of texts; may raise.
        search: As `closeness.groups`.

    Returns:
        By the survivor's place in the snapshot. No memory is in two of them; a pinned one never goes.

    Cost: see `closeness.groups`; then some 60 us for each memory that is close to another, and as much again
    if it may say the same. A text is held only while it is compared.
    """
    rows = np.flatnonzero([source != CAPTURED for source in snap.source]).astype(np.int32)
    values = snap.space("Semantic")
    if len(rows) < len(values):
        values = values[rows]
    label = closeness.groups(
        values,
        threshold - _ROUNDING,
        progress=lambda done, total: progress(done, 2 * total),
        search=search,
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
        kinds[int(label[at]), _kind(snap, int(rows[at]))].append(at)
    yield from (places for places in kinds.values() if len(places) > 1)


def _merged(
    snap: Snapshot, rows: NDArray[np.int32], values: F32, threshold: float
) -> Iterator[tuple[int, Merge]]:
    """Yield the merges among memories of one kind, each with the first in rank that it may be merged into."""
    meanings = _meanings(snap, rows)
    left = sorted(range(len(rows)), key=lambda at: _rank(snap, int(rows[at])))
    while len(left) > 1:
        first, *rest = left
        product = values[rest].astype(np.float64) @ values[first].astype(np.float64)
        losers = {
            at: cosine
            for at, cosine in zip(rest, product.tolist(), strict=True)
            if cosine >= threshold and not snap.pinned[rows[at]] and same(meanings[first], meanings[at])
        }
        if losers:
            ids = tuple(snap.ids[rows[at]] for at in sorted(losers))
            yield int(rows[first]), Merge(snap.ids[rows[first]], ids, min(1.0, *losers.values()))
        left = [at for at in rest if at not in losers]


def _meanings(snap: Snapshot, rows: NDArray[np.int32]) -> Sequence[Meaning]:
    """Return the meanings of the memories; texts that differ only in spaces share one."""
    known: dict[str, Meaning] = {}
    meanings = []
    for row in rows.tolist():
        text = snap.text(row)
        plain = " ".join(text.split())
        if plain not in known:
            known[plain] = read_meaning(text)
        meanings.append(known[plain])
    return meanings


def _rank(snap: Snapshot, row: int) -> tuple[bool, float, int, int, int]:
    """Sort key by which the survivor comes first: pinned, more important, more used, older."""
    return (
        not snap.pinned[row],
        -float(snap.importance[row]),
        -int(snap.accesses[row]),
        int(snap.created_ms[row]),
        row,
    )


def _kind(snap: Snapshot, row: int) -> Kind:
    """Return the kind of a memory, comparable within one process only; reads its text. Some 60 us."""
    return int(snap.project[row]), snap.modality[row], hash(read_meaning(snap.text(row)).key)
