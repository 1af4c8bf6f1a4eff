"""The screen of the effect: week by week what was told and used, and which rules were kept."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult

from context_graph.view.rows import Effect
from context_graph.view.source import Source
from context_graph.view.terminal.charts import bar, moment
from context_graph.view.terminal.page import Page, Reader
from context_graph.view.terminal.pane import Pane
from context_graph.view.text import HEADS, figures, sentence

_CELLS: Final = 8
_WEEK_CELLS: Final = 11
_BAR: Final = 8
"""Cells of the narrowest bar that is drawn."""


class EffectPane(Pane):
    """Effect."""

    part: ClassVar[str] = "effect"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.reader = Reader()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.reader

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
