"""Caches the memories that were read last (REQ-CORE-010).

An OrderedDict under the caller's lock keeps the order of use in C. The libraries for this are slower or
don't count evictions.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from context_graph.model.memory import MemoryNode

_LOG: Final = logging.getLogger(__name__)
NODE_BYTES: Final = 1024
"""What a memory takes besides its content; 900 were measured for one with a session and two tags."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What the cache holds, and what it did so far."""

    nodes: int
    bytes: int
    """Estimated: contents and a fixed part for each."""
    hits: int
    misses: int
    evictions: int

    @property
    def hit_rate(self) -> float:
        """Share of reads that it answered, [0, 1]; 0 before the first."""
        reads = self.hits + self.misses
        return self.hits / reads if reads else 0.0


class NodeCache:
    """The most recently used memories, bounded in number and bytes. Not thread-safe."""

    def __init__(self, max_nodes: int, max_bytes: int) -> None:
        self._max_nodes = max_nodes
        self._max_bytes = max_bytes
        self._nodes: OrderedDict[bytes, MemoryNode] = OrderedDict()
        self._bytes = 0
        self._hits = self._misses = self._evictions = 0

    def get(self, node_id: bytes) -> MemoryNode | None:
        """Return the memory if it is cached, which counts as a use. Cost: below 1 us."""
        node = self._nodes.get(node_id)
        if node is None:
            self._misses += 1
            return None
        self._hits += 1
        self._nodes.move_to_end(node_id)
        return node

    def put(self, node: MemoryNode) -> None:
        """Add ``node``; evict the least recently used while there are too many."""
        key = node.id.bytes
        self.discard(key)
        self._nodes[key] = node
        self._bytes += _size(node)
        while len(self._nodes) > self._max_nodes or (self._bytes > self._max_bytes and len(self._nodes) > 1):
            _, oldest = self._nodes.popitem(last=False)
            self._bytes -= _size(oldest)
            self._evictions += 1
            _LOG.debug("memory cache: %d evictions", self._evictions)

    def replace(self, node: MemoryNode) -> None:
        """Replace a cached memory by a new version; not counted as a use."""
        key = node.id.bytes
        old = self._nodes.get(key)
        if old is not None:
            self._bytes += _size(node) - _size(old)
            self._nodes[key] = node

    def discard(self, node_id: bytes) -> None:
        """Drop a memory that was changed or deleted."""
        node = self._nodes.pop(node_id, None)
        if node is not None:
            self._bytes -= _size(node)

    def clear(self) -> None:
        """Drop all nodes."""
        self._nodes.clear()
        self._bytes = 0

    def stats(self) -> CacheStats:
        """Counts."""
        return CacheStats(len(self._nodes), self._bytes, self._hits, self._misses, self._evictions)


def _size(node: MemoryNode) -> int:
    return NODE_BYTES + len(node.content)
