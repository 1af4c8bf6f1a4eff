"""Describes consolidations to the owner: what is to be done, why, how far it is, and what the last one did.

Crises and ended sessions write requests into the store's durable queue, so that neither a busy time nor the
owner's death loses them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

import orjson

from context_graph.consolidation import FOLDER
from context_graph.system.small_files import replacing

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


# The last run of a store, and what runs that nobody asked for have changed unseen

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
