"""Shortens and trims what notes of several kinds are made of."""

from __future__ import annotations

from typing import Final

from context_graph.model.note import MAX_NOTE_CHARS
from context_graph.notes.changes import Files, is_test
from context_graph.notes.gather import Gathered
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened_lines

_LABELLED: Final = linear(r"(?i)^(?:root )?(?:cause|fix|solution|decision|tested|done)\s*[:：]\s*")
_PLANS: Final = "/.claude/plans/"
"""Where the client keeps the plans that it shows to the user: they are decisions, not changes."""


def cut(text: str) -> str:
    """Return as many lines of ``text`` as a note may have."""
    return text if len(text) <= MAX_NOTE_CHARS else shortened_lines(text.splitlines(), MAX_NOTE_CHARS)


def bare(text: str) -> str:
    """Return a unit without the label that its author gave it: the line has one."""
    return _LABELLED.sub("", text)


def ended(text: str) -> str:
    """Return a sentence with a stop at its end."""
    return text if text[-1:] in ".!。！:" else f"{text}."


def told_files(gathered: Gathered, files: Files) -> dict[str, list[str]]:
    """Return a turn's files without scratch, which the whole session tells, the most changed first; tests
    come last.
    """
    paths = [path for path in files.of_project() if not (gathered.made.is_scratch(path) or _PLANS in path)]
    return {path: sorted(files.symbols[path], key=_tests) for path in sorted(paths, key=is_test)}


def _tests(name: str) -> bool:
    return name.lower().startswith("test")
