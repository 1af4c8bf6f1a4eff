"""A text to read: `Page` is built line by line, with links in it; `Reader` shows it and follows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.message import Message
from textual.widgets import Static

from context_graph.view.terminal.charts import cell, prose

Target = tuple[str, str]
"""What a link leads to: `memory`, `session` or `run`, and its id."""
_NAME_CELLS: Final = 14


class Page:
    """Lines of text with links."""

    def __init__(self) -> None:
        self.text = Text(end="")
        self.links: list[tuple[Target, int, int]] = []
        """Target, begin and end of each link."""

    def line(self, words: str = "", style: str = "") -> None:
        self.text.append_text(prose(words, style)).append("\n")

    def head(self, words: str) -> None:
        """Add a heading, after an empty line unless it is the first."""
        if len(self.text):
            self.text.append("\n")
        self.line(words, "bold")

    def pair(self, name: str, words: str, style: str = "") -> None:
        """Add a name and its value."""
        self.text.append_text(cell(name, "dim")).append(" " * max(1, _NAME_CELLS - len(name)))
        self.line(words, style)

    def pair_link(self, name: str, words: str, target: Target) -> None:
        """Add a name and a link."""
        self.text.append_text(cell(name, "dim")).append(" " * max(1, _NAME_CELLS - len(name)))
        self.link("", words, target)

    def drawn(self, text: Text) -> None:
        """Add a line of a picture, which is never wrapped."""
        self.text.append_text(text).append("\n")

    def link(self, before: str, words: str, target: Target, style: str = "") -> None:
        """Add a line that ends with a link."""
        self.text.append_text(prose(f"{before} " if before else "", style))
        begin = len(self.text)
        self.text.append_text(cell(words))
        self.links.append((target, begin, len(self.text)))
        self.text.append("\n")

    def rendered(self, chosen: int) -> Text:
        """Return the text with its links underlined and the ``chosen`` one marked."""
        text = self.text.copy()
        for at, (target, begin, end) in enumerate(self.links):
            text.stylize("reverse" if at == chosen else "underline", begin, end)
            text.apply_meta({"@click": f"app.follow_link({target[0]!r}, {target[1]!r})"}, begin, end)
        return text


class Reader(VerticalScroll):
    """Shows a page; `n` and `N` choose a link, Enter follows it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("n", "choose(1)", "Next link", show=False),
        Binding("N", "choose(-1)", "Previous link", show=False),
        Binding("enter", "follow", "Follow link", show=False),
    ]
    # The scrollbar's place is kept free: pictures are drawn for a width that it must not take from.
    DEFAULT_CSS = (
        "Reader { padding: 0 1; scrollbar-size-vertical: 1; scrollbar-gutter: stable; } "
        "Reader Static { height: auto; }"
    )

    class Followed(Message):
        """A link was followed."""

        def __init__(self, target: Target) -> None:
            super().__init__()
            self.target = target

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = Static(markup=False)
        self._build: Callable[[int], Page] | None = None
        self._page = Page()
        self._chosen = -1
        self._width = 0

    def compose(self) -> ComposeResult:
        yield self._words

    @property
    def plain(self) -> str:
        """What it shows, for tests and for a person who copies it."""
        return self._page.text.plain

    def show(self, build: Callable[[int], Page], *, top: bool = True) -> None:
        """Show what ``build`` makes for a width in cells; again when the width changes."""
        self._build, self._chosen = build, -1
        self._draw()
        if top:
            self.scroll_home(animate=False)

    def say(self, words: str) -> None:
        """Show one sentence."""
        page = Page()
        page.line(words)
        self.show(lambda _: page)

    def on_resize(self, _: Resize) -> None:
        if self._room() != self._width:
            self._draw()

    def _room(self) -> int:
        return max(20, self.scrollable_content_region.width)

    def _draw(self) -> None:
        self._width = self._room()
        if self._build is not None:
            self._page = self._build(self._width)
        self._paint()

    def _paint(self) -> None:
        self._words.update(self._page.rendered(self._chosen))

    def action_choose(self, step: int) -> None:
        """Choose the next or previous link."""
        count = len(self._page.links)
        if not count:
            return
        none_yet = self._chosen < 0
        self._chosen = (min(step, 0) if none_yet else self._chosen + step) % count
        self._paint()
        begin = self._page.links[self._chosen][1]
        lines = self._page.text[:begin].wrap(self.app.console, self._width)
        self.scroll_to(y=max(0, len(lines) - self.size.height // 2), animate=False)

    def action_follow(self) -> None:
        if 0 <= self._chosen < len(self._page.links):
            self.post_message(self.Followed(self._page.links[self._chosen][0]))
