"""Applies Hebb's rule with decay to a list of edges: twin of ext/kernels/hebbian.pyx.

    w' = clamp(w (1 - decay) + learning * phi[source] * phi[target], floor, 1)

An edge whose weight is below the floor already is not lifted to it by decaying.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence


def update(
    source: Sequence[int],
    target: Sequence[int],
    activity: Sequence[float],
    before: Sequence[float],
    after: MutableSequence[float],
    learning: float,
    decay: float,
    floor: float,
) -> None:
    """The weights of edges after both their ends have fired as much as they did."""
    if not len(source) == len(target) == len(before) == len(after):
        raise ValueError("source, target, before and after must have one length")
    for edge, weight in enumerate(before):
        one, other = source[edge], target[edge]
        if not (0 <= one < len(activity) and 0 <= other < len(activity)):
            raise ValueError(f"edge {edge} has an end outside activity")
        new = weight * (1.0 - decay) + learning * activity[one] * activity[other]
        after[edge] = min(1.0, max(min(floor, weight), new))
