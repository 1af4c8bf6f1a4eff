"""Holds a command that failed, with what was run and edited since, as far as it is still there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from context_graph.notes.edits.rows import are_incidental
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

EDIT: Final = "edit of "
"""How a step begins that is an edit."""
STEPS: Final = 6
_LINES: Final = 40
_LINE_CHARS: Final = 120
_SAYS: Final = linear(r"\w")
_COUNTS: Final = linear(
    r"(?i)^\W*(?:\w+\W+){0,2}\d+ (?:errors?|fail\w*|tests?|problems?)(?:\W|$)|\((?:\w+=\d+(?:, )?)+\)$|"
    r"(?i)^\W*(?:\w+: +\d+(?:\.\d+)?\w?[,.;]? *){2,}$|"
    r"(?i)(?:\d+ (?:passed|failed|ignored|skipped|errors?)[;,.]? ?){2}"
)


@dataclass(slots=True)
class Edit:
    """An edit of a file, as far as it is still there."""

    path: str
    line: str
    """The first line that was put there."""
    put: list[int]
    """Marks of the lines that it put there."""
    took: list[int]
    """Marks of those that it took away."""

    @property
    def step(self) -> str:
        """What is told of it."""
        return f"{EDIT}{self.path}" + (f": {self.line}" if self.line else "")

    @classmethod
    def of(cls, path: str, line: str, put: Collection[str], took: Collection[str]) -> Edit:
        """Make one of whole lines; without ``line``, the first of them that says something is told."""
        line = line or next((each for each in put if _SAYS.found(each) and not are_incidental([each])), "")
        return cls(path, shortened(line, _LINE_CHARS), _marks(put or [line]), _marks(took))

    def undoes(self, known: Edit) -> bool:
        """Return whether nothing is left of an earlier edit."""
        if not set(known.put) <= set(self.took):
            return False
        return bool(known.put) or bool(known.took and set(known.took) <= set(self.put))


@dataclass(slots=True)
class Failure:
    """A command that failed and has not worked since."""

    command: str
    error: str
    number: int
    """The number of the event of its last failure."""
    at_ms: int
    times: int = 1
    ran: list[str] = field(default_factory=list)
    """Commands that worked since."""
    edits: list[Edit] = field(default_factory=list)
    """What was edited since."""
    tests: list[str] = field(default_factory=list)
    """Tests that failed the last time."""
    unseen: bool = False
    """Whether something ran since that may have changed files, nobody knows which."""

    @property
    def edited(self) -> list[str]:
        """Files that were edited since, each with what was put there."""
        return list(dict.fromkeys(edit.step for edit in reversed(self.edits)))[::-1]

    @property
    def files(self) -> list[str]:
        """The files that were edited since."""
        return list(dict.fromkeys(edit.path for edit in self.edits))

    def add(self, edit: Edit) -> None:
        """Take in an edit; what it undoes of earlier ones is no step any more."""
        put, took, restores = set(edit.put), set(edit.took), False
        for known in [known for known in self.edits if known.path == edit.path and edit.undoes(known)]:
            self.edits.remove(known)
            restores = restores or put <= set(known.took)
            took |= set(known.took)
        if not restores:
            self.edits = [*self.edits, Edit(edit.path, edit.line, edit.put, sorted(took)[:_LINES])][-STEPS:]


def counts_only(error: str) -> bool:
    """Return whether an error's line says how many failed, and not what."""
    return _COUNTS.found(error)


def _marks(lines: Collection[str]) -> list[int]:
    return [crc32(line.encode("utf-8", "replace")) for line in [*lines][:_LINES] if line]


def exchanged(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines that an edit put somewhere, and those that it took away; without blanks around
    them."""
    before = [line for line in map(str.strip, old.splitlines()) if line]
    after = [line for line in map(str.strip, new.splitlines()) if line]
    return [line for line in after if line not in before], [line for line in before if line not in after]
