"""What Memex tells: memories by id, in pages and by query, edges, and the store's view of itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.memory import listing, past
from context_graph.memory.core import Core, now_ms
from context_graph.memory.figures import figures_of
from context_graph.memory.filters import RecallFilters
from context_graph.memory.health import Health, health_of
from context_graph.memory.inject import Injection, inject, packed_vectors
from context_graph.memory.insights import Insights
from context_graph.memory.listing import MemoryPage
from context_graph.memory.metrics import prometheus_text
from context_graph.memory.past import AsOf, Version
from context_graph.memory.recall import Recall
from context_graph.memory.status import MemeticStatus
from context_graph.memory.utl_metrics import UtlMetrics
from context_graph.memory.writing import as_uuid
from context_graph.model.edge import Direction, GraphEdge
from context_graph.model.memory import CognitivePulse, MemoryNode, Tombstone
from context_graph.store.graph import StoredNode
from context_graph.store.runs import Run

__all__ = ["Reading"]

_EVERYTHING: Final = RecallFilters()


class Reading:
    """The reading half of Memex. Thread-safe; nothing here changes a store."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def core(self) -> Core:
        """What all parts of this share, for operations of the layers above: inside its turns only."""
        return self._core

    @property
    def seq(self) -> int:
        """The number of the last change of memories or edges, from 1 and without gaps; 0 before the first."""
        return self._core.store.counters.seq

    # Memories

    def get(self, node_id: UUID | str) -> MemoryNode | None:
        """The memory of that id; None if there is none or it is soft-deleted (EC-CORE-011).

        Cost: 2 us from the cache, some 20 us from the database.

        Raises:
            CorruptedMemoryError, MemoryFormatError, ReadFailedError: Its record can't be read; names the id.
        """
        wanted = node_id if type(node_id) is UUID else as_uuid("node_id", node_id)
        with self._core.turn("get") as core:
            return core.node(wanted)

    def embedding(self, node_id: UUID | str) -> bytes | None:
        """The embedding of a live memory: 1536 float32, little-endian (`model.spaces` cuts it up)."""
        wanted = as_uuid("node_id", node_id)
        with self._core.turn("embedding") as core:
            node = core.node(wanted)
            return None if node is None else core.store.embedding(node.commit_seq)

    def stored(self, node_id: UUID | str) -> StoredNode | None:
        """The memory of that id as the disk has it, soft-deleted or not."""
        wanted = as_uuid("node_id", node_id)
        with self._core.turn("get") as core:
            return core.store.read(wanted.bytes)

    def stored_after(self, seq: int = 0) -> Iterator[StoredNode]:
        """All memories in order of commit from after commit ``seq``, soft-deleted ones too."""
        with self._core.turn("scan") as core:
            return core.store.in_order(seq)

    def embedding_at(self, seq: int) -> bytes | None:
        """The embedding of the memory with that commit number, soft-deleted or not."""
        with self._core.turn("embedding") as core:
            return core.store.embedding(seq)

    def ids_with_prefix(self, text: str, limit: int = 10) -> list[UUID]:
        """At most ``limit`` ids, of soft-deleted memories too, that begin with ``text`` (hex digits)."""
        digits = text.replace("-", "").lower()
        if not 1 <= len(digits) <= 32 or not set(digits) <= set("0123456789abcdef"):
            raise InvalidParamsError.of("id", f"is {text!r:.80}, must be a UUID or its first digits")
        with self._core.turn("get") as core:
            whole = bytes.fromhex(digits[: len(digits) & ~1])
            found = core.store.ids_with_prefix(whole, limit if len(digits) % 2 == 0 else 16 * limit)
        return [UUID(bytes=one) for one in found if one.hex().startswith(digits)][:limit]

    def list(
        self, cursor: str | None = None, limit: int = 50, filters: RecallFilters = _EVERYTHING
    ) -> MemoryPage:
        """A page of memories, newest first.

        Args:
            cursor: What the last page said; None for the first.
            limit: 1 to 1,000.
        """
        with self._core.turn("list") as core:
            return listing.page(core, cursor, limit, filters)

    def recall(
        self,
        query: str,
        *,
        top_k: int = 10,
        filters: RecallFilters = _EVERYTHING,
        recency: float = 0.0,
        cursor: str | None = None,
    ) -> Recall:
        """The memories that answer ``query`` best (REQ-CORE-015); none is no error.

        Args:
            query: 1 to 4,096 characters.
            top_k: 1 to 100 (EC-CORE-005).
            recency: [0, 1], how much newer memories are preferred.
            cursor: What the last page said.
        """
        with self._core.turn("recall") as core:
            return core.recaller.recall(query, top_k=top_k, filters=filters, recency=recency, cursor=cursor)

    def inject(
        self,
        query: str,
        *,
        max_tokens: int = 2048,
        mode: str = "auto",
        priority: str = "normal",
        include: Iterable[str] = (),
        filters: RecallFilters = _EVERYTHING,
    ) -> Injection:
        """What is known about ``query``, distilled to at most ``max_tokens`` tokens (REQ-CORE-016).

        Args:
            query: 1 to 4,096 characters.
            max_tokens: 100 to 8,192 (EC-CORE-006).
            mode: auto, raw, narrative, structured or code_focused.
            priority: low, normal, high or critical: how many memories are looked at, how strictly.
            include: Of causal_links, entailment_cones, neighborhood, conflicts.
        """
        with self._core.turn("inject") as core:
            return inject(
                self,
                core.provider,
                core.derived.figures.pack,
                query,
                max_tokens=max_tokens,
                mode=mode,
                priority=priority,
                include=include,
                filters=filters,
            )

    def warm(self) -> None:
        """Load what recall needs, so that the first need not wait: 0.1 s, and more in large stores."""
        with self._core.turn("load") as core:
            core.load_derived()
            core.provider.encode("warm")

    def insights(self, nodes: Sequence[MemoryNode]) -> Insights:
        """What is known about these memories: causes, containment, neighbours, conflicts, their figures."""
        with self._core.turn("inject") as core:
            return Insights(nodes, self, packed_vectors(self, core.derived.figures.pack, nodes))

    def tombstone(self, node_id: UUID | str) -> Tombstone | None:
        """When and why that memory was deleted; None if it was not."""
        wanted = as_uuid("node_id", node_id)
        with self._core.turn("get") as core:
            return core.store.tombstone(wanted.bytes)

    def tombstones(self, after: UUID | None = None) -> Iterator[Tombstone]:
        """All tombstones by id, from after ``after``."""
        with self._core.turn("scan") as core:
            return core.store.tombstones(after.bytes if after else b"")

    # Edges

    def edges(self, node_id: UUID | str, direction: Direction = Direction.BOTH) -> Sequence[GraphEdge]:
        """The edges of a memory to live ones, those that leave it first."""
        wanted = as_uuid("node_id", node_id)
        with self._core.turn("edges") as core:
            return core.visible_edges(wanted, direction)

    def all_edges(self, after: UUID | None = None) -> Iterator[GraphEdge]:
        """Every edge by id, from after ``after``."""
        with self._core.turn("scan") as core:
            return core.store.edges.all(after.bytes if after else b"")

    # The past

    def history(self, node_id: UUID | str, limit: int = 100) -> Sequence[Version]:
        """The changes of a memory and of its edges that are still known, newest first.

        What a change overwrites is kept for the retention; uses are no changes.

        Raises:
            GraphQueryError: There is no such memory, or it is gone for good.
            InvalidParamsError: A limit below 1.

        Cost: some 50 us a change.
        """
        wanted = as_uuid("node_id", node_id)
        with self._core.turn("history") as core:
            return past.history(core, wanted, limit)

    def as_of(self, node_id: UUID | str, at_ms: int) -> AsOf | None:
        """A memory with its edges as it was at a time; None if it was not in the store then.

        Args:
            at_ms: Unix ms, within the retention.

        Raises:
            InvalidParamsError: A time to come, or one from before what is kept.
        """
        wanted = as_uuid("node_id", node_id)
        with self._core.turn("history") as core:
            return past.as_of(core, wanted, at_ms)

    def runs(self, limit: int = 50) -> Sequence[Run]:
        """The newest consolidations that can be undone, or were, and what undid them; newest first."""
        with self._core.turn("runs") as core:
            return list(islice(core.store.history.runs(), limit))

    # The store's view of itself

    def utl(self) -> UtlMetrics:
        """Entropy, coherence, learning score and what they are made of, each in [0, 1]."""
        with self._core.turn("pulse") as core:
            return core.derived.figures.metrics()

    def entropy_if_loaded(self) -> float | None:
        """The store's entropy, in [0, 1]; None while its figures are not in memory. Loads nothing; 5 us."""
        return self._core.loaded_entropy

    def pulse(self, *, empty_recall: bool = False) -> CognitivePulse:
        """The header of every answer (REQ-CORE-019).

        Args:
            empty_recall: The answer found no memory: explore (EC-CORE-004).
        """
        with self._core.turn("pulse") as core:
            return core.derived.figures.pulse(self, now_ms(), empty_recall=empty_recall)

    def status(self, *, dream_available: bool = False) -> MemeticStatus:
        """Figures, what is used most, what is to be done (REQ-CORE-017)."""
        with self._core.turn("status") as core:
            return core.derived.figures.status(self, now_ms(), dream_available=dream_available)

    def provider_record(self) -> dict[str, Any] | None:
        """Who makes this store's embeddings (name, digest, dim); None before the first."""
        with self._core.turn("get") as core:
            return core.store.meta("provider")

    def metrics(self) -> dict[str, Any]:
        """Figures for `status`: counts, cache, filters, tables, and each operation's times (REQ-CORE-011)."""
        with self._core.turn("metrics") as core:
            return {**figures_of(core), "operations": core.timings.as_dict()}

    def uncounted(self) -> AbstractContextManager[None]:
        """A block in which no operation is counted in `metrics`: for what only examines the memory."""
        return self._core.timings.paused()

    def health(self) -> Health:
        """Whether records, counters, index and its snapshot agree. Cost: a pass over keys and snapshot."""
        with self._core.turn("metrics") as core:
            return health_of(core)

    def prometheus(self) -> str:
        """The same in Prometheus' text format."""
        with self._core.turn("metrics") as core:
            return prometheus_text(figures_of(core), core.timings, core.folder.name)

    def count(self) -> int:
        """Live memories."""
        return self._core.store.counters.nodes
