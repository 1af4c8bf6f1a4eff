"""Arranges a session on one line of time: where each event stands, and a lane for each kind of mark.

The line counts events, not seconds: a night between two prompts takes no room.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from context_graph.view.rows import Mark, SessionDetail

WARNING, CRISIS = 0.7, 0.5
"""Below these continuity is a warning, or a crisis."""
_FILES: Final = 6
"""Files with a lane of their own: those with most changes; the others share one."""
_LANES: Final = (
    ("tests", ("red", "green")),
    ("told, used", ("used", "injection")),
    ("failures", ("failure",)),
    ("compactions", ("compaction",)),
    ("subagents", ("subagent",)),
    ("gates", ("gate",)),
    ("dreams", ("consolidation",)),
    ("start, end", ("start", "end")),
)
"""Lanes below those of prompts and files; where marks of one lane share a place the first kind is seen."""


class Lane(NamedTuple):
    """Marks of a kind, or the changes of a file, oldest first."""

    label: str
    marks: Sequence[Mark]


class Timeline:
    """One session's line of time."""

    def __init__(self, detail: SessionDetail) -> None:
        times = [event.at_ms for event in detail.events]
        seen = [*(point.at_ms for point in detail.points), *(mark.at_ms for mark in detail.marks)]
        self._times = sorted(times or seen)
        self._marks = detail.marks

    @property
    def times(self) -> Sequence[int]:
        """When its events happened, Unix ms, ascending."""
        return self._times

    def place(self, at_ms: int) -> float:
        """Return where a time stands, [0, 1]: at the last event up to it."""
        last = len(self._times) - 1
        return min(1.0, max(0.0, (bisect_right(self._times, at_ms) - 1) / last)) if last > 0 else 0.0

    def lanes(self) -> Iterator[Lane]:
        """Yield the lanes that have marks: prompts, files, then what came of it."""
        for label, marks in (("prompts", self._of("prompt")), *self._files()):
            if marks:
                yield Lane(label, marks)
        for label, kinds in _LANES:
            if marks := self._of(*kinds):
                yield Lane(label, marks)

    def _of(self, *kinds: str) -> list[Mark]:
        return [mark for mark in self._marks if mark.kind in kinds]

    def _files(self) -> Iterator[tuple[str, list[Mark]]]:
        edits = self._of("edit")
        paths = [path for path, _ in Counter(mark.text for mark in edits).most_common()]
        shown = paths[:_FILES] if len(paths) > _FILES + 1 else paths
        for path in shown:
            yield path.rpartition("/")[2] or path, [mark for mark in edits if mark.text == path]
        others = [mark for mark in edits if mark.text not in shown]
        yield f"{len(paths) - len(shown)} other files", others
