"""The events of `doctor`'s canary sessions, which have events and nothing else: read back, then removed."""

from __future__ import annotations

from typing import Final

from context_graph.model import HookEvent
from context_graph.protocol.canary import CANARY_PREFIX
from context_graph.store import layout, records
from context_graph.store.layout import EVENTS
from context_graph.store.sessions import SessionStore

__all__ = ["LEFT_MS", "CanaryEvents"]

LEFT_MS: Final = 600_000
"""Age at which a canary's events are nobody's any more: whoever sent them was ended before it looked."""


class CanaryEvents:
    """Over one store. Not thread-safe."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def append(self, event: HookEvent) -> None:
        """Record ``event`` as any other is recorded, durable on return; one that is there already once."""
        session_id, key = event.session_id, event.dedupe_key()
        if not self._store.event_log.is_applied(session_id, key):
            seq = sum(1 for _ in self._store.event_log.after(session_id, 0)) + 1
            self._store.event_log.append(session_id, event=event, seq=seq, dedupe_key=key)

    def take(self, session_id: str, now_ms: int) -> list[HookEvent]:
        """The canary's events in order, which are removed; with them those that were left ten minutes ago.

        Raises:
            CorruptedIdentityError: What was written can't be read back.
            StoreError: It could not be removed.
        """
        found = list(self._store.event_log.after(session_id, 0))
        self._remove(session_id)
        for left in self._left(now_ms):
            self._remove(left)
        return found

    def _left(self, now_ms: int) -> set[str]:
        prefix = layout.event_prefix(CANARY_PREFIX)[:-1]
        found = set()
        for key, record in self._store.engine.scan(EVENTS, prefix, layout.after(prefix)):
            event = records.decode_event(key, record)
            if event.at_ms < now_ms - LEFT_MS:
                found.add(event.session_id)
        return found

    def _remove(self, session_id: str) -> None:
        batch = self._store.engine.batch()
        for prefix in (layout.event_prefix(session_id), layout.applied_prefix(session_id)):
            batch.delete_range(EVENTS, prefix, layout.after(prefix))
        self._store.engine.write(batch)
