"""Caches the memories that were read last, so that reading them again needs no database (REQ-CORE-010).

An OrderedDict under the caller's lock: it keeps the order of use in C, lets us count evictions, and adds no
dependency. The libraries for this are slower (pure Python) or don't report what was evicted.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from context_graph.model.memory import MemoryNode

_LOG: Final = logging.getLogger(__name__)
NODE_BYTES: Final = 1024
"""What a node takes beside its content: measured with tracemalloc, 900 for one with session and two tags."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Counts of what the cache holds and did since it was made."""

    nodes: int
    bytes: int
    """Estimated: content and a fixed part for each."""
    hits: int
    misses: int
    evictions: int

    @property
    def hit_rate(self) -> float:
        """Share of reads that it answered, [0, 1]; 0 before the first."""
        reads = self.hits + self.misses
        return self.hits / reads if reads else 0.0


class NodeCache:
    """The most recently used nodes, bounded in number and in bytes. Not thread-safe."""

    def __init__(self, max_nodes: int, max_bytes: int) -> None:
        self._max_nodes = max_nodes
        self._max_bytes = max_bytes
        self._nodes: OrderedDict[bytes, MemoryNode] = OrderedDict()
        self._bytes = 0
        self._hits = self._misses = self._evictions = 0

    def get(self, node_id: bytes) -> MemoryNode | None:
        """The node if it is cached; it then counts as the most recently used. Cost: below 1 us."""
        node = self._nodes.get(node_id)
        if node is None:
            self._misses += 1
            return None
        self._hits += 1
        self._nodes.move_to_end(node_id)
        return node

    def put(self, node: MemoryNode) -> None:
        """Add ``node``; the least recently used ones are evicted while there are too many."""
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
        """Replace a cached node by a new version; this does not count as a use."""
        key = node.id.bytes
        old = self._nodes.get(key)
        if old is not None:
            self._bytes += _size(node) - _size(old)
            self._nodes[key] = node

    def discard(self, node_id: bytes) -> None:
        """Drop a node that was changed or deleted."""
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
