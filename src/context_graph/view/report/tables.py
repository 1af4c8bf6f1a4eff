"""Defines the report's tables: their columns, and each row as plain cells that a program can sort.

A cell is a text, a number, Unix seconds (kind `time`) or None. Page and script show a cell in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from context_graph.view.graph import KINDS, NAMES, matrix
from context_graph.view.report.gather import Report
from context_graph.view.rows import MemoryRow
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
    """One column."""

    name: str
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


def _s(at_ms: int) -> int:
    return at_ms // 1000


def _id(identity: str) -> str:
    return one_line(identity[:ID_CHARS])


def memories(report: Report) -> Table:
    """Return live memories, then the soft-deleted ones."""
    columns = (
        Column("Memory", is_wide=True),
        Column("Id"),
        Column("Stored", "time"),
        Column("Evidence", "state", is_repeated=True),
        Column("Source", is_repeated=True),
        Column("Importance", "number", 2),
        Column("Recalled", "number"),
        Column("Shown", "number"),
        Column("Used", "number"),
        Column("Tags", is_repeated=True),
        Column("Session", is_repeated=True, leads="sessions"),
    )
    rows = [_memory(row) for row in (*report.memories, *report.forgotten)]
    is_sorted = not report.forgotten
    return Table(name="memories", caption="Memories", columns=columns, rows=rows, is_sorted=is_sorted)


def _memory(row: MemoryRow) -> tuple[Cell, ...]:
    note = ", forgotten" if row.is_forgotten else ", pinned" if row.is_pinned else ""
    return (
        one_line(row.text), _id(row.id), _s(row.created_ms), one_line(row.standing),
        one_line(row.source) + note, round(row.importance, 2), row.recalled, row.shown, row.used,
        one_line(", ".join(row.tags)), _id(row.session_id),
    )  # fmt: skip


def cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


def ledger(report: Report) -> Table:
    """Return what was put before the model."""
    columns = (
        Column("When", "time"),
        Column("Memory", is_repeated=True, is_wide=True),
        Column("Cause", is_repeated=True),
        Column("For", is_repeated=True, is_wide=True),
        Column("Relevance", "number", 2),
        Column("Tokens", "number"),
        Column("Used", is_repeated=True),
        Column("Id", is_repeated=True, leads="memories"),
        Column("Session", is_repeated=True, leads="sessions"),
    )
    rows = [
        (
            _s(row.at_ms), one_line(row.text) or "(forgotten or merged)", one_line(row.cause),
            one_line(row.about), round(row.relevance, 2) or None, row.tokens,
            one_line(row.used) or "no sign of use", _id(row.memory_id), _id(row.session_id),
        )
        for row in report.ledger.rows
    ]  # fmt: skip
    return Table(name="ledger", caption="What the model was shown", columns=columns, rows=rows)


def days(report: Report) -> Table:
    """Return sums of the ledger, the newest day first."""
    columns = (Column("Day"), *(Column(name, "number") for name in ("Tokens", "Memories", "Used")))
    rows = [(total.day, total.tokens, total.memories, total.used) for total in reversed(report.ledger.days)]
    return Table(name="days", caption="By day (UTC)", columns=columns, rows=rows, is_sorted=False)


def sessions(report: Report) -> Table:
    """Return all sessions."""
    columns = (
        Column("Last event", "time"),
        Column("Goal", is_wide=True),
        Column("Events", "number"),
        Column("IC", "number", 2),
        Column("Level", "state", is_repeated=True),
        Column("Before it", is_repeated=True),
        Column("Id"),
    )
    rows = [
        (
            _s(row.last_ms), one_line(f"damaged: {row.damage}" if row.damage else row.goal),
            row.events,
            None if row.ic is None else round(row.ic, 2), one_line(row.ic_level),
            one_line(row.previous_id[:ID_CHARS] + (f" ({row.relation})" if row.relation else "")),
            _id(row.id),
        )
        for row in report.sessions
    ]  # fmt: skip
    return Table(name="sessions", caption="Sessions", columns=columns, rows=rows)


def gates(report: Report) -> Table:
    """Return the gates' log."""
    columns = (
        Column("When", "time"),
        Column("What", "state", is_repeated=True),
        Column("Requirements", is_repeated=True),
        Column("Branch", is_repeated=True),
        Column("Tool", is_repeated=True),
        Column("By", is_repeated=True),
        Column("Detail", is_repeated=True),
        Column("Session", is_repeated=True, leads="sessions"),
    )
    rows = [
        (
            _s(row.at_ms), one_line(row.kind.replace("_", " ")), one_line(", ".join(row.requirements)),
            one_line(row.branch), one_line(row.tool), one_line(row.by), one_line(row.detail),
            _id(row.session_id),
        )
        for row in report.gates.rows
    ]  # fmt: skip
    return Table(name="gates", caption="Log of the gates", columns=columns, rows=rows)


