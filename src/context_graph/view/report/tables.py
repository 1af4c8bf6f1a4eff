"""Defines the report's tables: their columns, and each row as plain cells that a program can sort.

A cell is a text, a number, Unix seconds (kind `time`) or None. Page and script show a cell in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from context_graph.view.report.gather import Report
from context_graph.view.rows import MemoryRow
from context_graph.view.safe import one_line

Kind = Literal["text", "number", "time", "state"]
Cell = str | float | int | None

PAGE: Final = 25
"""Rows of a page."""
_ID: Final = 8
"""Digits of an id: commands accept as many."""
_PARTS: Final = 4


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
        times = (at for at, one in enumerate(self.columns) if one.kind == "time")
        return next(times, -1) if self.is_sorted else -1

    def cut_to(self, chars: int, most: int) -> Table:
        """The first ``most`` rows, with the first ``chars`` of each text."""
        rows = [
            [cut(cell, chars) if isinstance(cell, str) else cell for cell in row] for row in self.rows[:most]
        ]
        return msgspec.structs.replace(self, rows=rows)

    def first_rows(self) -> list[list[tuple[str, str]]]:
        """The first page: text and class of each cell."""
        return [
            [
                (_shown(cell, column), _class(cell, column))
                for cell, column in zip(row, self.columns, strict=True)
            ]
            for row in self.rows[:PAGE]
        ]

    def data(self) -> Mapping[str, Any]:
        """What the script reads."""
        columns = [_coded(column, [row[at] for row in self.rows]) for at, column in enumerate(self.columns)]
        return {
            "page": PAGE,
            "sorted": self.sorted_by,
            "columns": [{"kind": one.kind, "look": one.look, "digits": one.digits, "values": values}
                        for one, (values, _) in zip(self.columns, columns, strict=True)],
            "rows": list(zip(*(cells for _, cells in columns), strict=True)),
        }  # fmt: skip


def _coded(column: Column, cells: list[Cell]) -> tuple[list[Cell] | None, list[Any]]:
    """The column's distinct texts with an index a row; (None, its cells) where texts don't repeat."""
    if not column.is_repeated:
        return None, cells
    places = {cell: at for at, cell in enumerate(dict.fromkeys(cells))}
    return list(places), [places[cell] for cell in cells]


def stamp(at_ms: int, *, seconds: bool = False) -> str:
    """A time (UTC) to the minute, as 2026-11-23 14:05, or with ``seconds``."""
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


def memories(found: Report) -> Table:
    """Live memories, then the soft-deleted ones."""
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
    )
    rows = [_memory(one) for one in (*found.memories, *found.forgotten)]
    is_sorted = not found.forgotten
    return Table(name="memories", caption="Memories", columns=columns, rows=rows, is_sorted=is_sorted)


def _memory(one: MemoryRow) -> tuple[Cell, ...]:
    note = ", forgotten" if one.is_forgotten else ", pinned" if one.is_pinned else ""
    return (
        one_line(one.text), one_line(one.id[:_ID]), _s(one.created_ms), one_line(one.standing),
        one_line(one.source) + note, round(one.importance, 2), one.recalled, one.shown, one.used,
        one_line(", ".join(one.tags)),
    )  # fmt: skip


def cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


def ledger(found: Report) -> Table:
    """What was put before the model."""
    columns = (
        Column("When", "time"),
        Column("Memory", is_repeated=True, is_wide=True),
        Column("Cause", is_repeated=True),
        Column("For", is_repeated=True),
        Column("Relevance", "number", 2),
        Column("Why", is_repeated=True),
        Column("Tokens", "number"),
        Column("Used", is_repeated=True),
        Column("Session", is_repeated=True),
    )
    rows = [
        (
            _s(one.at_ms), one_line(one.text) or "(forgotten)", one_line(one.cause),
            one_line(one.about), round(one.relevance, 2) or None, _parts(one.parts), one.tokens,
            one_line(one.used) or "no sign of use", one_line(one.session_id[:_ID]),
        )
        for one in found.ledger.rows
    ]  # fmt: skip
    return Table(name="ledger", caption="What the model was shown", columns=columns, rows=rows)


def _parts(parts: Mapping[str, float]) -> str:
    """The largest parts, which come first."""
    told = [f"{name.replace('_', ' ')} {value:+.1f}" for name, value in islice(parts.items(), _PARTS)]
    return one_line(", ".join(told) + (", …" if len(parts) > _PARTS else ""))


def days(found: Report) -> Table:
    """Sums of the ledger, the newest day first."""
    columns = (Column("Day"), *(Column(name, "number") for name in ("Tokens", "Memories", "Used")))
    rows = [(one.day, one.tokens, one.memories, one.used) for one in reversed(found.ledger.days)]
    return Table(name="days", caption="Tokens by day (UTC)", columns=columns, rows=rows, is_sorted=False)


def sessions(found: Report) -> Table:
    """All sessions."""
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
            _s(one.last_ms), one_line(f"damaged: {one.damage}" if one.damage else one.goal),
            one.events,
            None if one.ic is None else round(one.ic, 2), one_line(one.ic_level),
            one_line(f"{one.previous_id[:_ID]} ({one.relation})" if one.previous_id else ""),
            one_line(one.id[:_ID]),
        )
        for one in found.sessions
    ]  # fmt: skip
    return Table(name="sessions", caption="Sessions", columns=columns, rows=rows)


def gates(found: Report) -> Table:
    """The gates' log."""
    columns = (
        Column("When", "time"),
        Column("What", "state", is_repeated=True),
        Column("Requirements", is_repeated=True),
        Column("Branch", is_repeated=True),
        Column("Tool", is_repeated=True),
        Column("By", is_repeated=True),
        Column("Detail", is_repeated=True),
        Column("Session", is_repeated=True),
    )
    rows = [
        (
            _s(one.at_ms), one_line(one.kind.replace("_", " ")), one_line(", ".join(one.requirements)),
            one_line(one.branch), one_line(one.tool), one_line(one.by), one_line(one.detail),
            one_line(one.session_id[:_ID]),
        )
        for one in found.gates.rows
    ]  # fmt: skip
    return Table(name="gates", caption="Log of the gates", columns=columns, rows=rows)


