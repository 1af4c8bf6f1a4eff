from array import array

from typing_extensions import Buffer

__all__ = ["observe"]

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
) -> float: ...
