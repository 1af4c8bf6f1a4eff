"""Ranks all rows of an index by several scores: the readable twin of ext/kernels/ranking.pyx.

Standard library only. A column is a buffer with one value a row: floats for scores, uint32 for classes (a
session, a quadrant, a source, each by its ordinal), bytes for masks. Nothing here knows what a column means.
Each function is one pass over the rows; the compiled ones give the GIL up meanwhile.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

NONE: Final = 0xFFFFFFFF
"""In ``before``: the row follows none."""
MOST_PARTS: Final = 4


def _fits(name: str, column: memoryview | array[float], rows: int) -> None:
    if len(column) < rows:
        raise ValueError(f"{name} must have {rows} values, got {len(column)}")


def _single(number: float) -> float:
    return array("f", [number])[0]


def count(mask: Buffer) -> int:
    """How many bytes of the mask are not 0."""
    return sum(one != 0 for one in memoryview(mask))


def moments(scores: Buffer, live: Buffer) -> tuple[int, float, float]:
    """(count, mean, standard deviation) of the live rows' scores; zeros when there is none."""
    alive, value = memoryview(live), memoryview(scores)
    _fits("scores", value, len(alive))
    held = [number for number, here in zip(value, alive, strict=False) if here]
    if not held:
        return 0, 0.0, 0.0
    mean = sum(held) / len(held)
    variance = sum(number * number for number in held) / len(held) - mean * mean
    return len(held), mean, math.sqrt(max(variance, 0.0))


def clear(scores: array[float]) -> None:
    """Set every score to 0."""
    scores[:] = array("f", bytes(4 * len(scores)))


def add_standardised(
    scores: Buffer, mean: float, deviation: float, weight: float, skip_zeros: bool, out: array[float]
) -> None:
    """Add weight * (score - mean) / deviation of every row to ``out``; nothing when the deviation is 0."""
    value = memoryview(scores)
    _fits("out", out, len(value))
    if deviation < 1e-9:
        return
    factor = weight / deviation
    for row in range(len(value)):
        if value[row] != 0.0 or not skip_zeros:
            out[row] += _single(factor * (value[row] - mean))


def expect(
    like: Buffer, mean: float, deviation: float, its_mean: float, slope: float, out: array[float]
) -> None:
    """Write the score that a row may be expected to have into each row of ``out`` that has none."""
    known = memoryview(like)
    _fits("out", out, len(known))
    if deviation < 1e-9:
        return
    factor = slope / deviation
    for row in range(len(known)):
        if out[row] == 0.0 and known[row] != 0.0:
            out[row] = _single(its_mean + factor * (known[row] - mean))


def blend(
    parts: Sequence[tuple[Buffer, float, float, float, bool]],
    classes: Buffer,
    weights: Buffer,
    out: array[float],
) -> None:
    """Write to ``out`` the sum of each row's standardised scores, and the weight of its class."""
    kind, weight = memoryview(classes), memoryview(weights)
    rows = len(kind)
    _fits("out", out, rows)
    if len(parts) > MOST_PARTS:
        raise ValueError(f"parts must be at most {MOST_PARTS}, got {len(parts)}")
    for part in parts:
        _fits("scores", memoryview(part[0]), rows)
    out[:rows] = array("f", bytes(4 * rows))
    for scores, mean, deviation, its_weight, skip_zeros in parts:
        add_standardised(memoryview(scores)[:rows], mean, deviation, its_weight, skip_zeros, out)
    for row in range(rows):
        if kind[row] < len(weight):
            out[row] += weight[kind[row]]


def add_by_age(times: Buffer, now: int, half_life: float, weight: float, out: array[float]) -> None:
    """Add weight / (1 + age / half_life) to every row in ``out``; a time in the future has age 0."""
    time = memoryview(times)
    _fits("out", out, len(time))
    if not half_life > 0.0:
        raise ValueError(f"half_life must be positive, got {half_life!r}")
    for row in range(len(time)):
        out[row] += _single(weight / (1.0 + max(float(now) - float(time[row]), 0.0) / half_life))


