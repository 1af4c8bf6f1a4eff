"""Lays memories out in two dimensions by the words they share (E13), clusters apart from each other.

The two axes are those along which the centres of the clusters differ most. Along each axis distances are then
stretched so that the centres lie evenly: order is kept, and labels do not lie on top of each other. The same
memories always give the same map, which a layout by forces would not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from context_graph.consolidation.map import MAX_CLUSTERS, MAX_POINTS, Group, Spot
from context_graph.consolidation.plan import Cluster
from context_graph.consolidation.snapshot import F32, I64, Snapshot

_EVEN: Final = 0.7
"""How far distances are evened out, 0 to 1."""
_MARGIN: Final = 0.04
_DIGITS: Final = 3


def lay_out(
    snap: Snapshot, rows: I64, clusters: Sequence[Cluster]
) -> tuple[tuple[Spot, ...], tuple[Group, ...]]:
    """Return where each of ``rows`` lies, at most MAX_POINTS of them, and each of the largest clusters.

    Cost: some 0.1 s for 10,000 memories.
    """
    if not len(rows):
        return (), ()
    shown = clusters[:MAX_CLUSTERS]
    members = [snap.rows_of(cluster.members) for cluster in shown]
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_POINTS)).astype(np.int64)]
    space = snap.space("Terms")
    centres = np.zeros((len(shown), space.shape[1]), np.float32)
    for number, own in enumerate(members):
        centres[number] = space[own].mean(axis=0)
    axes = _axes(centres if len(shown) > 2 else space[some])
    places, middles = space[some] @ axes, centres @ axes
    for axis in range(axes.shape[1]):
        anchors = (middles if len(shown) > 2 else places)[:, axis].copy()  # the columns are written below
        middles[:, axis] = _evened(middles[:, axis], anchors, places[:, axis])
        places[:, axis] = _evened(places[:, axis], anchors, places[:, axis])
    of = np.full(len(snap), -1, np.int64)
    for number, own in enumerate(members):
        of[own] = number
    spots = (
        Spot(str(snap.ids[row]), x, y, int(of[row]))
        for row, (x, y) in zip(some.tolist(), _rounded(places), strict=True)
    )
    groups = (
        Group(cluster.label, len(cluster.members), round(cluster.coherence, _DIGITS), x, y)
        for cluster, (x, y) in zip(shown, _rounded(middles), strict=True)
    )
    return tuple(spots), tuple(groups)


def _axes(points: F32) -> F32:
    """float32[d, 2]: the two directions in which ``points`` vary most, each with a fixed sign."""
    centred = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = vectors[:, :-3:-1]
    strongest = axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])]
    return np.asarray(axes * np.where(strongest < 0, -1.0, 1.0), np.float32)


def _evened(values: F32, anchors: F32, everything: F32) -> F32:
    """Return ``values`` in [0, 1]: between their place as it is and one at which ``anchors`` lie evenly."""
    low, high = float(everything.min()), float(everything.max())
    if high <= low:
        return np.full(len(values), 0.5, np.float32)
    plain = (values - low) / (high - low)
    marks = np.unique(np.concatenate(([low], anchors, [high])))
    even = np.interp(values, marks, np.linspace(0.0, 1.0, len(marks)))
    mixed = (1.0 - _EVEN) * plain + _EVEN * even
    return np.asarray(_MARGIN + (1.0 - 2.0 * _MARGIN) * np.clip(mixed, 0.0, 1.0), np.float32)


def _rounded(places: F32) -> list[tuple[float, float]]:
    return [(round(float(x), _DIGITS), round(float(y), _DIGITS)) for x, y in places]
