"""Keeps the durable queue of consolidation requests (D3.7)."""

from __future__ import annotations

from collections.abc import Mapping

from context_graph.errors import InvalidInputError
from context_graph.store import layout
from context_graph.store.engine.cursor import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.layout import SYSTEM
from context_graph.store.sessions import records


class ConsolidationQueue:
    """The queue in one open engine. Not thread-safe, like the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def queue(self, request: Mapping[str, object]) -> str:
        """Queue a consolidation request durably and return its id (D3.7).

        Args:
            request: A JSON object with at least ``session_id`` (str) and ``at_ms`` (Unix ms).
        """
        batch = self._engine.batch()
        key = self.put(batch, request)
        self._engine.write(batch)
        return key[2:].hex()

    def pending(self) -> list[dict[str, object]]:
        """The queued requests, oldest first, each with its ``id``."""
        found = self._engine.scan(SYSTEM, layout.DREAM_PREFIX, layout.after(layout.DREAM_PREFIX))
        return [{"id": key[2:].hex(), **records.decode_dream(key, record)} for key, record in found]

    def finish(self, dream_id: str) -> bool:
        """Take a request off the queue; False if it is not there (any more)."""
        try:
            key = layout.DREAM_PREFIX + bytes.fromhex(dream_id)
        except ValueError:
            return False
        if self._engine.get(SYSTEM, key) is None:
            return False
        self._engine.delete(SYSTEM, key)
        return True

    def put(self, batch: Batch, request: Mapping[str, object]) -> bytes:
        """Add a request to ``batch``; its key. Raises InvalidInputError if it lacks a field."""
        session_id, at_ms = request.get("session_id"), request.get("at_ms")
        if not isinstance(session_id, str) or type(at_ms) is not int:
            raise InvalidInputError("a dream request needs session_id (text) and at_ms (Unix ms)")
        key = layout.dream_key(at_ms, session_id)
        batch.put(SYSTEM, key, records.encode_dream(key, request))
        return key
