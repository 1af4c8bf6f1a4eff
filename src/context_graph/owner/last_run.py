"""Notes a store's last consolidation, and what runs that nobody asked for have changed unseen."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from context_graph.consolidation import FOLDER
from context_graph.system.small_files import replacing

_NAME: Final = "last.json"
_UNTOLD: Final = "untold"
_KEPT: Final = 4
"""Most runs that are reported with their tokens; `memory runs` lists earlier ones."""
_TOKEN_CHARS: Final = 8
_TELLS: Final = {"merged_count": "merged", "pruned_count": "forgotten", "links_made_count": "linked"}


class LastRun:
    """Notes in a small file beside the store's database; nothing depends on them."""

    def __init__(self, store: Path) -> None:
        self._path = store / FOLDER / _NAME
        self.notes: dict[str, Any] = {}
        """Mode, trigger, times, counts, and the store's change number after it."""
        with suppress(OSError, orjson.JSONDecodeError):  # none yet, or damaged: at worst one run more
            notes = orjson.loads(self._path.read_bytes())
            if isinstance(notes, dict):
                self.notes = notes

    @property
    def seq(self) -> int:
        """The store's change number after its last successful run; -1 before the first."""
        seq = self.notes.get("seq")
        return seq if type(seq) is int else -1

    def write(self, notes: dict[str, Any], *, asked: bool) -> None:
        """Record a run; one that was not ``asked`` for and changed something is to be reported.

        Raises OSError if it can't be written; the notes in memory hold all the same.
        """
        untold = self._untold()
        if not asked and notes.get("undo_token") and any(notes.get(name) for name in _TELLS):
            untold = [*untold, {name: notes.get(name) for name in (*_TELLS, "undo_token")}][-_KEPT:]
        self._write({**notes, _UNTOLD: untold})

    @property
    def is_to_be_told(self) -> bool:
        """Whether a run that nobody asked for changed something that was not reported yet."""
        return bool(self._untold())

    def tell(self) -> str:
        """Return what those runs did and how to take it back, in one sentence; "" for nothing. Then it is
        told.

        Raises OSError as `write`.
        """
        runs = self._untold()
        if not runs:
            return ""
        self._write({**self.notes, _UNTOLD: []})
        counts = {word: sum(int(run.get(name) or 0) for run in runs) for name, word in _TELLS.items()}
        did = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        tokens = [str(run["undo_token"])[:_TOKEN_CHARS] for run in reversed(runs)]
        undo = "; ".join(f"context-graph-cli memory undo {token}" for token in tokens)
        return f"While nobody worked here, memories were tidied: {did}. To take it back: {undo}."

    def _untold(self) -> list[dict[str, Any]]:
        rows = self.notes.get(_UNTOLD)
        rows = rows if isinstance(rows, list) else []
        return [row for row in rows if isinstance(row, dict) and isinstance(row.get("undo_token"), str)]

    def _write(self, notes: dict[str, Any]) -> None:
        self.notes = notes
        os.makedirs(self._path.parent, mode=0o700, exist_ok=True)
        with replacing(self._path) as file:
            file.write(orjson.dumps(notes))
