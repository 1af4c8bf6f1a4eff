"""Finds what the client's own memory says already: its MEMORY.md is in the model's context from the start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from context_graph.claude.transcripts import MEMORY_INDEX, memory_of

_LINES: Final = 200
_BYTES: Final = 25_000
"""What the client loads of it: the first 200 lines, 25 KB at most."""
_TOGETHER: Final = 3
"""Lines in which a memory may be said."""
_SHARE: Final = 0.9
_LEAST: Final = 4
"""Words of a memory that is looked for; fewer are in every file."""


class SaidAlready:
    """The words of one project's MEMORY.md, read anew when it has changed. Not thread-safe."""

    def __init__(self, project: str | None, env: Mapping[str, str]) -> None:
        self._path = memory_of(Path(project), env) / MEMORY_INDEX if project else None
        self._seen = (0, 0)
        self._windows: list[set[str]] = []

    def says(self, text: str) -> bool:
        """Return whether nine in ten words of ``text`` are there, near each other. Cost: a stat, and 1 ms at
        most."""
        self._read()
        words = _words(text) if self._windows else set()
        if len(words) < _LEAST:
            return False
        return any(len(words & window) >= _SHARE * len(words) for window in self._windows)

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            stat = os.stat(self._path)
            if (stat.st_mtime_ns, stat.st_size) == self._seen:
                return
            handle = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                lines = file.read(_BYTES).decode("utf-8", "replace").splitlines()[:_LINES]
        except OSError:
            self._seen, self._windows = (0, 0), []
            return
        self._seen = (stat.st_mtime_ns, stat.st_size)
        words = [_words(line) for line in lines]
        self._windows = [set().union(*words[i : i + _TOGETHER]) for i in range(len(words))]


def _words(text: str) -> set[str]:
    spread = "".join(char if char.isalnum() else " " for char in text.lower())
    return set(spread.split())
