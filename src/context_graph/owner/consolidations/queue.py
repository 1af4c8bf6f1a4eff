"""Queues consolidations, requested ones and the owner's own, and runs one process beside it at a time.

A requested one goes before the owner's own and is not interrupted. The owner's own are cancelled by the first
query that comes and repeated at the next quiet time. Everything here is called on the loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from context_graph.config import Settings
from context_graph.errors import ContextGraphError, InvalidInputError, OwnerError, TookTooLongError
from context_graph.owner.chores import SetAside
from context_graph.owner.consolidations.schedule import Schedule
from context_graph.owner.jobs import (
    Job,
    JobState,
    LastRun,
    OnDone,
    OnProgress,
    Outcome,
    Place,
    ScheduledRun,
    Trigger,
)
from context_graph.owner.sessions.store_context import CONSOLIDATION
from context_graph.system import watchdog
from context_graph.system.watchdog import Piece, TookTooLong
from context_graph.wire.frames import Request

if TYPE_CHECKING:
    from context_graph.consolidation.plan import Mode
    from context_graph.owner.consolidations.run import Execution
    from context_graph.owner.sessions.store_context import StoreContext

Made = TypeVar("Made")

_WAITING_MOST: Final = 16
"""Jobs that wait; one more is refused."""
_SOON_S: Final = 5.0
"""An owner whose next run may begin so soon is not idle."""
_LEFT_S: Final = 2.0
"""Seconds between removing what a dead owner's run left and looking whether that was all."""
_LEAVING: Final = "the owner is stopping; nothing was changed, try again"


class Stores(Protocol):
    """The methods of the owner's service that this module uses."""

    def contexts(self) -> Iterable[StoreContext]: ...
    def open_place(self, place: Place) -> StoreContext: ...
    def drop(self, folder: Path) -> None: ...
    def aside_of(self, folder: Path) -> SetAside: ...
    def tidy(self) -> bool: ...


