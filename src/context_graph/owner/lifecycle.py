"""Runs the owner's life: ready, serving, leaving. Nothing is polled: every step is caused by an event.

Its log has one line per request, and errors; never a prompt, an argument or a secret.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from context_graph.config import Settings, lock_path, log_dir, socket_path, waker_path
from context_graph.owner.lock import bind, bind_waker
from context_graph.owner.socket.server import OwnerServer
from context_graph.system import watchdog
from context_graph.system.folders import TAKEN_AWAY, FolderWatch
from context_graph.system.watchdog import Piece
from context_graph.wire.build import owner_build
from context_graph.wire.run_folder import WorkFile, forget_troubles, same_file

if TYPE_CHECKING:
    from context_graph.owner.service import OwnerService

_LEAVE_S: Final = 6.0
"""How long leaving may take over what is in flight; a little more than one frame may."""
_CATCH_UP_S: Final = 0.1
_BUSY_S: Final = 5.0
"""Seconds until the next look of an owner that would be idle but for what runs beside it."""
EXIT_UNCLEAN: Final = 70
"""The stores could not be closed well; the log says why. What was acknowledged is durable all the same."""


class Owner:
    """One owner process, from a held lock to its exit.

    Args:
        lock: The descriptor that holds the lock; it stays open until the process ends, so that
            the next owner opens the stores only after this one has closed them.
        settings: ``idle_s``, ``max_clients`` and ``work_limit_s`` are read.
    """

    def __init__(
        self, root: Path, lock: int, service: OwnerService, settings: Settings, log: logging.Logger
    ) -> None:
        self._root = root
        self._lock = lock
        self._service = service
        self._settings = settings
        self._idle_s = settings.idle_s
        self._log = log
        self._loop = asyncio.SelectorEventLoop()
        self._loop.set_exception_handler(self._failed)
        self._socket_path = socket_path(root)
        self._socket_id: tuple[int, int] | None = None
        self._server = OwnerServer(
            *(self._loop, service, root, settings.max_clients, log), leave=self.leave, quiet=self._on_quiet
        )
        self._watch = FolderWatch({root, lock_path(root).parent, self._socket_path.parent}, TAKEN_AWAY)
        self._idle: asyncio.TimerHandle | None = None
        self._quiet_since = self._loop.time()
        self._leaving = self._told = False

    def run(self, *, ready: int | None = None) -> int:
        """Serve until something makes the owner leave; the process's exit code.

        ``ready`` is pointed at /dev/null once the socket answers, so that a starter who reads it sees the end
        of what a failed start would have said. StartRefusedError: the socket can't be bound.
        """
        self._prepare()  # before anybody can see it ready and ask it to go
        listener = bind(self._root)
        self._server.listen_for_events(bind_waker(self._root))
        status = os.lstat(self._socket_path)
        self._socket_id = (status.st_dev, status.st_ino)
        self._server.listen(listener)
        forget_troubles(self._root)
        if self._watch.fileno() >= 0:
            self._loop.add_reader(self._watch.fileno(), self._on_change)
        self._service.begin(self._loop, self._server.settle)
        self._arm_idle(self._idle_s)
        # Not at once: the request that this owner was started for goes first.
        self._loop.call_later(_CATCH_UP_S, self._catch_up)
        self._log.info("ready: version %s, pid %d, root %s", owner_build(), os.getpid(), self._root)
        if ready is not None:
            _to_null(ready)
        # Objects of the start live as long as the process: no collection needs to look at them again.
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()
        self._loop.run_forever()
        return self._close()

    def _prepare(self) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # its starter's terminal is none of its business
        self._loop.add_signal_handler(signal.SIGUSR2, _nothing)  # the loop wakes up for signals from now on
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._told_to_leave)
        work = WorkFile(self._root)
        work.write()

        def tell(piece: Piece | None) -> None:
            if piece is None:
                work.write()
            else:
                work.write(piece.what, piece.where, piece.key, piece.began_ms)

        watchdog.install(self._settings.work_limit_s, tell)

    def leave(self, why: str) -> None:
        """Stop accepting, finish what is in flight, then end. Later calls change nothing."""
        if self._leaving:
            return
        self._leaving = True
        self._log.info("leaving: %s", why)
        self._remove_socket()
        self._server.stop_listening()
        self._service.leave()
        if self._server.clients:
            self._loop.call_later(_LEAVE_S, self._loop.stop)
        else:
            self._loop.stop()

    def _close(self) -> int:
        """Checkpoint and close the stores; the lock goes with the process."""
        self._server.close()
        self._watch.close()
        clean = True
        for step in (self._service.checkpoint, self._service.close):
            try:
                step()
            except Exception:
                clean = False
                self._log.exception("%s failed", step.__name__)
        self._loop.close()
        self._log.info("gone" if clean else "gone, not cleanly")
        return 0 if clean else EXIT_UNCLEAN

    def _remove_socket(self) -> None:
        with contextlib.suppress(OSError):
            status = os.lstat(self._socket_path)
            if (status.st_dev, status.st_ino) == self._socket_id:
                os.unlink(self._socket_path)
                os.unlink(waker_path(self._root))

    def _told_to_leave(self, number: int, _frame: FrameType | None) -> None:
        """Handle the signal between two steps of Python, however busy: work in hand has a second more."""
        self._told = True
        watchdog.hurry()
        with contextlib.suppress(RuntimeError):  # the loop is closed: it is leaving
            self._loop.call_soon_threadsafe(self._on_signal, number)

    def _catch_up(self) -> None:
        """Apply what waits in the logs, unless the owner is to go: that would be work begun and cut off."""
        if not self._told:
            self._service.catch_up()

    def _on_signal(self, number: int) -> None:
        if self._leaving:
            self._loop.stop()  # asked twice: do not wait for clients
        self.leave(signal.Signals(number).name)

    def _on_change(self) -> None:
        """Leave if our socket or lock file is gone: nobody could find us."""
        self._watch.is_stirred()
        if self._leaving:
            return
        try:
            status = os.lstat(self._socket_path)
            is_ours = (status.st_dev, status.st_ino) == self._socket_id
        except OSError:
            is_ours = False
        if not is_ours or not same_file(self._lock, lock_path(self._root)):
            self.leave(f"{self._socket_path} or its lock file was removed")

    def _on_quiet(self) -> None:
        self._quiet_since = self._loop.time()
        if self._leaving:
            self._loop.stop()
        elif self._idle is None:
            self._arm_idle(self._idle_s)

    def _arm_idle(self, seconds: float) -> None:
        self._idle = self._loop.call_later(seconds, self._on_idle)

    def _on_idle(self) -> None:
        """Check how long it has been quiet, and sleep the rest: one timer serves all of a busy time."""
        self._idle = None
        if self._server.clients or self._leaving:
            return
        left = self._quiet_since + self._idle_s - self._loop.time()
        if left <= 0 and self._service.busy:
            left = min(self._idle_s, _BUSY_S)
        if left > 0:
            self._arm_idle(left)
        else:
            self.leave(f"idle for {self._idle_s:g} s")

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an exception of a callback: it concerns one connection, and the owner survives it."""
        self._log.error("%s", context.get("message"), exc_info=context.get("exception"))


