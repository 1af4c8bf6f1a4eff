"""Converts times between Unix milliseconds and the text that people and programs read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from context_graph.errors import InvalidParamsError

LAST_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: years of four digits end there, and with them what a memory's time may be."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


def iso_time(at_ms: int) -> str:
    """ISO 8601 in UTC, 2026-11-21T09:30:00.000Z; a later time than `LAST_MS` is told as that, an earlier one
    than 1970 as its begin."""
    at = _EPOCH + timedelta(milliseconds=max(0, min(at_ms, LAST_MS)))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_ms(text: str) -> int:
    """Unix ms of an ISO 8601 text, without an offset in UTC, cut to whole milliseconds; negative before 1970.

    Raises:
        ValueError: It is none.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return (moment - _EPOCH) // _MS
    except OverflowError as error:  # an offset that leads out of the calendar
        raise ValueError(str(error)) from error


def parse_time(name: str, value: object) -> int:
    """Unix ms of an ISO 8601 text (without an offset: UTC) or of Unix ms as they are.

    Raises:
        InvalidParamsError: Neither.
    """
    if type(value) is int and 0 <= value <= LAST_MS:
        return value
    if isinstance(value, str):
        try:
            return instant_ms(value)
        except ValueError:
            pass
    raise InvalidParamsError.of(
        name,
        f"must be a date and time such as 2026-01-31T12:00:00Z, or Unix milliseconds from 0 to {LAST_MS}; "
        f"is {value!r:.80}",
    )
