"""What the parts of Memex share: database, cache, derived state, provider and lock."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Final
from uuid import UUID

from context_graph.config.memory import MemoryConfig
from context_graph.errors import (
    ContextGraphError,
    CorruptedMemoryError,
    GraphQueryError,
    MemoryFormatError,
    StoreClosedError,
)
from context_graph.memory import embed
from context_graph.memory.cache import NodeCache
from context_graph.memory.derived import Derived
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.index import MemoryIndex
from context_graph.memory.metrics import Timings
from context_graph.memory.minilm import find_model
from context_graph.memory.recall import Recaller
from context_graph.memory.second import SecondVectors
from context_graph.memory.turn import Turn, Turns
from context_graph.model.edge import Direction, GraphEdge
from context_graph.model.memory import MemoryNode
from context_graph.redact import Tally, TextRedactor
from context_graph.store.graph import GraphStore

__all__ = ["Core", "now_ms"]

_LOG: Final = logging.getLogger(__name__)
_PROVIDER: Final = "provider"
PURGE_EVERY_MS: Final = 86_400_000


class Core:
    """One store's memory. Use it inside a turn only: ``with core.turn("store"): ...``."""

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
        self._turns = Turns(self, config.lock_timeout_s, self.timings)
        self._provider = provider
        self._derived: Derived | None = None
        self._recaller: Recaller | None = None
        self._second: SecondVectors | None = None
        self._closed = self._recorded = False
        self.purged_ms = 0
        """Unix ms of the last purge."""

    @property
    def folder(self) -> Path:
        """The store's folder, that of the database's own."""
        return self.store.path.parent

    def turn(self, operation: str, *, writes: bool = False) -> Turn[Core]:
        """This core under its lock, for one operation (a name for metrics and errors).

        Args:
            writes: It is to change the store: if a write failed before, the database is opened again first.

        Raises on entering:
            StoreBusyError: The lock was not free in time.
            StoreClosedError: It was closed.
            StoreError: A write failed before and the database can't be opened again yet.
        """
        return Turn(self._turns, operation, writes=writes)

    # Nodes

    def node(self, node_id: UUID) -> MemoryNode | None:
        """The live memory of that id, from the cache or the disk."""
        key = node_id.bytes
        found = self.cache.get(key)
        if found is None:
            found = self.store.get(key)
            if found is not None:
                self.cache.put(found)
        return found

    def readable(self, node_id: UUID) -> MemoryNode | None:
        """As `node`; one whose record is damaged is passed over, with a line in the log: an answer of many
        memories must not fail for one of them."""
        try:
            return self.node(node_id)
        except (CorruptedMemoryError, MemoryFormatError) as error:
            _LOG.error("%s", error)
            return None

    def live(self, node_id: UUID) -> MemoryNode:
        """As `node`; GraphQueryError if there is none."""
        found = self.node(node_id)
        if found is None:
            raise GraphQueryError(f"no memory {node_id} in this store")
        return found

    def stored_edges(self, node_id: UUID) -> list[GraphEdge]:
        """The edges of a memory, also those to a soft-deleted one."""
        return self.store.edges.of(node_id.bytes) if self.store.counters.edges else []

    def visible_edges(self, node_id: UUID, direction: Direction = Direction.BOTH) -> list[GraphEdge]:
        """The edges of a memory whose other end is to be seen."""
        if not self.store.counters.edges:
            return []
        edges = self.store.edges.of(node_id.bytes, direction)
        return [edge for edge in edges if self.readable(_other_end(edge, node_id)) is not None]

    # Derived state

    @property
    def provider(self) -> EmbeddingProvider:
        """Who makes this store's embeddings: as it records, else the default.

        Raises:
            ProviderMismatchError: It records one that is not known here.
        """
        if self._provider is None:
            recorded = self.store.meta(_PROVIDER)
            if recorded is None:
                self._provider = embed.default_provider()
            else:
                self._provider = embed.recorded_provider(str(recorded.get("name")))
        return self._provider

    @property
    def derived(self) -> Derived:
        """Index and figures, loaded when first needed.

        Raises:
            ProviderMismatchError: The store's vectors are another provider's.
        """
        if self._derived is None:
            recorded = self.store.meta(_PROVIDER)
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
        """The store's entropy by its figures, if they are loaded."""
        return None if self._derived is None else self._derived.figures.metrics().entropy

    @property
    def second(self) -> SecondVectors | None:
        """What makes second vectors, once the derived state is loaded and if there is a model."""
        return self._second

    def _find_second(self) -> SecondVectors | None:
        try:
            model = find_model(self.config.model)
        except ContextGraphError as error:  # an aid to recall, which works without
            _LOG.warning("second vectors of %s: %s", self.folder.name, error)
            return None
        return None if model is None else SecondVectors(model, self.turn)

    @property
    def recaller(self) -> Recaller:
        """Answers queries over the index."""
        if self._recaller is None:
            self._recaller = Recaller(
                self.derived.index, self.provider, self.readable, self.stored_edges, extra=self._second
            )
        return self._recaller

    def record_provider(self) -> None:
        """Write down who makes the embeddings, before the first of them."""
        if self._recorded:
            return
        if self.store.meta(_PROVIDER) is None:
            self._write_provider(self.provider)
        self._recorded = True

    def adopt_provider(self, provider: EmbeddingProvider) -> None:
        """Go on with another provider, whose embeddings the store now has, and derive everything anew."""
        self._provider = provider
        self.forget_derived()

    def load_derived(self) -> None:
        """Have index and figures at hand."""
        _ = self.derived

    def _write_provider(self, provider: EmbeddingProvider) -> None:
        record = {"name": provider.name, "digest": provider.digest, "dim": provider.dim}
        self.store.put_meta(_PROVIDER, record)

    def forget_derived(self) -> None:
        """Let index and figures go; they are loaded again when next needed."""
        self._derived = self._recaller = None

    def index_stats(self) -> dict[str, int]:
        """Counts of the index, if it is loaded."""
        return {} if self._derived is None else self._derived.index.stats()

    def purge_is_due(self, at_ms: int) -> bool:
        """Whether a day has passed since the last purge."""
        return at_ms - self.purged_ms >= PURGE_EVERY_MS

    def committed(self) -> None:
        """After a commit whose effect the derived state has followed."""
        if self._derived is not None:
            self._derived.seq = self.store.counters.seq
            self._derived.index.seen(self._derived.seq)
            self._derived.save_if_due()
            if self._second is not None:
                self._second.notify()

    # Life

    def mistrust(self) -> None:
        """A write failed that its caller could do without: the database is opened again before the next."""
        self._turns.suspect = True

    def save(self) -> None:
        """Write snapshots of the derived state, so that the next opening is short."""
        if self._derived is not None:
            self._derived.save()

    def close(self) -> None:
        """Save and let go; the engine stays open. Safe to call twice."""
        if self._second is not None:
            self._second.stop()  # before the turn: it may be waiting for one
        if self._closed:
            return
        self._turns.acquire("close")
        try:
            self._closed = True
            if not self._turns.suspect:
                self.save()
            self.forget_derived()
            self.cache.clear()
        finally:
            self._turns.release()

    def begin(self, *, writes: bool) -> None:
        """Called with the lock held, at the start of each turn."""
        if self._closed:
            raise StoreClosedError(f"the memory of {self.folder} is closed")
        if writes and self._turns.suspect:
            self._recover()

    def _recover(self) -> None:
        """After a failed write: open the database again and keep only what its records bear out."""
        before = self.store.counters
        self.store.reopen()
        self.cache.clear()
        # Equal counters: the failed write left nothing, and the derived state never saw it.
        if self.store.counters != before:
            self.forget_derived()
        self._turns.suspect = False


def now_ms() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000


def _other_end(edge: GraphEdge, node_id: UUID) -> UUID:
    return edge.target_id if edge.source_id == node_id else edge.source_id
