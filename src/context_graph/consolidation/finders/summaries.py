"""Reads from sessions' summaries how much work they stand for, and whether others touched its files."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

import numpy as np

from context_graph.consolidation.snapshot import F64, Snapshot
from context_graph.errors import UNREADABLE_RECORD
from context_graph.model.memory import CAPTURED, NOTED

FEW: Final = 2
COMMON: Final = 0.3
"""A file that more summaries name, and more than this share of all, tells nothing of any."""


class SummaryFacts(NamedTuple):
    """Columns over the rows of a snapshot; a session's notes have what its summary has, other memories 0."""

    shared: F64
    """Other summaries that name the file which most of them name."""
    calls: F64
    """Tool calls of the session."""


def summary_facts(snap: Snapshot) -> SummaryFacts:
    """Read what summaries recorded beside their text. Cost: some 25 us a summary, 0.1 us a note."""
    facts = SummaryFacts(np.zeros(len(snap)), np.zeros(len(snap)))
    named: dict[int, set[str]] = {}
    for row in range(len(snap)):
        state = recorded_work(snap, row)
        if state is not None:
            named[row] = _files(state)
            calls = state.get("tool_calls")
            facts.calls[row] = max(0, calls) if isinstance(calls, int) else 0
    holders = Counter(path for files in named.values() for path in files)
    most = max(FEW, COMMON * len(named))
    for row, files in named.items():
        facts.shared[row] = max((holders[path] - 1 for path in files if holders[path] <= most), default=0)
    summary_of = {int(snap.session[row]): row for row in named if snap.session[row]}
    for row, source in enumerate(snap.source):
        if source == NOTED and int(snap.session[row]) in summary_of:
            summary = summary_of[int(snap.session[row])]
            facts.shared[row], facts.calls[row] = facts.shared[summary], facts.calls[summary]
    return facts


def recorded_work(snap: Snapshot, row: int) -> dict[str, Any] | None:
    """Return what a session's summary recorded beside its text (`memory.context.summary.SessionWork`); None
    for any other memory, and where it can't be read. Cost: 20 us a summary."""
    if snap.source[row] != CAPTURED:
        return None
    try:
        state = snap.node(row).metadata.get("capture")
    except UNREADABLE_RECORD:
        return None
    return state if isinstance(state, dict) else None


def _files(state: dict[str, Any]) -> set[str]:
    """Files in folders that the session changed or read: a bare name is most often a scratch file."""
    files: set[str] = set()
    for name in ("changed", "read"):
        entries = state.get(name)
        if isinstance(entries, dict):
            files.update(path for path in entries if "/" in path)
    return files
