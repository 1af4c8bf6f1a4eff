"""Lays the report's charts out: bars, a line with lanes below it. The template draws them as SVG.

All coordinates are in units of the drawing, rounded to one digit, so that the same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

import msgspec

from context_graph.consolidation.plan import Measured
from context_graph.text.units import counted
from context_graph.view.report.tables import cut, stamp
from context_graph.view.rows import Day, SessionDetail
from context_graph.view.safe import one_line
from context_graph.view.timeline import CRISIS, WARNING, Timeline

WIDTH: Final = 1000
_LEFT, RIGHT, TOP = 110, 20, 12
_ROOM: Final = WIDTH - _LEFT - RIGHT
_BARS_HEIGHT, _LINE_HEIGHT, _LANE = 160, 120, 18
_MARKS: Final = 200
"""Of a session, the newest."""
_SHORT_MS: Final = 600_000


class Tick(msgspec.Struct, frozen=True):
    """A line across the chart, or below it, with its label."""

    at: float
    label: str


class Bar(msgspec.Struct, frozen=True):
    """One bar and what it says when pointed at."""

    x: float
    y: float
    width: float
    height: float
    used: float
    """Of its height, from the ground."""
    tip: str


class Bars(msgspec.Struct, frozen=True, kw_only=True):
    """A bar chart by day."""

    height: int
    bars: Sequence[Bar]
    ys: Sequence[Tick]
    xs: Sequence[Tick]
    summary: str
    """The chart in a sentence, for who does not see it."""


class Dot(msgspec.Struct, frozen=True):
    """A point with what it says when pointed at."""

    x: float
    y: float
    tip: str
    kind: str = ""
    """Of a mark, for its colour."""


class Lane(msgspec.Struct, frozen=True):
    """The marks of one lane."""

    label: str
    y: float
    dots: Sequence[Dot]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line over time."""

    height: int
    path: str
    """In SVG's terms; "" below two points."""
    dots: Sequence[Dot]
    ys: Sequence[Tick]
    xs: Sequence[Tick]
    lanes: Sequence[Lane]
    summary: str


def bars(days: Sequence[Day]) -> Bars | None:
    """Return what was told and used by day, with the days between that have none; None without any."""
    if not days:
        return None
    numbers = [date.fromisoformat(row.day).toordinal() for row in days]
    first, count = numbers[0], numbers[-1] - numbers[0] + 1
    step = _ROOM / count
    top = _round_up(max(row.memories for row in days))
    base = TOP + _BARS_HEIGHT
    drawn = []
    for number, row in zip(numbers, days, strict=True):
        high = _BARS_HEIGHT * row.memories / top
        shown = counted(row.memories, "memory", "memories")
        tip = f"{row.day}: {shown} told, {row.used} used, {row.tokens:,} tokens"
        left, wide = _LEFT + (number - first) * step + step * 0.1, min(60.0, max(1.0, step * 0.8))
        used = high * min(1.0, row.used / max(1, row.memories))
        drawn.append(
            Bar(rounded(left), rounded(base - high), rounded(wide), rounded(high), rounded(used), tip)
        )
    ys = [Tick(rounded(base - _BARS_HEIGHT * share), f"{top * share:,.0f}") for share in (0, 0.5, 1)]
    memories, used = sum(row.memories for row in days), sum(row.used for row in days)
    summary = f"{memories:,} told and {used:,} used on {counted(len(days), 'day')} from {days[0].day}"
    return Bars(height=base + 24, bars=drawn, ys=ys, xs=_days(first, count, step), summary=summary)