class Consolidations:
    """All consolidations of one owner. Before `begin` every request is refused."""

    def __init__(self, stores: Stores, settings: Settings, log: logging.Logger) -> None:
        self._stores = stores
        self._settings = settings
        self._log = log
        self._schedule: Schedule | None = None
        self._queue: deque[Job] = deque()
        self._last_runs: dict[Path, LastRun] = {}
        self._running: Execution | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Accept requests from now on."""
        self._schedule = Schedule(
            loop,
            self._stores.contexts,
            self._last_run,
            start=self._fulfil,
            free=lambda: self._running is None and not self._queue,
            log=self._log,
        )

    def consolidate(
        self,
        request: Request,
        params: Mapping[str, Any],
        *,
        session_id: str | None = None,
        on_progress: OnProgress | None = None,
        on_done: OnDone | None = None,
        any_state: bool = False,
    ) -> Job:
        """Consolidate the store that ``request`` names; at once, unless another run is under way.

        Args:
            params: mode, salience_threshold, max_memories, dry_run, strict; what is missing has its default.
                Or goals, with min_confidence and max_goals: a search for them, which changes nothing.
            session_id: Whose consciousness opens the gate; None: that of the session saved last.
            on_progress: Called on the way.
            on_done: Called once at the end, after this has returned; not if the job is cancelled.
            any_state: Run the mode asked for whatever the consciousness is.

        Raises:
            InvalidParamsError: A parameter is wrong, or ``strict`` and the mode is not allowed now.
            StoreError: The store can't be opened.
            OwnerError: Too many runs wait, or the owner is leaving.
        """
        from context_graph.consolidation.messages import GoalSearch, mode_of

        if self._schedule is None:
            raise OwnerError(_LEAVING)
        if request.store is None or not request.store.is_absolute():
            raise InvalidInputError("the request names no store; field 5 must be an absolute path")
        if len(self._queue) >= _WAITING_MOST:
            raise OwnerError(f"{_WAITING_MOST} consolidations are waiting already; try again later")
        options = dict(params)
        if "goals" in options:  # it forgets and merges nothing: no state forbids to look
            options = {"mode": "rem", "goals": GoalSearch(**options["goals"]), "dry_run": True}
            any_state = True
        place, mode = Place(request.store, request.project), mode_of(options.pop("mode", "light"))
        job = self._admitted(
            self._stores.open_place(place),
            place,
            mode,
            options,
            any_state=any_state,
            session_id=session_id,
            on_progress=on_progress,
            on_done=on_done,
        )
        self._queue.append(job)
        self._give_way()
        self._soon()
        return job

    def available(self, store: Path) -> bool:
        """Return whether a consolidation of that store could begin now."""
        if self._schedule is None or len(self._queue) >= _WAITING_MOST:
            return False
        asked = list(self._queue)
        if self._running is not None and self._running.job.trigger is Trigger.ASKED:
            asked.append(self._running.job)
        return all(job.place.store != store for job in asked)

    def activity(self) -> None:
        """Note a request of somebody at work."""
        if self._schedule is not None:
            self._schedule.busy_at = self._schedule.loop.time()

    def query(self) -> None:
        """Cancel a run of the owner's own at once: a request needs the memories."""
        self.activity()
        self._give_way()

    def session_ended(self, store: Path, parent_pid: int) -> None:
        """Note a session's end, whose hook process ``parent_pid`` or a shell of it called."""
        if self._schedule is not None and parent_pid > 0:
            from context_graph.system.processes import client_pid

            self._schedule.session_ended(store, client_pid(parent_pid))

    def opened(self, store: Path) -> None:
        """Remove from a store that was just opened what runs of a dead owner left in its folder."""
        if not (store / "dream").is_dir():
            return
        from context_graph.consolidation import messages

        here = None if self._running is None else self._running.folder
        left = [folder for folder in messages.leftovers(store) if folder != here]
        for folder in left:
            messages.discard(folder)
            self._log.info("removed what an unfinished dream left: %s", folder)
        if left and self._schedule is not None:
            # Its process may still be about to notice that its owner is gone, and write until then.
            self._schedule.loop.call_later(_LEFT_S, self.opened, store)

    def look(self) -> None:
        """Check after answers whether they left anything to be done."""
        if self._schedule is not None and not self.finishing:
            self._schedule.look()

    @property
    def finishing(self) -> bool:
        """Whether a thread is committing a run: requests for that store's memory then wait for it."""
        return self._running is not None and self._running.finishing

    @property
    def busy(self) -> bool:
        """Whether a run is under way or about to be, so that the owner should stay."""
        if self._running is not None or self._queue:
            return True
        return self._schedule is not None and self._schedule.soon(_SOON_S)

    def stop(self) -> None:
        """End every run, with nothing changed, and start none. Safe to call twice."""
        schedule, self._schedule = self._schedule, None
        if schedule is None:
            return
        schedule.stop()
        left = list(self._queue)
        self._queue.clear()
        execution, self._running = self._running, None
        if execution is not None:
            left.append(execution.job)
            if not execution.finishing:
                execution.cancel(lambda: None)
            outcome = execution.wait()
            if outcome is not None:
                self._conclude(execution, outcome)
        for job in left:
            job.finish(OwnerError(_LEAVING))

    def unattended(self, store: Path) -> str:
        """Return in a sentence what unasked runs did that no session has reported yet; "" for nothing."""
        try:
            return self._last_run(store).tell()
        except OSError as error:  # reported now, and then once more
            self._log.error("the notes of the last dream: %s", error)
            return ""

    def view(self) -> dict[str, Any]:
        """For `owner status`."""
        return {
            "running": self._running_view(),
            "waiting": len(self._queue),
            "scheduled": [] if self._schedule is None else self._schedule.view(),
        }

    def store_view(self, context: StoreContext) -> dict[str, Any]:
        """For `memory stats`: what runs, what is scheduled, what was, of one store."""
        settings = context.settings
        here = self._running is not None and self._running.job.place.store == context.folder
        return {
            "automatic": settings.dream,
            "after_session_end": settings.dream_session_end,
            "when_idle": settings.dream_idle,
            "idle_s": settings.dream_idle_s,
            "running": self._running_view() if here else None,
            "scheduled": [] if self._schedule is None else self._schedule.view(context.folder),
            "requests": len(context.store.dream_queue.pending()),
            "last": self._last_run(context.folder).notes or None,
        }

    def _running_view(self) -> dict[str, Any] | None:
        execution = self._running
        if execution is None or execution.job.over:  # its process may take a moment to go
            return None
        job = execution.job
        view = {**job.view(), "trigger": job.trigger.value}
        return {
            **{name: view[name] for name in ("job", "kind", "trigger", "done", "total", "stage")},
            "store": job.place.store.name,
            "mode": job.request.mode,
            "dry_run": job.dry_run,
            "pid": execution.pid,
            "since_ms": job.started_ms,
        }

    def _last_run(self, store: Path) -> LastRun:
        if store not in self._last_runs:
            self._last_runs[store] = LastRun(store)
        return self._last_runs[store]

    def _admitted(
        self,
        context: StoreContext,
        place: Place,
        mode: Mode,
        params: dict[str, Any],
        *,
        session_id: str | None,
        any_state: bool = False,
        **more: Any,
    ) -> Job:
        """Return a job that passes the gate, with the consciousness of that session, or of the one saved
        last.

        Raises InvalidParamsError for an unknown parameter, or a mode that is wanted strictly and C forbids.
        """
        from context_graph.consolidation.messages import UNMEASURED, Consciousness, Request, allowed_mode

        gate = UNMEASURED
        live = (context.sessions.get(session_id) if session_id else None) or context.sessions.latest()
        if live is not None and live.has_evidence:
            measured = live.metrics
            gate = Consciousness(
                integration_score=measured.integration,
                reflection_depth=measured.reflection,
                differentiation_index=measured.differentiation,
                consciousness_level=measured.consciousness,
            )
        strict, dry_run = params.pop("strict", False), params.pop("dry_run", False)
        allowed = allowed_mode(mode, gate, strict=strict, any_state=any_state)
        return Job(
            kind="goals" if "goals" in params else "consolidate",
            place=place,
            requested_mode=mode,
            request=Request(mode=allowed, **params),
            consciousness=gate,
            session_id=session_id,
            dry_run=dry_run,
            withdraw=self._withdraw,
            **more,
        )

    def _withdraw(self, job: Job) -> bool:
        """Cancel a job for its caller; returns whether that was still possible."""
        execution = self._running
        if execution is not None and execution.job is job:
            if execution.finishing:
                return False
            execution.cancel(self._gone)
        self._queue = deque(queued for queued in self._queue if queued is not job)
        return True

    def _give_way(self) -> None:
        """End the owner's own run, if one is under way, and schedule it again."""
        execution = self._running
        if execution is None or self._schedule is None or execution.finishing or execution.job.over:
            return
        scheduled = execution.job.scheduled
        if scheduled is None:
            return
        execution.job.become(JobState.CANCELLED)
        self._schedule.gave_way(scheduled)
        execution.cancel(self._gone)
        self._log.info("dream %s gave way to a query", execution.job.name)

    def _gone(self) -> None:
        self._running = None
        self._next()

    def _soon(self) -> None:
        """Continue in the loop's next iteration."""
        if self._schedule is not None:
            self._schedule.loop.call_soon(self._next)

    def _next(self) -> None:
        if self._running is not None or self._schedule is None:
            return
        if self._queue:
            self._start(self._queue.popleft())
        else:
            self._schedule.look()
            self._schedule.plan()

    def _fulfil(self, scheduled: ScheduledRun) -> None:
        place, began_ms = scheduled.place, time.time_ns() // 1_000_000
        try:
            what = "the opening of a store for its consolidation"
            context = self._watched(what, place, lambda: self._stores.open_place(place))
            if not context.memory_count():
                from context_graph.owner.consolidations.aftermath import answer_requests

                answer_requests(context, began_ms, self._log)
                self._soon()
                return
            params: dict[str, Any] = {"unattended": True}
            job = self._admitted(
                context, place, scheduled.mode, params, session_id=scheduled.session_id, scheduled=scheduled
            )
        except ContextGraphError as error:
            self._refused(scheduled, error)
            self._soon()
            return
        self._start(job)

    def _watched(self, what: str, place: Place, work: Callable[[], Made]) -> Made:
        """Return ``work`` in bounded time. Raises TookTooLongError: ended; the store is to be read anew."""
        try:
            return watchdog.run(Piece(what, str(place.store)), work)
        except TookTooLong as ended:
            self._stores.drop(place.store)
            raise TookTooLongError(str(ended)) from ended

    def _start(self, job: Job) -> None:
        from context_graph.owner.consolidations.run import Execution

        assert self._schedule is not None
        execution = Execution(
            job,
            lambda: self._stores.open_place(job.place),
            self._schedule.loop,
            self._log,
            lambda outcome: self._ended(execution, outcome),
        )
        try:
            self._watched("the beginning of a consolidation", job.place, execution.begin)
        except ContextGraphError as error:
            execution.cancel(lambda: None)
            self._ended(execution, error)
            return
        self._running = execution
        job.become(JobState.RUNNING)
        named = job.name, job.place.store.name, job.trigger, job.request.mode, execution.pid
        self._log.info("dream %s begins store=%s trigger=%s mode=%s pid=%s", *named)

    def _ended(self, execution: Execution, outcome: Outcome) -> None:
        """Report a finished run to those that wait, and begin the next."""
        self._running = None
        if isinstance(outcome, Exception):
            job = execution.job
            notes = "; ".join(("", *getattr(outcome, "__notes__", ())))
            self._log.error("dream %s of %s: %s%s", job.name, job.place.store.name, outcome, notes)
            if isinstance(outcome, TookTooLongError):
                self._stores.drop(job.place.store)
            if job.scheduled is not None:
                self._refused(job.scheduled, outcome)
        self._conclude(execution, outcome)
        self._stores.tidy()
        self._soon()

    def _conclude(self, execution: Execution, outcome: Outcome) -> None:
        if execution.committed and not isinstance(outcome, Exception):
            self._follow_up(execution, outcome)
        execution.job.finish(outcome)

    def _follow_up(self, execution: Execution, result: Mapping[str, Any]) -> None:
        """Record a successful run, and answer the requests that waited for it."""
        from context_graph.owner.consolidations.aftermath import follow_up

        job, cooldown_s = execution.job, float(self._settings.dream_cooldown_s)

        def work() -> float:
            context = self._stores.open_place(job.place)
            last = self._last_run(job.place.store)
            follow_up(job, result, context, last, self._log)
            context.tell_followers()
            return float(context.settings.dream_cooldown_s)

        try:
            cooldown_s = self._watched("what follows a consolidation", job.place, work)
        except (ContextGraphError, OSError) as error:  # the run stands all the same
            self._log.error("after dream %s: %s", job.name, error)
        if self._schedule is not None:
            self._schedule.done(job.place, job.request.mode, cooldown_s)

    def _refused(self, scheduled: ScheduledRun, error: Exception) -> None:
        self._log.error("dream for %s of %s: %s", scheduled.trigger, scheduled.place.store.name, error)
        what = f"the owner's own consolidation ({scheduled.trigger})"
        circumstance = isinstance(error, ContextGraphError) and error.retryable
        if not circumstance and self._stores.aside_of(scheduled.place.store).failed(
            CONSOLIDATION, what, str(error)
        ):
            return
        if self._schedule is not None:
            self._schedule.failed(scheduled, float(self._settings.dream_cooldown_s))
