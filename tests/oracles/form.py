"""Computes what a text's numbers say of time: twin of ext/kernels/_form.pxd.

Temporal gains the angle of years (one turn in eight years), the months of ISO dates, the angle of the hour.
"""

from __future__ import annotations

import math
from typing import Final

from tests.oracles.text import BLANK, Text

_MONTHS: Final = 12
_YEAR, _HOUR = 28, 30  # places in the temporal space


def add_dates(target: list[float], text: Text) -> None:
    """Temporal: years, months of ISO dates and hours, where numbers say them."""
    i = 0
    while i < len(text):
        if not text.is_part(i):
            i += 1
            continue
        end = _digits_end(text, i)
        is_number = end > i and not text.is_part(end)
        i = _add_date(target, text, i, end) if is_number else text.identifier_end(end)


def _digits_end(text: Text, i: int) -> int:
    while 48 <= text.byte(i) <= 57:
        i += 1
    return i


def _number(text: Text, start: int, end: int) -> int:
    """The number of at most four digits in [start, end), else -1."""
    return int(text.data[start:end]) if 0 < end - start <= 4 else -1


def _add_date(target: list[float], text: Text, start: int, end: int) -> int:
    """A number as a year, a date 2024-05-12 or a time 7:30, 7 pm; returns where to go on."""
    value = _number(text, start, end)
    if 1900 <= value <= 2099 and end - start == 4:
        _add_angle(target, _YEAR, math.pi / 4 * (value % 8))
        return _add_month(target, text, end)
    if not 0 <= value <= 24:
        return end
    minutes = 0
    if text.byte(end) == ord(":"):
        stop = _digits_end(text, end + 1)
        minutes = _number(text, end + 1, stop) if stop - end == 3 else -1
        if not 0 <= minutes <= 59:
            return end
        end = stop
    return _add_hour(
        target, text, end, value, minutes, clock=end - start > 2 and text.byte(end - 3) == ord(":")
    )


def _add_month(target: list[float], text: Text, end: int) -> int:
    """The -05 or -05-12 after a year."""
    if text.byte(end) != ord("-"):
        return end
    stop = _digits_end(text, end + 1)
    month = _number(text, end + 1, stop)
    if stop - end != 3 or not 1 <= month <= _MONTHS:
        return end
    target[month - 1] += 1.0
    return _digits_end(text, stop + 1) if text.byte(stop) == ord("-") else stop


def _add_hour(target: list[float], text: Text, end: int, hour: int, minutes: int, *, clock: bool) -> int:
    at = end + 1 if text.kind(end) & BLANK and end < len(text) else end
    half = bytes(text.data[at : at + 2])
    if half in (b"am", b"pm") and not text.is_part(at + 2) and 1 <= hour <= 12:
        hours = hour % 12 + minutes / 60.0 + (12.0 if half == b"pm" else 0.0)
        _add_angle(target, _HOUR, math.pi / 12 * hours)
        return at + 2
    if clock:
        _add_angle(target, _HOUR, math.pi / 12 * (hour + minutes / 60.0))
    return end


def _add_angle(target: list[float], place: int, angle: float) -> None:
    target[place] += math.cos(angle)
    target[place + 1] += math.sin(angle)
