"""Consolidations in the owner: those that somebody asks for, and its own, one process beside it at a time.

Who asks is served before the owner's own runs and is not interrupted; the owner's own give way to the first
query that comes and are made up for in the next quiet time. Everything here is called on the loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from context_graph import watchdog
from context_graph.config import Settings
from context_graph.errors import ContextGraphError, InvalidInputError, OwnerError, TookTooLongError
from context_graph.owner.dream_aftermath import Aftermath, Opener
from context_graph.owner.dream_jobs import (
    Job,
    JobState,
    Kind,
    OnDone,
    OnProgress,
    Order,
    Place,
)
from context_graph.owner.dream_known import KnownJobs, running_view
from context_graph.owner.dream_schedule import Schedule
from context_graph.owner.set_aside import SetAside
from context_graph.owner.store_context import CONSOLIDATION
from context_graph.watchdog import Piece, TookTooLong
from context_graph.wire.frames import Request

if TYPE_CHECKING:
    from context_graph.owner.dream_run import Admission, Run
    from context_graph.owner.dream_wishes import Wish
    from context_graph.owner.store_context import StoreContext

__all__ = ["Dreams", "Stores"]

_WAITING_MOST: Final = 16
"""Jobs that wait; one more is refused."""
_SOON_S: Final = 5.0
"""An owner whose next run may begin so soon is not idle."""
_LEFT_S: Final = 2.0
"""From removing what a dead owner's run left to looking whether that was all."""
_LEAVING: Final = "the owner is leaving; nothing was changed: ask again"


class Stores(Opener, Protocol):
    """What this needs of the owner's service."""

    def contexts(self) -> Iterable[StoreContext]:
        """The stores that are open."""
        ...

    def tidy(self) -> bool:
        """Do what waited for the memory."""
        ...

    def aside_of(self, folder: Path) -> SetAside:
        """What is set aside of a store."""
        ...

    def drop_place(self, place: Place) -> None:
        """Forget what is in memory of that store."""
        ...


