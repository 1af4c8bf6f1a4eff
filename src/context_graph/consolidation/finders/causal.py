"""Finds links between memories: from cause to effect (E3), and inside clusters.

The first half of the Causal space holds what a text names as causes, the second what it names as effects
(docs/dev/embedding.md). Where the effect of one memory is the cause of another, the first is linked to the
second: "the disk filled up because of the logs" and "because the disk was full, the backup failed".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

import numpy as np

from context_graph.consolidation.finders.words import RareWords, informative_words
from context_graph.consolidation.plan import Cluster, NewLink
from context_graph.consolidation.progress import Progress, shared_out, silent
from context_graph.consolidation.snapshot import F32, I64, Snapshot, unit_rows

Chained = tuple[I64, I64, F32, F32]
"""Rows (source, target), cosine in this direction and in the other."""
Worth = Callable[[int, int], bool]
"""Whether two rows' texts have enough in common for a link."""

CAUSES: Final = "causes"
RELATED: Final = "related_to"

LEAST_FORWARD: Final = 0.75
"""Cosine of the one's effect and the other's cause; paraphrases reach 0.8, unrelated pairs hardly 0.5."""
LEAST_LEAD: Final = 0.2
"""How far it must exceed the cosine of the opposite direction: else both say the same thing."""
LEAST_ALIKE: Final = 0.2
"""E13 cosine: the two must speak of the same things, not only in the same way."""
LEAST_SHARED: Final = 2
"""Rare words that both must have."""
LEAST_TOLD: Final = 3.0
"""Informative words of a memory that is worth a link: more than a thank-you has."""
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
"""The weight of such a link for each unit of its cosine: it says less than a relation that somebody
stated."""
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
    """New links between memories, causal ones first, each kind strongest first; at most 2,000 of each kind.

    * ``causes``: the effect that one memory names is the cause that the other names.
    * ``related_to``: two memories of one cluster that are each other's nearest.

    Memories that are linked already get no second link; edges that are there stay as they are. Causal links
    may be made between ``rows``, in a cluster or not; None for all.

    Cost: n^2 for n memories that name causes, 40,000 of them some 3 s; beyond that within clusters only.
    """
    chosen = np.arange(len(snap)) if rows is None else np.asarray(rows, np.int64)
    groups = [snap.rows_of(cluster.members) for cluster in clusters]
    linked = set(zip(snap.links.source.tolist(), snap.links.target.tolist(), strict=True))
    worth = _worth(snap)
    causal = _causal(snap, chosen, groups, linked, worth, progress)
    linked.update((snap.row_of(link.source) or 0, snap.row_of(link.target) or 0) for link in causal)
    return causal + _related(snap, groups, linked, worth)


def _worth(snap: Snapshot) -> Worth:
    words = RareWords(snap)

    def worth(row: int, other: int) -> bool:
        texts = snap.text(row), snap.text(other)
        return words.shared(*texts) >= LEAST_SHARED and min(map(informative_words, texts)) >= LEAST_TOLD

    return worth


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
    count = len(speaking)
    if count <= COMPARED_ROWS:
        starts = range(0, count, BLOCK)
        blocks = [(np.arange(at, min(count, at + BLOCK)), np.arange(count)) for at in starts]
    else:
        inside = [place[group][place[group] >= 0] for group in groups]
        blocks = [(group, group) for group in inside if len(group) > 1]
    chained = [
        (speaking[source], speaking[target], forward, backward)
        for source, target, forward, backward in shared_out(
            partial(_chained, causes, effects), blocks, progress
        )
    ]
    return _surest(snap, chained, linked, worth)


def _chained(causes: F32, effects: F32, block: tuple[I64, I64]) -> Chained:
    """Select the pairs of a block whose direction is clear."""
    sources, targets = block
    forward = effects[sources] @ causes[targets].T
    at = np.flatnonzero(forward >= LEAST_FORWARD)
    i, j = at // len(targets), at % len(targets)
    ahead = forward[i, j]
    source, target = sources[i], targets[j]
    back = np.einsum("ij,ij->i", effects[target], causes[source])
    clear = (source != target) & (ahead - back >= LEAST_LEAD)
    return source[clear], target[clear], ahead[clear], back[clear]


def _surest(
    snap: Snapshot, chained: Sequence[Chained], linked: set[tuple[int, int]], worth: Worth
) -> list[NewLink]:
    """Return the best effects of each memory, of those pairs that share rare words and are not linked."""
    if not chained:
        return []
    source, target, forward, backward = (np.concatenate(column) for column in zip(*chained, strict=True))
    space = snap.space("Terms")
    specific = (np.bincount(source, minlength=len(snap))[source] <= GENERAL) & (
        np.bincount(target, minlength=len(snap))[target] <= GENERAL
    )
    alike = np.einsum("ij,ij->i", space[source], space[target]) >= LEAST_ALIKE
    order = np.lexsort((target, source, -forward))
    taken: dict[int, int] = {}
    made: list[NewLink] = []
    for at in order[(specific & alike)[order]].tolist():
        cause, effect = int(source[at]), int(target[at])
        if taken.get(cause, 0) >= OUTGOING or (cause, effect) in linked or not worth(cause, effect):
            continue
        taken[cause] = taken.get(cause, 0) + 1
        weight, lead = float(forward[at]), float(forward[at] - backward[at])
        made.append(_link(snap, (cause, effect), CAUSES, weight, min(1.0, lead), "causal"))
        if len(made) == MAX_CAUSAL:
            break
    return made


def _related(
    snap: Snapshot, groups: Sequence[I64], linked: set[tuple[int, int]], worth: Worth
) -> list[NewLink]:
    words = snap.space("Terms")
    pairs = [
        (cosine, row, other)
        for group in groups
        for row, other, cosine in _mutual(group, words[group])
        if (row, other) not in linked and (other, row) not in linked
    ]
    pairs.sort(key=lambda pair: (-pair[0], pair[1:]))
    kept = (pair for pair in pairs if worth(*pair[1:]))
    return [
        _link(snap, (row, other), RELATED, RELATED_WEIGHT * cosine, cosine, "cluster")
        for cosine, row, other in islice(kept, MAX_RELATED)
    ]


def _mutual(rows: I64, words: F32) -> Iterator[tuple[int, int, float]]:
    """Yield (row, row, cosine) of members that are each other's nearest, the older first."""
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
