"""Holds what the parts of Memex share: database, cache, derived data, provider and the operation lock."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from context_graph.config.settings import MemoryConfig
from context_graph.errors import (
    UNREADABLE_RECORD,
    ContextGraphError,
    CorruptedMemoryError,
    GraphQueryError,
    MemoryFormatError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
)
from context_graph.memory import embed
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.index.derived import Derived
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.index.second_vectors import SecondVectors, find_model
from context_graph.memory.metrics.metrics import FACT, Tellings
from context_graph.memory.metrics.timings import Timings
from context_graph.memory.recall import Recaller
from context_graph.model.edge import Direction, GraphEdge
from context_graph.model.memory import MemoryNode
from context_graph.redact import Tally, TextRedactor
from context_graph.store.graph.graph import GraphStore

_LOG: Final = logging.getLogger(__name__)
_HARMLESS: Final = (*UNREADABLE_RECORD, StoreBusyError, StoreClosedError)
"""Failures after which the database goes on as before."""


class Core:
    """The shared state of one store. Use it inside an operation: ``with core.operation("store"): ...``."""

    def __init__(
        self,
        store: GraphStore,
        *,
        config: MemoryConfig,
        redactor: TextRedactor,
        provider: EmbeddingProvider | None = None,
    ) -> None:
        self.config = config
        self.redactor = Tally(redactor)
        self.store = store
        self.cache = NodeCache(config.cache_nodes, config.cache_bytes)
        self.timings = Timings()
        self._lock = threading.RLock()
        self._suspect = False
        """A write failed: RocksDB may refuse every further one until it is opened again."""
        self._provider = provider
        self._derived: Derived | None = None
        self._recaller: Recaller | None = None
        self._second: SecondVectors | None = None
        self._tellings: Tellings | None = None
        self._closed = self._recorded = False
        self.purged_ms = 0
        """Unix ms of the last purge."""

    @property
    def folder(self) -> Path:
        """The store's folder, which holds the database's folder."""
        return self.store.path.parent

    @contextmanager
    def operation(self, name: str, *, writes: bool = False) -> Iterator[Core]:
        """Lock this core for one operation, named for metrics and errors; operations may be nested.

        If it ``writes`` and a write failed before, the database is opened again first.

        Raises on entering:
            StoreBusyError: The lock was not free in time (ERR-CORE-009).
            StoreClosedError: It was closed.
            StoreError: A write failed before, and the database can't be opened again yet.

        Cost: 2 us.
        """
        began = time.perf_counter()
        self._acquire(name)
        failed = True
        try:
            if self._closed:
                raise StoreClosedError(f"the memory of {self.folder} is closed")
            if writes and self._suspect:
                self._recover()
            yield self
            failed = False
            self._keep_tellings()
        except StoreError as error:
            if writes and not isinstance(error, _HARMLESS):
                self._suspect = True
            raise
        finally:
            self.timings.note(name, time.perf_counter() - began, failed=failed)
            self._lock.release()

    def _acquire(self, operation: str) -> None:
        timeout_s = self.config.lock_timeout_s
        if not self._lock.acquire(timeout=timeout_s):
            raise StoreBusyError(
                f"{operation} waited {timeout_s:g} s for another use of this store's memory; "
                "try again, or let fewer callers write at once"
            )

    # Nodes

    def node(self, node_id: UUID) -> MemoryNode | None:
        """Return the live memory of that id, from the cache or the disk."""
        key = node_id.bytes
        node = self.cache.get(key)
        if node is None:
            node = self.store.get(key)
            if node is not None:
                self.cache.put(node)
        return node

    def readable(self, node_id: UUID) -> MemoryNode | None:
        """As `node`, but None, with a line in the log, if its record is damaged: other answers go on."""
        try:
            return self.node(node_id)
        except (CorruptedMemoryError, MemoryFormatError) as error:
            _LOG.error("%s", error)
            return None

    def live(self, node_id: UUID) -> MemoryNode:
        """As `node`; GraphQueryError if there is none."""
        node = self.node(node_id)
        if node is None:
            raise GraphQueryError(f"no memory {node_id} in this store")
        return node

    def stored_edges(self, node_id: UUID) -> list[GraphEdge]:
        """Return the edges of a memory, also those to soft-deleted ones."""
        return self.store.edges.of(node_id.bytes) if self.store.counters.edges else []

    def visible_edges(self, node_id: UUID, direction: Direction = Direction.BOTH) -> list[GraphEdge]:
        """Return the edges of a memory whose other end is live."""
        if not self.store.counters.edges:
            return []
        edges = self.store.edges.of(node_id.bytes, direction)
        ends = ((edge, edge.target_id if edge.source_id == node_id else edge.source_id) for edge in edges)
        return [edge for edge, other in ends if self.readable(other) is not None]

    # Derived state

    @property
    def provider(self) -> EmbeddingProvider:
        """The provider that the store records, else the default; ProviderMismatchError for an unknown one."""
        if self._provider is None:
            recorded = self.store.meta(embed.PROVIDER)
            if recorded is None:
                self._provider = embed.default_provider()
            else:
                self._provider = embed.recorded_provider(str(recorded.get("name")))
        return self._provider

    @property
    def derived(self) -> Derived:
        """Index and metrics, loaded on first use; ProviderMismatchError for another provider's vectors."""
        if self._derived is None:
            recorded = self.store.meta(embed.PROVIDER)
            pair = None if recorded is None else (str(recorded["name"]), str(recorded["digest"]))
            embed.require_provider(pair, self.provider)
            with self.timings.measure("load"):
                self._derived = Derived(self.store, self.provider, self.folder)
            self._second = self._second or self._find_second()
            if self._second is not None:
                self._second.notify()
        return self._derived

    @property
    def loaded_index(self) -> MemoryIndex | None:
        """The index, if it is loaded."""
        return None if self._derived is None else self._derived.index

    @property
    def loaded_entropy(self) -> float | None:
        """The store's entropy, if the metrics are loaded."""
        return None if self._derived is None else self._derived.metrics.shares(self.tellings).entropy

    @property
    def second(self) -> SecondVectors | None:
        """The maker of second vectors, if the derived data is loaded and there is a model."""
        return self._second

    def _find_second(self) -> SecondVectors | None:
        try:
            model = find_model(self.config.model)
        except ContextGraphError as error:  # an aid to recall, which works without
            _LOG.warning("second vectors of %s: %s", self.folder.name, error)
            return None
        return None if model is None else SecondVectors(model, self.operation)

    @property
    def recaller(self) -> Recaller:
        """Answers queries over the index."""
        if self._recaller is None:
            self._recaller = Recaller(
                self.derived.index, self.provider, self.readable, self.stored_edges, extra=self._second
            )
        return self._recaller

    def record_provider(self) -> None:
        """Record the provider of the embeddings before the first of them is written."""
        if not self._recorded and self.store.meta(embed.PROVIDER) is None:
            self.store.put_meta(embed.PROVIDER, embed.record_of(self.provider))
        self._recorded = True

    def adopt_provider(self, provider: EmbeddingProvider) -> None:
        """Switch to another provider, whose embeddings the store now has, and drop everything derived."""
        self._provider = provider
        self.forget_derived()

    def load_derived(self) -> None:
        """Load index and metrics, if they are not loaded."""
        _ = self.derived

    def forget_derived(self) -> None:
        """Drop index and metrics; they are loaded again on next use."""
        self._derived = self._recaller = None

    def committed(self) -> None:
        """Called after a commit, when the derived data has been updated."""
        derived = self._derived
        if derived is not None:
            derived.seq = self.store.counters.seq
            derived.index.seen(derived.seq)
            derived.save_if_due()
            if self._second is not None:
                self._second.notify()

    # What was told

    @property
    def tellings(self) -> Tellings:
        """What the store's sessions were told lately."""
        if self._tellings is None:
            try:
                self._tellings = Tellings.from_fact(self.store.meta(FACT))
            except UNREADABLE_RECORD as error:
                _LOG.error("%s; what was told begins anew", error)
                self._tellings = Tellings()
        return self._tellings

    def _keep_tellings(self) -> None:
        """Write what was told, if it has changed; a failure only means that a later pulse knows less."""
        if self._tellings is None or not self._tellings.changed:
            return
        try:
            self.store.put_meta(FACT, self._tellings.as_fact())
            self._tellings.changed = False
        except StoreError as error:
            _LOG.warning("what was told of %s: %s", self.folder.name, error)
            self.mistrust()

    # Life

    def mistrust(self) -> None:
        """Note a failed write that its caller tolerates: the database is opened again before the next one."""
        self._suspect = True

    def save(self) -> None:
        """Write snapshots of the derived data, so that the next opening is fast."""
        if self._derived is not None:
            self._derived.save()

    def close(self) -> None:
        """Save and drop everything; the engine stays open. Safe to call twice."""
        if self._second is not None:
            self._second.stop()  # before the lock: it may be waiting for it
        if self._closed:
            return
        self._acquire("close")
        try:
            self._closed = True
            if not self._suspect:
                self.save()
            self.forget_derived()
            self.cache.clear()
        finally:
            self._lock.release()

    def _recover(self) -> None:
        """After a failed write: open the database again and keep only what its records confirm."""
        before = self.store.counters
        self.store.reopen()
        self.cache.clear()
        # Equal counters: the failed write left nothing, and the derived state never saw it.
        if self.store.counters != before:
            self.forget_derived()
        self._suspect = False


def now_ms() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000


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