def _days(first: int, count: int, step: float) -> list[Tick]:
    """Return labels of days, at most six."""
    every = max(1, -(-count // 6))
    return [
        Tick(
            rounded(_LEFT + at * step + step * 0.1 + min(60.0, step * 0.8) / 2),
            date.fromordinal(first + at).isoformat(),
        )
        for at in range(0, count, every)
    ]


def _round_up(value: int) -> int:
    """Return the next of 2, 4, 10, 20, 40, 100 …, whose half is a round number too."""
    top = 2
    for factor in (2, 2.5, 2) * 12:
        if top >= value:
            break
        top = int(top * factor)
    return top


def session_line(detail: SessionDetail, chars: int) -> Line | None:
    """Return IC over the session's events, with its lanes below; None without either."""
    time = Timeline(msgspec.structs.replace(detail, marks=detail.marks[-_MARKS:]))
    if not (time.times and (detail.points or detail.marks)):
        return None
    points = detail.points
    low = -1.0 if any(point.ic < 0 for point in points) else 0.0
    lanes, bottom = _lanes(time, _LINE_HEIGHT if points else 0, chars)
    values = [(time.place(point.at_ms), point.ic) for point in points]
    first, last = time.times[0], time.times[-1]
    summary = f"From {stamp(first)} to {stamp(last)}"
    if points:
        least = min(point.ic for point in points)
        summary += f": {points[0].ic:.2f} at first, {points[-1].ic:.2f} at the end, lowest {least:.2f}"
    else:
        summary += ": nothing measured yet"
    ticks = () if not points else (low, 0.0, CRISIS, WARNING, 1.0) if low else (0.0, CRISIS, WARNING, 1.0)
    labels = [f"{stamp(point.at_ms)}: {point.ic:.2f}" for point in points]
    shown = labels if len(points) == 1 else ()
    return _line(values, _ends(first, last), low, ticks, summary, lanes, bottom, shown)


def drift_line(drift: Sequence[Measured]) -> Line | None:
    """Return how near memories are to the goals, over months; None without any."""
    if not drift:
        return None
    times = (drift[0].at_ms, drift[-1].at_ms)
    span = max(1, times[1] - times[0])
    tips = [one_line(f"{stamp(point.at_ms)}: {point.similarity:.2f} ({point.level})") for point in drift]
    summary = f"Similarity of memories to goals from {stamp(times[0])} to {stamp(times[1])}"
    values = [((point.at_ms - times[0]) / span, point.similarity) for point in drift]
    ends = _ends(*times)
    return _line(values, ends, 0.0, (0.0, 0.5, 1.0), summary, (), TOP + _LINE_HEIGHT, tips)


def _line(
    values: Sequence[tuple[float, float]],
    ends: Sequence[Tick],
    low: float,
    ticks: Iterable[float],
    summary: str,
    lanes: Sequence[Lane],
    bottom: float,
    tips: Sequence[str],
) -> Line:
    """Return a line through (place in [0, 1], value) pairs; with ``tips`` each is a dot."""

    def height(value: float) -> float:
        return rounded(TOP + _LINE_HEIGHT * (1 - (value - low) / (1 - low)))

    places = [(_across(place), height(value)) for place, value in values]
    return Line(
        height=int(bottom + 22),
        path="M" + "L".join(f"{x:g} {y:g}" for x, y in places) if len(places) > 1 else "",
        dots=[Dot(x, y, tip) for (x, y), tip in zip(places, tips, strict=False)],
        ys=[Tick(height(value), f"{value:g}") for value in ticks],
        xs=ends,
        lanes=lanes,
        summary=summary,
    )


def _ends(first: int, last: int) -> list[Tick]:
    """Return the labels of the axis: to the second where minutes would not tell its ends apart."""
    seconds = last - first < _SHORT_MS
    return [Tick(_LEFT, stamp(first, seconds=seconds)), Tick(WIDTH - RIGHT, stamp(last, seconds=seconds))]


def _lanes(time: Timeline, above: int, chars: int) -> tuple[list[Lane], float]:
    """Return the lanes, below a line that is ``above`` high, and where they end."""
    y, lanes = float(TOP + above), []
    for lane in time.lanes():
        y += _LANE
        dots = [
            Dot(
                _across(time.place(mark.at_ms)),
                0,
                f"{stamp(mark.at_ms)} {mark.kind}: {cut(one_line(mark.text), chars)}",
                mark.kind,
            )
            for mark in lane.marks
        ]
        lanes.append(Lane(cut(one_line(lane.label), 16), y, dots))
    return lanes, y


def _across(place: float) -> float:
    """Return where a place in [0, 1] is from left to right."""
    return rounded(_LEFT + _ROOM * place)


def rounded(value: float) -> float:
    """Return a coordinate to one digit."""
    return round(value, 1)
