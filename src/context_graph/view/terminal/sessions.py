"""The screen of sessions: identity continuity over time with what happened, the chain, the events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Final

from rich.text import Text

from context_graph.view.rows import EventRow, Mark, SessionDetail, SessionPage, SessionRow
from context_graph.view.safe import one_line
from context_graph.view.terminal.charts import cell_of, columns, spread
from context_graph.view.terminal.page import Page
from context_graph.view.terminal.pane import ListPane
from context_graph.view.terminal.table import Column, Table
from context_graph.view.terminal.words import ago, cell, clock, moment, short

_PAGE: Final = 200
_LINES: Final = 5
_WARNING, _CRISIS = 0.7, 0.5
"""Below these continuity is a warning, or a crisis: in yellow, or red."""
_AXIS: Final = 6
_SIGNS: Final = {
    "failure": ("!", "red"),
    "compaction": ("C", "yellow"),
    "gate": ("G", "magenta"),
    "consolidation": ("D", "blue"),
    "prompt": ("p", "cyan"),
    "injection": ("m", "green"),
    "start": ("[", "dim"),
    "end": ("]", "dim"),
}
"""Sign and colour of each kind of mark; where marks share a cell the first of these is shown."""
_ENDS: Final = {
    "missing": "the one before is not in the store",
    "damaged": "the one before is damaged",
    "cycle": "the one before is among these",
    "limit": "and more before",
}
"""Why the chain ends, if not with the first session."""
_NAMES: Final = {"consolidation": "dream", "injection": "memories shown"}


class SessionsPane(ListPane):
    """Sessions, newest first."""

    part: ClassVar[str] = "sessions"
    columns = (
        Column("SESSION", 8),
        Column("LAST", 6),
        Column("IC", 5),
        Column("LEVEL", 9, 70),
        Column("EVENTS", 6, 60),
        Column("GOAL"),
    )
    empty = "No sessions yet. Start `claude` in this project."
    keys = (("n, Enter", "in the text: choose a session of the chain, open it"),)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._cursor = ""

    def cells(self, row: SessionRow) -> Sequence[Text]:
        if row.damage:
            damage = cell(f"damaged: {row.damage}", "red")
            return (cell(short(row.id)), cell(ago(row.last_ms)), cell("?"), cell("?"), cell("?"), damage)
        return (
            cell(short(row.id)),
            cell(ago(row.last_ms)),
            cell("-" if row.ic is None else f"{row.ic:.2f}"),
            cell(row.ic_level),
            cell(str(row.events)),
            cell(row.goal),
        )

    def load(self) -> None:
        self.rows(partial(self.source.sessions, limit=_PAGE), self._put)

    def _put(self, page: SessionPage) -> None:
        self._cursor = page.next_cursor
        self.table.say(self.empty)
        self.table.put(page.rows)
        self.table.note(f"{len(page.rows)} of {page.total} sessions")

    def on_table_near_end(self, event: Table.NearEnd) -> None:
        event.stop()
        if self._cursor and not self.is_loading:  # else it may be another search's
            cursor, self._cursor = self._cursor, ""
            self.rows(partial(self.source.sessions, cursor=cursor, limit=_PAGE), self._more)

    def _more(self, page: SessionPage) -> None:
        self._cursor = page.next_cursor
        self.table.add(page.rows)
        self.table.note(f"{len(self.table.rows)} of {page.total} sessions")

    def read(self, identity: str) -> None:
        self.ask(partial(self.source.session, identity), self._read, self.reader.say, "read")

    def _read(self, detail: SessionDetail) -> None:
        self.reader.show(lambda width: session_page(detail, width))


def session_page(detail: SessionDetail, width: int) -> Page:
    """Return one session."""
    row, page = detail.row, Page()
    if damage := detail.damage or row.damage:
        page.line(f"Damaged: {damage}", "bold red")
    page.line(one_line(row.goal) or row.id, "bold")
    _time_line(page, detail, width)
    page.head("About it")
    page.pair("session", row.id)
    level = f", {row.ic_level}" if row.ic_level else ""
    page.pair("last event", f"{moment(row.last_ms)}, {ago(row.last_ms)} ago{level}")
    for line in detail.facts:
        page.pair(line.name, line.text, "red" if line.is_problem else "")
    _chain(page, detail)
    if detail.events:
        page.head("Events, newest first")
        for event in detail.events:
            _event(page, event)
    return page


def _chain(page: Page, detail: SessionDetail) -> None:
    """Add the sessions before it; each link with what was measured between the two."""
    end = _ENDS.get(detail.chain_end, "")
    if len(detail.chain) < 2 and not end:
        return
    page.head("Sessions before it")
    for later, before in pairwise(detail.chain):
        measured = "" if later.cross_session_ic is None else f" {later.cross_session_ic:.2f}"
        goal = before.goal or before.id
        page.link(f"{later.relation}{measured}:", f"{short(before.id)} {goal}", ("session", before.id))
    if end:
        page.line(end, "dim")


def _event(page: Page, event: EventRow) -> None:
    who = f" (agent {short(event.agent_id)})" if event.agent_id else ""
    words = f"{clock(event.at_ms)}  {event.kind} {event.tool}".rstrip()
    page.line(f"{words}{who}  {one_line(event.text)}", "red" if event.failed else "")


def _time_line(page: Page, detail: SessionDetail, width: int) -> None:
    """Draw continuity as columns over the events, and below them the marks."""
    points = detail.points
    if not points:
        page.line("Nothing measured yet.", "dim")
        return
    values = [point.ic for point in points]
    low, room = min(0.0, *values), max(10, width - _AXIS)
    page.head("Identity continuity")
    cells = spread(values, room)
    styles = ["red" if value < _CRISIS else "yellow" if value < _WARNING else "cyan" for value in cells]
    for at, line in enumerate(columns(cells, low, 1.0, _LINES)):
        axis = " 1.00 " if at == 0 else f"{low:5.2f} " if at == _LINES - 1 else " " * _AXIS
        text = Text(axis, style="dim", end="")
        for sign, style in zip(line, styles, strict=True):
            text.append(sign, style)
        page.drawn(text)
    signs = _signs(detail, room)
    row = Text(" " * _AXIS, end="")
    for kind in signs:
        row.append(*_SIGNS.get(kind, (" ", "")))
    page.drawn(row)
    ends = f"{moment(points[0].at_ms)} … {moment(points[-1].at_ms)}"
    page.line(f"{' ' * _AXIS}{ends}", "dim")
    seen = [kind for kind in _SIGNS if any(mark.kind == kind for mark in detail.marks)]
    legend = Text(" " * _AXIS, end="")
    for kind in seen:
        legend.append(*_SIGNS[kind]).append(f" {_NAMES.get(kind, kind)}  ", "dim")
    page.drawn(legend)
    for mark in [mark for mark in detail.marks if mark.kind in ("compaction", "gate", "consolidation")][-5:]:
        page.line(f"{clock(mark.at_ms)}  {_NAMES.get(mark.kind, mark.kind)}: {one_line(mark.text)}", "dim")


def _signs(detail: SessionDetail, room: int) -> list[str]:
    """Return the kind of mark at each cell: a mark stands at the last event before it, or the first."""
    order = list(_SIGNS)
    times = [point.at_ms for point in detail.points]
    signs = [""] * room
    for mark in detail.marks:
        if mark.kind not in _SIGNS:
            continue
        cell_at = cell_of(_before(times, mark), len(times), room)
        if not signs[cell_at] or order.index(mark.kind) < order.index(signs[cell_at]):
            signs[cell_at] = mark.kind
    return signs


def _before(times: Sequence[int], mark: Mark) -> int:
    return max(0, bisect_right(times, mark.at_ms) - 1)