def states(found: Report) -> Table:
    """How each requirement stands on each branch."""
    columns = (
        Column("Requirement"), Column("Branch"), Column("Stands", "state"), Column("By what", "text"),
        Column("Refused", "number"),
    )  # fmt: skip
    rows = [
        (
            one_line(one.requirement), one_line(one.branch), "satisfied" if one.is_satisfied else "open",
            one_line(one.text), one.refused,
        )
        for one in found.gates.states
    ]  # fmt: skip
    return Table(name="states", caption="Requirements by branch", columns=columns, rows=rows, is_sorted=False)


def goals(found: Report) -> Table:
    """Goals that the memories show."""
    columns = (
        Column("Goal", is_wide=True),
        Column("Level"),
        Column("Confidence", "number", 2),
        Column("Memories", "number"),
        Column("Part of"),
    )
    names = {one.id: one.text for one in found.map.goals}
    rows = [
        (
            one_line(one.text), one_line(one.level), round(one.confidence, 2), one.memories,
            one_line(names.get(one.parent, "")),
        )
        for one in found.map.goals
    ]  # fmt: skip
    return Table(name="goals", caption="Goals", columns=columns, rows=rows, is_sorted=False)


def patterns(found: Report) -> Table:
    """Patterns that the memories show."""
    columns = (Column("Pattern"), Column("Memories", "number"), Column("Confidence", "number", 2))
    rows = [(one_line(one.text), one.memories, round(one.confidence, 2)) for one in found.map.patterns]
    return Table(name="patterns", caption="Patterns", columns=columns, rows=rows, is_sorted=False)


def clusters(found: Report) -> Table:
    """Clusters of the map."""
    columns = (Column("Cluster"), Column("Memories", "number"), Column("Coherence", "number", 2))
    rows = [(one_line(one.label), one.memories, round(one.coherence, 2)) for one in found.map.clusters]
    return Table(name="clusters", caption="Clusters", columns=columns, rows=rows, is_sorted=False)
