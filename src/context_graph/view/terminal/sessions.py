"""The screen of sessions: identity continuity over time with what happened, the chain, the events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import ClassVar, Final

from rich.text import Text

from context_graph.view.rows import EventRow, SessionDetail, SessionPage, SessionRow
from context_graph.view.safe import one_line
from context_graph.view.terminal.charts import ago, along, cell, clock, columns, moment, short
from context_graph.view.terminal.page import Page
from context_graph.view.terminal.pane import PagedPane
from context_graph.view.terminal.table import Column
from context_graph.view.timeline import CRISIS, WARNING, Lane, Timeline

_PAGE: Final = 200
_LINES: Final = 5
_AXIS: Final = 16
_SIGNS: Final = {
    "prompt": ("▶", "cyan", "prompt"),
    "edit": ("■", "blue", "edit"),
    "red": ("✗", "red", "tests fail"),
    "green": ("✓", "green", "tests pass"),
    "used": ("●", "green", "used"),
    "injection": ("○", "yellow", "told"),
    "failure": ("!", "red", "failure"),
    "compaction": ("C", "yellow", "compaction"),
    "subagent": ("a", "magenta", "subagent"),
    "gate": ("G", "magenta", "gate"),
    "consolidation": ("D", "blue", "dream"),
    "start": ("[", "dim", "start"),
    "end": ("]", "dim", "end"),
}
"""Sign, colour and name of each kind of mark; where marks share a cell the first of these is shown."""
_ORDER: Final = list(_SIGNS)
_TOLD: Final = ("compaction", "gate", "consolidation")
"""Of these the last ones stand below in words."""
_ENDS: Final = {
    "missing": "the one before is not in the store",
    "damaged": "the one before is damaged",
    "cycle": "the one before is among these",
    "limit": "and more before",
}
"""Why the chain ends, if not with the first session."""


class SessionsPane(PagedPane):
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
        self.rows(partial(self.page, ""), self._put)

    def page(self, cursor: str) -> SessionPage:
        return self.source.sessions(cursor=cursor, limit=_PAGE)

    def _put(self, page: SessionPage) -> None:
        self.table.say(self.empty)
        self.put(page)

    def say_count(self, total: int) -> None:
        self.table.note(f"{len(self.table.rows)} of {total} sessions")

    def read(self, identity: str) -> None:
        self.ask(partial(self.source.session, identity), self._read, self.reader.say, "read")

    def _read(self, detail: SessionDetail) -> None:
        self.reader.show(lambda width: session_page(detail, width))


def session_page(detail: SessionDetail, width: int) -> Page:
    """Return one session."""
    row, page = detail.row, Page()
    if damage := detail.damage or row.damage:
        page.line(f"Damaged: {damage}", "bold red")
    page.line(one_line(detail.goal or row.goal) or row.id, "bold")
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
        relation = f"{later.relation}{measured}:" if later.relation else ""
        page.link(relation, f"{short(before.id)} {goal}", ("session", before.id))
    if end:
        page.line(end, "dim")


def _event(page: Page, event: EventRow) -> None:
    who = f" (agent {short(event.agent_id)})" if event.agent_id else ""
    words = f"{clock(event.at_ms)}  {event.kind} {event.tool}".rstrip()
    page.line(f"{words}{who}  {one_line(event.text)}", "red" if event.failed else "")


def _time_line(page: Page, detail: SessionDetail, width: int) -> None:
    """Draw continuity as columns over the events, and below it a lane for each kind of mark."""
    time, room = Timeline(detail), max(10, width - _AXIS)
    if not time.times:
        page.line("Nothing happened yet.", "dim")
        return
    if detail.points:
        _continuity(page, detail, time, room)
    lanes = list(time.lanes())
    for lane in lanes:
        page.drawn(_lane(lane, time, room))
    begin, end = moment(time.times[0]), moment(time.times[-1])
    page.drawn(Text(f"{' ' * _AXIS}{begin}{end:>{max(1, room - len(begin))}}", style="dim", end=""))
    legend = Text(" " * _AXIS, end="")
    for kind in [kind for kind in _ORDER if any(mark.kind == kind for lane in lanes for mark in lane.marks)]:
        sign, style, name = _SIGNS[kind]
        if len(legend) + len(name) + 4 > width:
            page.drawn(legend)
            legend = Text(" " * _AXIS, end="")
        legend.append(sign, style).append(f" {name}  ", "dim")
    page.drawn(legend)
    for mark in [mark for mark in detail.marks if mark.kind in _TOLD][-5:]:
        page.line(f"{clock(mark.at_ms)}  {_SIGNS[mark.kind][2]}: {one_line(mark.text)}", "dim")


def _continuity(page: Page, detail: SessionDetail, time: Timeline, room: int) -> None:
    page.head("Identity continuity, and what happened")
    places = [(time.place(point.at_ms), point.ic) for point in detail.points]
    low = min(0.0, *(value for _, value in places))
    cells = along(places, room)
    styles = ["red" if value < CRISIS else "yellow" if value < WARNING else "cyan" for value in cells]
    marked = {
        min(_LINES - 1, int((1.0 - value) / (1.0 - low) * _LINES)): f"{value:g}"
        for value in (low, CRISIS, WARNING, 1.0)
    }
    for at, line in enumerate(columns(cells, low, 1.0, _LINES)):
        text = Text(f"{marked.get(at, ''):>{_AXIS - 1}} ", style="dim", end="")
        is_limit = marked.get(at) in (f"{CRISIS:g}", f"{WARNING:g}")
        for sign, style in zip(line, styles, strict=True):
            if sign == " " and is_limit:
                text.append("┄", "dim")
            else:
                text.append(sign, style)
        page.drawn(text)


def _lane(lane: Lane, time: Timeline, room: int) -> Text:
    kinds = [""] * room
    for mark in lane.marks:
        at = round(time.place(mark.at_ms) * (room - 1))
        if not kinds[at] or _ORDER.index(mark.kind) < _ORDER.index(kinds[at]):
            kinds[at] = mark.kind
    label = one_line(lane.label)
    label = label if len(label) < _AXIS else f"{label[: _AXIS - 2]}…"
    text = Text(f"{label:>{_AXIS - 1}} ", style="dim", end="")
    for kind in kinds:
        sign, style, _ = _SIGNS.get(kind, ("·", "dim", ""))
        text.append(sign, style)
    return text
