"""Times, sizes and counts as people read them."""

from __future__ import annotations

import time
from typing import Final

_TIMES: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))
_SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def span(seconds: float) -> str:
    """Return a time in the unit that fits: `3 h`, `12 s`."""
    unit, name = next((step for step in _TIMES if seconds >= step[0]), (1, "s"))
    return f"{seconds // unit:.0f} {name}"


def ago(at_ms: float, now_ms: float | None = None) -> str:
    """Return how long before now, or ``now_ms``, a Unix time in milliseconds was: `3 h`."""
    return span(max(0.0, (time.time() if now_ms is None else now_ms / 1000) - at_ms / 1000))


def size(count: float) -> str:
    """Return bytes in the unit that fits."""
    unit, name = next((step for step in _SIZES if count >= step[0]), (0, ""))
    return f"{count / unit:.1f} {name}" if unit else f"{count:.0f} B"


def counted(count: int, noun: str, things: str = "") -> str:
    """`1 record`, `2 records`; ``things`` where the plural is another word."""
    return f"{count} {noun if count == 1 else things or f'{noun}s'}"