def spread(
    scores: Buffer,
    live: Buffer,
    before: Buffer,
    asks: Buffer,
    after_question: float,
    back: float,
    out: array[float],
) -> None:
    """Write to ``out`` each score and what its live neighbours pass on of theirs, where positive."""
    value, alive = memoryview(scores), memoryview(live)
    previous, asking = memoryview(before), memoryview(asks)
    rows = len(alive)
    for name, column in (("scores", value), ("before", previous), ("asks", asking), ("out", out)):
        _fits(name, column, rows)
    for row in range(rows):
        out[row] = value[row]
    for row in range(rows):
        earlier = _live_before(row, previous, alive) if alive[row] else NONE
        if earlier == NONE:
            continue
        if value[earlier] > 0.0 and asking[earlier] & 1:
            out[row] += _single(after_question * value[earlier])
        if value[row] > 0.0:
            out[earlier] += _single(back * value[row])


def _live_before(row: int, previous: memoryview, alive: memoryview) -> int:
    earlier = previous[row]
    while earlier < row and not alive[earlier]:
        row, earlier = earlier, previous[earlier]
    return int(earlier) if earlier < row else NONE


def spaced(live: Buffer, most: int) -> list[int]:
    """At most so many live rows, lowest first, as many of the live ones between each two."""
    rows = [row for row, here in enumerate(memoryview(live)) if here]
    found: list[int] = []
    for seen, row in enumerate(rows):
        if len(found) < most and seen * most >= len(found) * len(rows):
            found.append(row)
    return found


def lift_groups(scores: array[float], live: Buffer, groups: Buffer, weight: float) -> None:
    """Add weight * the best positive score of its group to every live row; group 0 is none."""
    alive, group = memoryview(live), memoryview(groups)
    rows = len(alive)
    _fits("scores", scores, rows)
    _fits("groups", group, rows)
    best: dict[int, float] = {}
    for row in range(rows):
        if alive[row] and group[row]:
            best[group[row]] = max(best.get(group[row], 0.0), scores[row])
    for row in range(rows):
        if alive[row] and group[row]:
            scores[row] += _single(weight * best[group[row]])


def keep_classes(mask: bytearray, classes: Buffer, allowed: Buffer) -> None:
    """Clear the mask of rows whose class is not allowed; ``allowed`` has one byte a class."""
    kind, good = memoryview(classes), memoryview(allowed)
    _fits("classes", kind, len(mask))
    for row in range(len(mask)):
        if kind[row] >= len(good) or not good[kind[row]]:
            mask[row] = 0


def keep_numbers(mask: bytearray, numbers: Buffer, low: float, high: float) -> None:
    """Clear the mask of rows whose number (a double) is not in [low, high]."""
    _keep("numbers", mask, memoryview(numbers), low, high)


def keep_rows(mask: bytearray, rows: Buffer) -> None:
    """Clear the mask of every row but these (uint32)."""
    start = 0
    for row in memoryview(rows):
        if not start <= row < len(mask):
            raise ValueError(f"rows must grow and be below {len(mask)}, got {row}")
        mask[start:row] = bytes(row - start)
        start = row + 1
    mask[start:] = bytes(len(mask) - start)


def keep_times(mask: bytearray, times: Buffer, low: int, high: int) -> None:
    """Clear the mask of rows whose time (an int64) is not in [low, high]."""
    _keep("times", mask, memoryview(times), low, high)


def _keep(name: str, mask: bytearray, column: memoryview, low: float, high: float) -> None:
    _fits(name, column, len(mask))
    for row in range(len(mask)):
        if not low <= column[row] <= high:
            mask[row] = 0


def top(scores: Buffer, mask: Buffer, k: int) -> list[int]:
    """The k best rows of the mask, best first; of equal ones the higher row first."""
    value, keep = memoryview(scores), memoryview(mask)
    _fits("scores", value, len(keep))
    if k <= 0:
        return []
    kept = ((value[row], row) for row in range(len(keep)) if keep[row])
    return [row for _, row in heapq.nlargest(k, kept)]
