"""What the screens have in common: they ask for their rows in a thread, and keep them when that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Protocol, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input, Static
from textual.worker import Worker

from context_graph.errors import ContextGraphError
from context_graph.view.safe import one_line
from context_graph.view.source import Found, Source, in_thread
from context_graph.view.terminal.page import Reader
from context_graph.view.terminal.table import Column, Table

_SOON_S: Final = 0.3
"""While a session runs its store changes many times a second; a screen is drawn again this often at most."""
_REST_S: Final = 0.08
"""The cursor rests this long before what it is on is asked for."""


@dataclass(frozen=True)
class Undo:
    """How the last action is undone: what that is, and the call that does it."""

    words: str
    call: Callable[[], str]


class View(Protocol):
    """What a screen needs of the application."""

    moment: Callable[[str], int]

    def answered(self) -> None: ...

    def say(self, words: str, *, wrong: bool = False) -> None: ...

    def act(self, question: str, call: Callable[[], str], undo: Undo | None) -> None: ...

    def refresh_bindings(self) -> None: ...


class Pane(Container):
    """One of the screens."""

    part: ClassVar[str]
    """Of `rows.PARTS`."""
    keys: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Its own keys, for the help."""

    def __init__(self, source: Source) -> None:
        super().__init__(id=self.part)
        self.source = source
        self.is_stale = True
        self.is_loading = False
        self._waits = False
        self._problem = Static(classes="problem", markup=False)

    @property
    def view(self) -> View:
        """The application."""
        return cast("View", self.app)

    def compose(self) -> ComposeResult:
        yield self._problem

    def load(self) -> None:
        """Ask for its rows and show them; subclasses say which."""
        raise NotImplementedError

    def changed(self) -> None:
        """Note that its rows are old: load them soon if it is in sight, else when it comes into sight."""
        self.is_stale = True
        if self.display and not self._waits:
            self._waits = True
            self.set_timer(_SOON_S, self._load_again)

    def _load_again(self) -> None:
        self._waits = False
        if self.is_loading:
            self.changed()
        elif self.display and self.is_stale:
            self.reload()

    def reload(self) -> None:
        """Load, and note that its rows are those of now."""
        self.is_stale = False
        self.load()

    def rows(self, call: Callable[[], Found], then: Callable[[Found], None]) -> None:
        """As `ask`, for the rows of the screen itself: an error is told above those that it has."""
        self.is_loading = True

        def done(answer: Found) -> None:
            self.is_loading = False
            self.problem("")
            then(answer)
            self.view.answered()

        def failed(words: str) -> None:
            self.is_loading = False
            self.is_stale = True
            self.problem(words)
            self.view.answered()

        self.ask(call, done, failed, "rows")

    def ask(
        self, call: Callable[[], Found], then: Callable[[Found], None], failed: Callable[[str], None], of: str
    ) -> None:
        """Run ``call`` in a thread, then ``then``; a newer question of the group ``of`` drops this one."""

        async def asked() -> None:
            try:
                answer = await asyncio.wrap_future(in_thread(call))
            except (ContextGraphError, OSError, ValueError) as error:
                failed(one_line(str(error)) or type(error).__name__)
            else:
                then(answer)

        # Not `asked()`: a question dropped before it begins would leave a coroutine that nobody awaits.
        _: Worker[None] = self.run_worker(asked, group=of, exclusive=True)

    def problem(self, words: str) -> None:
        """Tell what is wrong above the rows, or with "" that nothing is."""
        self._problem.update(Text(words))
        self._problem.display = bool(words)

    def open_id(self, identity: str) -> None:
        """Open what has this id."""

    def back(self) -> bool:
        """Leave what is open; whether there was something."""
        return False

    def focus_first(self) -> None:
        """Give the keys to the first thing that takes them."""
        for widget in self.query("Table, Reader"):
            if widget.display:
                widget.focus()
                return


class ReaderPane(Pane):
    """A screen that is one text."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.reader = Reader()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.reader


class ListPane(Pane):
    """A table, and a reader with what is under the cursor: beside it, or below; Enter gives it the keys."""

    columns: ClassVar[tuple[Column, ...]]
    empty: ClassVar[str]

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._opened = ""
        """What the reader shows though the cursor may be elsewhere, as a link led there."""
        self.table = Table[Any](self.columns, self.cells, self.id_of, empty="One moment …")
        self.reader = Reader()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield from self.above()
        with Container(classes="both"):
            yield self.table
            yield self.reader

    def above(self) -> ComposeResult:
        """Yield what stands above table and reader."""
        yield from ()

    def cells(self, row: Any) -> Sequence[Text]:
        """Return the cells of a row, one for each column."""
        raise NotImplementedError

    def read(self, identity: str) -> None:
        """Ask for what is shown of ``identity``; subclasses say how."""
        raise NotImplementedError

    def id_of(self, row: Any) -> str:
        """Return the id of a row."""
        return str(row.id)

    def on_table_moved(self, event: Table.Moved) -> None:
        event.stop()
        if event.by_person:
            self._opened = ""
        self.set_timer(_REST_S, self._rested)

    def _rested(self) -> None:
        row = self.table.row
        if row is not None and not self._opened:
            self.read(self.id_of(row))

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        if self.table.row is not None:
            self.read(self.id_of(self.table.row))
            self._open()

    def open_id(self, identity: str) -> None:
        self._opened = identity
        self.read(identity)
        self._open()

    def _open(self) -> None:
        self.add_class("-open")
        self.reader.focus()

    def back(self) -> bool:
        if not self.has_class("-open"):
            return False
        self.remove_class("-open")
        self.table.focus()
        self._opened = ""
        self._rested()
        return True

    def focus_first(self) -> None:
        (self.reader if self.has_class("-open") else self.table).focus()


class WordPane(ListPane):
    """A list above which a line for a word opens."""

    placeholder: ClassVar[str]

    def above(self) -> ComposeResult:
        line = Input(placeholder=self.placeholder, compact=True)
        line.display = False
        yield line

    def action_word(self) -> None:
        line = self.query_one(Input)
        line.display = True
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.set_focus(self.table)  # at once: the next key is the table's

    def back(self) -> bool:
        if super().back():
            return True
        line = self.query_one(Input)
        if not line.display:
            return False
        line.display, line.value = False, ""
        self.table.focus()
        return True


class PagedPane(ListPane):
    """A list of which the next rows are asked for as its last ones come into sight."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._cursor = ""

    def page(self, cursor: str) -> Any:
        """Return the rows from ``cursor`` on, with `total` and `next_cursor`."""
        raise NotImplementedError

    def say_count(self, total: int) -> None:
        """Tell how many of ``total`` rows are there."""
        raise NotImplementedError

    def put(self, page: Any, *, top: bool = False) -> None:
        """Show the first page, or pages."""
        self._cursor = page.next_cursor
        self.table.put(page.rows, top=top)
        self.say_count(page.total)

    def on_table_near_end(self, event: Table.NearEnd) -> None:
        event.stop()
        if self._cursor and not self.is_loading:  # else it may be another search's
            cursor, self._cursor = self._cursor, ""
            self.rows(partial(self.page, cursor), self._more)

    def _more(self, page: Any) -> None:
        self._cursor = page.next_cursor
        self.table.add(page.rows)
        self.say_count(page.total)
