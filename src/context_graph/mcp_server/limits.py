"""How often a session may call a tool (SEC-03)."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from context_graph.errors import RateLimitError

__all__ = ["MINUTE_S", "OnceAMinute"]

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
        """A call has begun."""
        now = self._clock()
        self._called[key] = now
        self._called.move_to_end(key)
        while len(self._called) > _KNOWN_MAX or now - next(iter(self._called.values())) >= MINUTE_S:
            self._called.popitem(last=False)
