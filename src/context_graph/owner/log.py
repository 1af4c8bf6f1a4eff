"""The owner's log: one line a request, and what went wrong; never a prompt, an argument or a secret."""

from __future__ import annotations

import logging
import os
import sys
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path

from context_graph.config import Settings, log_dir
from context_graph.wire.frames import Reply, Request

__all__ = ["open_log", "request_line"]

LOG_NAME = "owner.log"


class _Form(logging.Formatter):
    """UTC with milliseconds, one line a record but for tracebacks."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{whole}.{int(record.msecs):03d}Z"


class _BoundedFile(RotatingFileHandler):
    """Rotates by the file's real size, asked once a line; goes on in a new file if somebody deleted it."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        if self.stream is None:  # the last rotation could not open the new file
            self.stream = self._open()
        found = os.fstat(self.stream.fileno())
        if not found.st_nlink:
            self.stream.close()
            self.stream = self._open()
            return False
        return found.st_size >= self.maxBytes


def open_log(root: Path, settings: Settings, *, foreground: bool) -> logging.Logger:
    """The owner's logger, to ``<root>/log/owner.log`` and with ``foreground`` to stderr as well.

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
    for handler in handlers:
        handler.setFormatter(_Form())
        log.addHandler(handler)
    return log


def request_line(request: Request | None, reply: Reply, *, took_ms: float, received: int, sent: int) -> str:
    """What the log says of one request: who, how long, how much, how it ended; no content."""
    verb = store = session = "-"
    if request is not None:
        verb = _word(request.verb)
        store = _word(request.store.name) if request.store is not None else "-"
        session = _word(request.session_env or str(request.params.get("session-id", "")))
    return (
        f"{verb} store={store} session={session} ms={took_ms:.2f} in={received} out={sent} "
        f"exit={reply.exit_code} flags={reply.flags}"
    )


def _word(text: str) -> str:
    """``text`` as one short word: a client must not be able to write lines of its own into the log."""
    kept = "".join(char if char.isalnum() or char in "._-+:" else "?" for char in text[:64])
    return kept or "-"
