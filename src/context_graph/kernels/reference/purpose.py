"""Computes a purpose vector from one event's comparison: the readable twin of ext/kernels/purpose.pyx.

Standard library only; both twins agree to the last bits.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

N: Final = 13
N_CODING: Final = 8


def observe(
    likeness: Buffer,
    confidence: Buffer,
    on: Buffer,
    off: Buffer,
    weight: Buffer,
    coding: Buffer,
    share: float,
    alignment: array[float],
    level: array[float],
    identity: array[float],
    vector: array[float],
) -> float:
    """Move alignment, level and identity by one event, and write its purpose vector.

    Each alignment goes towards the coded likeness (towards 1 as on-goal work is, -1 as foreign work), by
    share * confidence; each level, the running likeness, goes towards it by its own rate. The identity goes
    towards the new purpose vector's direction. All buffers hold 13 doubles, but for ``coding``.

    Args:
        likeness: In [0, 1]; NaN leaves that space's alignment and level alone.
        confidence: In [0, 1).
        on: Positive likeness that is usual for on-goal work.
        off: Likeness that is usual for foreign work, below ``on``.
        weight: Positive.
        coding: 8 doubles: where between off (0) and on (1) the code is 0; how much further it is tanh(1),
            as a share of their distance, and at least; how far the level shifts both, its rate, and the
            bounds of its ratio to on; the identity's share.
        share: Of this event, in [0, 1].
        alignment: Changed in place.
        level: Changed in place.
        identity: Changed in place.
        vector: Overwritten by alignment * sqrt(weight).

    Returns:
        Mean alignment, by weight, in [-1, 1].

    Raises:
        ValueError: A buffer of another length.
    """
    like, sure, high, low, w = (
        _thirteen(given, name)
        for name, given in (
            ("likeness", likeness),
            ("confidence", confidence),
            ("on", on),
            ("off", off),
            ("weight", weight),
        )
    )
    code = array("d", memoryview(coding))
    if len(code) != N_CODING:
        raise ValueError(f"coding must have {N_CODING} values, got {len(code)}")
    for name, target in (
        ("alignment", alignment),
        ("level", level),
        ("identity", identity),
        ("vector", vector),
    ):
        _thirteen(target, name)
    for k in range(N):
        if not math.isnan(like[k]):
            coded = _coded(like[k], high[k], low[k], level[k], code)
            alignment[k] += share * sure[k] * (coded - alignment[k])
            level[k] += code[4] * sure[k] * (like[k] - level[k])
        vector[k] = math.sqrt(w[k]) * alignment[k]
    length = math.sqrt(sum(value * value for value in vector))
    if length > 1e-9:
        for k in range(N):
            identity[k] = (1.0 - code[7]) * identity[k] + code[7] * vector[k] / length
    return sum(weight * m for weight, m in zip(w, alignment, strict=True)) / sum(w)


def _coded(likeness: float, on: float, off: float, level: float, code: array[float]) -> float:
    zero_at, half_width, min_half_width, level_shift, _, level_min, level_max, _ = code
    shift = 1.0 + level_shift * (min(max(level / on, level_min), level_max) - 1.0)
    gap = (on - off) * shift
    return math.tanh((likeness - off * shift - zero_at * gap) / max(half_width * gap, min_half_width))


def _thirteen(source: Buffer, name: str) -> array[float]:
    values = array("d", memoryview(source))
    if len(values) != N:
        raise ValueError(f"{name} must have {N} values, got {len(values)}")
    return values
