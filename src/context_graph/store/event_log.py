"""The events of each session: their records, which of them were applied, and which ask for a capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from context_graph.model import HookEvent
from context_graph.store import layout, records
from context_graph.store.batch import Batch
from context_graph.store.engine import Engine
from context_graph.store.layout import EVENTS, RUNTIME

__all__ = ["EVENTS_KEPT", "TRIM_EVERY", "EventLog"]

EVENTS_KEPT: Final = 512
"""Event records a session keeps at least; some 1 KB each. Digests of applied events are kept for good."""
TRIM_EVERY: Final = 64
"""Events between two trims: one range delete for so many events, and at most so many records too many."""


class EventLog:
    """The log in one open engine. Not thread-safe, like the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def append(
        self, session_id: str, *, event: HookEvent, seq: int, dedupe_key: str, capture: bool = False
    ) -> None:
        """The event alone, durable on return; `SessionStore.save_state` follows.

        What it did can be worked out again: a session whose runtime is behind its events is brought up by
        applying those that are `after` it. With ``capture`` the same batch says that the session's memory is
        to be refreshed.
        """
        batch = self._engine.batch()
        self.put(batch, session_id, event, seq, dedupe_key)
        if capture:
            batch.put(RUNTIME, layout.capture_key(session_id), seq.to_bytes(8, "big"))
        self._engine.write(batch)

    def is_applied(self, session_id: str, dedupe_key: str) -> bool:
        """Whether the event of that key has been committed for the session. Cost: one lookup."""
        return self._engine.get(EVENTS, layout.applied_key(session_id, dedupe_key)) is not None

    def after(self, session_id: str, seq: int) -> Iterator[HookEvent]:
        """The session's events above ``seq`` in order, as far as they are kept (EVENTS_KEPT).

        Raises:
            CorruptedIdentityError: At the first event that can't be read back.
        """
        return (event for _, event in self.numbered_after(session_id, seq))

    def numbered_after(self, session_id: str, seq: int) -> Iterator[tuple[int, HookEvent]]:
        """As `after`, each event with its number in the session."""
        prefix = layout.event_prefix(session_id)
        first, end = layout.event_key(session_id, seq + 1), layout.after(prefix)
        for key, record in self._engine.scan(EVENTS, first, end):
            yield int.from_bytes(key[len(prefix) :], "big"), records.decode_event(key, record)

    def captures_due(self) -> list[str]:
        """The sessions whose memory is to be refreshed: `append` said so, `captured` did not yet."""
        prefix = layout.CAPTURE_PREFIX
        found = self._engine.scan(RUNTIME, prefix, layout.after(prefix))
        return [key[len(prefix) :].decode("utf-8", "replace") for key, _ in found]

    def captured(self, session_id: str) -> None:
        """The session's memory has been refreshed."""
        self._engine.delete(RUNTIME, layout.capture_key(session_id))

    def put(self, batch: Batch, session_id: str, event: HookEvent, seq: int, dedupe_key: str) -> None:
        """Add the event to ``batch``; of those before it more than EVENTS_KEPT go, once in a while."""
        key = layout.event_key(session_id, seq)
        batch.put(EVENTS, key, records.encode_event(key, event))
        batch.put(EVENTS, layout.applied_key(session_id, dedupe_key), seq.to_bytes(8, "big"))
        if seq % TRIM_EVERY == 0 and seq > EVENTS_KEPT:
            first_kept = layout.event_key(session_id, seq - EVENTS_KEPT + 1)
            batch.delete_range(EVENTS, layout.event_prefix(session_id), first_kept)
