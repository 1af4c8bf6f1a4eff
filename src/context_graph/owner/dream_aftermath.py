"""What follows a consolidation that went through: notes, answered requests, goals that sessions take up."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from context_graph.owner.dream_jobs import Place

if TYPE_CHECKING:
    from context_graph.owner.dream_notes import DreamNotes
    from context_graph.owner.dream_run import Run
    from context_graph.owner.store_context import StoreContext

__all__ = ["Aftermath", "Opener"]

_NOTED: Final = (
    *("merged_count", "pruned_count", "links_made_count", "reweighted_count"),
    *("final_memory_count", "duration_ms", "undo_token"),
)


class Opener(Protocol):
    """Whoever has the stores."""

    def open_place(self, place: Place) -> StoreContext:
        """That store, opened if it was closed."""
        ...


class Aftermath:
    """For all stores of one owner; keeps the notes of each store's last run."""

    def __init__(self, stores: Opener, log: logging.Logger) -> None:
        self._stores = stores
        self._log = log
        self._notes: dict[Path, DreamNotes] = {}

    def notes(self, store: Path) -> DreamNotes:
        """Of the store's last run."""
        from context_graph.owner.dream_notes import DreamNotes

        if store not in self._notes:
            self._notes[store] = DreamNotes(store)
        return self._notes[store]

    def done(self, run: Run, result: Mapping[str, Any]) -> float:
        """Do all of it for a run with that result; the seconds until the owner's own next one in this store.

        Raises:
            StoreError, OSError: Something of it could not be written; the run stands all the same.
        """
        order = run.job.order
        context = self._stores.open_place(order.place)
        self.answered(order.place, run.began_ms)
        if run.goals:
            from context_graph.owner.goal_identity import adopt_goals

            adopted = adopt_goals(context, run.goals)
            self._log.info("dream %s: %d sessions took goals up", run.job.id[:8], adopted)
        self.notes(order.place.store).write(
            {
                "trigger": order.trigger.value,
                "mode": run.mode.value,
                "requested_mode": order.mode.value,
                "began_ms": run.began_ms,
                "ended_ms": time.time_ns() // 1_000_000,
                "seq": context.memory_seq(),
                **{name: result.get(name) for name in _NOTED},
            }
        )
        return float(context.settings.dream_cooldown_s)

    def answered(self, place: Place, before_ms: int) -> None:
        """The requests that were made before then are off the queue."""
        from context_graph.owner.dream_answers import answer_requests

        found = answer_requests(self._stores.open_place(place), before_ms)
        if found:
            self._log.info("dream: store=%s answered %d requests", place.store.name, len(found))
