"""Works out anew how well each memory is connected, by what the store holds once the run is over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from context_graph.consolidation.plan import NewConnection, NewLink
from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import I64, Snapshot
from context_graph.identity.consciousness import johari_knowledge
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.metrics.connections import connection, rare_most
from context_graph.memory.metrics.review_tasks import CONTRADICTS, SETTLES
from context_graph.memory.writing import text_to_embed
from context_graph.model.memory import Modality

LEAST_CHANGE: Final = 0.05
"""A smaller change of delta_c is only written where it changes the quadrant."""
LEAST_ROWS: Final = 4
"""Fewer memories have nothing that only few of them share."""
MOST: Final = 1000
"""Memories that one run changes, those with the greatest change; others wait for the next. Some 0.1 s."""
_TERM: Final = np.dtype([("term", "<u8"), ("often", "<u2"), ("reserved", "<u2")])
_EVERY: Final = 1024
_DELTA_S, _DELTA_C = 0, 1


def changed(
    snap: Snapshot,
    provider: EmbeddingProvider,
    rows: I64,
    links: Iterable[NewLink] = (),
    *,
    progress: Progress = silent,
) -> list[NewConnection]:
    """The memories among ``rows``, those that stay, whose delta_c is another one now; by their order.

    Args:
        provider: The store's.
        links: Those that this run makes.

    Cost: some 40 us a memory.
    """
    if len(rows) < LEAST_ROWS:
        return []
    anchors = _anchors(snap, provider, rows, progress)
    ties, disputed = _ties(snap, rows, links)
    found: list[tuple[float, int, NewConnection]] = []
    for at, row in enumerate(rows.tolist()):
        delta_s, before = float(snap.utl[row, _DELTA_S]), float(snap.utl[row, _DELTA_C])
        after = connection(float(anchors[at]), float(ties[row]), disputed=row in disputed)
        moved = johari_knowledge(delta_s, after) is not johari_knowledge(delta_s, before)
        if moved or abs(after - before) >= LEAST_CHANGE:
            found.append((-abs(after - before), row, NewConnection(snap.ids[row], after)))
    best = sorted(found)[:MOST]
    return [change for _, _, change in sorted(best, key=lambda one: one[1])]


def _anchors(snap: Snapshot, provider: EmbeddingProvider, rows: I64, progress: Progress) -> I64:
    """For each of ``rows`` how many of its terms and tags few of the others have as well."""
    tags: dict[str, int] = {}
    parts = []
    for number, row in enumerate(rows.tolist()):
        if number % _EVERY == 0:
            progress(number, len(rows))
        plain = snap.modality[row] == Modality.TEXT and not snap.tags[row]
        node = None if plain else snap.node(row)
        terms = np.frombuffer(provider.encode(text_to_embed(node) if node else snap.text(row)).terms, _TERM)
        own = [tags.setdefault(tag, len(tags)) for tag in set(node.tags)] if node else []
        parts.append(np.concatenate([terms["term"], np.array(own, np.uint64) << np.uint64(40)]))
    if not parts:
        return np.zeros(0, np.int64)
    _, which, holders = np.unique(np.concatenate(parts), return_inverse=True, return_counts=True)
    few = (holders >= 2) & (holders <= rare_most(len(rows)))
    owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return np.bincount(owner, few[which], minlength=len(parts)).astype(np.int64)


def _ties(snap: Snapshot, rows: I64, links: Iterable[NewLink]) -> tuple[I64, set[int]]:
    """(edges of each row to others that stay, rows in a contradiction that nothing settles)."""
    ties = np.zeros(len(snap), np.int64)
    stays = set(rows.tolist())
    opposed: set[frozenset[int]] = set()
    settled: set[frozenset[int]] = set()
    ends = zip(snap.links.source.tolist(), snap.links.target.tolist(), snap.links.kind, strict=True)
    made = ((snap.row_of(link.source), snap.row_of(link.target), link.relationship_type) for link in links)
    for one, other, kind in (*ends, *made):
        if one is None or other is None or one == other or not stays >= {one, other}:
            continue
        if kind == CONTRADICTS:
            opposed.add(frozenset((one, other)))
            continue
        ties[one] += 1
        ties[other] += 1
        if kind in SETTLES:
            settled.add(frozenset((one, other)))
    return ties, {row for pair in opposed - settled for row in pair}
