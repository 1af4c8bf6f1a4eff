"""One job being done: a checkpoint of the store, a process beside the owner, the commit of what that found.

The owner computes nothing of it: hooks are served while it runs, and until the commit, which is one step, the
store knows nothing of it. The commit has a thread of its own: it holds the memory, so that whoever wants that
waits, but not the hooks that want none.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from context_graph import watchdog
from context_graph.dream import checkpoint, messages
from context_graph.dream.commit import commit
from context_graph.dream.modes import UNMEASURED, Consciousness, effective
from context_graph.dream.plan import Goal, Mode
from context_graph.dream.prepared import Prepared
from context_graph.dream.progress import Update
from context_graph.dream.request import Request
from context_graph.dream.result import Result
from context_graph.errors import ContextGraphError, OwnerError, TookTooLongError
from context_graph.owner.dream_child import Child
from context_graph.owner.dream_goals import found_view
from context_graph.owner.dream_jobs import Job, Kind, Order
from context_graph.store.failures import translate
from context_graph.watchdog import Piece, TookTooLong

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.owner.store_context import StoreContext

__all__ = ["Admission", "Run", "admit"]

_SWITCH_S: Final = 0.0005
"""How long the commit's thread keeps the interpreter while a hook wants it. Of Python's own 5 ms a hook of a
few steps would wait for several."""

_SILENT: Final = 30
"""How many times the limit of a piece of work the process may use without a word: its stages are long."""

Outcome = Mapping[str, Any] | Exception
Open = Callable[[], "StoreContext"]
"""The run's store, opened again if it was closed meanwhile."""


class Admission:
    """What the gate said to an order, and the parameters as they will be run."""

    __slots__ = ("consciousness", "request")

    def __init__(self, order: Order, consciousness: Consciousness) -> None:
        """Ask the gate.

        Raises:
            InvalidParamsError: A parameter that is none; a mode that ``order.strict`` wants and C forbids.
        """
        mode = effective(order.mode, consciousness, strict=order.strict, any_state=order.any_state)
        self.consciousness = consciousness
        self.request = Request(mode=mode, **order.params)


def admit(order: Order, context: StoreContext) -> Admission:
    """Ask the gate with the consciousness of the order's session, or of the one saved last."""
    live = context.sessions.get(order.session_id) if order.session_id else None
    live = live or context.sessions.latest()
    measured = live is not None and live.has_evidence
    return Admission(order, Consciousness.of(live.metrics) if live and measured else UNMEASURED)