def _nothing() -> None:
    """Only wakes the loop."""


def _to_null(handle: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, handle)
    os.close(null)


LOG_NAME: Final = "owner.log"
_LINE: Final = "%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s"


class _BoundedFile(RotatingFileHandler):
    """Rotates by the file's real size, checked once a line; starts a new file if somebody deleted it."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        if self.stream is None:  # the last rotation could not open the new file
            self.stream = self._open()
        status = os.fstat(self.stream.fileno())
        if not status.st_nlink:
            self.stream.close()
            self.stream = self._open()
            return False
        return status.st_size >= self.maxBytes


def open_log(root: Path, settings: Settings, *, foreground: bool) -> logging.Logger:
    """Return the owner's logger, to ``<root>/log/owner.log`` and with ``foreground`` to stderr as well.

    Size is bounded: ``log_max_bytes`` a file, ``log_files`` rotated ones. A log that can't be
    written (a full disk) is dropped line by line; it never fails a request.
    """
    logging.raiseExceptions = False
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    log = logging.getLogger("context_graph.owner")
    log.setLevel(logging.INFO)
    log.propagate = False
    handlers: list[logging.Handler] = []
    if foreground:
        handlers.append(logging.StreamHandler(sys.stderr))
    try:
        handlers.append(
            _BoundedFile(
                log_dir(root) / LOG_NAME,
                maxBytes=settings.log_max_bytes,
                backupCount=settings.log_files,
                encoding="utf-8",
                errors="backslashreplace",
            )
        )
    except OSError:
        # prepare_folders has seen that the folder is writable; what is left is a full disk.
        handlers.append(logging.NullHandler())
    form = logging.Formatter(_LINE, datefmt="%Y-%m-%dT%H:%M:%S")
    form.converter = time.gmtime
    for handler in handlers:
        handler.setFormatter(form)
        log.addHandler(handler)
    return log
