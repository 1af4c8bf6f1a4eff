"""Reads the SQLite database of claude-mem: observations and session summaries of one project.

Input from outside: it is opened read-only, its schema is not trusted, and each row has a limit of size and
time.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson

from context_graph.memory.exchange.documents import PART_CHARS, Note, note_id

_ROW_BYTES: Final = 1 << 20
_ROW_S: Final = 0.5
"""A table may be a view that computes for ever."""
_OPS: Final = 10_000
_ROWS: Final = 100_000
_SHOWN: Final = 8
"""Files of one observation that its memory names."""
_TEXTS: Final = {
    "observations": ("title", "subtitle", "narrative", "text"),
    "session_summaries": ("request", "investigated", "learned", "completed", "next_steps", "notes"),
}
_LISTS: Final = ("facts", "files_modified", "files_edited")
_LABELS: Final = {
    "request": "Goal",
    "investigated": "Looked into",
    "learned": "Learned",
    "completed": "Done",
    "next_steps": "Next",
    "notes": "Notes",
}


def observations_of(path: Path, project: str, odd: Counter[str]) -> Iterator[Note]:
    """Yield the rows of ``project``, the name of its folder, as notes; ``odd`` counts `rows` without a text.

    Raises OSError where it is no such database, or can't be read.
    """
    until = [time.monotonic() + _ROW_S]
    try:
        with sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1.0) as database:
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ROW_BYTES)
            database.execute("PRAGMA trusted_schema = OFF")
            database.set_progress_handler(lambda: int(time.monotonic() > until[0]), _OPS)
            for table in _TEXTS:
                for row in _rows(database, table, project, until):
                    note = _note(table, row)
                    odd["rows"] += note is None
                    if note is not None:
                        yield note
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise OSError(f"{path}: {error}") from error


def _rows(
    database: sqlite3.Connection, table: str, project: str, until: list[float]
) -> Iterator[dict[str, Any]]:
    has = {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}
    if not {"id", "project"} <= has:
        return
    wanted = ("id", "memory_session_id", "created_at_epoch", *_TEXTS[table], *_LISTS)
    names = [name for name in wanted if name in has]
    query = f"SELECT {', '.join(names)} FROM {table} WHERE project = ? ORDER BY id LIMIT {_ROWS}"
    selected = database.execute(query, (project,))
    while True:
        until[0] = time.monotonic() + _ROW_S
        row = selected.fetchone()
        if row is None:
            return
        yield dict(zip(names, row, strict=True))


def _note(table: str, row: dict[str, Any]) -> Note | None:
    texts = {name: " ".join(row[name].split()) for name in _TEXTS[table] if isinstance(row.get(name), str)}
    lines = [f"{_LABELS[name]}: {text}" if name in _LABELS else text for name, text in texts.items() if text]
    if not lines:
        return None
    lines += [f"- {fact}" for fact in _listed(row.get("facts"))]
    files = [*_listed(row.get("files_modified")), *_listed(row.get("files_edited"))][:_SHOWN]
    if files:
        lines.append(f"Changed: {', '.join(files)}")
    at = row.get("created_at_epoch")
    at_ms = int(at) if isinstance(at, int | float) and 0 <= at < 1e15 else 0
    if at_ms < 1e11:  # seconds, in earlier versions
        at_ms *= 1000
    named = note_id("claude-mem", f"{table} {row.get('memory_session_id')}", str(row["id"]), 0)
    return Note(named, "\n".join(lines)[:PART_CHARS].replace("\0", ""), at_ms, lines[0][:200])


def _listed(value: object) -> list[str]:
    """Return the texts of a JSON list."""
    try:
        items = orjson.loads(value) if isinstance(value, str) else []
    except orjson.JSONDecodeError:
        return []
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
