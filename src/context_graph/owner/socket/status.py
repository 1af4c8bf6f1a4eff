"""Counts what one owner process has answered, for `owner status`."""

from __future__ import annotations

import os
import resource
import time
from collections import Counter, deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from context_graph.config import socket_path
from context_graph.wire.build import owner_build

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
        """Return the counters as a JSON object, with what ``service`` tells of its stores."""
        times = sorted(self._recent_ms)
        return {
            "pid": os.getpid(),
            "version": owner_build(),
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
