"""The screen of memories: search as one types, read, confirm, supersede, forget, restore."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widgets import Input

from context_graph.errors import UsageError
from context_graph.text.units import counted
from context_graph.view.rows import Change, Link, MemoryDetail, MemoryPage, MemoryRow
from context_graph.view.safe import one_line
from context_graph.view.source import Source
from context_graph.view.terminal.asking import Line, LongText
from context_graph.view.terminal.charts import STANDING, ago, cell, moment, short
from context_graph.view.terminal.page import Page
from context_graph.view.terminal.pane import PagedPane, Undo, WordPane
from context_graph.view.terminal.table import Column

_PAGE: Final = 200
_PAUSE_S: Final = 0.15
"""Without a key this long, what was typed is searched for."""
_QUOTED: Final = 60


class MemoriesPane(WordPane, PagedPane):
    """Memories, newest first or the most relevant first."""

    part: ClassVar[str] = "memories"
    placeholder: ClassVar[str] = "Search memories"
    columns = (
        Column("AGE", 6),
        Column("EVIDENCE", 10),
        Column("SOURCE", 8, 70),
        Column("IMP", 4, 60),
        Column("USED", 6),
        Column("TEXT"),
    )
    empty = "No memories yet. A session that ends leaves some; so does `context-graph-cli memory store`."
    keys = (
        ("/", "search; Esc ends it"),
        ("c", "confirm: it still holds"),
        ("s", "supersede: store another text in its place"),
        ("f", "forget"),
        ("x", "the forgotten ones, and back"),
        ("r", "restore a forgotten one"),
        ("a", "read it as of a time"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "word", "Search"),
        Binding("c", "confirm", "Confirm"),
        Binding("s", "supersede", "Supersede"),
        Binding("f", "forget", "Forget"),
        Binding("r", "restore", "Restore"),
        Binding("x", "forgotten", "Forgotten"),
        Binding("a", "as_of", "As of", show=False),
    ]

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._query = ""
        self._forgotten, self._to_top = False, False
        self._typing: Timer | None = None
        self._shown: MemoryDetail | None = None

    def cells(self, row: MemoryRow) -> Sequence[Text]:
        return (
            cell(ago(row.created_ms)),
            cell(row.standing_kind, STANDING.get(row.standing_kind, "")),
            cell(row.source),
            cell(f"{row.importance:.2f}"),
            cell(f"{row.used}/{row.shown}"),
            cell(f"{'* ' if row.is_pinned else ''}{row.text}"),
        )

    # Its rows

    def load(self) -> None:
        """Load the rows from the first to the page that the cursor is on."""
        wanted = _PAGE if self._to_top else max(_PAGE, self.table.at + 1)
        self.rows(partial(self._pages, self._query, self._forgotten, wanted), self._put)

    def page(self, cursor: str) -> MemoryPage:
        return self._page(self._query, self._forgotten, cursor)

    def _page(self, query: str, forgotten: bool, cursor: str = "") -> MemoryPage:
        return self.source.memories(query=query, forgotten=forgotten, cursor=cursor, limit=_PAGE)

    def _pages(self, query: str, forgotten: bool, wanted: int) -> MemoryPage:
        page = self._page(query, forgotten)
        rows = list(page.rows)
        while page.next_cursor and len(rows) < wanted:
            page = self._page(query, forgotten, page.next_cursor)
            rows += page.rows
        return MemoryPage(rows=rows, total=page.total, next_cursor=page.next_cursor)

    def _put(self, page: MemoryPage) -> None:
        nothing = (
            "Nothing like that." if self._query else "None is forgotten." if self._forgotten else self.empty
        )
        self.table.say(nothing)
        self.put(page, top=self._to_top)
        self._to_top = False
        if not page.rows:
            self._shown = None
            self.reader.say("")

    def say_count(self, total: int) -> None:
        kind = "forgotten" if self._forgotten else "like that" if self._query else "memories"
        self.table.note(f"{len(self.table.rows)} of {total} {kind}")

    # Search

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(_PAUSE_S, partial(self._search, event.value))

    def _search(self, words: str) -> None:
        self._query = words.strip()
        self._to_top = True
        self.reload()

    def back(self) -> bool:
        searches = self.query_one(Input).display and not self.has_class("-open")
        if super().back():
            if searches:
                self._search("")
            return True
        if self._forgotten:
            self.action_forgotten()
            return True
        return False

    def action_forgotten(self) -> None:
        """Show the forgotten ones, or the others again."""
        self._forgotten = not self._forgotten
        self._to_top = True
        self.reload()

    # Reading

    def read(self, identity: str, as_of_ms: int | None = None) -> None:
        call = partial(self.source.memory, identity, as_of_ms=as_of_ms)
        self.ask(call, self._read, self.reader.say, "read")

    def _read(self, detail: MemoryDetail) -> None:
        self._shown = detail
        self.reader.show(lambda _: memory_page(detail))

    def action_as_of(self) -> None:
        row = self._one()
        if row is not None:
            question = Line("Read this memory as it was then:", "7d, yesterday, 2026-01-31T09:30; now")
            self.app.push_screen(question, partial(self._as_of, row.id))

    def _as_of(self, identity: str, words: str | None) -> None:
        if not words:
            return
        try:
            at_ms = None if words == "now" else self.view.moment(words)
        except UsageError as error:
            self.view.say(str(error), wrong=True)
            return
        self.read(identity, at_ms)
        self._opened = identity
        self._open()

    # Changing

    def _one(self) -> MemoryRow | None:
        """Return what an action is about: what is open, else the row under the cursor."""
        if (self.has_class("-open") or self._opened) and self._shown is not None:
            return self._shown.row
        row: Any = self.table.row
        return row if isinstance(row, MemoryRow) else None

    def action_confirm(self) -> None:
        if row := self._one():
            undo = Undo("take that back", partial(self.source.take_back, row.id))
            words = "Confirm this memory: it still holds, and what it rests on is noted as it is now."
            self._act(row, words, partial(self.source.confirm, row.id), undo)

    def action_forget(self) -> None:
        if (row := self._one()) and not row.is_forgotten:
            undo = Undo("restore it", partial(self.source.restore, row.id))
            words = "Forget this memory: it is recalled no more. It can be restored."
            self._act(row, words, partial(self.source.forget, row.id), undo)

    def action_restore(self) -> None:
        row = self._one()
        if row is None or not row.is_forgotten:
            self.view.say("This memory is not forgotten; x shows the forgotten ones.")
            return
        undo = Undo("forget it again", partial(self.source.forget, row.id))
        words = "Restore this memory: it can be recalled again."
        self._act(row, words, partial(self.source.restore, row.id), undo)

    def _act(self, row: MemoryRow, words: str, call: Any, undo: Undo) -> None:
        self.view.act(f"{words}\n\n“{_quoted(row)}”", call, undo)

    def action_supersede(self) -> None:
        row = self._one()
        if row is None:
            return
        refused = partial(self.view.say, wrong=True)
        self.ask(partial(self.source.memory, row.id), self._supersede, refused, "action")

    def _supersede(self, detail: MemoryDetail) -> None:
        def written(text: str | None) -> None:
            if not text or text == detail.content.strip():
                return
            new: list[str] = []

            def replace() -> str:
                done = self.source.supersede(detail.row.id, text)
                new.append(done.memory_id)
                return done.message

            def undone() -> str:
                if new[0] != detail.row.id:
                    return self.source.forget(new[0])
                return self.source.supersede(detail.row.id, detail.content).message

            undo = Undo("put the old text back", undone)
            self._act(detail.row, "Store the new text in the place of this memory.", replace, undo)

        self.app.push_screen(LongText("What holds instead of this memory:", detail.content), written)


def _quoted(row: MemoryRow) -> str:
    words = one_line(row.text)
    return words if len(words) <= _QUOTED else f"{words[: _QUOTED - 1]}…"


def memory_page(detail: MemoryDetail) -> Page:
    """Return the whole of it."""
    row, page = detail.row, Page()
    if detail.as_of_ms is not None:
        page.line(f"As it was on {moment(detail.as_of_ms)}", "bold yellow")
    if row.is_forgotten:
        page.line("Forgotten: r restores it", "bold yellow")
    page.line(detail.content)
    if detail.rationale:
        page.head("Why")
        page.line(detail.rationale)
    _about(page, detail)
    if detail.links:
        page.head("Links")
        for link in detail.links:
            _link(page, link)
    if detail.changes:
        page.head("History of the last 30 days")
        for change in detail.changes:
            _change(page, change)
    return page


def _about(page: Page, detail: MemoryDetail) -> None:
    row = detail.row
    page.head("About it")
    if row.standing:
        page.pair("evidence", row.standing, STANDING.get(row.standing_kind, ""))
    page.pair("stored", f"{moment(row.created_ms)}, {ago(row.created_ms)} ago ({row.source})")
    page.pair("importance", f"{row.importance:.2f}{', pinned' if row.is_pinned else ''}")
    uses = f"recalled {counted(row.recalled, 'time')}, shown {counted(row.shown, 'time')}, used {row.used}"
    page.pair("uses", uses)
    if row.tags:
        page.pair("tags", ", ".join(row.tags))
    page.pair("id", row.id)
    if row.session_id:
        page.pair_link("session", row.session_id, ("session", row.session_id))
    for line in detail.facts:
        page.pair(line.name, line.text, "red" if line.is_problem else "")


def _link(page: Page, link: Link) -> None:
    arrow = f"{link.relation} →" if link.is_outgoing else f"← {link.relation}"
    words = one_line(link.other_text) or f"{short(link.other_id)} (forgotten)"
    page.link(f"{arrow} {link.weight:.2f}", words, ("memory", link.other_id))


def _change(page: Page, change: Change) -> None:
    reason = f": {one_line(change.reason)}" if change.reason else ""
    page.line(f"{moment(change.at_ms)}  {change.what}{reason}")
    for field in change.fields:
        page.line(f"    {field.name}: {one_line(field.before)} → {one_line(field.after)}", "dim")
    if change.other_id:
        page.link("    with", short(change.other_id), ("memory", change.other_id))
    if change.run:
        page.link("    in consolidation", short(change.run), ("run", change.run))
