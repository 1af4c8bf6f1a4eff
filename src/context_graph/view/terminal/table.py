"""A table that draws only the lines in sight, of rows that may come page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from context_graph.view.safe import one_line

_NEAR: Final = 40
_LEAST: Final = 8

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its width in cells (0: what is left), and the width from which it is shown."""

    name: str
    width: int = 0
    from_width: int = 0


class Table(ScrollView, Generic[Row], can_focus=True):
    """Rows with a cursor. Textual's DataTable keeps and measures each cell; this one asks when it draws."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"table--head", "table--cursor", "table--blurred"}
    DEFAULT_CSS = """
    Table { height: 1fr; background: $surface; overflow-x: hidden; overflow-y: auto; }
    Table { scrollbar-size-vertical: 1; }
    Table > .table--head { text-style: bold; color: $text-muted; background: $panel; }
    Table > .table--cursor { background: $primary; color: $text; text-style: bold; }
    Table > .table--blurred { background: $primary 30%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "leaf(-1)", "Page up", show=False),
        Binding("pagedown,space", "leaf(1)", "Page down", show=False),
        Binding("home", "first", "First", show=False),
        Binding("end", "last", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row."""

        def __init__(self, table: Table[Any], *, by_person: bool = True) -> None:
            super().__init__()
            self.table, self.by_person = table, by_person

    class Opened(Moved):
        """Enter, or a click on the row under the cursor."""

    class NearEnd(Moved):
        """The last rows come into sight."""

    def __init__(
        self,
        columns: Sequence[Column],
        cells: Callable[[Row], Sequence[Text]],
        key: Callable[[Row], object],
        *,
        empty: str,
        id: str | None = None,
    ) -> None:
        """Make a table of ``columns``; ``cells`` gives a row's, ``empty`` stands where there are no rows."""
        super().__init__(id=id)
        self._columns, self._cells, self._key, self._empty = tuple(columns), cells, key, empty
        self.rows: list[Row] = []
        self.at = 0
        self._note = ""

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.at] if self.at < len(self.rows) else None

    def put(self, rows: Sequence[Row], *, top: bool = False) -> None:
        """Show other rows; the cursor stays on its row if that is among them, or goes to the ``top``."""
        before = self.row
        key = None if before is None or top else self._key(before)
        self.rows = list(rows)
        places = (at for at, row in enumerate(self.rows) if self._key(row) == key)
        self.at = 0 if top else next(places, min(self.at, max(0, len(self.rows) - 1)))
        self._sized()
        if self.row is not None:
            self.post_message(self.Moved(self, by_person=False))

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows at the end."""
        self.rows.extend(rows)
        self._sized()

    def say(self, words: str) -> None:
        """Set what stands where there are no rows."""
        self._empty = words
        self.refresh()

    def note(self, words: str) -> None:
        """Set what stands at the end of the head, if there is room."""
        self._note = one_line(words)
        self.refresh()

    def _sized(self) -> None:
        self.virtual_size = Size(1, len(self.rows) + 1)
        self._in_sight()
        self.refresh()

    def on_resize(self, _: Resize) -> None:
        self._sized()

    def move_to(self, at: int) -> None:
        """Put the cursor on row ``at``, or the nearest."""
        at = min(len(self.rows) - 1, max(0, at))
        if at < 0 or at == self.at:
            return
        self.at = at
        self._in_sight()
        self.refresh()
        self.post_message(self.Moved(self))
        self._near_end(at)

    def _near_end(self, at: int) -> None:
        if at >= len(self.rows) - _NEAR:
            self.post_message(self.NearEnd(self))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._near_end(round(new_value) + self.size.height)

    def _in_sight(self) -> None:
        room = max(1, self.size.height - 1)
        top = round(self.scroll_y)
        if self.at < top:
            self.scroll_to(y=self.at, animate=False)
        elif self.at >= top + room:
            self.scroll_to(y=self.at - room + 1, animate=False)

    def action_move(self, step: int) -> None:
        self.move_to(self.at + step)

    def action_leaf(self, step: int) -> None:
        self.move_to(self.at + step * max(1, self.size.height - 2))

    def action_first(self) -> None:
        self.move_to(0)

    def action_last(self) -> None:
        self.move_to(len(self.rows) - 1)

    def action_open(self) -> None:
        if self.row is not None:
            self.post_message(self.Opened(self))

    def on_click(self, event: Click) -> None:
        at = event.y - 1 + round(self.scroll_y)
        if event.y < 1 or at >= len(self.rows):
            return
        if at == self.at:
            self.action_open()
        self.move_to(at)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        shown = self._shown(width)
        if y == 0:
            names = [Text(column.name, end="") for column, _ in shown]
            room = shown[-1][1] - len(names[-1]) - 1
            if len(self._note) <= room:
                names[-1].append(self._note.rjust(room))
            return _strip(names, shown, width, self.get_component_rich_style("table--head"))
        at = y - 1 + round(self.scroll_y)
        if at >= len(self.rows):
            words = [Text(f" {self._empty}", end="")] if not self.rows and y == 1 else []
            return _strip(words, [(Column(""), width)] * len(words), width, self.rich_style)
        style = self.rich_style
        if at == self.at:
            style += self.get_component_rich_style("table--cursor" if self.has_focus else "table--blurred")
        cells = self._cells(self.rows[at])
        chosen = [cells[self._columns.index(column)] for column, _ in shown]
        if at == self.at:  # a colour for the background would be hard to read on the cursor
            chosen = [Text(text.plain, end="") for text in chosen]
        return _strip(chosen, shown, width, style)

    def _shown(self, width: int) -> list[tuple[Column, int]]:
        """Return the columns that fit, each with its width."""
        fit = [column for column in self._columns if width >= column.from_width]
        left = width - sum(column.width + 1 for column in fit if column.width) - 1
        open_ones = sum(not column.width for column in fit)
        return [(column, column.width or max(_LEAST, left // max(1, open_ones))) for column in fit]


def _strip(cells: Sequence[Text], shown: Sequence[tuple[Column, int]], width: int, style: Style) -> Strip:
    segments = []
    for text, (_, room) in zip(cells, shown, strict=True):
        content = text.copy()
        content.truncate(room, overflow="ellipsis", pad=True)
        own = Style.parse(content.style) if isinstance(content.style, str) else content.style
        segments.append(Segment(f"{content.plain} ", style + own))
    return Strip(segments).adjust_cell_length(width, style)
