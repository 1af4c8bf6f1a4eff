"""Reads a time as people write it: `7d`, `12h`, `yesterday`, `last week`, or ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from context_graph.errors import CommandLineError

_CHARS: Final = 64
_DIGITS: Final = 6
_SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3_600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "week", "weeks"), 604_800),
}
"""There is no bare `m`: it means minutes to some, months to others."""
TAKEN: Final = "a time such as 7d, 12h, today, yesterday, 'last week' or 2026-01-31T09:30"


def moment(name: str, text: str, now: datetime | None = None) -> int:
    """Return Unix milliseconds of what ``text`` says.

    `7d` (s, min, h, d, w) is that long ago. `today`, `yesterday`, `this week`, `last week` (from its Monday),
    `this month` and `last month` are where they begin, on this machine's clock. ISO 8601 without an offset is
    UTC, as everywhere; more than eight digits are Unix milliseconds.

    Args:
        name: The option, for the error.
        now: On this machine's clock, without a time zone; None: now.

    Raises:
        CommandLineError: It is nothing of this, or before 1970.
    """
    now = datetime.now() if now is None else now
    words = " ".join(text[: _CHARS + 1].lower().split())
    try:
        time = _named(words, now) or _ago(words, now) or _written(words)
        if len(text) <= _CHARS and (at := round(time.timestamp() * 1000)) >= 0:
            return at
    except (ValueError, OverflowError, OSError):
        pass
    shown = text if len(text) <= _CHARS else text[:_CHARS] + "…"
    raise CommandLineError(f"{name} is {shown!r}; give {TAKEN}")


def _named(words: str, now: datetime) -> datetime | None:
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    week, month = day - timedelta(days=day.weekday()), day.replace(day=1)
    return {
        "now": now,
        "today": day,
        "yesterday": day - timedelta(days=1),
        "this week": week,
        "last week": week - timedelta(days=7),
        "this month": month,
        "last month": (month - timedelta(days=1)).replace(day=1),
    }.get(words)


def _ago(words: str, now: datetime) -> datetime | None:
    """`7d`, `7 days`, `7 days ago`."""
    seconds = span_s(words.removesuffix(" ago"))
    return None if seconds is None else now.astimezone() - timedelta(seconds=seconds)


def span_s(text: str) -> int | None:
    """Return seconds of `90s`, `10min`, `12 hours`, `7d`, `2w`; None for all else, also for digits alone."""
    unit = text.lstrip("0123456789")
    digits = text[: len(text) - len(unit)]
    seconds = _SECONDS.get(unit.strip())
    if not digits or len(digits) > _DIGITS or seconds is None:
        return None
    return int(digits) * seconds


def _written(words: str) -> datetime:
    if words.isascii() and words.isdigit() and len(words) > 8:  # eight digits are a date in ISO 8601
        return datetime.fromtimestamp(int(words) / 1000, UTC)
    at = datetime.fromisoformat(words.upper())
    return at if at.tzinfo else at.replace(tzinfo=UTC)
