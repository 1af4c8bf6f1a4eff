"""A run of a consolidation as the owner knows it: what is to be done, why, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

if TYPE_CHECKING:
    from context_graph.dream.plan import Mode

__all__ = ["WHOLE", "Job", "JobState", "Kind", "OnDone", "OnProgress", "Order", "Place", "Trigger"]

WHOLE = 1000
"""The total that a job's progress is told of."""

OnProgress = Callable[[int, int, str], None]
"""(done, total, stage in a word)."""
OnDone = Callable[[Mapping[str, Any] | Exception], None]
"""The result as JSON, or why there is none."""


class Trigger(StrEnum):
    """Why a run happens; those after the first are the owner's own, in order of urgency."""

    ASKED = "asked"
    CRISIS = "crisis"
    ENTROPY = "entropy"
    SESSION_END = "session_end"
    IDLE = "idle"

    @property
    def automatic(self) -> bool:
        """Whether nobody waits for it: it gives way to queries."""
        return self is not Trigger.ASKED


class Kind(StrEnum):
    """What a run gives."""

    CONSOLIDATE = "consolidate"
    GOALS = "goals"


class JobState(StrEnum):
    """Where a run is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


class Place(NamedTuple):
    """A store and the project it was made for."""

    store: Path
    project: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run where."""

    place: Place
    mode: Mode
    """As asked for; the gate decides when the run is accepted (asked for) or begins (automatic)."""
    kind: Kind = Kind.CONSOLIDATE
    trigger: Trigger = Trigger.ASKED
    session_id: str | None = None
    """Whose consciousness opens the gate; None: the session that was saved last."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The rest of what was asked for, by the names of `dream.request.Request`."""
    goals: Mapping[str, Any] = field(default_factory=dict)
    """Of a search for goals, by the names of `dream.messages.GoalSearch`."""
    dry_run: bool = False
    strict: bool = False
    any_state: bool = False
    """A person at the command line who wants that mode whatever the state is."""


class Job:
    """One run from its being asked for to its end. The owner alone writes to it."""

    def __init__(
        self,
        order: Order,
        *,
        on_progress: OnProgress | None = None,
        on_done: OnDone | None = None,
        withdraw: Callable[[Job], bool],
    ) -> None:
        self.id = uuid4().hex
        self.order = order
        self.state = JobState.QUEUED
        self.done = 0
        """Of WHOLE."""
        self.stage = ""
        self.result: Mapping[str, Any] | None = None
        self.error: Exception | None = None
        self.began_ms = time.time_ns() // 1_000_000
        self.ended_ms = 0
        self._on_progress = on_progress
        self._on_done = on_done
        self._withdraw = withdraw

    def cancel(self) -> None:
        """End it, with nothing changed, and without a call of `on_done`.

        One that is over stays as it is, and so does one that is being committed: it will be told as usual.
        """
        if not self.state.over and self._withdraw(self):
            self.end(JobState.CANCELLED)
            self._on_done = self._on_progress = None

    def told(self, fraction: float, stage: str) -> None:
        """It is that far, in [0, 1]."""
        self.done, self.stage = int(WHOLE * fraction), stage
        if self._on_progress is not None:
            self._on_progress(self.done, WHOLE, stage)

    def finish(self, outcome: Mapping[str, Any] | Exception) -> None:
        """It has ended; whoever waits is told. Later calls change nothing."""
        if self.state.over:
            return
        if isinstance(outcome, Exception):
            self.end(JobState.FAILED)
            self.error = outcome
        else:
            self.end(JobState.DONE)
            self.done, self.result = WHOLE, outcome
        on_done, self._on_done, self._on_progress = self._on_done, None, None
        if on_done is not None:
            on_done(outcome)

    def end(self, state: JobState) -> None:
        """It is over."""
        self.state = state
        self.ended_ms = time.time_ns() // 1_000_000

    def view(self) -> dict[str, Any]:
        """As JSON, for whoever asks how far it is."""
        view: dict[str, Any] = {
            "job": self.id,
            "kind": self.order.kind.value,
            "trigger": self.order.trigger.value,
            "state": self.state.value,
            "done": self.done,
            "total": WHOLE,
            "stage": self.stage,
        }
        if self.result is not None:
            view["result"] = self.result
        if self.error is not None:
            view["error"] = str(self.error)
        return view