class Dreams:
    """One for the owner's life. Before `begin` it only says that it can't."""

    def __init__(self, stores: Stores, settings: Settings, log: logging.Logger) -> None:
        self._stores = stores
        self._settings = settings
        self._log = log
        self._after = Aftermath(stores, log)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._schedule: Schedule | None = None
        self._queue: deque[tuple[Job, Admission]] = deque()
        self._jobs = KnownJobs()
        self._running: Run | None = None
        self._wish: Wish | None = None
        """What the running job fulfils, if the owner itself wanted it."""

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve from now on."""
        self._loop = loop
        self._schedule = Schedule(
            loop,
            self._stores.contexts,
            self._after.notes,
            start=self._fulfil,
            free=lambda: self._running is None and not self._queue,
            log=self._log,
        )

    # What is asked for

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
        """Have the store that ``request`` names consolidated; at once, unless another run is under way.

        Args:
            params: mode, salience_threshold, max_memories, dry_run, strict; what is missing has its default.
            session_id: Whose consciousness opens the gate; None: that of the session saved last.
            on_progress: Called on the way.
            on_done: Called once at the end, after this has returned; not if the job is cancelled.
            any_state: Run the mode asked for whatever the consciousness is.

        Raises:
            InvalidParamsError: A parameter is wrong, or ``strict`` and the mode is not allowed now.
            StoreError: The store can't be opened.
            OwnerError: Too many runs wait, or the owner is leaving.
        """
        from context_graph.dream.request import mode_of

        given = dict(params)
        order = Order(
            place=self._place(request),
            mode=mode_of(given.pop("mode", "light")),
            session_id=session_id,
            dry_run=given.pop("dry_run", False),
            strict=given.pop("strict", False),
            any_state=any_state,
            params=given,
        )
        return self._accept(order, on_progress, on_done)

    def discover_goals(
        self,
        request: Request,
        params: Mapping[str, Any],
        *,
        session_id: str | None = None,
        on_progress: OnProgress | None = None,
        on_done: OnDone | None = None,
    ) -> Job:
        """Have the store searched for goals, which changes nothing. As `consolidate`.

        Args:
            params: min_confidence, max_goals.
        """
        from context_graph.dream.plan import Mode

        order = Order(
            place=self._place(request),
            mode=Mode.REM,
            kind=Kind.GOALS,
            session_id=session_id,
            dry_run=True,
            any_state=True,  # it forgets and merges nothing: no state forbids to look
            goals=dict(params),
        )
        return self._accept(order, on_progress, on_done)

    def job(self, job_id: str) -> Job:
        """The job of that id, if it is not long over.

        Raises:
            GraphQueryError: There is none.
        """
        return self._jobs.get(job_id)

    def available(self, store: Path) -> bool:
        """Whether a consolidation of that store could begin now."""
        if self._schedule is None or len(self._queue) >= _WAITING_MOST:
            return False
        asked = [job for job, _ in self._queue]
        if self._running is not None and not self._running.job.order.trigger.automatic:
            asked.append(self._running.job)
        return all(job.order.place.store != store for job in asked)

    # What the service tells

    def activity(self) -> None:
        """A request of somebody at work has come."""
        if self._schedule is not None and self._loop is not None:
            self._schedule.busy_at = self._loop.time()

    def query(self) -> None:
        """A request that wants the memories has come: a run of the owner's own gives way, now."""
        self.activity()
        if self._wish is not None:
            self._give_way()

    def session_ended(self, store: Path, parent_pid: int) -> None:
        """The hook of a session's end, called by process ``parent_pid`` or a shell of it, is being served."""
        if self._schedule is not None and parent_pid > 0:
            from context_graph.requirements.processes import client_pid

            self._schedule.session_ended(store, client_pid(parent_pid))

    def opened(self, store: Path) -> None:
        """A store has been opened: what runs of a dead owner left in its folder goes."""
        if not (store / "dream").is_dir():
            return
        from context_graph.dream import checkpoint

        here = None if self._running is None else self._running.folder
        left = [folder for folder in checkpoint.leftovers(store) if folder != here]
        for folder in left:
            checkpoint.discard(folder)
            self._log.info("removed what an unfinished dream left: %s", folder)
        if left and self._loop is not None and self._schedule is not None:
            # Its process may still be about to notice that its owner is gone, and write until then.
            self._loop.call_later(_LEFT_S, self.opened, store)

    def look(self) -> None:
        """After answers: see what they left to be done."""
        if self._schedule is not None and not self.finishing:
            self._schedule.look()

    # Life

    @property
    def finishing(self) -> bool:
        """Whether a thread is committing a run: who wants that store's memory waits for it."""
        return self._running is not None and self._running.finishing

    @property
    def busy(self) -> bool:
        """Whether a run is under way or about to be: an owner should stay for it."""
        if self._running is not None or self._queue:
            return True
        return self._schedule is not None and self._schedule.soon(_SOON_S)

    def stop(self) -> None:
        """End what runs, with nothing changed, and begin nothing more. Safe to call twice."""
        schedule, self._schedule = self._schedule, None
        if schedule is None:
            return
        schedule.stop()
        left = [job for job, _ in self._queue]
        self._queue.clear()
        run, self._running, self._wish = self._running, None, None
        if run is not None:
            left.append(run.job)
            if not run.finishing:
                run.cancel(lambda: None)
            outcome = run.wait()
            if outcome is not None:
                self._conclude(run, outcome)
        for job in left:
            job.finish(OwnerError(_LEAVING))

    # Views

    def view(self) -> dict[str, Any]:
        """For `owner status`."""
        return {
            "running": running_view(self._running),
            "waiting": len(self._queue),
            "scheduled": [] if self._schedule is None else self._schedule.view(),
        }

    def store_view(self, context: StoreContext) -> dict[str, Any]:
        """For `memory stats`: what runs, what is scheduled, what was, of one store."""
        run, settings = self._running, context.settings
        here = run is not None and run.job.order.place.store == context.folder
        return {
            "automatic": settings.dream,
            "after_session_end": settings.dream_session_end,
            "when_idle": settings.dream_idle,
            "idle_s": settings.dream_idle_s,
            "running": running_view(self._running) if here else None,
            "scheduled": [] if self._schedule is None else self._schedule.view(context.folder),
            "requests": len(context.store.dream_queue.pending()),
            "last": self._after.notes(context.folder).last or None,
        }

    # Doing it

    def _place(self, request: Request) -> Place:
        if request.store is None or not request.store.is_absolute():
            raise InvalidInputError("the request names no store; field 5 must be an absolute path")
        return Place(request.store, request.project)

    def _accept(self, order: Order, on_progress: OnProgress | None, on_done: OnDone | None) -> Job:
        from context_graph.owner.dream_run import admit

        if self._schedule is None or self._loop is None:
            raise OwnerError(_LEAVING)
        if len(self._queue) >= _WAITING_MOST:
            raise OwnerError(f"{_WAITING_MOST} consolidations wait already; try again later")
        admission = admit(order, self._stores.open_place(order.place))
        job = Job(order, on_progress=on_progress, on_done=on_done, withdraw=self._withdraw)
        self._jobs.add(job)
        self._queue.append((job, admission))
        if self._wish is not None:
            self._give_way()
        self._soon()
        return job

    def _withdraw(self, job: Job) -> bool:
        """A job is to be cancelled by whoever asked for it; whether that is still possible."""
        run = self._running
        if run is not None and run.job is job:
            if run.finishing:
                return False
            run.cancel(self._gone)
        self._queue = deque(entry for entry in self._queue if entry[0] is not job)
        return True

    def _give_way(self) -> None:
        """End the owner's own run; it is wanted again."""
        run, wish = self._running, self._wish
        if run is None or wish is None or self._schedule is None or run.finishing:
            return
        self._wish = None
        run.job.end(JobState.CANCELLED)
        self._schedule.gave_way(wish)
        run.cancel(self._gone)
        self._log.info("dream %s gave way to a query", run.job.id[:8])

    def _gone(self) -> None:
        """The process of a cancelled run is gone."""
        self._running = None
        self._next()

    def _soon(self) -> None:
        """Go on in a turn of the loop of its own."""
        if self._loop is not None:
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        if self._running is not None or self._schedule is None:
            return
        if self._queue:
            self._start(*self._queue.popleft())
        else:
            self._schedule.look()
            self._schedule.plan()

    def _fulfil(self, wish: Wish) -> None:
        """Begin a run that the owner itself wants."""
        from context_graph.owner.dream_run import admit

        order = Order(
            place=wish.place, mode=wish.mode, trigger=wish.trigger, session_id=wish.session_id, params={}
        )
        job = Job(order, withdraw=self._withdraw)
        try:
            piece = Piece("the opening of a store for its consolidation", str(wish.place.store))
            context = watchdog.run(piece, lambda: self._stores.open_place(wish.place))
            if not context.memory_count():
                self._after.answered(wish.place, job.began_ms)
                self._soon()
                return
            admission = admit(order, context)
        except TookTooLong as ended:
            self._stores.drop_place(wish.place)
            self._refused(wish, TookTooLongError(str(ended)))
            self._soon()
            return
        except ContextGraphError as error:
            self._refused(wish, error)
            self._soon()
            return
        self._wish = wish
        self._jobs.add(job)
        self._start(job, admission)

    def _start(self, job: Job, admission: Admission) -> None:
        from context_graph.owner.dream_run import Run

        assert self._loop is not None
        place = job.order.place

        def reopen() -> StoreContext:
            return self._stores.open_place(place)

        run = Run(job, admission, reopen, self._loop, self._log, lambda outcome: self._ended(run, outcome))
        try:
            piece = Piece("the beginning of a consolidation", str(place.store))
            watchdog.run(piece, run.begin)
        except ContextGraphError as error:
            self._ended(run, error)
            return
        except TookTooLong as ended:
            run.cancel(lambda: None)
            self._stores.drop_place(place)
            self._ended(run, TookTooLongError(str(ended)))
            return
        self._running = run
        job.state = JobState.RUNNING
        self._log.info(
            "dream %s begins store=%s trigger=%s mode=%s pid=%s",
            job.id[:8],
            place.store.name,
            job.order.trigger,
            run.mode,
            run.pid,
        )

    def _ended(self, run: Run, outcome: Mapping[str, Any] | Exception) -> None:
        """A run has come to its end; whoever waits is told, and the next begins."""
        wish, self._wish, self._running = self._wish, None, None
        if isinstance(outcome, Exception):
            notes = "; ".join(("", *getattr(outcome, "__notes__", ())))
            self._log.error(
                "dream %s of %s: %s%s", run.job.id[:8], run.job.order.place.store.name, outcome, notes
            )
        if isinstance(outcome, TookTooLongError):
            self._stores.drop_place(run.job.order.place)
        if isinstance(outcome, Exception) and wish is not None:
            self._refused(wish, outcome)
        self._conclude(run, outcome)
        self._stores.tidy()
        self._soon()

    def _conclude(self, run: Run, outcome: Mapping[str, Any] | Exception) -> None:
        if run.committed and not isinstance(outcome, Exception):
            self._dreamt(run, outcome)
        run.job.finish(outcome)

    def _dreamt(self, run: Run, result: Mapping[str, Any]) -> None:
        """It went through for real: note it, and answer the requests that waited for it."""
        try:
            piece = Piece("what follows a consolidation", str(run.job.order.place.store))
            cooldown_s = watchdog.run(piece, lambda: self._after.done(run, result))
        except TookTooLong as ended:
            self._log.error("after dream %s: %s", run.job.id[:8], ended)
            self._stores.drop_place(run.job.order.place)
            cooldown_s = float(self._settings.dream_cooldown_s)
        except (ContextGraphError, OSError) as error:  # the run stands all the same
            self._log.error("after dream %s: %s", run.job.id[:8], error)
            cooldown_s = float(self._settings.dream_cooldown_s)
        if self._schedule is not None:
            self._schedule.done(run.job.order.place, run.mode, cooldown_s)

    def _refused(self, wish: Wish, error: Exception) -> None:
        self._log.error("dream for %s of %s: %s", wish.trigger, wish.place.store.name, error)
        what = f"the owner's own consolidation ({wish.trigger})"
        circumstance = isinstance(error, ContextGraphError) and error.retryable
        if not circumstance and self._stores.aside_of(wish.place.store).failed(
            CONSOLIDATION, what, str(error)
        ):
            return
        if self._schedule is not None:
            self._schedule.failed(wish, float(self._settings.dream_cooldown_s))
