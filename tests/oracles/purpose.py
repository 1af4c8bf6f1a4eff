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
N_CODING: Final = 7


def observe(
    likeness: Buffer,
    confidence: Buffer,
    on: Buffer,
    middle: Buffer,
    weight: Buffer,
    coding: Buffer,
    share: float,
    alignment: array[float],
    level: array[float],
    identity: array[float],
    vector: array[float],
) -> float:
    """Move alignment, level and identity by one event, and write its purpose vector."""
    like, sure, high, centre, w = (
        _thirteen(given, name)
        for name, given in (
            ("likeness", likeness),
            ("confidence", confidence),
            ("on", on),
            ("middle", middle),
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
    heard = [0.0 if math.isnan(value) else sure[k] for k, value in enumerate(like)]
    certain = sum(heard) / N
    for k in range(N):
        spoken = 0.0
        if not math.isnan(like[k]):
            spoken = heard[k] * _coded(like[k], high[k], centre[k], level[k], code)
            level[k] += code[1] * heard[k] * (like[k] - level[k])
        alignment[k] = _bounded(alignment[k] + share * (spoken - certain * alignment[k]))
        vector[k] = math.tanh(code[5] * (alignment[k] - code[6]))
    length = math.sqrt(sum(value * value for value in vector))
    if length > 1e-9:
        for k in range(N):
            identity[k] = (1.0 - code[4]) * identity[k] + code[4] * vector[k] / length
    return sum(weight * m for weight, m in zip(w, alignment, strict=True))


def _coded(likeness: float, on: float, middle: float, level: float, code: array[float]) -> float:
    shift, _, least, most, *_ = code
    usual = on * (1.0 + shift * (min(max(level / on, least), most) - 1.0))
    return _bounded(likeness / usual - middle)


def _bounded(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _thirteen(source: Buffer, name: str) -> array[float]:
    values = array("d", memoryview(source))
    if len(values) != N:
        raise ValueError(f"{name} must have {N} values, got {len(values)}")
    return values
