"""Runs one consolidation: a checkpoint of the store, a process beside the owner, a commit.

The owner computes none of it: hooks are served while it runs, and until the commit, which is one step, the
store is unchanged. `consolidation.messages` describes what the process sends; the event loop reads it without
waiting. The commit has a thread of its own: it holds the memory, so requests that need memory wait, but hooks
that don't need it go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from context_graph.consolidation import messages
from context_graph.consolidation.commit import Prepared, commit
from context_graph.consolidation.progress import Update
from context_graph.errors import ContextGraphError, OwnerError, TookTooLongError
from context_graph.owner.consolidations.aftermath import found_view
from context_graph.owner.jobs import Job, Outcome
from context_graph.store.engine.failures import translate
from context_graph.system import watchdog
from context_graph.system.processes import processor_s
from context_graph.system.watchdog import Piece, TookTooLong

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.owner.sessions.store_context import StoreContext

_SWITCH_S: Final = 0.0005
"""How long the commit's thread keeps the interpreter while a hook wants it. Of Python's own 5 ms a hook of a
few steps would wait for several."""
_SILENT: Final = 30
"""How many times the limit of a piece of work the process may use without a word: its stages are long."""
_RECV_BYTES: Final = 64 * 1024
_LINE_MAX: Final = 64 * 1024
"""Bytes of one line; an update has some hundred."""
_REAP_S: Final = 0.005
"""Between two looks at a process that has closed its output and is about to be gone."""
_GONE_S: Final = 2.0
_LOOKS: Final = 4
"""Looks at a process within the time it may be silent."""
_TOLD_CHARS: Final = 300
_ERRORS: Final = "stderr"


class Execution:
    """A job while it runs.

    ``open_store`` gives its store, opened again if it was closed meanwhile; ``ended`` is called once, when
    its outcome is known and its folder gone; not after `cancel`.
    """

    def __init__(
        self,
        job: Job,
        open_store: Callable[[], StoreContext],
        loop: asyncio.AbstractEventLoop,
        log: logging.Logger,
        ended: Callable[[Outcome], None],
    ) -> None:
        self.job = job
        self.committed = False
        """It went through for real, with or without anything to change."""
        job.started_ms = time.time_ns() // 1_000_000
        self.folder = messages.run_folder(job.place.store, job.id)
        """Where it works; it goes when the run is over."""
        self._open_store = open_store
        self._loop = loop
        self._log = log
        self._ended = ended
        self._process: _Process | None = None
        self._committer: threading.Thread | None = None
        self._outcome: Outcome | None = None
        self._overdue: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process that computes it."""
        return None if self._process is None else self._process.pid

    @property
    def finishing(self) -> bool:
        """Whether its result is being read and committed, so that it can't be cancelled any more."""
        return self._committer is not None

    def begin(self) -> None:
        """Take the checkpoint and start the process; after a StoreError or OwnerError nothing is left of it.

        Cost: some 20 ms: what was written last is flushed, and a process is made.
        """
        context = self._open_store()
        context.memory_hooks.tidy()
        with context.memory.core.operation("checkpoint", writes=True) as core:
            messages.take_checkpoint(core.store, self.folder)
        try:
            self._process = _Process(
                self.folder,
                messages.write_line(self.job.request),
                self._loop,
                limit_s=_SILENT * context.settings.work_limit_s,
                on_line=lambda update: self.job.advance(update.fraction, update.stage),
                on_end=self._on_end,
            )
        except OSError as error:
            messages.discard(self.folder)
            raise OwnerError(f"the consolidation's process can't be started: {error}") from error

    def cancel(self, then: Callable[[], None]) -> None:
        """End it; nothing of it stays. ``then`` is called when its process is gone."""
        if self._process is None:
            then()
            return

        def gone() -> None:
            messages.discard(self.folder)
            then()

        self._process.kill(gone)

    def wait(self) -> Outcome | None:
        """Block until a cancelled run's process is gone, or a commit done: for an owner that leaves. Returns
        the outcome of one that was being committed; `ended` is not called for it any more.
        """
        if self._process is not None:
            self._process.wait()
        if self._committer is not None:
            self._committer.join()
        messages.discard(self.folder)
        outcome, self._outcome = self._outcome, None
        return outcome

    def _on_end(self, error: ContextGraphError | None) -> None:
        if error is not None:
            self._over(error)
        elif self.job.request.goals is not None:
            piece = Piece("reading what goals were found", str(self.job.place.store))
            self._over(self._tried(lambda: watchdog.run(piece, self._found)))
        else:
            memex = self._tried(lambda: self._open_store().memory)
            if isinstance(memex, Exception):
                self._over(memex)
                return
            self._committer = threading.Thread(target=self._commit, args=(memex,), name="commit")
            self._committer.start()
            self.job.advance(1.0, "commit" if not self.job.dry_run else "reading")
            # As long by the clock as any piece of work may last: a merge takes 0.1 ms.
            limit_s = 6 * self._open_store().settings.work_limit_s
            self._overdue = self._loop.call_later(limit_s, self._end_commit, limit_s)

    def _over(self, outcome: Outcome) -> None:
        messages.discard(self.folder)
        self._ended(outcome)

    def _tried(self, work: Callable[[], Any]) -> Any:
        """Return the result of ``work``, or the exception to report to a caller."""
        try:
            return work()
        except ContextGraphError as error:
            return error
        except TookTooLong as ended:
            return TookTooLongError(str(ended))
        except Exception as error:  # our own bug must not leave a job that never ends
            self._log.exception("consolidation of %s", self.job.place.store.name)
            return OwnerError(f"the consolidation failed: {type(error).__name__}; the owner's log says more")

    def _commit(self, memex: Memex) -> None:
        """Apply the plan, then notify the loop. Runs in the committer's thread."""
        try:
            with _switching():
                self._outcome = self._tried(lambda: self._committed(memex))
        except _OverdueError:
            self._outcome = TookTooLongError(
                "the commit did not finish and was ended; `memory runs` says whether it was applied after all"
            )
        messages.discard(self.folder)
        with contextlib.suppress(RuntimeError):  # the loop is closed: `wait` hands the outcome over
            self._loop.call_soon_threadsafe(self._hand_over)

    def _end_commit(self, limit_s: float) -> None:
        """End a commit that takes too long, between two steps; RocksDB's write is one step."""
        thread = self._committer
        if thread is not None and thread.ident is not None and thread.is_alive():
            self._log.error("dream %s: its commit did not finish within %g s", self.job.name, limit_s)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(_OverdueError)
            )

    def _hand_over(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
        outcome, self._outcome = self._outcome, None
        if outcome is not None:
            self._over(outcome)

    def _found(self) -> dict[str, Any]:
        return found_view(self._open_store(), self.job.session_id, self._prepared().plan)

    def _committed(self, memex: Memex) -> dict[str, Any]:
        """Apply what the process found, unless it is a dry run."""
        job = self.job
        prepared = self._prepared()
        if job.dry_run:
            result = prepared.result()
        else:
            began = time.perf_counter()
            details = {
                "requested_mode": self.job.requested_mode.value,
                "trigger": self.job.trigger.value,
                "session_id": self.job.session_id,
                "consciousness": self.job.consciousness.as_dict()["consciousness_level"],
            }
            result = commit(memex, prepared, details=details)
            self.committed = True
            self._log.info(
                "dream %s store=%s trigger=%s mode=%s commit_ms=%.1f",
                job.name,
                job.place.store.name,
                job.trigger,
                job.request.mode,
                1000.0 * (time.perf_counter() - began),
            )
            if result.undo_token is not None:
                memex.save()  # figures can't be brought up over a run: else the next opening makes them anew
        return replace(
            result,
            requested_mode=job.requested_mode,
            consciousness=job.consciousness,
            duration_ms=time.time_ns() // 1_000_000 - job.started_ms,
        ).as_dict()

    def _prepared(self) -> Prepared:
        path = self.folder / messages.PREPARED
        try:
            return Prepared.from_bytes(path.read_bytes())
        except OSError as error:
            raise translate(error, path) from error


class _OverdueError(BaseException):
    """Raised in the commit's thread; no handler of ordinary errors may keep it."""


@contextlib.contextmanager
def _switching() -> Iterator[None]:
    """Let the interpreter switch threads often meanwhile."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class _Process:
    """The process that computes, working in ``folder``: started, listened to, ended.

    Args:
        line: Its line of standard input.
        limit_s: Processor seconds that it may use without a word.
        on_line: Gets each update.
        on_end: Gets why it failed, or None, once it is gone; not called after `kill`.

    Raises:
        OSError: It can't be started.
    """

    def __init__(
        self,
        folder: Path,
        line: bytes,
        loop: asyncio.AbstractEventLoop,
        *,
        limit_s: float,
        on_line: Callable[[Update], None],
        on_end: Callable[[ContextGraphError | None], None],
    ) -> None:
        self._folder = folder
        self._loop = loop
        self._on_line = on_line
        self._on_end = on_end
        self._held = b""
        self._limit_s = limit_s
        self._cpu_s = 0.0
        """The processor time it had used when it last said something."""
        self._error: ContextGraphError | None = None
        with open(folder / _ERRORS, "wb") as errors:
            self._process = subprocess.Popen(
                messages.arguments(folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd="/",
                bufsize=0,
                start_new_session=True,  # a terminal's Ctrl-C is for the owner to decide about
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        with contextlib.suppress(OSError):  # it died at once: the end of its output tells
            self._stdin.write(line)
        os.set_blocking(self._stdout.fileno(), False)
        loop.add_reader(self._stdout.fileno(), self._on_readable)
        self._watch = loop.call_later(limit_s / _LOOKS, self._look)

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self, then: Callable[[], None]) -> None:
        """End it at once; only its folder stays. ``then`` is called when it is gone."""
        self._on_end = lambda _error: then()
        self._end()

    def wait(self) -> None:
        """Block until a killed process is gone, a few seconds at most: for an owner that leaves."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GONE_S)

    def _look(self) -> None:
        """End a process that computes for too long, by its processor time: others take precedence."""
        used = processor_s(self.pid) - self._cpu_s
        if used < self._limit_s:
            self._watch = self._loop.call_later(self._limit_s / _LOOKS, self._look)
            return
        self._error = OwnerError(
            f"the consolidation's process was ended: it used {used:.0f} s of processor time without any "
            "progress; nothing was changed, try again"
        )
        self._end()

    def _on_readable(self) -> None:
        try:
            data = os.read(self._stdout.fileno(), _RECV_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            return
        self._cpu_s = processor_s(self.pid)
        *lines, self._held = (self._held + data).split(b"\n")
        try:
            if len(self._held) > _LINE_MAX:
                raise OwnerError("the consolidation's process sent a line that is too long")
            for line in lines:
                self._take(messages.read_line(line))
        except OwnerError as error:
            self._error = error
            self._end()

    def _take(self, line: messages.Line) -> None:
        if isinstance(line, messages.Failed):
            self._error = line.error()
        else:
            self._on_line(line)

    def _end(self) -> None:
        self._process.kill()
        self._hang_up()

    def _hang_up(self) -> None:
        """Close both pipes, by which a process that still runs ends, and wait until it is gone."""
        self._watch.cancel()
        if not self._stdout.closed:
            self._loop.remove_reader(self._stdout.fileno())
            self._stdout.close()
            self._stdin.close()
            self._reap()

    def _reap(self) -> None:
        code = self._process.poll()
        if code is None:
            self._loop.call_later(_REAP_S, self._reap)
            return
        error = self._error
        if error is None and code != 0:
            error = OwnerError(f"the consolidation's process {_how(code)}; nothing was changed, try again")
            with contextlib.suppress(OSError):  # for the log: a traceback is nothing for a client
                errors = (self._folder / _ERRORS).read_text("utf-8", "replace").strip()[-_TOLD_CHARS:]
                if errors:
                    error.add_note(errors)
        self._on_end(error)


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}, and log/owner.log has what it said"
    if code == -signal.SIGKILL:
        return "was killed by signal 9, as the system does when memory is short"
    return f"was killed by signal {-code}"
