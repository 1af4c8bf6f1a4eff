"""What is remembered of a store's last run, in a small file beside its database; nothing depends on it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import orjson

from context_graph.dream.checkpoint import FOLDER

__all__ = ["DreamNotes"]

_NOTES: Final = "last.json"


class DreamNotes:
    """The last run of one store: mode, trigger, times, counts, and the store's change number after it."""

    def __init__(self, store: Path) -> None:
        self._path = store / FOLDER / _NOTES
        self.last: dict[str, Any] = {}
        try:
            found = orjson.loads(self._path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return  # none yet, or damaged: at worst a run is made once more
        if isinstance(found, dict):
            self.last = found

    @property
    def seq(self) -> int:
        """The store's change number after its last run that went through; -1 before the first."""
        found = self.last.get("seq")
        return found if type(found) is int else -1

    def write(self, last: dict[str, Any]) -> None:
        """Note the run.

        Raises:
            OSError: It can't be written; the notes in memory hold all the same.
        """
        self.last = last
        draft = self._path.with_suffix(".new")
        os.makedirs(self._path.parent, mode=0o700, exist_ok=True)
        draft.write_bytes(orjson.dumps(last))
        os.replace(draft, self._path)
