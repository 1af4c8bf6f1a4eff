"""How many threads share out a finder's work."""

from __future__ import annotations

import os

__all__ = ["usable"]


def usable() -> int:
    """Processors that this process may use: all in a library, one fewer beside the owner (`__main__`)."""
    return len(os.sched_getaffinity(0))
