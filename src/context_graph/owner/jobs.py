"""Describes consolidations to the owner: what is to be done, why, and how far it is.

Crises and ended sessions write requests into the store's durable queue, so that neither a busy time nor the
owner's death loses them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

if TYPE_CHECKING:
    from context_graph.consolidation.messages import Consciousness, Request
    from context_graph.consolidation.plan import Mode
    from context_graph.model import SessionIdentitySnapshot

WHOLE: Final = 1000
"""The total that progress counts up to."""
_WHY: Final = "why"
"""The field of a queued request that has its trigger; a request without it is a crisis's, as all once
were."""

Outcome = Mapping[str, Any] | Exception
"""The result as JSON, or why there is none."""
OnProgress = Callable[[int, int, str], None]
"""(done, total, stage in a word)."""
OnDone = Callable[[Outcome], None]


class Trigger(StrEnum):
    """The reason for a run; those after the first are the owner's own, in order of urgency."""

    ASKED = "asked"
    CRISIS = "crisis"
    ENTROPY = "entropy"
    SESSION_END = "session_end"
    IDLE = "idle"


class JobState(StrEnum):
    """The state of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Place(NamedTuple):
    """A store and the project it was made for."""

    store: Path
    project: Path | None


@dataclass(slots=True)
class ScheduledRun:
    """A run that the owner wants."""

    place: Place
    trigger: Trigger
    mode: Mode
    session_id: str | None = None
    not_before: float = 0.0
    aborts: int = 0
    """How often it gave way to a query."""
    waits_for_client: bool = False
    """The client whose session ended is still there."""


@dataclass(slots=True, kw_only=True, eq=False)
class LongWork:
    """Work that a client waits for, from request to end; an `operations.context.Job`."""

    kind: str
    """consolidate, goals or question."""
    state: JobState = JobState.QUEUED
    stage: str = ""
    on_progress: OnProgress | None = None
    on_done: OnDone | None = None
    on_change: Callable[[], None] | None = None
    """Called after each change; set by the connection that passes it on."""

    id: str = field(default_factory=lambda: uuid4().hex, init=False)
    done: int = field(default=0, init=False)
    """Progress, out of WHOLE."""
    result: Mapping[str, Any] | None = field(default=None, init=False)
    error: Exception | None = field(default=None, init=False)

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state not in (JobState.QUEUED, JobState.RUNNING)

    def taken_back(self) -> bool:
        """Take it back, if that is still possible; return whether it was."""
        return True

    def cancel(self) -> None:
        """End it, with nothing changed, and without a call of `on_done`.

        One that is over stays as it is, and so does one that is being committed: its end comes as usual.
        """
        if not self.over and self.taken_back():
            self.on_done = self.on_progress = None
            self.become(JobState.CANCELLED)

    def advance(self, fraction: float, stage: str) -> None:
        """Note its progress, in [0, 1]."""
        self.done, self.stage = int(WHOLE * fraction), stage
        if self.on_progress is not None:
            self.on_progress(self.done, WHOLE, stage)
        self.become(self.state)

    def finish(self, outcome: Outcome) -> None:
        """End it and notify those that wait. Later calls change nothing."""
        if self.over:
            return
        on_done, self.on_done, self.on_progress = self.on_done, None, None
        if isinstance(outcome, Exception):
            self.error = outcome
            self.become(JobState.FAILED)
        else:
            self.done, self.result = WHOLE, outcome
            self.become(JobState.DONE)
        if on_done is not None:
            on_done(outcome)

    def become(self, state: JobState) -> None:
        """Note its state, and tell whoever waits."""
        self.state = state
        if self.on_change is not None:
            self.on_change()

    def view(self) -> dict[str, Any]:
        """Return it as JSON, for clients that wait for it."""
        view: dict[str, Any] = {
            **{"job": self.id, "kind": self.kind, "state": self.state.value},
            **{"done": self.done, "total": WHOLE, "stage": self.stage},
        }
        if self.result is not None:
            view["result"] = self.result
        if self.error is not None:
            view["error"] = str(self.error)
        return view


@dataclass(slots=True, kw_only=True, eq=False)
class Job(LongWork):
    """A consolidation, or a search for goals."""

    place: Place
    requested_mode: Mode
    request: Request
    """What runs, after the gate."""
    consciousness: Consciousness
    """What the gate went by."""
    scheduled: ScheduledRun | None = None
    """What it fulfils, if the owner itself wants it."""
    session_id: str | None = None
    dry_run: bool = False
    withdraw: Callable[[Job], bool]
    """Takes it back; whether that was still possible."""
    started_ms: int = field(default=0, init=False)

    @property
    def trigger(self) -> Trigger:
        """The reason for the run."""
        return Trigger.ASKED if self.scheduled is None else self.scheduled.trigger

    @property
    def name(self) -> str:
        """The job's name in the log."""
        return self.id[:8]

    def taken_back(self) -> bool:
        """Take it back, unless it is being committed."""
        return self.withdraw(self)


def session_end_request(snapshot: SessionIdentitySnapshot) -> dict[str, object]:
    """Return the request that an ended session leaves in the queue."""
    return {
        "session_id": snapshot.session_id,
        "ic": snapshot.last_ic,
        "at_ms": time.time_ns() // 1_000_000,
        _WHY: Trigger.SESSION_END.value,
    }


def trigger_of(request: Mapping[str, object]) -> Trigger:
    """Return the reason for a queued request."""
    return Trigger.SESSION_END if request.get(_WHY) == Trigger.SESSION_END.value else Trigger.CRISIS
