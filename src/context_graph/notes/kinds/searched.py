"""Writes the text by which a session is found beside its summary: names, commands, errors; never shown."""

from __future__ import annotations

from typing import Final

from context_graph.notes.gather import Gathered

MAX_CHARS: Final = 2400


def searched_text(gathered: Gathered) -> str:
    """Return what a session is found by, the most telling first: its prompts, files, symbols, errors,
    commands."""
    parts: dict[str, None] = {}
    for turn in gathered.turns:
        parts[turn.prompt] = None
        for path, names in turn.files.symbols.items():
            parts[" ".join((path, *names))] = None
        for text, role, _ in turn.words:
            if role in ("cause", "fix", "decision"):
                parts[text] = None
    for lesson in gathered.failures.lessons:
        parts[lesson.failure.error] = None
    for command in gathered.programs:
        parts[command] = None
    kept, room = list[str](), MAX_CHARS
    for part in parts:
        if part and len(part) + 1 <= room:
            kept.append(part)
            room -= len(part) + 1
    return "\n".join(kept)