class Run:
    """A job while it is done.

    Args:
        open_store: Gives the store's context whenever it is needed.
        ended: Called once, when the job's outcome is known and its folder is gone; not after `cancel`.
    """

    def __init__(
        self,
        job: Job,
        admission: Admission,
        open_store: Open,
        loop: asyncio.AbstractEventLoop,
        log: logging.Logger,
        ended: Callable[[Outcome], None],
    ) -> None:
        self.job = job
        self.admission = admission
        self.committed = False
        """It went through for real, with or without anything to change."""
        self.goals: Sequence[Goal] = ()
        """Those that the store has since the commit."""
        self.finishing = False
        """Its result is being read and committed: it can't be cancelled any more."""
        self._finisher: threading.Thread | None = None
        self._outcome: Outcome | None = None
        self._overdue: asyncio.TimerHandle | None = None
        self.began_ms = time.time_ns() // 1_000_000
        self._open_store = open_store
        self._loop = loop
        self._log = log
        self._ended = ended
        self._child: Child | None = None
        self.folder = checkpoint.run_folder(job.order.place.store, job.id)
        """Where it works; it goes when the run is over."""

    @property
    def pid(self) -> int | None:
        """Of the process that computes it."""
        return None if self._child is None else self._child.pid

    @property
    def mode(self) -> Mode:
        """The mode that runs."""
        return self.admission.request.mode

    def begin(self) -> None:
        """Take the checkpoint and start the process.

        Raises:
            StoreError, OwnerError: It can't be done; nothing is left of it.

        Cost: some 20 ms: what was written last is flushed, and a process is made.
        """
        order = self.job.order
        context = self._open_store()
        context.memory_hooks.tidy()
        with context.memory.core.turn("checkpoint", writes=True) as core:
            checkpoint.take(core.store, self.folder)
        task = messages.Task(
            request=self.admission.request,
            goals=messages.GoalSearch(**order.goals) if order.kind is Kind.GOALS else None,
        )
        try:
            self._child = Child(
                self.folder,
                messages.write_line(task),
                self._loop,
                limit_s=_SILENT * context.settings.work_limit_s,
                on_line=self._on_update,
                on_end=self._on_end,
            )
        except OSError as error:
            checkpoint.discard(self.folder)
            raise OwnerError(f"no process for the consolidation: {error}") from error

    def cancel(self, then: Callable[[], None]) -> None:
        """End it; nothing of it stays. ``then`` is called when its process is gone."""
        if self._child is None:
            then()
            return

        def gone() -> None:
            checkpoint.discard(self.folder)
            then()

        self._child.kill(gone)

    def wait(self) -> Outcome | None:
        """Block until a cancelled run's process is gone, or a commit done: for an owner that leaves.

        Returns:
            The outcome of one that was being committed; `ended` is not called for it any more.
        """
        if self._child is not None:
            self._child.wait()
        if self._finisher is not None:
            self._finisher.join()
        checkpoint.discard(self.folder)
        outcome, self._outcome = self._outcome, None
        return outcome

    def _on_update(self, update: Update) -> None:
        self.job.told(update.fraction, update.stage)

    def _on_end(self, last: messages.Ready | ContextGraphError) -> None:
        if isinstance(last, ContextGraphError):
            self._over(last)
        elif self.job.order.kind is Kind.GOALS:
            piece = Piece("reading what goals were found", str(self.job.order.place.store))
            self._over(self._tried(lambda: watchdog.run(piece, self._found)))
        else:
            self.finishing = True
            self.job.told(1.0, "commit" if not self.job.order.dry_run else "reading")
            memex = self._tried(lambda: self._open_store().memory)
            if isinstance(memex, Exception):
                self._over(memex)
                return
            self._finisher = threading.Thread(target=self._finish, args=(memex,), name="commit")
            self._finisher.start()
            # As long by the clock as any piece of work may last: a merge takes 0.1 ms.
            limit_s = 6 * self._open_store().settings.work_limit_s
            self._overdue = self._loop.call_later(limit_s, self._end_finisher, limit_s)

    def _over(self, outcome: Outcome) -> None:
        checkpoint.discard(self.folder)
        self._ended(outcome)

    def _tried(self, work: Callable[[], Any]) -> Any:
        """What ``work`` gives, or the exception that a caller is to be told."""
        try:
            return work()
        except ContextGraphError as error:
            return error
        except TookTooLong as ended:
            return TookTooLongError(str(ended))
        except Exception as error:  # a bug of ours must not leave a job that never ends
            self._log.exception("consolidation of %s", self.job.order.place.store.name)
            return OwnerError(f"the consolidation failed: {type(error).__name__}; the owner's log says more")

    def _finish(self, memex: Memex) -> None:
        """In its thread: apply what was found, and have the loop told."""
        try:
            with _switching():
                self._outcome = self._tried(lambda: self._finished(memex))
        except _OverdueError:
            self._outcome = TookTooLongError(
                "the commit came to no end and was ended; `memory runs` says whether it is done all the same"
            )
        checkpoint.discard(self.folder)
        with suppress(RuntimeError):  # the loop is closed: `wait` hands the outcome over
            self._loop.call_soon_threadsafe(self._hand_over)

    def _end_finisher(self, limit_s: float) -> None:
        """The commit's thread comes to no end: end it between two steps; RocksDB's write is one."""
        thread = self._finisher
        if thread is not None and thread.ident is not None and thread.is_alive():
            self._log.error("dream %s: its commit came to no end within %g s", self.job.id[:8], limit_s)
            _raise_in(thread.ident, _OverdueError)

    def _hand_over(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
        outcome, self._outcome = self._outcome, None
        if outcome is not None:
            self._over(outcome)

    def _found(self) -> dict[str, Any]:
        """The goals that the process found."""
        plan = messages.read_plan(_bytes(self.folder / messages.PLAN))
        return found_view(self._open_store(), self.job.order.session_id, plan)

    def _finished(self, memex: Memex) -> dict[str, Any]:
        """What the process found, applied unless it is a dry run."""
        order = self.job.order
        prepared = Prepared.from_bytes(_bytes(self.folder / messages.PREPARED))
        if order.dry_run:
            return self._result(prepared.plan, prepared.memories_after)
        began = time.perf_counter()
        done = commit(memex, prepared, details=self._details())
        self.committed, self.goals = True, done.plan.goals
        self._log.info(
            "dream %s store=%s trigger=%s mode=%s commit_ms=%.1f",
            self.job.id[:8],
            order.place.store.name,
            order.trigger,
            self.mode,
            1000.0 * (time.perf_counter() - began),
        )
        if done.token is not None:
            memex.save()  # figures can't be brought up over a run: else the next opening makes them anew
        return self._result(done.plan, done.memories, undo_token=done.token, skipped=done.skipped)

    def _details(self) -> dict[str, Any]:
        order = self.job.order
        return {
            "requested_mode": order.mode.value,
            "trigger": order.trigger.value,
            "session_id": order.session_id,
            "consciousness": self.admission.consciousness.consciousness_level,
        }

    def _result(self, plan: Any, memories: int, **more: Any) -> dict[str, Any]:
        return Result(
            plan=plan,
            requested_mode=self.job.order.mode,
            consciousness=self.admission.consciousness,
            dry_run=self.job.order.dry_run,
            final_memory_count=memories,
            duration_ms=time.time_ns() // 1_000_000 - self.began_ms,
            **more,
        ).as_dict()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise translate(error, path) from error


class _OverdueError(BaseException):
    """Raised in the commit's thread; no handler of ordinary errors may keep it."""


def _raise_in(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


@contextmanager
def _switching() -> Iterator[None]:
    """Have the interpreter change threads often meanwhile."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
