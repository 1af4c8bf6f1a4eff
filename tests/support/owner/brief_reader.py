"""Reads the brief cache as a hook does, for tests and benches: ``front.brief`` with the owner's records."""

from __future__ import annotations

import os

from context_graph.front import brief
from context_graph.owner.sessions.brief_cache import BriefSlot, of_parts
from context_graph.wire.brief_layout import COLD_LINE

__all__ = ["COLD_LINE", "read_line", "read_slot"]


def read_slot(path: str | os.PathLike[str], session_id: str | None) -> BriefSlot | None:
    """The slot of ``session_id``, or without one the newest slot of the file; None if there is none."""
    found = brief.lookup(os.fspath(path), session_id)
    return None if found is None else of_parts(found)


def read_line(path: str | os.PathLike[str], session_id: str | None) -> str:
    """The brief of ``session_id`` (None: of the newest session), without a newline; never raises."""
    return brief.line(brief.lookup(os.fspath(path), session_id))
