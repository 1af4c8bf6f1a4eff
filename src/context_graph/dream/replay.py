"""NREM replay: memories that were active together have their edges strengthened, others' edges decay.

The update is Hebb's rule with decay, w' = clamp(0.999 w + 0.01 φ_i φ_j, 0.05, 1); φ is how active a memory
has been. It is computed for all edges among the memories that are replayed, and written back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph._kernels import hebbian
from context_graph.dream.plan import Reweight
from context_graph.dream.snapshot import Snapshot

__all__ = [
    "ACTIVE",
    "DECAY",
    "FLOOR",
    "LEARNING",
    "activity",
    "replayed",
    "reweigh",
]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

LEARNING: Final = 0.01
DECAY: Final = 0.001
"""Share of its weight that an edge loses in a replay."""
FLOOR: Final = 0.05
"""Weight to which an edge decays; one that was set lower stays as low until it is strengthened."""
ACTIVE: Final = 0.1
"""A memory of this activity or less fires not at all."""
REPLAYED: Final = 100
"""Memories of one replay, and one in a hundred of a large store."""
SHARE: Final = 0.01
RECENT: Final = 0.8
"""What the time of its last use counts for a memory's place in the replay; its activity counts the rest."""
HALF_LIFE_MS: Final = 7 * 86_400_000
USES: Final = 3.0
"""Uses that make a memory half as active as it can be."""
_LEAST_CHANGE: Final = 1e-9


def reweigh(snap: Snapshot, rows: Sequence[int] | I64 | None = None) -> list[Reweight]:
    """The edges among the replayed memories that change, each with its weight before and after.

    Args:
        rows: Those that remain; None for all.

    Returns:
        In the order of the snapshot's edges; [] where there is no edge.

    Cost: some 10 ns an edge, and sorting the memories by their uses.
    """
    edges = snap.links
    if not len(edges.ids):
        return []
    active = activity(snap)
    chosen = replayed(snap, active, np.arange(len(snap)) if rows is None else np.asarray(rows, np.int64))
    among = np.zeros(len(snap), np.bool_)
    among[chosen] = True
    picked = np.flatnonzero(among[edges.source] & among[edges.target])
    before = np.ascontiguousarray(edges.weight[picked])
    after = np.empty_like(before)
    hebbian.update(
        np.ascontiguousarray(edges.source[picked]),
        np.ascontiguousarray(edges.target[picked]),
        np.where(active > ACTIVE, active, 0.0),
        before,
        after,
        LEARNING,
        DECAY,
        FLOOR,
    )
    changed = np.flatnonzero(np.abs(after - before) > _LEAST_CHANGE)
    return [
        Reweight(edges.ids[edge], old, new)
        for edge, old, new in zip(
            picked[changed].tolist(), before[changed].tolist(), after[changed].tolist(), strict=True
        )
    ]


def activity(snap: Snapshot) -> F64:
    """float64[n] in [0, 1]: how active each memory has been.

    uses / (uses + 3), halved for each week between its last use and the latest use of any, and lessened by up
    to a half for what is unimportant. A memory that was never used is not active, however new it is.
    """
    if not len(snap):
        return np.zeros(0)
    age = (snap.accessed_ms.max() - snap.accessed_ms).astype(np.float64)
    used = snap.accesses / (snap.accesses + USES)
    active: F64 = used * np.exp2(-age / HALF_LIFE_MS) * (0.5 + 0.5 * snap.importance)
    return active


def replayed(snap: Snapshot, active: F64, rows: I64) -> I64:
    """Those of ``rows`` that are replayed: the first by 0.8 recency of use + 0.2 activity.

    At most 100, or one in a hundred where that is more. Recency is 0 for the least recent of ``rows``, 1 for
    the latest.
    """
    count = max(REPLAYED, int(SHARE * len(rows)))
    if len(rows) <= count:
        return rows
    at = snap.accessed_ms[rows].astype(np.float64)
    recency = (at - at.min()) / max(1.0, at.max() - at.min())
    score = RECENT * recency + (1.0 - RECENT) * active[rows]
    return np.sort(rows[np.lexsort((-rows, -score))[:count]])
