"""Ways along edges that answers took, in the database: one record each in ``memory_meta``, a bounded number.

A use is no change of a memory: like accesses, these have no commit number.
"""

from __future__ import annotations

# hashlib would load OpenSSL for this one function (see store.layout).
from _blake2 import blake2b
from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from context_graph.errors import CorruptedMemoryError
from context_graph.model.path import TraversedPath
from context_graph.store import graph_records as records
from context_graph.store.batch import Batch
from context_graph.store.engine import Engine
from context_graph.store.graph_layout import META
from context_graph.store.layout import after

__all__ = ["MAX_PATHS", "PathTable", "path_key"]

MAX_PATHS: Final = 1024
"""Records kept; when there are more, the quarter that was taken least goes."""
_PREFIX: Final = b"path:"


def path_key(nodes: Sequence[UUID]) -> bytes:
    """The key of the way through ``nodes`` in this order."""
    digest = blake2b(b"".join(node.bytes for node in nodes), digest_size=16).hexdigest()
    return _PREFIX + digest.encode()


class PathTable:
    """Reads paths, and writes them into batches that its caller commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._count: int | None = None
        """Records there are, counted when first needed."""

    def get(self, nodes: Sequence[UUID]) -> TraversedPath | None:
        """The path through ``nodes``; None if it was never taken, or its record can't be read."""
        key = path_key(nodes)
        record = self._engine.get(META, key)
        return None if record is None else _decoded(key, record)

    def all(self) -> Iterator[TraversedPath]:
        """Every path, in no particular order; records that can't be read are passed over."""
        for key, record in self._engine.scan(META, _PREFIX, after(_PREFIX)):
            path = _decoded(key, record)
            if path is not None:
                yield path

    def note(self, batch: Batch, nodes: Sequence[UUID], confidence: float, at_ms: int) -> None:
        """Add to ``batch``: the way through ``nodes`` was taken once more. Cost: one lookup, some 10 us.

        Args:
            confidence: The least of its edges', [0, 1].
            at_ms: Unix ms.
        """
        known = self.get(nodes)
        if known is None:
            self._make_room(batch)
            known = TraversedPath(tuple(nodes), 0, 1.0, at_ms)
        key = path_key(nodes)
        content = {
            "nodes": [node.hex for node in known.nodes],
            "traversals": known.traversals + 1,
            "confidence": min(known.confidence, confidence),
            "last_ms": max(known.last_ms, at_ms),
        }
        batch.put(META, key, records.encode_meta(key, content))

    def _make_room(self, batch: Batch) -> None:
        if self._count is None:
            self._count = sum(1 for _ in self._engine.scan(META, _PREFIX, after(_PREFIX)))
        if self._count >= MAX_PATHS:
            by_use = sorted(self.all(), key=lambda path: (path.traversals, path.last_ms))
            for path in by_use[: MAX_PATHS // 4]:
                batch.delete(META, path_key(path.nodes))
            self._count = None  # what the batch leaves; it may fail
        else:
            self._count += 1


def _decoded(key: bytes, record: bytes) -> TraversedPath | None:
    """Derived from uses: one that is damaged is as if it had not been."""
    try:
        content = records.decode_meta(key, record)
        nodes = tuple(UUID(hex=one) for one in content["nodes"])
        return TraversedPath(
            nodes, int(content["traversals"]), float(content["confidence"]), int(content["last_ms"])
        )
    except (CorruptedMemoryError, KeyError, TypeError, ValueError):
        return None
