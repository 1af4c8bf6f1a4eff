"""Keeps tool sessions: verbosity, last activity (REQ-CORE-023), and how often each may call (SEC-03)."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from context_graph.errors import RateLimitError
from context_graph.model.memory import VerbosityLevel
from context_graph.operations.mcp.rpc import RpcError

_SESSIONS_MAX: Final = 4096
"""The one that has been idle longest is forgotten beyond these, expired ones included."""
_DEFAULT_S: Final = 86_400.0

SESSION_NOT_FOUND: Final = -32000


@dataclass(slots=True)
class Session:
    """The state kept between the calls of one session."""

    last_activity: float
    """Unix seconds."""
    verbosity: VerbosityLevel = VerbosityLevel.TEXT_AND_IDS
    expired: bool = False


class Sessions:
    """Sessions of all clients and stores. A session is made by the first call that names it.

    An expired one stays known as expired, so that its id is refused from then on (EC-CORE-015).

    Args:
        lifetime_s: Seconds without a call after which a session expires.
        clock: Unix seconds.
    """

    def __init__(self, lifetime_s: float = _DEFAULT_S, clock: Callable[[], float] = time.time) -> None:
        self._lifetime_s = lifetime_s
        self._clock = clock
        self._known: OrderedDict[tuple[str, str], Session] = OrderedDict()
        self.limits = OnceAMinute()
        """When each session last called what it may call once a minute."""

    def __len__(self) -> int:
        return len(self._known)

    def anonymous(self) -> Session:
        """Return a session without an id, for what one connection says of itself; it never expires."""
        return Session(self._clock())

    def use(self, store: str, session_id: str) -> Session:
        """Return the session of that id in that store, made if it is new; its time starts anew.

        Raises:
            RpcError: -32000 if it has expired.
        """
        now = self._clock()
        key = (store, session_id)
        session = self._known.get(key)
        if session is None:
            session = self._known[key] = Session(now)
            while len(self._known) > _SESSIONS_MAX:
                self._known.popitem(last=False)
            return session
        self._known.move_to_end(key)
        if session.expired or now - session.last_activity > self._lifetime_s:
            session.expired = True
            raise session_missing(session_id)
        session.last_activity = now
        return session


def session_missing(session_id: str) -> RpcError:
    """Return the error of EC-CORE-015 and ERR-CORE-003."""
    return RpcError(
        SESSION_NOT_FOUND,
        "Session expired or not found",
        {
            "error": "ERR-CORE-003",
            "detail": f"Session not found or expired: {session_id}",
            "recovery": "Create new session or omit session_id for anonymous operation",
        },
    )


MINUTE_S: Final = 60.0
_LIMIT: Final = "1 req/min/session"
_KNOWN_MAX: Final = 4096
"""Sessions that called within the minute; beyond these the oldest is forgotten."""


class OnceAMinute:
    """One call a minute for each key, a tuple of texts that ends with the session.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._called: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def check(self, key: tuple[str, ...]) -> None:
        """Refuse a call that comes too early.

        Raises:
            RateLimitError: With the time to wait; -32004 for clients (D4.6).
        """
        left = self._called.get(key, -math.inf) + MINUTE_S - self._clock()
        if left > 0:
            raise RateLimitError(
                "Rate limit exceeded", retry_after_ms=max(1, math.ceil(left * 1000)), limit=_LIMIT
            )

    def count(self, key: tuple[str, ...]) -> None:
        """Count a call that has begun."""
        now = self._clock()
        self._called[key] = now
        self._called.move_to_end(key)
        while len(self._called) > _KNOWN_MAX or now - next(iter(self._called.values())) >= MINUTE_S:
            self._called.popitem(last=False)
