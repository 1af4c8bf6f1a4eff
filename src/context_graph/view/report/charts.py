"""Lays the report's charts out: bars, a line with marks below it, a map. The template draws them as SVG.

All coordinates are in units of the drawing, rounded to one digit, so that the same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

import msgspec

from context_graph.view.report.tables import cut, stamp
from context_graph.view.rows import Day, DriftPoint, Map, Mark, Point
from context_graph.view.safe import one_line
from context_graph.view.units import counted

WIDTH: Final = 760
_LEFT, _RIGHT, _TOP = 110, 20, 12
_ROOM: Final = WIDTH - _LEFT - _RIGHT
_BARS_HEIGHT, _LINE_HEIGHT, _LANE = 160, 120, 18
_COLOURS: Final = 8
_MARKS: Final = 100
_SHORT_MS: Final = 600_000
_LABEL_STEPS: Final = 3
_LANES: Final = (
    ("prompt", "prompts"),
    ("injection", "memories shown"),
    ("failure", "failures"),
    ("gate", "gates"),
    ("compaction", "compactions"),
    ("consolidation", "dreams"),
    ("start", "starts"),
    ("end", "ends"),
)
"""Kinds of marks in their order, each on a line of its own: told by place and name, not by colour."""


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
    colour: int = 0


class Lane(msgspec.Struct, frozen=True):
    """The marks of one kind."""

    kind: str
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


class Label(msgspec.Struct, frozen=True):
    """The name of a cluster, where it is written, and where the cluster is."""

    x: float
    y: float
    text: str
    anchor: str


class Scatter(msgspec.Struct, frozen=True, kw_only=True):
    """Memories in two dimensions."""

    height: int
    dots: Sequence[Dot]
    labels: Sequence[Label]
    summary: str


def bars(days: Sequence[Day]) -> Bars | None:
    """Return tokens by day, with the days between that have none; None without any."""
    if not days:
        return None
    numbers = [date.fromisoformat(row.day).toordinal() for row in days]
    first, count = numbers[0], numbers[-1] - numbers[0] + 1
    step = _ROOM / count
    top = _round_up(max(row.tokens for row in days))
    base = _TOP + _BARS_HEIGHT
    drawn = []
    for number, row in zip(numbers, days, strict=True):
        high = _BARS_HEIGHT * row.tokens / top
        shown = counted(row.memories, "memory", "memories")
        tip = f"{row.day}: {row.tokens:,} tokens, {shown}, {row.used} used"
        left, wide = _LEFT + (number - first) * step + step * 0.1, min(60.0, max(1.0, step * 0.8))
        used = high * min(1.0, row.used / max(1, row.memories))
        drawn.append(Bar(_r(left), _r(base - high), _r(wide), _r(high), _r(used), tip))
    ys = [Tick(_r(base - _BARS_HEIGHT * share), f"{top * share:,.0f}") for share in (0, 0.5, 1)]
    total = sum(row.tokens for row in days)
    summary = f"{total:,} tokens on {counted(len(days), 'day')} from {days[0].day} to {days[-1].day}"
    return Bars(height=base + 24, bars=drawn, ys=ys, xs=_days(first, count, step), summary=summary)


def _days(first: int, count: int, step: float) -> list[Tick]:
    """Return labels of days, at most six."""
    every = max(1, -(-count // 6))
    return [
        Tick(_r(_LEFT + at * step + min(60.0, step) / 2), date.fromordinal(first + at).isoformat())
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


def session_line(points: Sequence[Point], marks: Sequence[Mark], chars: int) -> Line | None:
    """Return IC over time, with the marks below it; None without either."""
    kept = marks[-_MARKS:]
    times = [*(mark.at_ms for mark in points), *(mark.at_ms for mark in kept)]
    if not times:
        return None
    low = -1.0 if any(point.ic < 0 for point in points) else 0.0
    lanes, bottom = _lanes(kept, (min(times), max(times)), _LINE_HEIGHT if points else 0, chars)
    values = [(point.at_ms, point.ic) for point in points]
    summary = f"From {stamp(min(times))} to {stamp(max(times))}"
    if points:
        least = min(point.ic for point in points)
        summary += f": {points[0].ic:.2f} at first, {points[-1].ic:.2f} at the end, lowest {least:.2f}"
    else:
        summary += ": nothing measured yet"
    ticks = () if not points else (low, 0.0, 0.5, 0.7, 1.0) if low else (0.0, 0.5, 0.7, 1.0)
    return _line(values, (min(times), max(times)), low, ticks, summary, lanes, bottom)


def drift_line(drift: Sequence[DriftPoint]) -> Line | None:
    """Return how near memories are to the goals, over months; None without any."""
    if not drift:
        return None
    times = (drift[0].at_ms, drift[-1].at_ms)
    tips = [one_line(f"{stamp(point.at_ms)}: {point.similarity:.2f} ({point.level})") for point in drift]
    summary = f"Similarity of memories to goals from {stamp(times[0])} to {stamp(times[1])}"
    values = [(point.at_ms, point.similarity) for point in drift]
    return _line(values, times, 0.0, (0.0, 0.5, 1.0), summary, (), _TOP + _LINE_HEIGHT, tips)


def _line(
    values: Sequence[tuple[int, float]],
    times: tuple[int, int],
    low: float,
    ticks: Iterable[float],
    summary: str,
    lanes: Sequence[Lane],
    bottom: float,
    tips: Sequence[str] | None = None,
) -> Line:
    def height(value: float) -> float:
        return _r(_TOP + _LINE_HEIGHT * (1 - (value - low) / (1 - low)))

    places = [(_across(at, *times), height(value)) for at, value in values]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in places) if len(places) > 1 else ""
    labels = tips or [f"{stamp(at)}: {value:.2f}" for at, value in values]
    wanted = tips is not None or len(places) == 1
    return Line(
        height=int(bottom + 22),
        path=path,
        dots=[Dot(x, y, tip) for (x, y), tip in zip(places, labels, strict=True)] if wanted else (),
        ys=[Tick(height(value), f"{value:g}") for value in ticks],
        xs=[Tick(_LEFT, _end(times[0], times)), Tick(WIDTH - _RIGHT, _end(times[1], times))],
        lanes=lanes,
        summary=summary,
    )


def _end(at_ms: int, times: tuple[int, int]) -> str:
    """Return the label of an end of the axis: to the second where minutes would not tell the ends apart."""
    return stamp(at_ms, seconds=times[1] - times[0] < _SHORT_MS)


def _lanes(marks: Sequence[Mark], times: tuple[int, int], above: int, chars: int) -> tuple[list[Lane], float]:
    """Return the lanes that have marks, below a line that is ``above`` high, and where they end."""
    y = float(_TOP + above)
    lanes = []
    for kind, label in _LANES:
        dots = [
            Dot(_across(mark.at_ms, *times), 0, f"{stamp(mark.at_ms)}: {cut(one_line(mark.text), chars)}")
            for mark in marks
            if mark.kind == kind
        ]
        if dots:
            y += _LANE
            lanes.append(Lane(kind, label, y, dots))
    return lanes, y


def _across(at_ms: int, first: int, last: int) -> float:
    """Return where a time is from left to right."""
    return _r(_LEFT + _ROOM * (at_ms - first) / (last - first)) if last > first else _r(_LEFT + _ROOM / 2)


def scatter(drawn: Map, chars: int) -> Scatter | None:
    """Return the map: each memory in its cluster's colour, and the clusters' names; None without memories."""
    if not drawn.points:
        return None
    height, edge = 480, 24

    def place(x: float, y: float) -> tuple[float, float]:
        return _r(edge + (WIDTH - 2 * edge) * x), _r(edge + (height - 2 * edge) * y)

    dots = [
        Dot(
            *place(point.x, point.y),
            cut(one_line(point.text), chars),
            point.cluster % _COLOURS if point.cluster >= 0 else -1,
        )
        for point in drawn.points
    ]
    labels: list[Label] = []
    largest = sorted(drawn.clusters, key=lambda cluster: cluster.memories)
    named = {cluster.label: cluster for cluster in largest if cluster.label}
    for cluster in reversed(named.values()):
        label = _label(
            *place(cluster.x, cluster.y), one_line(f"{cluster.label} ({cluster.memories})"), labels
        )
        labels += [label] if label else []
    summary = f"{counted(len(dots), 'memory', 'memories')} in {counted(len(drawn.clusters), 'cluster')}"
    return Scatter(height=height, dots=dots, labels=labels, summary=summary)


def _label(x: float, y: float, text: str, taken: Sequence[Label]) -> Label | None:
    """Return a label at its place or just below, where it covers no other; None if there is no room."""
    text = cut(text, 40)
    anchor = "start" if x < WIDTH / 4 else "end" if x > WIDTH * 3 / 4 else "middle"
    for step in range(_LABEL_STEPS):
        low = _r(y + 15 * step)
        if all(
            abs(label.y - low) >= 15 or abs(label.x - x) >= 3.6 * (len(text) + len(label.text))
            for label in taken
        ):
            return Label(x, low, text, anchor)
    return None


def _r(value: float) -> float:
    return round(value, 1)
