"""Lists, follows and undoes what is undone as one: consolidations, and what commands and tools did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from uuid import UUID

from context_graph.memory import runs
from context_graph.memory.core import Core
from context_graph.memory.runs import Undone
from context_graph.model.memory import MemoryNode
from context_graph.store.graph.history import Act, Run


class Undoing:
    """The part of a memory that undoes."""

    _core: Core

    def runs(self, limit: int = 50, *, acts: bool = False) -> Sequence[Run]:
        """Return the newest consolidations and undos, newest first; ``acts``: also what commands and tools
        did."""
        with self._core.operation("runs") as core:
            kept = core.store.history.all_runs() if acts else core.store.history.runs()
            return list(islice(kept, limit))

    def changed_by(self, run: Run) -> tuple[Sequence[MemoryNode], int]:
        """Return the first few memories that a run changed, as they are now, and how many there are."""
        with self._core.operation("runs") as core:
            return runs.memories_of(core, run)

    @contextmanager
    def acting(self, act: Act) -> Iterator[None]:
        """Let all that is changed meanwhile be undone as one, by the token of ``act`` (`runs.new_act`)."""
        with self._core.operation("act", writes=True) as core, runs.acting(core, act):
            yield

    def undo(self, token: UUID | str | None = None, by: str = "library") -> Undone:
        """Undo a consolidation or an act: all becomes as it was, except what was changed since.

        What it added is forgotten, softly.

        Args:
            token: Its token or the beginning of it; None for the last change that is not undone.
            by: Who undoes it: cli, tool or library.

        Raises:
            GraphQueryError: No such change is kept, or it was undone already.
            InvalidParamsError: Not a token, or the beginning of several.
            StoreError: The write failed; nothing is changed.

        Cost: some 0.3 ms for each memory that it changed.
        """
        with self._core.operation("undo", writes=True) as core:
            return runs.undo(core, token, by)
