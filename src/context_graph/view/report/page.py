"""Lays a report out as one HTML file that loads nothing and runs nothing but its own script.

The policy in the file names script and style by their hashes. Texts reach the page through Jinja's escaping
and the script through JSON that it writes into text nodes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

import jinja2
import msgspec
from markupsafe import Markup

from context_graph.text.units import counted
from context_graph.view.graph import KINDS, Row, matrix
from context_graph.view.health import NUMBERS
from context_graph.view.report import charts, tables
from context_graph.view.report.charts import RIGHT, TOP, WIDTH, Tick, rounded
from context_graph.view.report.gather import MEMORIES, Report, day
from context_graph.view.report.tables import ID_CHARS, cut, stamp
from context_graph.view.rows import TEXT_CHARS, WHOLE_CHARS, Map, MapSession, RunRow, SessionDetail
from context_graph.view.safe import one_line, shown
from context_graph.view.text import sentence

MARK: Final = b'<!doctype html>\n<html lang="en" data-made-by="context-graph report">'
"""What each report begins with."""
MOST_BYTES: Final = 1_950_000
_SIZES: Final = (
    *(
        (chars, MEMORIES)
        for chars in (WHOLE_CHARS, 1000, 500, 300, 220, *range(TEXT_CHARS, 30, -5), 30, 20, 12)
    ),
    *((12, MEMORIES // share) for share in (2, 4, 8)),
)
"""How much of each text is shown, and how many memories: the first that leaves the file below the limit."""
_EVENTS: Final = 30
_TIP_CHARS: Final = 80
_ENDS: Final = {
    "missing": "The session before that is not in the store.",
    "damaged": "The session before that is damaged.",
    "cycle": "The session before that is one of these.",
    "limit": "There are more before that.",
}
"""Why a chain ends, where it does not end at a first session."""
_ESCAPES: Final = (
    ("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"),
)  # fmt: skip


def render(report: Report) -> bytes:
    """Return the file, UTF-8: the same bytes for the same rows, and below 2 MB whatever they hold.

    Cost: some 0.1 s for 10,000 memories; six times that where texts must be cut to fit.
    """
    made = tables.tables_of(report)
    page = _rendered(report, made, *_SIZES[0])
    if len(page) <= MOST_BYTES:
        return page
    low, high = 1, len(_SIZES) - 1
    while low < high:
        at = (low + high) // 2
        low, high = (low, at) if len(_rendered(report, made, *_SIZES[at])) <= MOST_BYTES else (at + 1, high)
    return _rendered(report, made, *_SIZES[low])


def _rendered(report: Report, made: Mapping[str, tables.Table], chars: int, most: int) -> bytes:
    style, script = _asset("report.css"), _asset("report.js")
    tip_chars = min(chars, _TIP_CHARS)
    text = _environment().get_template("page.html.j2").render(
        report=report,
        policy=_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        name=report.health.project.rstrip("/").rpartition("/")[2] or report.health.project,
        since="" if report.since_ms is None else day(report.since_ms),
        chars=chars if chars < WHOLE_CHARS else 0,
        text_chars=chars,
        most=most,
        events=_EVENTS,
        ends=_ENDS,
        numbers=NUMBERS,
        effect=sentence(report.effect),
        tables={name: table.cut_to(chars, most) for name, table in made.items()},
        charts={
            "days": charts.bars(report.ledger.days),
            "map": matrix_of(report.map, tip_chars),
            "drift": charts.drift_line(report.map.drift),
        },
        details=[
            (detail, charts.session_line(detail, tip_chars), _session(detail)) for detail in report.details
        ],
    )  # fmt: skip
    return text.encode("utf-8", "backslashreplace")


def _session(detail: SessionDetail) -> str:
    """Return the headline of a session."""
    row = detail.row
    level = f", IC {row.ic:.2f} ({row.ic_level})" if row.ic is not None else ""
    return f"{tables.stamp(row.last_ms)}: {detail.goal or row.goal or 'no prompt'}{level}"


def _counts(row: RunRow) -> str:
    """Return what a run did, in figures."""
    return ", ".join(f"{count} {name}" for name, count in row.counts.items() if count) or "nothing changed"


def _policy(style: str, script: str) -> str:
    """Nothing may load, run, be sent or be made of text but our own style and script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _embedded(value: Any) -> str:
    """Return JSON that no parser of HTML takes for an end of the script or a comment."""
    text = msgspec.json.encode(value).decode("utf-8")
    for sign, escaped in _ESCAPES:
        text = text.replace(sign, escaped)
    return text


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters.update(
        stamp=tables.stamp,
        cut=lambda text, chars: tables.cut(one_line(text), chars),
        embedded=lambda table: Markup(_embedded(table.data())),
        counts=_counts,
    )
    return environment


def _finalized(value: Any) -> Any:
    """Return what the page shows of a value: what turns the direction of reading is shown, not obeyed."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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
    """Return files and notes by sessions, the newest left; None without any.

    The newest sessions, and the files that most of them changed: a table has the others.
    """
    graph = matrix(drawn)
    sessions = graph.sessions[:_COLUMNS]
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
    row: Row, y: float, width: float, columns: Mapping[str, int], sessions: Sequence[MapSession], chars: int
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
