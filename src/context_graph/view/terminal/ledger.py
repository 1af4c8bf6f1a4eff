"""The screens of ledger and effect: what was put before the model, why, whether it was used, and tokens a
day; week by week what was told and used, and which rules were kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from rich.text import Text

from context_graph.text.units import counted
from context_graph.view.rows import Day, Effect, Ledger, Shown
from context_graph.view.terminal.charts import ago, bar, cell, moment, short, signed
from context_graph.view.terminal.page import Page
from context_graph.view.terminal.pane import ListPane, ReaderPane
from context_graph.view.terminal.table import Column
from context_graph.view.text import HEADS, figures, sentence


class LedgerPane(ListPane):
    """The ledger, newest first."""

    part: ClassVar[str] = "ledger"
    columns = (
        Column("AGE", 6),
        Column("CAUSE", 9),
        Column("REL", 5),
        Column("TOKENS", 6, 60),
        Column("USED", 10),
        Column("TEXT"),
    )
    empty = "Nothing was put before the model yet."

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._days: Sequence[Day] = ()

    def cells(self, row: Shown) -> Sequence[Text]:
        used = cell(row.used, "green") if row.used else cell("no sign", "dim")
        return (
            cell(ago(row.at_ms)),
            cell(row.cause),
            cell(f"{row.relevance:.2f}" if row.relevance else "rule"),
            cell(str(row.tokens)),
            used,
            cell(row.text or "(forgotten or merged)", "dim" if row.is_forgotten else ""),
        )

    def id_of(self, row: Shown) -> str:
        return f"{row.at_ms} {row.memory_id}"

    def load(self) -> None:
        self.rows(self.source.ledger, self._put)

    def _put(self, ledger: Ledger) -> None:
        self._days = ledger.days
        self.table.say(self.empty)
        self.table.put(ledger.rows)
        if not ledger.rows:
            self.reader.show(lambda width: days_page(ledger.days, width))

    def read(self, identity: str) -> None:
        row: Any = next((shown for shown in self.table.rows if self.id_of(shown) == identity), None)
        if row is not None:
            self.reader.show(lambda width: shown_page(row, self._days, width))


def shown_page(row: Shown, days: Sequence[Day], width: int) -> Page:
    """Return why one memory was put before the model, and the days."""
    page = Page()
    page.line(row.text or "(forgotten or merged)")
    page.head(f"Shown {moment(row.at_ms)}")
    page.pair("cause", row.cause)
    page.pair("tokens", str(row.tokens))
    page.pair("used", row.used or "no sign of use", "green" if row.used else "dim")
    page.pair_link("memory", short(row.memory_id), ("memory", row.memory_id))
    if row.session_id:
        page.pair_link("session", short(row.session_id), ("session", row.session_id))
    if row.parts:
        page.head(f"Relevance {row.relevance:.2f}, made of (log-odds)")
        _parts(page, row, width)
    elif not row.relevance:
        page.line("A rule chose it, not its relevance.", "dim")
    if row.about:
        page.head("Brought by")
        page.line(row.about)
    if row.near:
        page.head("Near, and not shown")
        _dots(page, row, width)
        for memory_id, relevance in row.near.items():
            page.pair_link(f"{relevance:.2f}", short(memory_id), ("memory", memory_id))
    _days(page, days, width)
    return page


def _parts(page: Page, row: Shown, width: int) -> None:
    most = max(abs(value) for value in row.parts.values()) or 1.0
    name_cells = min(24, max(map(len, row.parts)))
    for name, value in row.parts.items():
        line = Text(f"{cell(name).plain[:name_cells]:<{name_cells}} {value:+6.2f} ", end="")
        less, more = signed(value / most, width - name_cells - 10)
        page.drawn(line.append(less, "red").append("│", "dim").append(more, "green"))


def _dots(page: Page, row: Shown, width: int) -> None:
    """Draw a line from relevance 0 to 1: the memory that was shown, and those that were not."""
    room = max(10, width - 10)
    signs = ["·"] * (room + 1)
    for relevance in row.near.values():
        signs[round(min(1.0, max(0.0, relevance)) * room)] = "○"
    signs[round(min(1.0, max(0.0, row.relevance)) * room)] = "●"
    line = Text("0 ", style="dim", end="")
    for sign in signs:
        line.append(sign, {"●": "green", "○": "yellow"}.get(sign, "dim"))
    page.drawn(line.append(" 1", "dim"))
    page.line("● shown, ○ not", "dim")


def days_page(days: Sequence[Day], width: int) -> Page:
    """Return the days alone."""
    page = Page()
    _days(page, days, width)
    return page


def _days(page: Page, days: Sequence[Day], width: int) -> None:
    if not days:
        return
    page.head("Tokens a day (UTC), in green the used share")
    most = max(day.tokens for day in days) or 1
    for day in reversed(days):
        words = f"{day.tokens:>6}  {counted(day.memories, 'memory', 'memories')}, {day.used} used"
        room = max(4, width - 12 - 34)
        line = Text(f"{cell(day.day).plain}  ", end="")
        drawn = bar(day.tokens / most, room).ljust(room)
        used = round(len(drawn.rstrip()) * min(1.0, day.used / max(1, day.memories)))
        line.append(drawn[:used], "green").append(drawn[used:], "cyan").append(words)
        page.drawn(line)


_CELLS: Final = 8
_WEEK_CELLS: Final = 11
_BAR: Final = 8
"""Cells of the narrowest bar that is drawn."""


class EffectPane(ReaderPane):
    """Effect."""

    part: ClassVar[str] = "effect"

    def load(self) -> None:
        self.rows(self.source.effect, self._put)

    def _put(self, effect: Effect) -> None:
        self.reader.show(lambda width: effect_page(effect, width), top=False)


def effect_page(effect: Effect, width: int) -> Page:
    """Return the weeks, the newest first, and the rules that were broken though they had been told."""
    page = Page()
    page.line(sentence(effect), "bold")
    if not effect.weeks:
        return page
    heads = "".join(f"{head:>{_CELLS}}" for head in HEADS)
    page.head(f"{'Week of':<{_WEEK_CELLS}}{heads}")
    most = max(week.memories for week in effect.weeks) or 1
    room = width - _WEEK_CELLS - _CELLS * len(HEADS) - 2
    for week in reversed(effect.weeks):
        line = Text(f"{week.begin:<{_WEEK_CELLS}}", end="")
        line.append("".join(f"{figure:>{_CELLS},}" for figure in figures(week)))
        if room >= _BAR:
            drawn = bar(week.memories / most, room)
            used = round(len(drawn) * week.used / max(1, week.memories))
            line.append("  ").append(drawn[:used], "green").append(drawn[used:], "cyan")
        page.drawn(line)
    if room >= _BAR:
        page.line("Bars: memories told, in green the used ones.", "dim")
    if effect.broken:
        page.head("Broken again")
        for row in effect.broken:
            page.link(f"{moment(row.at_ms)} {row.how}:", row.text or row.memory_id, ("memory", row.memory_id))
            if row.session_id:
                page.link("  in session", row.session_id[:8], ("session", row.session_id))
    return page
