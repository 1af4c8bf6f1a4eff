"""The last screen: the memories on a plane, clusters, goals, patterns, drift over months."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult

from context_graph.view.rows import GoalRow, Map
from context_graph.view.safe import one_line
from context_graph.view.source import Actions, Source
from context_graph.view.terminal.charts import columns, plane, spread
from context_graph.view.terminal.page import Page, Reader
from context_graph.view.terminal.pane import Pane
from context_graph.view.terminal.words import HUES, ago, cell, moment
from context_graph.view.units import counted

_TALLEST: Final = 20
_DRIFT_LINES: Final = 3
_LABELS: Final = 10
"""In the picture: more would cover what they name."""


class MapPane(Pane):
    """Map."""

    part: ClassVar[str] = "map"

    def __init__(self, source: Source, actions: Actions) -> None:
        super().__init__(source, actions)
        self.reader = Reader()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.reader

    def load(self) -> None:
        self.rows(self.source.map, self._put)

    def _put(self, drawn: Map) -> None:
        self.reader.show(
            lambda width: map_page(drawn, width, min(_TALLEST, max(6, self.size.height - 6))), top=False
        )


def map_page(drawn: Map, width: int, height: int) -> Page:
    """Return the picture, and below it what is in it."""
    page = Page()
    if drawn.at_ms is None:
        page.line("Not drawn yet: a deep or rem consolidation draws the map (screen 5, key d).")
    else:
        since = f"; {counted(drawn.missing, 'memory', 'memories')} came since" if drawn.missing else ""
        page.line(
            f"{counted(len(drawn.points), 'memory', 'memories')}, drawn {ago(drawn.at_ms)} ago{since}", "dim"
        )
    if drawn.points:
        _picture(page, drawn, width, height)
    if drawn.clusters:
        page.head("Clusters")
        for at, cluster in enumerate(drawn.clusters):
            if not cluster.label:
                continue
            line = Text(end="").append("● ", HUES[at % len(HUES)]).append_text(cell(cluster.label))
            how = f"  {counted(cluster.memories, 'memory', 'memories')}, coherence {cluster.coherence:.2f}"
            page.drawn(line.append(how, "dim"))
    if nameless := sum(not cluster.label for cluster in drawn.clusters):
        page.line(
            f"and {counted(nameless, 'cluster')} without a word of {'its' if nameless == 1 else 'their'} own",
            "dim",
        )
    if drawn.goals:
        page.head("Goals")
        _goals(page, drawn)
    if drawn.patterns:
        page.head("Patterns")
        for pattern in drawn.patterns:
            how = f"{counted(pattern.memories, 'memory', 'memories')}, sure {pattern.confidence:.2f}"
            page.line(f"{one_line(pattern.text)}  ({how})")
    _drift(page, drawn, width)
    return page


def _picture(page: Page, drawn: Map, width: int, height: int) -> None:
    cells = plane([(point.x, point.y, point.cluster) for point in drawn.points], width, height)
    lines = [[(sign, HUES[of % len(HUES)] if of >= 0 else "dim") for sign, of in line] for line in cells]
    taken: set[tuple[int, int]] = set()
    named: set[str] = set()
    # The largest clusters get their labels first; one that would cover another, or that another has, is left
    # to the list below.
    order = sorted(range(len(drawn.clusters)), key=lambda at: -drawn.clusters[at].memories)
    for at in order:
        cluster = drawn.clusters[at]
        words = _fit(one_line(cluster.label), width)
        if words in named or len(named) == _LABELS:
            continue
        row = min(height - 1, max(0, int((1 - cluster.y) * height)))
        column = min(width - len(words), max(0, int(cluster.x * width) - len(words) // 2))
        place = {(row, column + step) for step in range(-1, len(words) + 1)}
        if not words or place & taken:
            continue
        taken |= place
        named.add(words)
        for step, sign in enumerate(words):
            lines[row][column + step] = (sign, f"bold {HUES[at % len(HUES)]}")
    for line in lines:
        text = Text(end="", no_wrap=True)
        for sign, style in line:
            text.append(sign, style)
        page.drawn(text)


def _fit(words: str, width: int) -> str:
    """Return a label of at most a third of the width, without what is wider than a cell."""
    words = "".join(character for character in words if Text(character).cell_len == 1)
    most = max(8, width // 3)
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _goals(page: Page, drawn: Map) -> None:
    def below(parent: str, depth: int, seen: frozenset[str]) -> None:
        for goal in drawn.goals:
            if goal.parent == parent and goal.id not in seen:
                _goal(page, goal, depth)
                below(goal.id, depth + 1, seen | {goal.id})

    known = {goal.id for goal in drawn.goals}
    for goal in drawn.goals:
        if goal.parent not in known:
            _goal(page, goal, 0)
            below(goal.id, 1, frozenset({goal.id}))


def _goal(page: Page, goal: GoalRow, depth: int) -> None:
    how = f"{goal.level}, {counted(goal.memories, 'memory', 'memories')}, sure {goal.confidence:.2f}"
    page.line(f"{'  ' * depth}{one_line(goal.text)}  ({how})")


def _drift(page: Page, drawn: Map, width: int) -> None:
    if not drawn.drift:
        return
    first, last = drawn.drift[0], drawn.drift[-1]
    page.head(f"Drift: nearness of the memories to the goals, {moment(first.at_ms)} to {moment(last.at_ms)}")
    values = [point.similarity for point in drawn.drift]
    for line in columns(spread(values, max(10, width)), 0.0, 1.0, _DRIFT_LINES):
        page.drawn(Text(line, style="cyan", end=""))
    page.line(f"now {last.similarity:.2f} ({last.level})")
