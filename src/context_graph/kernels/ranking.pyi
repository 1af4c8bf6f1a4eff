from array import array
from collections.abc import Sequence
from typing import Final

from typing_extensions import Buffer

__all__ = [
    "NONE",
    "add_by_age",
    "add_standardised",
    "blend",
    "clear",
    "count",
    "expect",
    "keep_classes",
    "keep_numbers",
    "keep_rows",
    "keep_times",
    "lift_groups",
    "moments",
    "spaced",
    "spread",
    "top",
]

NONE: Final[int]

def count(mask: Buffer) -> int: ...
def moments(scores: Buffer, live: Buffer) -> tuple[int, float, float]: ...
def clear(scores: array[float]) -> None: ...
def add_standardised(
    scores: Buffer, mean: float, deviation: float, weight: float, skip_zeros: bool, out: array[float]
) -> None: ...
def expect(
    like: Buffer, mean: float, deviation: float, its_mean: float, slope: float, out: array[float]
) -> None: ...
def blend(
    parts: Sequence[tuple[Buffer, float, float, float, bool]],
    classes: Buffer,
    weights: Buffer,
    out: array[float],
) -> None: ...
def add_by_age(times: Buffer, now: int, half_life: float, weight: float, out: array[float]) -> None: ...
def spread(
    scores: Buffer,
    live: Buffer,
    before: Buffer,
    asks: Buffer,
    after_question: float,
    back: float,
    out: array[float],
) -> None: ...
def spaced(live: Buffer, most: int) -> list[int]: ...
def lift_groups(scores: array[float], live: Buffer, groups: Buffer, weight: float) -> None: ...
def keep_classes(mask: bytearray, classes: Buffer, allowed: Buffer) -> None: ...
def keep_numbers(mask: bytearray, numbers: Buffer, low: float, high: float) -> None: ...
def keep_rows(mask: bytearray, rows: Buffer) -> None: ...
def keep_times(mask: bytearray, times: Buffer, low: int, high: int) -> None: ...
def top(scores: Buffer, mask: Buffer, k: int) -> list[int]: ...
