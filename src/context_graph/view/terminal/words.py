"""Times and texts as the screens show them; a memory's text is never read as markup."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from rich.text import Text

from context_graph.text.units import ago as ago
from context_graph.view.safe import one_line, shown

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
