"""A hybrid logical clock: 48 bits of Unix milliseconds, then 16 bits that count within one.

Later in one machine is larger, and what a machine does after it has seen a change is larger than that change,
even if its own clock is behind.
"""

from __future__ import annotations

from typing import Final

COUNTER_BITS: Final = 16
MAX_CLOCK: Final = (1 << 63) - 1
MAX_AHEAD_MS: Final = 600_000
"""How far another machine's clock may be ahead of ours."""


def packed(at_ms: int) -> int:
    """Return the first clock value of that millisecond."""
    return min(max(0, at_ms) << COUNTER_BITS, MAX_CLOCK)


def latest(now_ms: int) -> int:
    """Return the largest value that a clock may have."""
    return packed(now_ms + MAX_AHEAD_MS + 1) - 1


def after(last: int, at_ms: int) -> int:
    """Return the value of an event at ``at_ms`` that comes after all up to ``last``."""
    return max(packed(at_ms), last + 1)


def is_ahead(clock: int, now_ms: int) -> bool:
    """Return whether a value is further ahead of ``now_ms`` than any clock may be."""
    return clock > latest(now_ms)
