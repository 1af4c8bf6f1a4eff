"""Follows a session through its compactions: what it reads after one, and how much was kept.

The client may tell the summary of a compaction (PostCompact) before the session's new start or after it, or,
an older one, not at all. Before, the summary decides what is shown first; after, it is only measured.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from context_graph.store.sessions.sessions import SessionStore

if TYPE_CHECKING:
    from context_graph.memory.context.summary import SessionWork

_MAX_SESSIONS: Final = 32


@dataclass(slots=True)
class _Compaction:
    """A compaction under way: what is known of it so far."""

    summary: str | None = None
    kept: str = ""
    start_text: str | None = None
    is_kept: bool = False


class Compactions:
    """The compactions of one store's sessions. Not thread-safe."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._open: OrderedDict[str, _Compaction] = OrderedDict()

    def begins(self, session_id: str) -> None:
        """Begin a compaction (PreCompact): what was known of an earlier one is over."""
        self._open.pop(session_id, None)

    def starts(
        self, session_id: str, work: SessionWork, at_ms: int, *, budget: int, count: Callable[[str], int]
    ) -> str:
        """Return what the session reads as it starts with its compacted context; "" if it had nothing."""
        from context_graph.memory.context.after_compaction import facts_of, text_of

        compaction = self._of(session_id)
        if compaction.start_text is not None:  # another compaction, of which no PreCompact told
            compaction = self._open[session_id] = _Compaction()
        compaction.start_text = text_of(facts_of(work), compaction.summary, budget=budget, count=count)
        self._keep(session_id, compaction, work, at_ms)
        return compaction.start_text

    def summarised(self, session_id: str, work: SessionWork, summary: str, at_ms: int, *, kept: str) -> None:
        """Compare the client's summary of the compaction (PostCompact) with what the session had.

        Args:
            kept: Of the summary what may be kept: redacted, its start and its end.
        """
        compaction = self._of(session_id)
        compaction.summary, compaction.kept = summary, kept
        self._keep(session_id, compaction, work, at_ms)

    def _of(self, session_id: str) -> _Compaction:
        compaction = self._open.setdefault(session_id, _Compaction())
        self._open.move_to_end(session_id)
        while len(self._open) > _MAX_SESSIONS:
            self._open.popitem(last=False)
        return compaction

    def _keep(self, session_id: str, compaction: _Compaction, work: SessionWork, at_ms: int) -> None:
        from context_graph.memory.context.after_compaction import COMPACTIONS_KEPT, facts_of, measured

        known = self._store.load_compactions(session_id)
        if compaction.is_kept:
            known = known[:-1]
        measures = measured(facts_of(work), compaction.summary, compaction.start_text or "", at_ms)
        record = {**measures.to_json(), "summary": compaction.kept}
        self._store.save_compactions(session_id, [*known, record][-COMPACTIONS_KEPT:])
        compaction.is_kept = True
