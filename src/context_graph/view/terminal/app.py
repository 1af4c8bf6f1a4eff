"""The application: eight screens, the first of them, their keys, what changes while it runs, and undo."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import Footer, Static

from context_graph.errors import ContextGraphError
from context_graph.view.health import NUMBERS
from context_graph.view.rows import Health
from context_graph.view.safe import one_line
from context_graph.view.source import Source
from context_graph.view.terminal.page import Page, Reader, Target
from context_graph.view.terminal.pane import Pane, ReaderPane, Undo

_TITLES: Final = {
    "health": "Health",
    "memories": "Memories",
    "ledger": "Ledger",
    "sessions": "Sessions",
    "runs": "Runs",
    "gates": "Gates",
    "map": "Map",
    "effect": "Effect",
}
"""The parts of `rows.PARTS` in their order, as people call them."""
_MODULES: Final = {"effect": "ledger"}
"""The modules of screens, where they are not called as the part."""
_OPENS: Final = {"memory": "memories", "session": "sessions", "run": "runs"}
"""The screen that opens each kind of link."""
_KEYS: Final = (
    ("1 to 8", "the screens; also ← and →"),
    ("↑ ↓, j k", "up and down; PageUp, PageDown, Home, End"),
    ("Enter, Esc", "open, back"),
    ("n, Enter", "in a text: choose a link, follow it"),
    ("z", "undo the last action"),
    ("t", "dark or light"),
    ("F5", "load the screen again, and look for the owner"),
    ("q", "quit"),
)


class ViewApp(App[None]):
    """Shows one project's rows and asks the owner for what a person wants changed."""

    TITLE = "context-graph"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012  # as Textual declares it
    CSS = """
    #tabs { height: 1; background: $panel; link-style: none; link-color: $text; }
    #banner { background: $warning; color: $text; padding: 0 1; display: none; }
    #said { height: 1; padding: 0 1; color: $text-muted; }
    Pane { height: 1fr; }
    Pane > .problem { color: $text; background: $error 30%; padding: 0 1; display: none; }
    Pane > Reader { height: 1fr; }
    .both { height: 1fr; layout: vertical; }
    .both > Table { height: 1fr; }
    .both > Reader { height: 1fr; border-top: solid $primary 60%; }
    .-narrow .-open .both > Table { display: none; }
    .-wide .both { layout: horizontal; }
    .-wide .both > Table { width: 3fr; height: 100%; }
    .-wide .both > Reader { width: 2fr; height: 100%; border-top: none; border-left: solid $primary 60%; }
    .both > Reader:focus { border-top: solid $accent; }
    .-wide .both > Reader:focus { border-top: none; border-left: solid $accent; }
    GatesPane > Table { height: 2fr; }
    GatesPane > #states { height: 1fr; }
    MemoriesPane > Input, MapPane > Input { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(at + 1), f"open('{part}')", _TITLES[part], show=False)
            for at, part in enumerate(_TITLES)
        ),
        Binding("left", "beside(-1)", "Screen before", show=False),
        Binding("right", "beside(1)", "Next screen", show=False),
        Binding("escape", "back", "Back", show=False),
        Binding("z", "undo", "Undo last", show=False),
        Binding("t", "theme", "Dark or light", show=False),
        Binding("f5", "again", "Load again", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
    ]

    class Changed(Message):
        """Parts that changed."""

        def __init__(self, parts: Sequence[str]) -> None:
            super().__init__()
            self.parts = parts

    class Lost(Message):
        """The owner is gone."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(
        self,
        source: Source,
        moment: Callable[[str], int],
        first: Callable[[], Health] | None = None,
        theme: str = "",
    ) -> None:
        """Make a view of ``source``.

        Args:
            moment: Unix milliseconds of a time as people write it; raises UsageError.
            first: Has the first rows of health, asked for while this was still being loaded.
            theme: `dark` or `light`; "" for what the terminal says of itself, else dark.
        """
        super().__init__()
        self.source, self.moment = source, moment
        self.part = "health"
        self._first = first
        self._undo: Undo | None = None
        self._tab_line = Static(self._tabs(), id="tabs", markup=False)
        self._banner = Static(id="banner", markup=False)
        self._said = Static(id="said", markup=False)
        self.is_lost = False
        """The owner has gone, and none is there yet."""
        self._follower: Follower | None = None
        is_light = theme == "light" or (not theme and _is_light(os.environ.get("COLORFGBG", "")))
        self.theme = "textual-light" if is_light else "textual-dark"

    def compose(self) -> ComposeResult:
        yield self._tab_line
        yield self._banner
        with Container(id="body"):
            yield HealthPane(self.source, self._first)
        yield self._said
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        self._pane("health").reload()
        self._pane("health").focus_first()

    def answered(self) -> None:
        """Begin to follow the store: a screen has its rows, or knows that no owner can be had."""
        if self._follower is None:
            self._follow()
        elif self.is_lost:
            self._follower.try_now()

    def _follow(self) -> None:
        """Not before the first answer: whoever asked for it has started the owner where none was."""
        self._follower = Follower(
            self.source,
            lambda parts: self._post(self.Changed(parts)),
            lambda reason: self._post(self.Lost(reason)),
        )
        self._follower.start()

    def _post(self, message: Message) -> None:
        if self.is_running:
            self.post_message(message)

    def on_unmount(self) -> None:
        if self._follower is not None:
            self._follower.end()

    # Screens

    def _tabs(self) -> Text:
        """Return the names of the screens; a click on one opens it."""
        text = Text(no_wrap=True, end="")
        for at, (part, title) in enumerate(_TITLES.items()):
            begin = len(text)
            text.append(f" {at + 1} {title} ", "reverse bold" if part == self.part else "")
            text.apply_meta({"@click": f"app.open({part!r})"}, begin, len(text))
        return text

    def _pane(self, part: str) -> Pane:
        return self.query_one(f"#{part}", Pane)

    async def action_open(self, part: str) -> None:
        """Show a screen; each is made when it is first wanted."""
        body = self.query_one("#body", Container)
        if not body.query(f"#{part}"):
            await body.mount(make_pane(part, self.source))
        for screen in body.query(Pane):
            screen.display = screen.id == part
        self.part = part
        self._tab_line.update(self._tabs())
        pane = self._pane(part)
        if pane.is_stale:
            pane.reload()
        pane.focus_first()
        self.refresh_bindings()

    async def action_beside(self, step: int) -> None:
        parts = list(_TITLES)
        await self.action_open(parts[(parts.index(self.part) + step) % len(parts)])

    async def action_follow_link(self, kind: str, identity: str) -> None:
        """Open what a link leads to."""
        if kind in _OPENS:
            await self.action_open(_OPENS[kind])
            self._pane(_OPENS[kind]).open_id(identity)

    async def on_reader_followed(self, event: Reader.Followed) -> None:
        target: Target = event.target
        await self.action_follow_link(*target)

    async def action_back(self) -> None:
        self._pane(self.part).back()

    def action_again(self) -> None:
        if self._follower is not None:
            self._follower.try_now()
        self._pane(self.part).reload()

    def action_help(self) -> None:
        from context_graph.view.terminal.asking import Help  # when it is first wanted

        pane = self._pane(self.part)
        own = [(_TITLES[self.part], pane.keys)] if pane.keys else []
        self.push_screen(Help([*own, ("Everywhere", _KEYS)]))

    def action_theme(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    # What changes

    def on_view_app_changed(self, event: Changed) -> None:
        if self.is_lost:
            self.is_lost = False
            self._banner.display = False
        for pane in self.query(Pane):
            if pane.part in event.parts:
                pane.changed()

    def on_view_app_lost(self, event: Lost) -> None:
        self.is_lost = True
        why = f" ({one_line(event.reason)})" if event.reason else ""
        self._banner.update(
            f"The owner has gone{why}. These rows are the last it told; looking for it. F5 looks now."
        )
        self._banner.display = True

    # Actions

    def act(self, question: str, call: Callable[[], str], undo: Undo | None) -> None:
        """Ask first; then do it, and say what was done and how to undo it."""
        from context_graph.view.terminal.asking import Sure

        def answered(sure: str | None) -> None:
            if sure:
                self._do(call, undo)

        self.push_screen(Sure(question), answered)

    def _do(self, call: Callable[[], str], undo: Undo | None) -> None:
        def done(message: str) -> None:
            self._undo = undo
            self.say(f"{message} (z: {undo.words})" if undo else message)
            for pane in self.query(Pane):
                pane.changed()

        self.say("One moment …")
        self._pane(self.part).ask(call, done, lambda words: self.say(words, wrong=True), "action")

    def action_undo(self) -> None:
        if self._undo is None:
            self.say("There is nothing to undo.")
            return
        self.act(f"Undo the last action: {self._undo.words}.", self._undo.call, None)

    def say(self, words: str, *, wrong: bool = False) -> None:
        """Show one line above the keys."""
        self._said.update(Text(one_line(words), style="bold red" if wrong else ""))


def make_pane(part: str, source: Source) -> Pane:
    """Return a screen; its module is loaded here, after the first picture."""
    module = import_module(f"context_graph.view.terminal.{_MODULES.get(part, part)}")
    kind: type[Pane] = getattr(module, f"{part.capitalize()}Pane")
    return kind(source)


def _is_light(colours: str) -> bool:
    """Return whether the background, the last number of a terminal's `15;default;0`, is a light one."""
    last = colours.rpartition(";")[2]
    return last in ("7", "15")


_FIRST_S: Final = 0.25
_MOST_S: Final = 4.0


class Follower(threading.Thread):
    """Tells ``changed`` the parts that did, and ``lost`` that the owner is gone; both in this thread.

    Following starts no owner. Until one is there again, it looks for its socket, ever less often.
    """

    def __init__(
        self, source: Source, changed: Callable[[Sequence[str]], None], lost: Callable[[str], None]
    ) -> None:
        super().__init__(name="follow", daemon=True)
        self._source, self._changed, self._lost = source, changed, lost
        self._ended, self._wake = threading.Event(), threading.Event()

    def end(self) -> None:
        """Stop following; from any thread."""
        self._ended.set()
        self._wake.set()
        self._source.close()

    def try_now(self) -> None:
        """Look for the owner now instead of later; from any thread."""
        self._wake.set()

    def run(self) -> None:
        pause = _FIRST_S
        while not self._ended.is_set():
            reason = ""
            try:
                for parts in self._source.follow():
                    pause = _FIRST_S
                    self._changed(parts)
            except (ContextGraphError, OSError, ValueError) as error:
                reason = str(error)
            if self._ended.is_set():
                return
            self._lost(reason)
            self._wake.wait(pause)
            self._wake.clear()
            pause = min(_MOST_S, pause * 2)


class HealthPane(ReaderPane):
    """Health."""

    part: ClassVar[str] = "health"

    def __init__(self, source: Source, first: Callable[[], Health] | None) -> None:
        """Take ``first``, the rows that were asked for while the program was still being loaded."""
        super().__init__(source)
        self._first = first

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
