"""Takes out of a session's findings what its other notes say already: each thing is told once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from context_graph.model.note import Note, NoteKind
from context_graph.text.patterns import linear

_WORD: Final = linear(r"\w{3,}")
_LEAST_WORDS: Final = 4
_LONGER: Final = 2.5
"""How many times as many words another line may have: in a long one most words stand by chance."""
_SHARE: Final = 0.8
"""Share of a line's words from which one line of another note says the same."""


def without_repeats(notes: Sequence[Note]) -> list[Note]:
    """Return the notes; a finding is without the lines that another note has, or an earlier finding, and is
    left out where only its head would be left. Cost: some 2 ms for a session of a hundred notes' lines.
    """
    others = [line for note in notes if note.kind is not NoteKind.FINDING for line in _lines(note)]
    kept: list[Note] = []
    for note in notes:
        if note.kind is not NoteKind.FINDING:
            kept.append(note)
            continue
        lines = note.text.splitlines()
        items = lines if len(lines) == 1 else [line for line in lines if line.startswith("- ")]
        repeats = [line for line in items if _is_told(_words(line), others)]
        others += [_words(line) for line in items if line not in repeats]
        if len(repeats) < len(items) or not items:
            kept.append(replace(note, text="\n".join(line for line in lines if line not in repeats)))
    return kept


def _lines(note: Note) -> Iterable[frozenset[str]]:
    return map(_words, note.text.splitlines())


def _words(line: str) -> frozenset[str]:
    return frozenset(match[0].casefold() for match in _WORD.finditer(line))


def _is_told(words: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    if len(words) < _LEAST_WORDS:
        return False
    return any(
        len(words & other) >= _SHARE * len(words) and (len(other) <= _LONGER * len(words) or words <= other)
        for other in others
    )
