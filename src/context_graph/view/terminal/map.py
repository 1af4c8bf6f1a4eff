"""The screen of the map: files and notes by sessions, and what is beside each of them in the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import Input

from context_graph.errors import ContextGraphError
from context_graph.text.units import counted
from context_graph.view.graph import DEEDS, KINDS, Matrix, Row, matrix
from context_graph.view.rows import Map, MapNote, MapSession
from context_graph.view.safe import one_line
from context_graph.view.terminal.charts import along, cell, columns, moment
from context_graph.view.terminal.page import Page
from context_graph.view.terminal.pane import WordPane
from context_graph.view.terminal.table import Column

_DRIFT_LINES: Final = 3
_FILE_CELLS: Final = 30
_MANY: Final = 3
"""Changes in one session from which a mark is a whole block."""
_ABOUT: Final = Row("", "what the memories are about", {}, ())
"""The last row: clusters, goals, patterns and drift."""


class MapPane(WordPane):
    """Map."""

    part: ClassVar[str] = "map"
    placeholder: ClassVar[str] = "A file, a word, or a time as 7d or yesterday"
    columns = (
        Column("FILE, NOTES", _FILE_CELLS),
        Column("SESSIONS", 8, 60),
        Column("BY SESSION, NEWEST FIRST"),
    )
    empty = "Nothing yet. A session that changed something and ended is here."
    keys = (("/", "filter by a word, or by a time such as 7d"),)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "word", "Filter")]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._map, self._matrix, self._filter = Map(), Matrix((), ()), ""

    def cells(self, row: Row) -> Sequence[Text]:
        label = one_line(row.label)
        if len(label) > _FILE_CELLS:
            label = f"…{label[1 - _FILE_CELLS :]}"
        is_note = row.id in KINDS
        strip = Text(no_wrap=True, end="")
        for session in self._matrix.sessions if row.id else ():
            count = row.marks.get(session.id, 0)
            strip.append(_mark(count, is_note=is_note), "green" if is_note else "cyan" if count else "dim")
        return (cell(label, "bold" if is_note else ""), cell(str(len(row.marks) or "")), strip)

    def load(self) -> None:
        self.rows(self.source.map, self._put)

    def _put(self, drawn: Map) -> None:
        self._map = drawn
        self._show()

    def _show(self, *, top: bool = False) -> None:
        since_ms = 0
        with suppress(ContextGraphError, ValueError):  # it is a word then
            since_ms = self.view.moment(self._filter) if self._filter else 0
        self._matrix = matrix(self._map, "" if since_ms else self._filter, since_ms)
        has_themes = self._map.clusters or self._map.goals or self._map.drift
        about = [_ABOUT] if has_themes and not self._filter else []
        self.table.say(self.empty if not self._filter else "Nothing like that.")
        self.table.put([*self._matrix.rows, *about], top=top)
        self.table.note(counted(len(self._matrix.sessions), "session"))
        if not self.table.rows:
            self.reader.say("")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._filter = event.value.strip()
        self._show(top=True)

    def read(self, identity: str) -> None:
        row = next((row for row in self.table.rows if row.id == identity), None)
        if row is not None:
            self.reader.show(lambda width: row_page(row, self._map, width))


def _mark(count: int, *, is_note: bool) -> str:
    if not count:
        return "·"
    return str(min(9, count)) if is_note else "█" if count >= _MANY else "▪"


def row_page(row: Row, drawn: Map, width: int) -> Page:
    """Return what is beside a file or a kind of note in the graph, with links to all of it."""
    page = Page()
    if not row.id:
        _about(page, drawn, width)
        return page
    if row.id not in KINDS:
        page.line(row.label, "bold")
        page.head(f"Changed in {counted(len(row.marks), 'session')}")
        for session in reversed(drawn.sessions):
            if count := row.marks.get(session.id):
                when = f"{moment(session.at_ms)} x{count}"
                page.link(when, session.goal or session.id, ("memory", session.memory_id))
    texts = {note.id: note.text for note in drawn.notes}
    sessions = {session.id: session for session in drawn.sessions}
    for kind, label in KINDS.items():
        notes = [note for note in row.notes if note.kind == kind]
        if notes:
            page.head(label.capitalize())
        for note in notes:
            _note(page, note, texts, sessions)
    return page


def _note(page: Page, note: MapNote, texts: Mapping[str, str], sessions: Mapping[str, MapSession]) -> None:
    page.link(moment(note.at_ms), note.text, ("memory", note.id), "dim" if note.replaced_by else "")
    if session := sessions.get(note.session_id):
        page.link(f"  {DEEDS[note.kind]}", session.goal or session.id, ("memory", session.memory_id))
    if note.replaced_by:
        text = texts.get(note.replaced_by) or note.replaced_by
        page.link("  superseded by", text, ("memory", note.replaced_by), "yellow")


def _about(page: Page, drawn: Map, width: int) -> None:
    """Add what the memories are about, as the last deep or rem consolidation found it."""
    if drawn.at_ms is not None:
        page.line(f"Found by the consolidation of {moment(drawn.at_ms)}.", "dim")
    themes = (
        ("Clusters", [(row.label, row.memories, f"coherence {row.coherence:.2f}") for row in drawn.clusters]),
        (
            "Goals",
            [(row.text, row.memories, f"sure {row.confidence:.2f}, {row.level}") for row in drawn.goals],
        ),
        ("Patterns", [(row.text, row.memories, f"sure {row.confidence:.2f}") for row in drawn.patterns]),
    )
    for head, rows in themes:
        if rows:
            page.head(head)
        for text, memories, how in rows:
            words = one_line(text) or "(no word of its own)"
            page.line(f"{words}  ({counted(memories, 'memory', 'memories')}, {how})")
    _drift(page, drawn, width)


def _drift(page: Page, drawn: Map, width: int) -> None:
    if not drawn.drift:
        return
    first, last = drawn.drift[0], drawn.drift[-1]
    page.head(f"Drift: nearness of the memories to the goals, {moment(first.at_ms)} to {moment(last.at_ms)}")
    last_at = max(1, len(drawn.drift) - 1)
    values = along([(at / last_at, point.similarity) for at, point in enumerate(drawn.drift)], max(10, width))
    for line in columns(values, 0.0, 1.0, _DRIFT_LINES):
        page.drawn(Text(line, style="cyan", end=""))
    page.line(f"now {last.similarity:.2f} ({last.level})")
