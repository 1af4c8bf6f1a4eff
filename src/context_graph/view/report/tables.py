"""Defines the report's tables: their columns, and each row as plain cells that a program can sort.

A cell is a text, a number, Unix seconds (kind `time`) or None. Page and script show a cell in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from typing import Any, Final, Literal

import msgspec

from context_graph.view.graph import KINDS, NAMES, matrix
from context_graph.view.report.gather import Report
from context_graph.view.rows import MemoryRow, SessionRow, Week
from context_graph.view.safe import one_line
from context_graph.view.text import HEADS, figures

Kind = Literal["text", "number", "time", "state"]
Cell = str | float | int | None

PAGE: Final = 25
"""Rows of a page."""
ID_CHARS: Final = 8
"""Digits of an id: commands accept as many."""
_FILES: Final = 300
_NOTES: Final = 400


class Column(msgspec.Struct, frozen=True):
    """One column, and how its cell is read from a row of the view."""

    name: str
    of: str | Callable[[Any], Any]
    """The row's field, or what makes a value of the row: of a time Unix milliseconds."""
    kind: Kind = "text"
    digits: int = 0
    """Of a number, behind the point."""
    is_repeated: bool = False
    """Its texts repeat: each is written once."""
    is_wide: bool = False
    """It holds sentences."""
    leads: str = ""
    """The table whose rows its ids name: a press on one looks for it there."""

    @property
    def look(self) -> str:
        """The class of its cells."""
        return f"{self.kind} wide" if self.is_wide else self.kind

    def cells(self, rows: Sequence[Any]) -> list[Cell]:
        """Return its cell of each row."""
        values = map(attrgetter(self.of) if isinstance(self.of, str) else self.of, rows)
        if self.kind == "time":
            return [value // 1000 for value in values]
        if self.kind == "number":
            return [None if value is None else round(value, self.digits or None) for value in values]
        return [one_line(value) for value in values]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """One table: its rows are sorted by its column of times, newest first."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    is_sorted: bool = True
    """By the first column of times, newest first."""

    @property
    def sorted_by(self) -> int:
        """Index of the column that it is sorted by; -1 for none."""
        times = (at for at, column in enumerate(self.columns) if column.kind == "time")
        return next(times, -1) if self.is_sorted else -1

    def cut_to(self, chars: int, most: int) -> Table:
        """Return the first ``most`` rows, with the first ``chars`` of each text."""
        rows = [
            [cut(cell, chars) if isinstance(cell, str) else cell for cell in row] for row in self.rows[:most]
        ]
        return msgspec.structs.replace(self, rows=rows)

    def first_rows(self) -> list[list[tuple[str, str]]]:
        """Return the first page: text and class of each cell."""
        return [
            [
                (_shown(cell, column), _class(cell, column))
                for cell, column in zip(row, self.columns, strict=True)
            ]
            for row in self.rows[:PAGE]
        ]

    def data(self) -> Mapping[str, Any]:
        """Return what the script reads."""
        columns = [_coded(column, [row[at] for row in self.rows]) for at, column in enumerate(self.columns)]
        return {
            "page": PAGE,
            "sorted": self.sorted_by,
            "columns": [{"kind": column.kind, "look": column.look, "digits": column.digits, "values": values,
                         "leads": column.leads}
                        for column, (values, _) in zip(self.columns, columns, strict=True)],
            "rows": list(zip(*(cells for _, cells in columns), strict=True)),
        }  # fmt: skip


def _coded(column: Column, cells: list[Cell]) -> tuple[list[Cell] | None, list[Any]]:
    """Return the column's distinct texts with an index a row; (None, its cells) where texts don't repeat."""
    if not column.is_repeated:
        return None, cells
    places = {cell: at for at, cell in enumerate(dict.fromkeys(cells))}
    return list(places), [places[cell] for cell in cells]


def stamp(at_ms: int, *, seconds: bool = False) -> str:
    """Return a time (UTC) to the minute, as 2026-11-23 14:05, or with ``seconds``."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime(f"%Y-%m-%d %H:%M{':%S' if seconds else ''}")


def _shown(cell: Cell, column: Column) -> str:
    if cell is None:
        return ""
    if column.kind == "time":
        return stamp(int(cell) * 1000)
    return f"{cell:.{column.digits}f}" if column.kind == "number" else str(cell)


def _class(cell: Cell, column: Column) -> str:
    """As the script's: the look, and of a state its first word, for its colour."""
    word = str(cell or "").replace(":", " ").split(" ")[0] if column.kind == "state" else ""
    return f"state {word}" if word else column.look


def cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


def _short(field: str) -> Callable[[Any], str]:
    """Return what reads the id in that field as a table shows it."""
    return lambda row: getattr(row, field)[:ID_CHARS]


def _joined(field: str) -> Callable[[Any], str]:
    return lambda row: ", ".join(getattr(row, field))


def _figure(at: int) -> Callable[[Week], int]:
    return lambda week: figures(week)[at]


def _source(row: MemoryRow) -> str:
    return row.source + (", forgotten" if row.is_forgotten else ", pinned" if row.is_pinned else "")


def _before(row: SessionRow) -> str:
    return row.previous_id[:ID_CHARS] + (f" ({row.relation})" if row.relation else "")


_MEMORIES: Final = (
    Column("Memory", "text", is_wide=True),
    Column("Id", _short("id")),
    Column("Stored", "created_ms", "time"),
    Column("Evidence", "standing", "state", is_repeated=True),
    Column("Source", _source, is_repeated=True),
    Column("Importance", "importance", "number", 2),
    Column("Recalled", "recalled", "number"),
    Column("Shown", "shown", "number"),
    Column("Used", "used", "number"),
    Column("Tags", _joined("tags"), is_repeated=True),
    Column("Session", _short("session_id"), is_repeated=True, leads="sessions"),
)
_LEDGER: Final = (
    Column("When", "at_ms", "time"),
    Column("Memory", lambda row: row.text or "(forgotten or merged)", is_repeated=True, is_wide=True),
    Column("Cause", "cause", is_repeated=True),
    Column("For", "about", is_repeated=True, is_wide=True),
    Column("Relevance", lambda row: round(row.relevance, 2) or None, "number", 2),
    Column("Tokens", "tokens", "number"),
    Column("Used", lambda row: row.used or "no sign of use", is_repeated=True),
    Column("Id", _short("memory_id"), is_repeated=True, leads="memories"),
    Column("Session", _short("session_id"), is_repeated=True, leads="sessions"),
)
_DAYS: Final = (
    Column("Day", "day"),
    *(Column(name, name.lower(), "number") for name in ("Tokens", "Memories", "Used")),
)
_SESSIONS: Final = (
    Column("Last event", "last_ms", "time"),
    Column("Goal", lambda row: f"damaged: {row.damage}" if row.damage else row.goal, is_wide=True),
    Column("Events", "events", "number"),
    Column("IC", "ic", "number", 2),
    Column("Level", "ic_level", "state", is_repeated=True),
    Column("Before it", _before, is_repeated=True),
    Column("Id", _short("id")),
)
_GATES: Final = (
    Column("When", "at_ms", "time"),
    Column("What", lambda row: row.kind.replace("_", " "), "state", is_repeated=True),
    Column("Requirements", _joined("requirements"), is_repeated=True),
    Column("Branch", "branch", is_repeated=True),
    Column("Tool", "tool", is_repeated=True),
    Column("By", "by", is_repeated=True),
    Column("Detail", "detail", is_repeated=True),
    Column("Session", _short("session_id"), is_repeated=True, leads="sessions"),
)
_STATES: Final = (
    Column("Requirement", "requirement"),
    Column("Branch", "branch"),
    Column("Stands", lambda state: "satisfied" if state.is_satisfied else "open", "state"),
    Column("By what", "text"),
    Column("Refused", "refused", "number"),
)
_FILE_ROWS: Final = (
    Column("File", "label", is_wide=True),
    Column("Sessions", lambda row: len(row.marks), "number"),
    Column("Changes", lambda row: sum(row.marks.values()), "number"),
    Column("Notes", lambda row: len(row.notes), "number"),
    Column("Last session", lambda row: next(iter(row.marks))[:ID_CHARS], leads="sessions"),
)
_NOTE_ROWS: Final = (
    Column("When", "at_ms", "time"),
    Column("What", lambda note: NAMES.get(note.kind, note.kind), "state", is_repeated=True),
    Column("Text", "text", is_wide=True),
    Column("Id", _short("id"), leads="memories"),
    Column("Superseded by", _short("replaced_by"), is_repeated=True, leads="memories"),
    Column("Files", _joined("files"), is_repeated=True),
    Column("Session", _short("session_id"), is_repeated=True, leads="sessions"),
)
_WEEKS: Final = (
    Column("Week of", "begin"),
    *(Column(head.capitalize(), _figure(at), "number") for at, head in enumerate(HEADS)),
)
_BROKEN: Final = (
    Column("When", "at_ms", "time"),
    Column("Rule", "text", is_wide=True),
    Column("How it is known", "how", is_repeated=True),
    Column("Id", _short("memory_id"), leads="memories"),
    Column("Session", _short("session_id"), leads="sessions"),
)
_GOALS: Final = (
    Column("Goal", "text", is_wide=True),
    Column("Level", "level"),
    Column("Confidence", "confidence", "number", 2),
    Column("Memories", "memories", "number"),
)
_PATTERNS: Final = (
    Column("Pattern", "text"),
    Column("Memories", "memories", "number"),
    Column("Confidence", "confidence", "number", 2),
)
_CLUSTERS: Final = (
    Column("Cluster", "label"),
    Column("Memories", "memories", "number"),
    Column("Coherence", "coherence", "number", 2),
)


def _of(report: Report) -> Iterator[tuple[str, str, Iterable[Any], Sequence[Column]]]:
    """Yield each table: name, caption, rows, columns."""
    drawn, effect = report.map, report.effect
    files = [row for row in matrix(drawn).rows if row.id not in KINDS]
    # Live memories, then the soft-deleted ones.
    yield "memories", "Memories", (*report.memories, *report.forgotten), _MEMORIES
    yield "ledger", "What the model was shown", report.ledger.rows, _LEDGER
    yield "days", "By day (UTC)", reversed(report.ledger.days), _DAYS
    yield "sessions", "Sessions", report.sessions, _SESSIONS
    yield "gates", "Log of the gates", report.gates.rows, _GATES
    yield "states", "Requirements by branch", report.gates.states, _STATES
    yield "files", "Files by the sessions that changed them", files[:_FILES], _FILE_ROWS
    notes = islice(reversed(drawn.notes), _NOTES)
    yield "notes", "Rules, decisions, solved failures", notes, _NOTE_ROWS
    yield "goals", "Goals", drawn.goals, _GOALS
    yield "patterns", "Patterns", drawn.patterns, _PATTERNS
    yield "clusters", "Clusters", drawn.clusters, _CLUSTERS
    yield "weeks", "Week by week (UTC)", reversed(effect.weeks), _WEEKS
    yield "broken", "Rules broken again", effect.broken, _BROKEN


def tables_of(report: Report) -> dict[str, Table]:
    """Return all tables by their names."""
    made = {}
    for name, caption, shown, columns in _of(report):
        there = list(shown)
        rows = list(zip(*(column.cells(there) for column in columns), strict=True))
        is_sorted = name != "memories" or not report.forgotten
        made[name] = Table(name=name, caption=caption, columns=columns, rows=rows, is_sorted=is_sorted)
    return made
