"""Reads a store's memory: memories by id, in pages and by query, edges, and the store's view of itself."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.memory import history
from context_graph.memory.context.inject import Injection, inject, packed_vectors
from context_graph.memory.core import Core, now_ms
from context_graph.memory.elsewhere import Sought, ranked, sought
from context_graph.memory.evidence import HOOK_S, Evidence, TimeLeft, Verdict, is_record, successor, top_of
from context_graph.memory.filters import RecallFilters
from context_graph.memory.health import Health, health_of, numbers_of
from context_graph.memory.history import AsOf, Version
from context_graph.memory.index.blend import hashes
from context_graph.memory.metrics.insights import Insights
from context_graph.memory.metrics.metrics import MemeticStatus
from context_graph.memory.metrics.timings import prometheus_text
from context_graph.memory.recall import Recall, Recalled
from context_graph.memory.writing import as_uuid
from context_graph.model.edge import Direction, GraphEdge
from context_graph.model.memory import CAPTURED, NOTED, CognitivePulse, MemoryNode, Tombstone, check_range
from context_graph.model.note import NoteKind, kind_of_memory
from context_graph.notes.said import ending, ends
from context_graph.notes.said.language import language_of
from context_graph.store.graph.node_records import StoredNode
from context_graph.store.layout import Place
from context_graph.text import superseding

MAX_LIMIT: Final = 1000
SCAN_AT_MOST: Final = 10_000
"""Memories that one page examines; so a page may be short, or empty, and still have a next one."""
_STEP: Final = 256
_SAME: Final = 5
_SAME_CHARS: Final = 2000
_OUTDATED: Final = 12
"""Memories nearest to a new one that are compared with it."""


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of memories, newest first."""

    nodes: list[MemoryNode]
    next_cursor: str | None
    """None at the end."""


def _page(core: Core, cursor: str | None, limit: int, filters: RecallFilters) -> MemoryPage:
    """Return the memories that pass ``filters``, newest first, from ``cursor`` on."""
    check_range("limit", limit, 1, MAX_LIMIT)
    prefix, start = filters.prefix(), _read_cursor(cursor)
    nodes: list[MemoryNode] = []
    seen = 0
    while seen < SCAN_AT_MOST:
        places = core.store.page(prefix, _STEP, start=start)
        for place in places:
            start = place
            node = core.readable(UUID(bytes=place.id))
            if node is not None and filters.passes(node):
                nodes.append(node)
                if len(nodes) == limit:
                    return MemoryPage(nodes, _cursor(start))
        if len(places) < _STEP:
            return MemoryPage(nodes, None)
        seen += len(places)
    return MemoryPage(nodes, None if start is None else _cursor(start))


def _may_end(node: MemoryNode) -> bool:
    kind = kind_of_memory(node.metadata) if node.source == NOTED else NoteKind.RULE
    return kind in (NoteKind.RULE, NoteKind.DECISION)


def _cursor(place: Place) -> str:
    return f"{place.created_at_ms:x}-{place.seq:x}"


