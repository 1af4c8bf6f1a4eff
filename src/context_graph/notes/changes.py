"""Keeps which files a session changed, what in them, and which of them were scratch."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from context_graph.notes.edits.rows import Row, with_edit
from context_graph.text.patterns import linear

MAX_FILES: Final = 48
MAX_SYMBOLS: Final = 16
_MADE: Final = 64
_SCRATCH_NAME: Final = linear(
    r"(?i)^(?:repro|scratch|tmp|temp|debug|try_|verify|check_|demo_|poc|playground|test_(?:issue|fix|repro|case|bug|edge|simple|quick))"
)
_REPRODUCES: Final = linear(r"(?i)^repro(?:$|[_-]|duc)")
"""A folder that nobody keeps, whoever made it."""
_SCRATCH_FOLDER: Final = linear(r"(?i)^(?:repro|scratch|tmp|temp|debug|sandbox|playground|poc)")
_SCRIPT: Final = frozenset(
    {".py", ".sh", ".js", ".ts", ".mjs", ".rb", ".pl", ".exs", ".go", ".rs", ".php", ".c", ".java"}
)
_TESTS: Final = frozenset({"test", "tests", "spec", "specs", "__tests__"})
_TESTED: Final = ("_test", ".test", "_spec", ".spec", "_tests")
_AWAY: Final = ("/tmp/", "/var/tmp/", "/private/tmp/")


@dataclass(slots=True)
class Files:
    """The changed files of a session or of a part of it -> functions and classes touched. Bounded."""

    symbols: dict[str, list[str]] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    """Files that the session wrote as new ones."""
    ran: list[str] = field(default_factory=list)
    """Files among `made` that the session ran as scripts."""
    lines: dict[str, int] = field(default_factory=dict)
    """Lines that were changed in each, as far as was seen."""
    edits: list[Row] = field(default_factory=list)
    """Of the last ones (`edits.rows`)."""
    gone: list[str] = field(default_factory=list)
    """Files among `made` that were removed."""

    def edited(self, path: str, old: str, new: str, place: str = "") -> None:
        """Note what an edit put in place of what (`edits.rows`)."""
        self.edits = with_edit(self.edits, path, old, new, place)

    def set_back(self, path: str) -> None:
        """Note that a file is again as it was: nothing of it is a change."""
        if path in self.symbols and path not in self.made:
            self._forget(path)

    def changed(self, path: str, symbols: list[str], *, new: bool = False, lines: int = 0) -> None:
        """Note that ``path`` was changed, what in it, and how much."""
        touch(self.symbols, path, symbols)
        self.lines[path] = self.lines.get(path, 0) + lines
        if len(self.symbols) > MAX_FILES:
            self._forget(next(iter(self.symbols)))
        self.gone = [known for known in self.gone if known != path]
        if new and path not in self.made:
            self.made = [*self.made, path][-_MADE:]

    def removed(self, path: str) -> None:
        """Note that a file is gone, or a folder with all in it: what was written and removed is no change."""
        for known in [known for known in self.symbols if known == path or known.startswith(f"{path}/")]:
            self._forget(known)
            if known in self.made:
                self.gone = [*self.gone, known][-_MADE:]

    def _forget(self, path: str) -> None:
        del self.symbols[path]
        self.lines.pop(path, None)
        self.edits = [row for row in self.edits if row[0] != path]

    def is_scratch(self, path: str) -> bool:
        """Return whether a file is no part of the project: it lies elsewhere, was made to try something
        out, or was made and removed."""
        return path in self.gone or is_scratch(path, self.made, self.ran)

    @property
    def scratch(self) -> frozenset[str]:
        """Files that were made to try something, or made and removed."""
        return frozenset(filter(self.is_scratch, self.made))

    def of_project(self) -> dict[str, list[str]]:
        """Return the files that are part of the project, the most changed first, of equals the last."""
        order = sorted(reversed(self.symbols), key=lambda path: -self.lines.get(path, 0))
        return {path: self.symbols[path] for path in order if not self.is_scratch(path)}


def touch(files: dict[str, list[str]], path: str, symbols: Iterable[str]) -> None:
    """Make ``path`` the newest of ``files``, with ``symbols`` beside those that it has."""
    files[path] = list(dict.fromkeys([*files.pop(path, ()), *symbols]))[:MAX_SYMBOLS]


def is_scratch(path: str, made: Collection[str], ran: Collection[str]) -> bool:
    """Return whether a file is no part of the project: it lies in a folder for such, or was made to try
    something.

    Args:
        made: Files that the session wrote as new ones.
        ran: Those of them that it ran.
    """
    folder, name = os.path.split(path)
    if path.startswith(_AWAY) or _is_kept_by_nobody(folder):
        return True
    if path not in made:
        return False
    if folder:
        return any(_SCRATCH_FOLDER.found(part) for part in folder.split("/"))
    return path in ran or (os.path.splitext(name)[1] in _SCRIPT and _SCRATCH_NAME.found(name))


@lru_cache(maxsize=1024)  # the same folders are asked for again and again
def _is_kept_by_nobody(folder: str) -> bool:
    return any(_REPRODUCES.found(part) for part in folder.split("/"))


def is_test(path: str) -> bool:
    """Return whether a file holds tests, by the names that such files and folders have."""
    folder, name = os.path.split(path.lower())
    stem = os.path.splitext(name)[0]
    return bool(_TESTS.intersection(folder.split("/"))) or stem.startswith("test_") or stem.endswith(_TESTED)


def changed_lines(old: str, new: str) -> set[str]:
    """Return the lines that only one of two texts has, stripped, without empty ones."""
    before, after = ({line.strip() for line in text.splitlines()} for text in (old, new))
    return (before ^ after) - {""}


def files_text(files: dict[str, list[str]], limit: int) -> str:
    """Return ``a.py (f, g); b.py``: the files with what was touched in each, as many as fit; names are never
    cut."""
    shown, room = list[str](), limit
    for path, names in files.items():
        for most in (6, 3, 0):
            part = f"{path} ({', '.join(names[:most])})" if names[:most] else path
            if len(part) + 2 <= room:
                break
        else:
            continue
        shown.append(part)
        room -= len(part) + 2
    more = len(files) - len(shown)
    return "; ".join(shown) + (f"; {more} more" if more and shown else "")
