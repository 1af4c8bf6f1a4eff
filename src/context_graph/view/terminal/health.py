"""The first screen: whether it works, in one sentence, and what shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult

from context_graph.view.health import NUMBERS
from context_graph.view.rows import Health
from context_graph.view.source import Actions, Source
from context_graph.view.terminal.page import Page, Reader
from context_graph.view.terminal.pane import Pane


class HealthPane(Pane):
    """Health."""

    part: ClassVar[str] = "health"

    def __init__(self, source: Source, actions: Actions, first: Callable[[], Health] | None) -> None:
        """Take ``first``, the rows that were asked for while the program was still being loaded."""
        super().__init__(source, actions)
        self._first = first
        self.reader = Reader()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.reader

    def load(self) -> None:
        first, self._first = self._first, None
        self.rows(first or self.source.health, self._show)

    def _show(self, health: Health) -> None:
        self.reader.show(lambda _: health_page(health), top=False)


def health_page(health: Health) -> Page:
    """Return the sentence and the lines."""
    page = Page()
    page.line(health.sentence, "bold green" if health.works else "bold red")
    page.line(health.project, "dim")
    page.line()
    for line in health.lines:
        if line.name not in ("state", NUMBERS):  # the one is the sentence
            page.pair(line.name, line.text, "red" if line.is_problem else "")
    return page
