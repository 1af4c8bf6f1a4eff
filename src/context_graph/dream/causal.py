"""Links that a consolidation makes by what memories say of causes (E3), and inside clusters.

The first half of the Causal space is what a text names as causes, the second what it names as effects
(docs/embedding.md). Where the effect of one memory is the cause of another, the first leads to the second:
the disk filled up because of the logs; because the disk was full, the backup failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph.dream import processors
from context_graph.dream.labels import RareWords
from context_graph.dream.plan import Cluster, NewLink
from context_graph.dream.progress import Progress, silent
from context_graph.dream.snapshot import Snapshot, unit_rows
from context_graph.dream.telling import telling

__all__ = ["CAUSES", "RELATED", "links"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Chained = tuple[I64, I64, F32, F32]
"""Rows (source, target), cosine in this direction and in the other."""
Worth = Callable[[int, int], bool]
"""Whether two rows' texts have enough in common for a link."""

CAUSES: Final = "causes"
RELATED: Final = "related_to"

LEAST_FORWARD: Final = 0.75
"""Cosine of the one's effect and the other's cause; paraphrases reach 0.8, unrelated pairs hardly 0.5."""
LEAST_LEAD: Final = 0.2
"""By which it must exceed the cosine of the opposite direction: else it is one thing said twice."""
LEAST_ALIKE: Final = 0.2
"""E13 cosine: the two must speak of the same things, not only in the same way."""
LEAST_SHARED: Final = 2
"""Rare words that both must have."""
LEAST_TOLD: Final = 3.0
"""Words that tell something (`telling`) of a memory that is worth a link: more than a thank-you has."""
GENERAL: Final = 8
"""An effect or cause that so many others match is a turn of phrase."""
COMPARED_ROWS: Final = 40_000
"""Memories with causes that are all compared; in a store with more, only those of one cluster are."""
OUTGOING: Final = 3
"""Effects of one memory, the surest first."""
BLOCK: Final = 1024

LEAST_RELATED: Final = 0.5
"""E13 cosine of two memories of a cluster that are linked."""
RELATED_WEIGHT: Final = 0.5
"""Of its cosine is such a link's weight: it says less than a relation that somebody stated."""
MAX_CAUSAL: Final = 2000
MAX_RELATED: Final = 2000
"""Links of one run; what is left is found by the next."""


def links(
    snap: Snapshot,
    clusters: Sequence[Cluster],
    rows: Sequence[int] | I64 | None = None,
    *,
    progress: Progress = silent,
) -> list[NewLink]:
    """New links between memories, causal ones first, each kind strongest first.

    * ``causes``: the effect that one memory names is the cause that the other names.
    * ``related_to``: two memories of one cluster that are each other's nearest.

    Memories that are linked already get no second link; edges that are there stay as they are.

    Args:
        snap: The store.
        clusters: What `clusters.find` found in it.
        rows: Memories between which causal links may be made, in a cluster or not; None for all.

    Returns:
        At most 2,000 of each kind.

    Cost: n^2 for n memories that name causes, 40,000 of them some 3 s; beyond that within clusters only.
    """
    chosen = np.arange(len(snap)) if rows is None else np.asarray(rows, np.int64)
    groups = [_rows_of(snap, cluster) for cluster in clusters]
    linked = set(zip(snap.links.source.tolist(), snap.links.target.tolist(), strict=True))
    worth = _worth(snap)
    causal = _causal(snap, chosen, groups, linked, worth, progress)
    linked.update((snap.row_of(link.source) or 0, snap.row_of(link.target) or 0) for link in causal)
    return causal + _related(snap, groups, linked, worth)


def _worth(snap: Snapshot) -> Worth:
    words = RareWords(snap)

    def worth(one: int, other: int) -> bool:
        texts = snap.text(one), snap.text(other)
        return words.shared(*texts) >= LEAST_SHARED and min(map(telling, texts)) >= LEAST_TOLD

    return worth


def _rows_of(snap: Snapshot, cluster: Cluster) -> I64:
    rows = (snap.row_of(member) for member in cluster.members)
    return np.array([row for row in rows if row is not None], np.int64)


def _causal(
    snap: Snapshot,
    rows: I64,
    groups: Sequence[I64],
    linked: set[tuple[int, int]],
    worth: Worth,
    progress: Progress,
) -> list[NewLink]:
    space = snap.space("Causal")
    half = space.shape[1] // 2
    says = np.zeros(len(snap), np.bool_)
    says[rows] = space[rows, :half].any(axis=1) & space[rows, half:].any(axis=1)
    speaking = np.flatnonzero(says)
    if len(speaking) < 2:
        return []
    causes, effects = unit_rows(space[speaking, :half].copy()), unit_rows(space[speaking, half:].copy())
    place = np.full(len(snap), -1)
    place[speaking] = np.arange(len(speaking))
    blocks = _all_pairs(len(speaking)) if len(speaking) <= COMPARED_ROWS else _grouped(groups, place)
    found = [
        (speaking[source], speaking[target], forward, backward)
        for source, target, forward, backward in _chained(causes, effects, blocks, progress)
    ]
    return _surest(snap, found, linked, worth)


