"""Draws numbers with block characters, and words times and texts: a memory's text is never read as markup."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from rich.text import Text

from context_graph.text.units import ago as ago
from context_graph.view.safe import one_line, shown

_ACROSS: Final = " ▏▎▍▌▋▊▉█"
_UP: Final = " ▁▂▃▄▅▆▇█"


def bar(share: float, width: int) -> str:
    """Return a horizontal bar of at most ``width`` cells; above 0 it has an eighth of a cell."""
    share = min(1.0, max(0.0, share))
    eighths = round(share * width * 8) or (1 if share and width else 0)
    whole, rest = divmod(eighths, 8)
    return _ACROSS[8] * whole + (_ACROSS[rest] if rest else "")


def signed(share: float, width: int) -> tuple[str, str]:
    """Return a bar of a share in [-1, 1]: what stands left of its middle, for less than 0, and what right."""
    half = max(1, (width - 1) // 2)
    filled = min(half, round(abs(share) * half) or (1 if share else 0))
    drawn = _ACROSS[8] * filled
    return ((drawn if share < 0 else "").rjust(half), (drawn if share > 0 else "").ljust(half))


def columns(values: Sequence[float], low: float, high: float, height: int) -> list[str]:
    """Return values as columns of blocks: ``height`` lines, the top one first."""
    span = (high - low) or 1.0
    # An eighth at least: a value at the bottom is not a gap.
    levels = [max(1, round(min(1.0, max(0.0, (value - low) / span)) * height * 8)) for value in values]
    return [
        "".join(_UP[min(8, max(0, level - row * 8))] for level in levels) for row in reversed(range(height))
    ]


def along(places: Sequence[tuple[float, float]], width: int) -> list[float]:
    """Return a value for each of ``width`` cells, of (place in [0, 1] ascending, value) pairs.

    It is the lowest of the cell's, so that no fall is hidden; a cell without any goes on with the one before.
    """
    cells: dict[int, float] = {}
    for place, value in places:
        at = round(place * (width - 1))
        cells[at] = min(value, cells.get(at, value))
    shown, last = [], cells[min(cells)] if cells else 0.0
    for at in range(width):
        last = cells.get(at, last)
        shown.append(last)
    return shown


STANDING: Final = {
    "verified": "green",
    "unchecked": "dim",
    "changed": "yellow",
    "gone": "red",
    "superseded": "dim",
}
"""Colour of a memory's standing by its first word; the word stands beside it."""


def moment(at_ms: int) -> str:
    """`2026-11-23 22:31` on this machine's clock."""
    try:
        return datetime.fromtimestamp(at_ms / 1000).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):  # a damaged record's time
        return "?"


def clock(at_ms: int) -> str:
    """`22:31:05` on this machine's clock."""
    try:
        return datetime.fromtimestamp(at_ms / 1000).strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "?"


def cell(text: str, style: str = "") -> Text:
    """Return a text for one cell of a table."""
    return Text(one_line(text), style=style, no_wrap=True, end="")


def prose(text: str, style: str = "") -> Text:
    """Return a text of any number of lines."""
    return Text(shown(text), style=style, end="")


def short(identity: str) -> str:
    """Return an id's first digits."""
    return one_line(identity[:8])
