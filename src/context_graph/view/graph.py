"""Arranges the map: rules, decisions, solved failures and files by the sessions in which they came about.

A graph in which each place means something: a column is a session, a row a file or a kind of note, a mark in
it an edge. A picture with lines between all of them can't be read from some hundred nodes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from context_graph.view.rows import Map, MapNote, MapSession

KINDS: Final = {"rule": "rules", "decision": "decisions", "lesson": "failures solved"}
"""Kinds of notes in their order, as their rows are called."""
NAMES: Final = {"lesson": "failure solved"}
"""What one note is called, where that is not its kind."""
DEEDS: Final = {"rule": "said in", "decision": "decided in", "lesson": "solved in"}
"""What leads from a note to its session."""


class Row(NamedTuple):
    """A file, or a kind of note."""

    id: str
    """A file's path; of notes their kind."""
    label: str
    marks: Mapping[str, int]
    """Session -> changes of the file there, or notes."""
    notes: Sequence[MapNote]
    """Those of the kind, or about the file; the newest first."""


class Matrix(NamedTuple):
    """Sessions by what came about in them."""

    sessions: Sequence[MapSession]
    """The newest first: those that have a mark."""
    rows: Sequence[Row]
    """Kinds of notes, then files, those that most sessions changed first; a word has its files first."""


def matrix(drawn: Map, word: str = "", since_ms: int = 0) -> Matrix:
    """Return the map of what came since a time, of the files and notes that have ``word`` in any case."""
    wanted = word.casefold()

    def has(text: str) -> bool:
        return wanted in text.casefold()

    sessions = [session for session in drawn.sessions if session.at_ms >= since_ms]
    notes = [
        note
        for note in reversed(drawn.notes)
        if note.at_ms >= since_ms and (has(note.text) or any(map(has, note.files)))
    ]
    kinds, files = _kinds(notes), _files(sessions, notes, has)
    rows = [*files, *kinds] if word else [*kinds, *files]
    marked = {name for row in rows for name in row.marks}
    return Matrix([session for session in reversed(sessions) if session.id in marked], rows)


def _kinds(notes: Sequence[MapNote]) -> list[Row]:
    rows = []
    for kind, label in KINDS.items():
        own = [note for note in notes if note.kind == kind]
        marks: dict[str, int] = {}
        for note in own:
            if note.session_id:
                marks[note.session_id] = marks.get(note.session_id, 0) + 1
        rows += [Row(kind, label, marks, own)] if own else []
    return rows


def _files(sessions: Sequence[MapSession], notes: Sequence[MapNote], has: Callable[[str], bool]) -> list[Row]:
    marks: dict[str, dict[str, int]] = {}
    for session in reversed(sessions):
        for path, count in session.files.items():
            if has(path):
                marks.setdefault(path, {})[session.id] = count
    about: dict[str, list[MapNote]] = {}
    for note in notes:
        for path in note.files:
            about.setdefault(path, []).append(note)
    order = sorted(marks, key=lambda path: -len(marks[path]))  # of equals the one that was changed last
    return [Row(path, path, marks[path], about.get(path, ())) for path in order]
