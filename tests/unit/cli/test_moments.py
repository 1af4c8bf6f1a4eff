"""Times as people write them: on this machine's clock, whatever its offset and the season."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from context_graph.cli.console.moments import moment, span_s
from context_graph.errors import CommandLineError

NOW = datetime(2026, 3, 29, 15, 30)
"""A Sunday; in Berlin the clock went from 2 to 3 that morning."""


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/St_Johns"], autouse=True)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local(*parts: int) -> int:
    return round(datetime(*parts).timestamp() * 1000)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "begins"),
    [
        ("today", (2026, 3, 29)),
        ("Yesterday", (2026, 3, 28)),
        ("this week", (2026, 3, 23)),
        ("last  week", (2026, 3, 16)),
        ("this month", (2026, 3, 1)),
        ("last month", (2026, 2, 1)),
        ("now", (2026, 3, 29, 15, 30)),
    ],
)
def test_a_day_begins_at_this_machine_s_midnight(said: str, begins: tuple[int, ...]) -> None:
    assert moment("--since", said, NOW) == local(*begins)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("90s", 90),
        ("5min", 300),
        ("12h", 43_200),
        ("7d", 604_800),
        ("2 weeks ago", 1_209_600),
        ("1 day", 86_400),
    ],
)
def test_a_span_is_counted_in_whole_hours_also_over_a_change_of_the_clock(said: str, seconds: int) -> None:
    assert local(2026, 3, 29, 15, 30) - moment("--since", said, NOW) == seconds * 1000


@pytest.mark.parametrize(
    "said", ["2026-01-31T09:30:00Z", "2026-01-31t09:30", "2026-01-31T10:30+01:00", "1769851800000"]
)
def test_iso_8601_and_unix_milliseconds_are_taken_as_they_were(said: str) -> None:
    assert moment("--since", said) == round(datetime(2026, 1, 31, 9, 30, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    "said",
    [
        *("", "soon", "7", "7 m", "m", "-7d", "7d7d", "1969-12-31", "99999999999999999999d", "999999w", "٣d"),
        *("1" * 100_000, "7d" + " " * 100, "yesterday ago", "2026-13-01", "tomorrow", "d ago", "½h"),
    ],
    ids=lambda said: repr(said[:20]),
)
def test_anything_else_is_refused_with_what_is_taken(said: str) -> None:
    with pytest.raises(CommandLineError, match=r"--since is .*give a time such as 7d, 12h"):
        moment("--since", said, NOW)


@pytest.mark.parametrize(
    ("said", "seconds"), [("90s", 90), ("10min", 600), ("12 hours", 43_200), ("2w", 1_209_600)]
)
def test_a_length_of_time_is_read_in_the_same_words(said: str, seconds: int) -> None:
    assert span_s(said) == seconds
    assert span_s(said.strip("0123456789")) is None and span_s("3600") is None and span_s("7d ago") is None
