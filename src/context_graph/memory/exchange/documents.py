"""Reads what other programs keep as memories: Markdown notes by their headings, a memory server's graph, and
the observations and session summaries of one project in the SQLite database of claude-mem.

Input from outside: files have limits, links are not followed, and what can't be read is counted. The database
is opened read-only, its schema is not trusted, and each row has a limit of size and time.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import UUID

import orjson

from context_graph.claude.transcripts import MEMORY_INDEX
from context_graph.model.edge import MAX_RELATIONSHIP_CHARS, GraphEdge

MAX_BYTES: Final = 4 << 20
"""Bytes of one file of notes."""
MAX_GRAPH_BYTES: Final = 64 << 20
PART_CHARS: Final = 4_000
"""Characters of one memory: a longer part of a note becomes several."""
_FENCES: Final = ("```", "~~~")
_CUTS: Final = ("\n\n", "\n", ". ", "。", " ")
_LEAST_CHARS: Final = 20
"""A heading alone is no memory."""


class Note(NamedTuple):
    """A text that is to be a memory; the same id whenever it is read again."""

    id: UUID
    text: str
    at_ms: int
    where: str
    """File and heading, or the entity's name."""


def notes_of(path: Path, source: str, odd: Counter[str]) -> Iterator[Note]:
    """Yield the parts of a Markdown file between its headings of the first two levels, without front matter.

    Raises OSError where it can't be read.
    """
    text, at_ms = _read(path, MAX_BYTES, odd)
    if path.name == MEMORY_INDEX:  # its lines that link to notes say nothing that the notes do not
        text = "\n".join(line for line in text.splitlines() if ".md)" not in line)
    for heading, number, part in _parts(_body(text)):
        yield Note(note_id(source, str(path), heading, number), part, at_ms, f"{path.name}: {heading}"[:200])


def graph_of(path: Path, odd: Counter[str]) -> Iterator[Note | GraphEdge]:
    """Entities and relations of the reference memory server's JSON lines: a memory each, and links.

    An entity is told by its name, kind and observations; relations come after all entities.
    """
    text, at_ms = _read(path, MAX_GRAPH_BYTES, odd)
    ids: dict[str, UUID] = {}
    relations: list[dict[str, Any]] = []
    for line in text.splitlines():
        row = _object(line)
        name = row.get("name") if row else None
        if row is not None and row.get("type") == "relation":
            relations.append(row)
        elif row is not None and row.get("type") == "entity" and isinstance(name, str) and name.strip():
            ids[name] = note_id("server-memory", "", name, 0)
            yield Note(ids[name], _entity(name, row), at_ms, name[:200])
        else:
            odd["lines"] += bool(line.strip())
    for relation in relations:
        ends, kind = (
            (ids.get(str(relation.get("from"))), ids.get(str(relation.get("to")))),
            relation.get("relationType"),
        )
        if ends[0] is None or ends[1] is None or ends[0] == ends[1] or not isinstance(kind, str):
            odd["lines"] += 1
            continue
        named = kind.replace("\0", "").strip()[:MAX_RELATIONSHIP_CHARS] or "related_to"
        edge_id = note_id("server-memory", f"{ends[0]}{ends[1]}", named, 1)
        yield GraphEdge(
            id=edge_id,
            source_id=ends[0],
            target_id=ends[1],
            relationship_type=named,
            created_at_ms=at_ms,
            last_traversed_ms=at_ms,
        )


def _read(path: Path, most: int, odd: Counter[str]) -> tuple[str, int]:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        stat = os.fstat(handle)
        if stat.st_size > most:
            odd["files"] += 1
            return "", 0
        return file.read(most).decode("utf-8", "replace").replace("\0", ""), int(stat.st_mtime * 1000)


def _body(text: str) -> str:
    """Return ``text`` without the front matter that it may begin with."""
    if text.startswith("---\n"):
        end = text.find("\n---\n", 3)
        return text[end + 5 :] if end >= 0 else text
    return text


def _parts(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield (heading, number of the part below it, text with the heading) of all that say something."""
    heading, lines, fence = "", list[str](), ""
    for line in text.splitlines():
        begins = line.lstrip()
        if fence:  # a comment of a script is no heading
            fence = "" if begins.startswith(fence) else fence
        elif begins.startswith(_FENCES):
            fence = begins[:3]
        elif line.startswith(("# ", "## ")):
            yield from _numbered(heading, "\n".join(lines).strip())
            heading, lines = line, []
        lines.append(line)
    yield from _numbered(heading, "\n".join(lines).strip())


def _numbered(heading: str, whole: str) -> Iterator[tuple[str, int, str]]:
    if len(whole) - len(heading) >= _LEAST_CHARS:
        for number, part in enumerate(cut_up(whole, PART_CHARS)):
            yield heading.lstrip("# "), number, part


def cut_up(text: str, limit: int) -> list[str]:
    """Return ``text`` in parts of at most ``limit`` characters, cut where a line, sentence or word ends."""
    parts = []
    while len(text) > limit:
        half = text[limit // 2 : limit]
        mark = next((mark for mark in _CUTS if mark in half), "")
        at = limit // 2 + half.rfind(mark) + len(mark) if mark else limit
        parts.append(text[:at].rstrip())
        text = text[at:].lstrip()
    return [*parts, text] if text else parts


def _entity(name: str, row: dict[str, Any]) -> str:
    kind = row.get("entityType")
    seen = row.get("observations")
    observations = [text for text in seen if isinstance(text, str)] if isinstance(seen, list) else []
    head = f"{name} ({kind})" if isinstance(kind, str) and kind else name
    return "\n".join([head, *(f"- {text}" for text in observations)])[: 4 * PART_CHARS]


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def note_id(source: str, place: str, name: str, number: int) -> UUID:
    """Return the id that what stands at a place of another program always has here."""
    name_bytes = "\0".join((source, place, name, str(number))).encode("utf-8", "replace")
    return UUID(bytes=blake2b(name_bytes, digest_size=16, person=b"imported-note").digest(), version=5)


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
