"""Defines a note: one thing that a session leaves for later ones, of a kind, with what it is quoted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class NoteKind(StrEnum):
    """What a note is about; the values are the words of `memory list --kind`."""

    RULE = "rule"
    DECISION = "decision"
    LESSON = "lesson"
    CHANGE = "change"
    WAY = "way"
    OPEN = "open"
    FINDING = "finding"


KIND: Final = "kind"
"""Key of a memory's metadata that says its kind; a session's summary has none."""
NOTE: Final = "note"
"""Key of a note's metadata that has what belongs to its kind."""
NAMES: Final = "names"
"""Key in that: files that the note speaks of beside its own -> symbols in them by which it does."""
TOLD_AT_FILES: Final = (NoteKind.CHANGE, NoteKind.LESSON, NoteKind.FINDING)
MAX_NOTE_CHARS: Final = 1600
OPEN_KEY: Final = "open"
"""What the note of a session's open ends rests on."""
EVERYWHERE: Final = "everywhere"
"""Scope of what holds in all projects of its user."""


@dataclass(frozen=True, slots=True)
class Note:
    """One note; ``text`` has at most MAX_NOTE_CHARS characters."""

    kind: NoteKind
    text: str
    key: str
    """What it rests on, the same whenever the note is made anew: with the session it names the note."""
    at_ms: int
    events: tuple[int, ...] = ()
    """Numbers of the events that it is quoted from."""
    files: tuple[str, ...] = ()
    """Files that it is about, as the session names them."""
    symbols: tuple[str, ...] = ()
    scope: str = ""
    """Where a rule holds, as it says: EVERYWHERE, project or user; "" for the project."""
    said_by: str = ""
    """Whose words it quotes: user, assistant, subagent, web, command."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What only its kind has, as JSON values."""


def kind_of_memory(metadata: Mapping[str, Any]) -> NoteKind | None:
    """Return the kind that a memory's metadata names; None for one that has none, or one that nobody
    knows."""
    named = metadata.get(KIND)
    try:
        return NoteKind(named) if isinstance(named, str) else None
    except ValueError:
        return None
