"""Lays out the report's picture of the map: files and notes by sessions. The template draws it as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from context_graph.text.units import counted
from context_graph.view.graph import KINDS, Row, matrix
from context_graph.view.report.charts import RIGHT, TOP, WIDTH, Tick, rounded
from context_graph.view.report.tables import ID_CHARS, cut, stamp
from context_graph.view.rows import Map, MapSession
from context_graph.view.safe import one_line

_COLUMNS: Final = 60
_ROWS: Final = 24
_NAME: Final = 250
"""Where the marks begin, right of the files' names."""
_NAME_CHARS: Final = 40
_CELL: Final = 16


class Cell(msgspec.Struct, frozen=True):
    """What came about in one session, and how much of it, 1 to 4."""

    x: float
    weight: int
    tip: str
    session_id: str


class MatrixRow(msgspec.Struct, frozen=True):
    """One row of the matrix."""

    label: str
    y: float
    is_note: bool
    cells: Sequence[Cell]
    arcs: Sequence[str]
    """In SVG's terms: from a note to the one that replaced it."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Files and notes by sessions."""

    height: int
    width: float
    """Of a cell."""
    rows: Sequence[MatrixRow]
    xs: Sequence[Tick]
    summary: str


def matrix_of(drawn: Map, chars: int) -> Matrix | None:
    """Return files and notes by sessions, the oldest left; None without any.

    The newest sessions, and the files that most of them changed: a table has the others.
    """
    graph = matrix(drawn)
    sessions = list(reversed(graph.sessions[:_COLUMNS]))
    columns = {session.id: at for at, session in enumerate(sessions)}
    rows = [row for row in graph.rows if any(name in columns for name in row.marks)]
    if not rows:
        return None
    width = rounded(min(_CELL * 2, (WIDTH - _NAME - RIGHT) / len(sessions)))
    made = [
        _matrix_row(row, TOP + (_CELL + 2) * at + 10, width, columns, sessions, chars)
        for at, row in enumerate(rows[:_ROWS])
    ]
    right = rounded(_NAME + width * len(sessions))
    ends = [Tick(_NAME, stamp(sessions[0].at_ms)[:10])]
    ends += [Tick(right, stamp(sessions[-1].at_ms)[:10])] if len(sessions) * width > 150 else []
    files = sum(not row.is_note for row in made)
    summary = f"{counted(files, 'file')} by {counted(len(sessions), 'session')}"
    height = int(TOP + (_CELL + 2) * len(made) + 36)
    return Matrix(height=height, width=width, rows=made, xs=ends, summary=summary)


def _matrix_row(
    row: Row,
    y: float,
    width: float,
    columns: Mapping[str, int],
    sessions: Sequence[MapSession],
    chars: int,
) -> MatrixRow:
    is_note = row.id in KINDS
    cells = []
    for name, count in row.marks.items():
        if name in columns:
            session = sessions[columns[name]]
            texts = [note.text for note in row.notes if note.session_id == name] if is_note else ()
            what = "; ".join(texts) or f"{row.label} x{count}"
            goal, what = cut(one_line(session.goal), chars), cut(one_line(what), 3 * chars)
            tip = f"{stamp(session.at_ms)} {goal}: {what}"
            cells.append(
                Cell(rounded(_NAME + width * columns[name]), min(4, count), tip, one_line(name[:ID_CHARS]))
            )
    label = row.label if len(row.label) <= _NAME_CHARS else f"…{row.label[1 - _NAME_CHARS :]}"
    return MatrixRow(
        one_line(label), y, is_note, cells, list(_arcs(row, y, width, columns)) if is_note else ()
    )


def _arcs(row: Row, y: float, width: float, columns: Mapping[str, int]) -> Iterator[str]:
    """Yield an arc from each note to the one that replaced it, where they are of two sessions."""
    home = {note.id: note.session_id for note in row.notes}
    for note in row.notes:
        old, new = columns.get(note.session_id), columns.get(home.get(note.replaced_by, ""))
        if old is not None and new is not None and old != new:
            begin, end = (rounded(_NAME + width * (at + 0.5)) for at in (old, new))
            yield f"M{begin:g} {y:g}Q{rounded((begin + end) / 2):g} {y - 12:g} {end:g} {y:g}"