def _all_pairs(n: int) -> list[tuple[I64, I64]]:
    return [(np.arange(start, min(n, start + BLOCK)), np.arange(n)) for start in range(0, n, BLOCK)]


def _grouped(groups: Sequence[I64], place: I64) -> list[tuple[I64, I64]]:
    inside = [place[group][place[group] >= 0] for group in groups]
    return [(group, group) for group in inside if len(group) > 1]


def _chained(
    causes: F32, effects: F32, blocks: Sequence[tuple[I64, I64]], progress: Progress
) -> Iterator[Chained]:
    """(source, target, forward cosine, backward cosine) of pairs whose direction is clear."""
    with ThreadPoolExecutor(processors.usable()) as pool:
        try:
            for number, found in enumerate(pool.map(partial(_chained_in, causes, effects), blocks), 1):
                yield found
                progress(number, len(blocks))
        finally:
            pool.shutdown(cancel_futures=True)


def _chained_in(causes: F32, effects: F32, block: tuple[I64, I64]) -> Chained:
    sources, targets = block
    forward = effects[sources] @ causes[targets].T
    at = np.flatnonzero(forward >= LEAST_FORWARD)
    one, other = at // len(targets), at % len(targets)
    ahead = forward[one, other]
    source, target = sources[one], targets[other]
    back = np.einsum("ij,ij->i", effects[target], causes[source])
    clear = (source != target) & (ahead - back >= LEAST_LEAD)
    return source[clear], target[clear], ahead[clear], back[clear]


def _surest(
    snap: Snapshot, found: Sequence[Chained], linked: set[tuple[int, int]], worth: Worth
) -> list[NewLink]:
    """The best effects of each memory, of those pairs that share rare words and are not linked."""
    if not found:
        return []
    source, target, forward, backward = (np.concatenate(column) for column in zip(*found, strict=True))
    space = snap.space("SPLADE")
    specific = (np.bincount(source, minlength=len(snap))[source] <= GENERAL) & (
        np.bincount(target, minlength=len(snap))[target] <= GENERAL
    )
    alike = np.einsum("ij,ij->i", space[source], space[target]) >= LEAST_ALIKE
    order = np.lexsort((target, source, -forward))
    taken: dict[int, int] = {}
    made: list[NewLink] = []
    for at in order[(specific & alike)[order]].tolist():
        one, other = int(source[at]), int(target[at])
        if taken.get(one, 0) >= OUTGOING or (one, other) in linked or not worth(one, other):
            continue
        taken[one] = taken.get(one, 0) + 1
        weight, lead = float(forward[at]), float(forward[at] - backward[at])
        made.append(_link(snap, (one, other), CAUSES, weight, min(1.0, lead), "causal"))
        if len(made) == MAX_CAUSAL:
            break
    return made


def _related(
    snap: Snapshot, groups: Sequence[I64], linked: set[tuple[int, int]], worth: Worth
) -> list[NewLink]:
    words = snap.space("SPLADE")
    found = []
    for group in groups:
        for one, other, cosine in _mutual(group, words[group]):
            if (one, other) not in linked and (other, one) not in linked:
                found.append((cosine, one, other))
    found.sort(key=lambda pair: (-pair[0], pair[1:]))
    kept = (pair for pair in found if worth(*pair[1:]))
    return [
        _link(snap, (one, other), RELATED, RELATED_WEIGHT * cosine, cosine, "cluster")
        for cosine, one, other in islice(kept, MAX_RELATED)
    ]


def _mutual(rows: I64, words: F32) -> Iterator[tuple[int, int, float]]:
    """(row, row, cosine) of members that are each other's nearest, the older first."""
    if len(rows) < 2:
        return
    cosines = words @ words.T
    np.fill_diagonal(cosines, -1.0)
    best = np.argmax(cosines, axis=1)
    for at, other in enumerate(best.tolist()):
        cosine = min(1.0, float(cosines[at, other]))
        if at < other and best[other] == at and cosine >= LEAST_RELATED:
            yield int(rows[at]), int(rows[other]), cosine


def _link(
    snap: Snapshot, ends: tuple[int, int], kind: str, weight: float, confidence: float, why: str
) -> NewLink:
    return NewLink(
        source=snap.ids[ends[0]],
        target=snap.ids[ends[1]],
        relationship_type=kind,
        weight=min(1.0, max(0.0, round(weight, 4))),
        confidence=min(1.0, max(0.0, round(confidence, 4))),
        why=why,
    )