def _read_cursor(cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    try:
        created, seq = (int(part, 16) for part in cursor.split("-"))
        if 0 <= created < 1 << 63 and 0 <= seq < 1 << 63:
            return Place(created, seq, b"")
    except (ValueError, AttributeError):
        pass
    raise InvalidParamsError.of("cursor", f"is {cursor!r:.80}, which is none that a page gave")


_EVERYTHING: Final = RecallFilters()


class Reading:
    """The part of Memex that reads. Thread-safe; nothing here changes a memory."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.evidence: Final = Evidence()

    def names_file(self, path: str) -> int:
        """Return how many live memories have all words of this path. Cost: some 10 ms at 100,000 memories."""
        with self._core.operation("get") as core:
            index = core.derived.index
            terms = hashes(core.provider.encode(path).terms)
            with index.lock:
                rows = array("I", range(len(index.rows)))
                shares = index.postings.shares(terms, index.rows.live, rows)
                live = index.rows.live
                return sum(share > 0.999 and live[row] != 0 for row, share in enumerate(shares))

    @property
    def core(self) -> Core:
        """The shared state, for operations of the layers above; use it inside its `operation` only."""
        return self._core

    @property
    def seq(self) -> int:
        """The number of the last change, counted from 1 without gaps; 0 before the first."""
        return self._core.store.counters.seq

    # Memories

    def get(self, node_id: UUID | str) -> MemoryNode | None:
        """Return the memory of that id; None if there is none or it is soft-deleted (EC-CORE-011).

        Raises CorruptedMemoryError, MemoryFormatError or ReadFailedError if its record can't be read.
        Cost: 2 us from the cache, some 20 us from the database.
        """
        wanted = node_id if type(node_id) is UUID else as_uuid("node_id", node_id)
        with self._core.operation("get") as core:
            return core.node(wanted)

    def embedding(self, node_id: UUID | str) -> bytes | None:
        """Return the embedding of a live memory: 1536 float32, little-endian."""
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("embedding") as core:
            node = core.node(wanted)
            return None if node is None else core.store.vectors.get(node.commit_seq)

    def stored(self, node_id: UUID | str) -> StoredNode | None:
        """Return the memory of that id as stored, soft-deleted or not."""
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("get") as core:
            return core.store.read(wanted.bytes)

    def stored_after(self, seq: int = 0) -> Iterator[StoredNode]:
        """Return all memories after commit ``seq`` in order of commit, soft-deleted ones too."""
        with self._core.operation("scan") as core:
            return core.store.in_order(seq)

    def embedding_at(self, seq: int) -> bytes | None:
        """Return the embedding of the memory with that commit number, soft-deleted or not."""
        with self._core.operation("embedding") as core:
            return core.store.vectors.get(seq)

    def ids_with_prefix(self, text: str, limit: int = 10) -> list[UUID]:
        """Return at most ``limit`` ids that begin with ``text`` (hex digits), also soft-deleted ones."""
        digits = text.replace("-", "").lower()
        if not 1 <= len(digits) <= 32 or not set(digits) <= set("0123456789abcdef"):
            raise InvalidParamsError.of("id", f"is {text!r:.80}, must be a UUID or its first digits")
        with self._core.operation("get") as core:
            whole = bytes.fromhex(digits[: len(digits) & ~1])
            ids = core.store.ids_with_prefix(whole, limit if len(digits) % 2 == 0 else 16 * limit)
        return [UUID(bytes=node_id) for node_id in ids if node_id.hex().startswith(digits)][:limit]

    def list(
        self, cursor: str | None = None, limit: int = 50, filters: RecallFilters = _EVERYTHING
    ) -> MemoryPage:
        """Return a page of ``limit`` (1 to 1,000) memories, newest first; ``cursor`` is the last page's."""
        with self._core.operation("list") as core:
            return _page(core, cursor, limit, filters)

    def recall(
        self,
        query: str,
        *,
        top_k: int = 10,
        filters: RecallFilters = _EVERYTHING,
        recency: float = 0.0,
        cursor: str | None = None,
        floor: float = 0.0,
        looks_up: bool = False,
        alike: Mapping[str, float] | None = None,
        by_query: bool = False,
    ) -> Recall:
        """Return the memories that answer ``query`` best (REQ-CORE-015); finding none is not an error.

        Args:
            query: 1 to 4,096 characters.
            top_k: 1 to 100 (EC-CORE-005).
            recency: [0, 1], how much newer memories are preferred.
            cursor: The last page's `next_cursor`, with the same query and filters.
            floor: [0, 1], least probability that the best ones hold an answer; below it nothing is found.
            looks_up: Somebody asked for these words: a few of them, however common, are all meant; and the
                list ends where nothing speaks for a memory any more.
            alike: Sessions whose work is like that of the session that asks, with how much, [0, 1]: their
                memories are likelier to be meant.
            by_query: That session has not worked yet: they did the like of what the query asks for.
        """
        with self._core.operation("recall") as core:
            return core.recaller.recall(
                query,
                top_k=top_k,
                filters=filters,
                recency=recency,
                cursor=cursor,
                floor=floor,
                looks_up=looks_up,
                alike=alike,
                by_query=by_query,
            )

    def sought(self, query: str) -> Sought:
        """Return ``query`` in the form in which an index elsewhere is asked."""
        with self._core.operation("recall") as core:
            return sought(core.derived.index, core.provider, query)

    def ranked(self, query: str, nodes: Sequence[MemoryNode], filters: RecallFilters) -> Sequence[Recalled]:
        """Return those of ``nodes`` that are not here, ranked for ``query`` as if they were."""
        with self._core.operation("recall") as core:
            return ranked(core.derived.index, core.provider, query, nodes, filters)

    def inject(
        self,
        query: str,
        *,
        max_tokens: int = 2048,
        mode: str = "auto",
        priority: str = "normal",
        include: Iterable[str] = (),
        filters: RecallFilters = _EVERYTHING,
        folder: str | None = None,
        beside: Sequence[Recalled] = (),
    ) -> Injection:
        """Return what the store knows about ``query``, in at most ``max_tokens`` tokens (REQ-CORE-016).

        Args:
            query: 1 to 4,096 characters.
            max_tokens: 100 to 8,192 (EC-CORE-006).
            mode: auto, raw, narrative, structured or code_focused.
            priority: low, normal, high or critical: how many memories are examined (8, 24, 48, 96) and how
                relevant they must be relative to the best (70, 50, 30, 0 %); low uses half the tokens.
            include: Of causal_links, entailment_cones, neighborhood, conflicts.
            folder: In the checkout that memories' evidence is looked at in; None to leave that out.
            beside: Memories of another store, with their relevance here (`ranked`).
        """
        with self._core.operation("inject") as core:
            return inject(
                self,
                core.provider,
                core.derived.metrics.pack,
                query,
                max_tokens=max_tokens,
                mode=mode,
                priority=priority,
                include=include,
                filters=filters,
                folder=folder,
                beside=beside,
            )

    def warm(self) -> None:
        """Load what recall needs, so that the first one does not wait: 0.1 s, more in a large store."""
        with self._core.operation("load") as core:
            core.load_derived()
            core.provider.encode("warm")

    def superseded(self, nodes: Iterable[MemoryNode]) -> dict[UUID, UUID]:
        """Return which memory holds instead of each of those that hold no longer."""
        with self._core.operation("edges") as core:
            newer = {
                node.id: successor(node.id, lambda node_id: core.visible_edges(node_id, Direction.IN))
                for node in nodes
            }
        return {old: new for old, new in newer.items() if new is not None}

    def verdicts(
        self, nodes: Iterable[MemoryNode], folder: str | None, *, within_s: float, asks_git: bool = False
    ) -> Sequence[Verdict | None]:
        """Return how each memory's evidence stands today in the checkout that ``folder`` is in (`evidence`).

        Args:
            within_s: Processor time for looking at all files, in seconds (`TimeLeft`); the rest is unchecked.
            asks_git: Whether git may be started to learn what was merged.
        """
        with self._core.operation("edges") as core:
            top = top_of(folder or "")
            left = TimeLeft(within_s)
            return [
                self.evidence.verdict(
                    node,
                    top,
                    successor(node.id, lambda node_id: core.visible_edges(node_id, Direction.IN)),
                    left=left,
                    asks_git=asks_git,
                )
                for node in nodes
            ]

    def given_up(self, content: str) -> Sequence[UUID]:
        """Memories of which ``content`` says that they hold no longer: `now X instead of Y` ends Y.

        Summaries of sessions, and notes but for the user's own words, are never among them: they tell what
        was done, which stays so. Cost: nothing for a text that gives nothing up, else a recall.
        """
        if len(content) > superseding.MAX_CHARS:
            return []
        by_words = language_of(content).code in superseding.LANGUAGES
        new = None if by_words else ending(content)
        if new is None and not (by_words and superseding.may_give_up(content)):
            return []
        recall = self.recall(content, top_k=_OUTDATED)
        nodes = [row.node for row in recall.nodes if row.node.source != CAPTURED and _may_end(row.node)]
        return [
            node.id
            for node in nodes
            if (superseding.supersedes(content, node.content) if new is None else ends(new, node.content))
        ]

    def same_text(self, content: str) -> MemoryNode | None:
        """Return the live memory that says the same, word for word; None if none, or for a long text."""
        words = content.split()
        if not words or len(content) > _SAME_CHARS:
            return None
        wanted = " ".join(words).casefold()
        same = (
            node
            for node in self.nearest(content, _SAME)
            if " ".join(node.content.split()).casefold() == wanted
        )
        return next((node for node in same if node.source not in (CAPTURED, NOTED)), None)

    def nearest(self, content: str, most: int) -> Sequence[MemoryNode]:
        """Return the ``most`` live memories that words and meaning bring nearest to ``content``, unjudged."""
        with self._core.operation("get") as core:
            return core.recaller.nearest(content, most)

    def insights(self, nodes: Sequence[MemoryNode]) -> Insights:
        """Return what is known about these memories: causes, containment, neighbours, conflicts, metrics."""
        with self._core.operation("inject") as core:
            return Insights(nodes, self, packed_vectors(self, core.derived.metrics.pack, nodes))

    def tombstone(self, node_id: UUID | str) -> Tombstone | None:
        """Return when and why that memory was deleted; None if it was not."""
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("get") as core:
            return core.store.tombstone(wanted.bytes)

    def tombstones(self, after: UUID | None = None) -> Iterator[Tombstone]:
        """Return all tombstones by id, those after ``after``."""
        with self._core.operation("scan") as core:
            return core.store.tombstones(after.bytes if after else b"")

    # Edges

    def edges(self, node_id: UUID | str, direction: Direction = Direction.BOTH) -> Sequence[GraphEdge]:
        """Return the edges of a memory to live ones; those that leave it come first."""
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("edges") as core:
            return core.visible_edges(wanted, direction)

    def all_edges(self, after: UUID | None = None) -> Iterator[GraphEdge]:
        """Return every edge by id, those after ``after``."""
        with self._core.operation("scan") as core:
            return core.store.edges.all(after.bytes if after else b"")

    # The past

    def history(self, node_id: UUID | str, limit: int = 100) -> Sequence[Version]:
        """Return the known changes of a memory and of its edges, newest first.

        What a change overwrites is kept for the retention. Uses are not changes. Cost: some 50 us a change.

        Raises:
            GraphQueryError: There is no such memory, or it is deleted for good.
            InvalidParamsError: A limit below 1.
        """
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("history") as core:
            return history.history(core, wanted, limit)

    def as_of(self, node_id: UUID | str, at_ms: int) -> AsOf | None:
        """Return a memory with its edges as it was at ``at_ms`` (Unix ms); None if it was not in the store
        then.

        Raises InvalidParamsError for a time in the future or before the history begins.
        """
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("history") as core:
            return history.as_of(core, wanted, at_ms)

    # The store's view of itself

    def entropy_if_loaded(self) -> float | None:
        """Return the store's entropy in [0, 1]; None if the metrics are not loaded. Loads nothing; 20 us."""
        return self._core.loaded_entropy

    def pulse(self, *, empty_recall: bool = False, touched: Sequence[UUID] = ()) -> CognitivePulse:
        """Return the header of every answer (REQ-CORE-019); after an empty recall it says explore
        (EC-CORE-004), and clarify where a memory that was ``touched`` is in doubt.
        """
        with self._core.operation("pulse") as core:
            return core.derived.metrics.pulse(
                self, now_ms(), core.tellings, empty_recall=empty_recall, touched=touched
            )

    def contradicted(self, nodes: Sequence[UUID]) -> dict[UUID, UUID]:
        """Return those of one answer's ``nodes`` that another memory contradicts, with that one. 0.6 ms."""
        with self._core.operation("pulse") as core:
            return core.derived.metrics.contradicted(self, nodes)

    def status(self, *, dream_available: bool = False) -> MemeticStatus:
        """Metrics, the most used memories, and review tasks (REQ-CORE-017)."""
        with self._core.operation("status") as core:
            return core.derived.metrics.status(self, now_ms(), core.tellings, dream_available=dream_available)

    def tell(self, ids: Iterable[UUID | str], folder: str | None) -> None:
        """Note for the pulse that these memories were told to a session; ids of other stores are skipped.

        What they rest on is looked at in the checkout that ``folder`` is in.
        """
        with self._core.operation("pulse") as core:
            wanted = (core.readable(as_uuid("id", node_id)) for node_id in ids)
            nodes = [node for node in wanted if node is not None]
            facts = [node for node in nodes if not is_record(node)]
            verdicts = zip(facts, self.verdicts(facts, folder, within_s=HOOK_S), strict=True)
            doubted = {node.id for node, verdict in verdicts if verdict is not None and verdict.is_doubt}
            core.tellings.tell({node.id: node.id in doubted for node in nodes})

    def use_told(self, ids: Iterable[UUID | str]) -> None:
        """Note for the pulse that a session used these memories, if they were told."""
        wanted = [as_uuid("id", node_id) for node_id in ids]
        with self._core.operation("pulse") as core:
            core.tellings.use(wanted)

    def provider_record(self) -> dict[str, Any] | None:
        """Return the provider of this store's embeddings; None before the first embedding."""
        with self._core.operation("get") as core:
            return core.store.meta("provider")

    def metrics(self) -> dict[str, Any]:
        """Numbers for `status`: counts, cache, filters, tables, times of each operation (REQ-CORE-011)."""
        with self._core.operation("metrics") as core:
            return {**numbers_of(core), "operations": core.timings.as_dict()}

    def uncounted(self) -> AbstractContextManager[None]:
        """Return a block in which operations are not counted in `metrics`."""
        return self._core.timings.paused()

    def health(self) -> Health:
        """Return whether records, counters, index and snapshot agree. Cost: one pass over keys."""
        with self._core.operation("metrics") as core:
            return health_of(core)

    def prometheus(self) -> str:
        """Return the metrics in Prometheus' text format."""
        with self._core.operation("metrics") as core:
            return prometheus_text(numbers_of(core), core.timings, core.folder.name)

    def count(self) -> int:
        """Live memories."""
        return self._core.store.counters.nodes
