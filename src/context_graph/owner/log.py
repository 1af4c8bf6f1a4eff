"""Writes the owner's log and keeps its counters: one line per request, and errors; never a prompt, an
argument or a secret.
"""

from __future__ import annotations

import logging
import os
import resource
import sys
import time
from collections import Counter, deque
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from context_graph import __version__
from context_graph.config import Settings, log_dir, socket_path
from context_graph.owner.lock import fingerprint
from context_graph.wire.frames import Reply, Request

LOG_NAME = "owner.log"
_LINE = "%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s"


class _BoundedFile(RotatingFileHandler):
    """Rotates by the file's real size, checked once a line; starts a new file if somebody deleted it."""

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
    form = logging.Formatter(_LINE, datefmt="%Y-%m-%dT%H:%M:%S")
    form.converter = time.gmtime
    for handler in handlers:
        handler.setFormatter(form)
        log.addHandler(handler)
    return log


def request_line(request: Request | None, reply: Reply, *, took_ms: float, received: int, sent: int) -> str:
    """The log line of one request: who, how long, how much, how it ended; no content."""
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


_RECENT: Final = 1024
"""Requests whose times are kept: enough for a p99, 8 KiB."""
_VERBS: Final = 64
"""Names are the client's to choose, so their number must be bounded."""


def rss_bytes() -> int:
    """Resident memory of this process."""
    try:
        with open("/proc/self/statm", "rb") as source:
            return int(source.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # macOS has no /proc; the peak, in bytes there, is the best there is
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class OwnerStatus:
    """Counters of one owner process. Not thread-safe; the loop's thread alone writes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._started_at = datetime.now(UTC)
        self._started = time.monotonic()
        self._by_verb: Counter[str] = Counter()
        self._recent_ms: deque[float] = deque(maxlen=_RECENT)
        self.requests = 0
        self.errors = 0
        """Requests that ended in an error no handler foresaw."""
        self.malformed = 0
        """Connections whose bytes were no frames of ours."""
        self.refused = 0
        """Connections turned away: a foreign user, or too many clients."""

    def count(self, verb: str, took_ms: float) -> None:
        """Note one answered request."""
        self.requests += 1
        self._recent_ms.append(took_ms)
        self._by_verb[verb if verb in self._by_verb or len(self._by_verb) < _VERBS else "other"] += 1

    def view(self, clients: int, service: dict[str, object]) -> dict[str, object]:
        """The counters as a JSON object, with what ``service`` tells of its stores."""
        times = sorted(self._recent_ms)
        return {
            "pid": os.getpid(),
            "version": __version__,
            "fingerprint": fingerprint(),
            "rss_bytes": rss_bytes(),
            "uptime_s": round(time.monotonic() - self._started, 3),
            "started_at": self._started_at.isoformat(timespec="milliseconds"),
            "root": str(self._root),
            "socket": str(socket_path(self._root)),
            "clients": clients,
            "requests": self.requests,
            "by_verb": dict(sorted(self._by_verb.items())),
            "p50_ms": _at(times, 0.50),
            "p95_ms": _at(times, 0.95),
            "errors": self.errors,
            "malformed": self.malformed,
            "refused": self.refused,
            **service,
        }


def _at(times: list[float], share: float) -> float | None:
    return round(times[min(len(times) - 1, int(len(times) * share))], 3) if times else None