def states(report: Report) -> Table:
    """Return how each requirement stands on each branch."""
    columns = (
        Column("Requirement"), Column("Branch"), Column("Stands", "state"), Column("By what", "text"),
        Column("Refused", "number"),
    )  # fmt: skip
    rows = [
        (
            one_line(state.requirement), one_line(state.branch),
            "satisfied" if state.is_satisfied else "open", one_line(state.text), state.refused,
        )
        for state in report.gates.states
    ]  # fmt: skip
    return Table(name="states", caption="Requirements by branch", columns=columns, rows=rows, is_sorted=False)


def files(report: Report) -> Table:
    """Return the files that sessions changed, those that most of them changed first."""
    columns = (
        Column("File", is_wide=True),
        Column("Sessions", "number"),
        Column("Changes", "number"),
        Column("Notes", "number"),
        Column("Last session", leads="sessions"),
    )
    rows = [
        (
            one_line(row.label),
            len(row.marks),
            sum(row.marks.values()),
            len(row.notes),
            _id(next(iter(row.marks))),
        )
        for row in matrix(report.map).rows
        if row.id not in KINDS
    ]
    caption = "Files by the sessions that changed them"
    return Table(name="files", caption=caption, columns=columns, rows=rows[:_FILES], is_sorted=False)


def notes(report: Report) -> Table:
    """Return the rules, decisions and solved failures, with what replaced them."""
    columns = (
        Column("When", "time"),
        Column("What", "state", is_repeated=True),
        Column("Text", is_wide=True),
        Column("Id", leads="memories"),
        Column("Superseded by", is_repeated=True, leads="memories"),
        Column("Files", is_repeated=True),
        Column("Session", is_repeated=True, leads="sessions"),
    )
    rows = [
        (
            _s(note.at_ms), one_line(NAMES.get(note.kind, note.kind)), one_line(note.text), _id(note.id),
            _id(note.replaced_by), one_line(", ".join(note.files)), _id(note.session_id),
        )
        for note in islice(reversed(report.map.notes), _NOTES)
    ]  # fmt: skip
    return Table(name="notes", caption="Rules, decisions, solved failures", columns=columns, rows=rows)


def weeks(report: Report) -> Table:
    """Return what telling came to by week, the newest first."""
    columns = (Column("Week of"), *(Column(head.capitalize(), "number") for head in HEADS))
    rows: list[tuple[Cell, ...]] = [
        (one_line(week.begin), *figures(week)) for week in reversed(report.effect.weeks)
    ]
    return Table(name="weeks", caption="Week by week (UTC)", columns=columns, rows=rows, is_sorted=False)


def broken(report: Report) -> Table:
    """Return the rules that were broken though they had been told."""
    columns = (
        Column("When", "time"),
        Column("Rule", is_wide=True),
        Column("How it is known", is_repeated=True),
        Column("Id", leads="memories"),
        Column("Session", leads="sessions"),
    )
    rows = [
        (_s(row.at_ms), one_line(row.text), one_line(row.how), _id(row.memory_id), _id(row.session_id))
        for row in report.effect.broken
    ]
    return Table(name="broken", caption="Rules broken again", columns=columns, rows=rows)


def goals(report: Report) -> Table:
    """Return goals that the memories show."""
    columns = (
        Column("Goal", is_wide=True),
        Column("Level"),
        Column("Confidence", "number", 2),
        Column("Memories", "number"),
    )
    rows = [
        (one_line(goal.text), one_line(goal.level), round(goal.confidence, 2), goal.memories)
        for goal in report.map.goals
    ]
    return Table(name="goals", caption="Goals", columns=columns, rows=rows, is_sorted=False)


def patterns(report: Report) -> Table:
    """Return patterns that the memories show."""
    columns = (Column("Pattern"), Column("Memories", "number"), Column("Confidence", "number", 2))
    rows = [
        (one_line(pattern.text), pattern.memories, round(pattern.confidence, 2))
        for pattern in report.map.patterns
    ]
    return Table(name="patterns", caption="Patterns", columns=columns, rows=rows, is_sorted=False)


def clusters(report: Report) -> Table:
    """Return clusters of the map."""
    columns = (Column("Cluster"), Column("Memories", "number"), Column("Coherence", "number", 2))
    rows = [
        (one_line(cluster.label), cluster.memories, round(cluster.coherence, 2))
        for cluster in report.map.clusters
    ]
    return Table(name="clusters", caption="Clusters", columns=columns, rows=rows, is_sorted=False)
