"""Stores, finds, reads, deletes and links the memories of one store (seed 003 REQ-CORE-001 to 027).

    with Memex.open("/path/to/store") as memex:
        memex.store("Deploys run from main only", rationale="a rule the user stated")
        found = memex.recall("where do deploys run from?").nodes

Thread-safe: one call at a time, under one lock. A write that returned survives the death of every process,
and the next recall sees it. A write that failed changes nothing. Consolidations and
acts are undone as one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final
from uuid import UUID, uuid4

from context_graph.config.settings import MemoryConfig
from context_graph.errors import GraphQueryError, InvalidParamsError, StoreError
from context_graph.memory import editing, runs
from context_graph.memory.core import Core, now_ms
from context_graph.memory.editing import Forgotten
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.evidence import SUPERSEDING, confirmed, unconfirmed
from context_graph.memory.exchange.importing import import_jsonl
from context_graph.memory.exchange.records import export_jsonl
from context_graph.memory.filters import RecallFilters
from context_graph.memory.reading import Reading
from context_graph.memory.reindex import Step, reindex, reindex_step
from context_graph.memory.runs import Undone
from context_graph.memory.writing import Draft, as_uuid, redacted, reworded, text_to_embed
from context_graph.model.edge import Domain, GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import ACCEPTED, MemoryNode, Tombstone, check_range
from context_graph.redact import Redactor, TextRedactor
from context_graph.store.engine.failures import translate
from context_graph.store.engine.tuning import Durability, Tuning
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.history import Act, Run


class Undoing:
    """The part of a memory that undoes."""

    _core: Core

    def runs(self, limit: int = 50, *, acts: bool = False) -> Sequence[Run]:
        """Return the newest consolidations and undos, newest first; ``acts``: also acts."""
        with self._core.operation("runs") as core:
            kept = core.store.history.all_runs() if acts else core.store.history.runs()
            return list(islice(kept, limit))

    def changed_by(self, run: Run) -> tuple[Sequence[MemoryNode], int]:
        """Return the first few memories that a run changed, as they are now, and how many there are."""
        with self._core.operation("runs") as core:
            return runs.memories_of(core, run)

    @contextmanager
    def acting(self, act: Act) -> Iterator[None]:
        """Let all that is changed meanwhile be undone as one, by the token of ``act`` (`runs.new_act`)."""
        with self._core.operation("act", writes=True) as core, runs.acting(core, act):
            yield

    def undo(self, token: UUID | str | None = None, by: str = "library") -> Undone:
        """Undo a consolidation or an act: all becomes as it was, except what was changed since.

        What it added is forgotten, softly.

        Args:
            token: Its token or the beginning of it; None for the last change that is not undone.
            by: Who undoes it: cli, tool or library.

        Raises:
            GraphQueryError: No such change is kept, or it was undone already.
            InvalidParamsError: Not a token, or the beginning of several.
            StoreError: The write failed; nothing is changed.

        Cost: some 0.3 ms for each memory that it changed.
        """
        with self._core.operation("undo", writes=True) as core:
            return runs.undo(core, token, by)


_LOG: Final = logging.getLogger(__name__)
MAX_BATCH: Final = 1000
"""Memories in one batch: some 7 MB of log."""
_DEFAULT: Final = MemoryConfig()
_EVERYTHING: Final = RecallFilters()


class Memex(Reading, Undoing):
    """The memories of one store. Create one with `open`, or with `over` a store that is open already."""

    def __init__(self, core: Core, *, owns_store: bool) -> None:
        super().__init__(core)
        self._owns_store = owns_store

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        durability: Durability = "normal",
        config: MemoryConfig = _DEFAULT,
        redactor: TextRedactor | None = None,
        provider: EmbeddingProvider | None = None,
    ) -> Memex:
        """Open the store folder ``path`` (its database is ``path/db``), and purge what is due.

        Args:
            create: Create missing folders, mode 0700.
            durability: ``normal`` survives the death of every process; ``power`` adds an fsync to each write.
            redactor: Removes secrets before the first write; None for the built-in one.
            provider: Makes the embeddings; None for the one the store records, or the default in a new store.

        Raises:
            StoreLockedError: Another process, such as the owner, has it open (D1.2).
            StoreReadOnlyError: No permission; names the path and what is missing (EC-CORE-008).
            DatabaseCorruptionError, LogReplayError, StoreFullError, StoreError
        """
        folder = Path(os.path.abspath(path))
        if create:
            try:
                os.makedirs(folder, mode=0o700, exist_ok=True)
            except OSError as error:
                raise translate(error, folder) from error
        tuning = Tuning(durability, config.wal, config.wal_dir, config.bloom_bits)
        store = GraphStore.open(folder / "db", create=create, tuning=tuning)
        try:
            memex = cls.over(
                store,
                config=config,
                redactor=redactor or Redactor(),
                provider=provider,
            )
        except BaseException:
            store.close()
            raise
        memex._owns_store = True
        return memex

    @classmethod
    def over(
        cls,
        store: GraphStore,
        *,
        redactor: TextRedactor,
        config: MemoryConfig = _DEFAULT,
        provider: EmbeddingProvider | None = None,
    ) -> Memex:
        """Return a Memex over an open store (`GraphStore.beside` sessions), which it leaves open."""
        memex = cls(Core(store, config=config, redactor=redactor, provider=provider), owns_store=False)
        try:
            memex.purge()
        except StoreError as error:  # what is damaged or full must not keep the rest from being read
            _LOG.warning("purge of %s: %s", store.path.parent.name, error)
        return memex

    def __enter__(self) -> Memex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def masking(self) -> AbstractContextManager[dict[str, int]]:
        """Count the secrets masked inside `with memex.masking() as masked:`: kind -> number."""
        return self._core.redactor.counting()

    # Writing

    def store(self, content: str | Draft, **fields: Any) -> MemoryNode:
        """Store one memory and return it: durable, and found by the next recall (REQ-CORE-014).

        Args:
            content: A `Draft`, or the content of one whose other fields are ``fields``.

        Raises:
            InvalidParamsError: Names the field, the limit and the cure (EC-CORE-001 to 003).
            GraphQueryError: ``link_to`` or ``supersedes`` names a memory that is not in the store.
            StoreFullError, StoreError: The write failed; nothing is stored.

        Cost: some 100 us for a text of 60 tokens.
        """
        draft = content if isinstance(content, Draft) else Draft(content=content, **fields)
        return self.store_many((draft,))[0]

    def store_many(self, items: Sequence[Draft | Mapping[str, Any]]) -> list[MemoryNode]:
        """Store at most 1,000 memories, `Draft`s or their fields, in one batch, all or none."""
        if len(items) > MAX_BATCH:
            raise InvalidParamsError.of("items", f"has {len(items)} entries, at most {MAX_BATCH}; split it")
        drafts = [item if isinstance(item, Draft) else Draft(**item) for item in items]
        for draft in drafts:
            draft.check()
            draft.redact(self._core.redactor)
        with self._core.operation("store", writes=True) as core:
            encoded = [core.provider.encode(text_to_embed(draft)) for draft in drafts]
            nodes = editing.store_drafts(core, drafts, encoded)
            for draft in drafts:
                core.tellings.use(draft.links)
                core.tellings.drop(draft.outdated)
            return nodes

    def put(self, node: MemoryNode) -> MemoryNode:
        """Store a whole memory with its own id and all its fields; it replaces one with the same id."""
        return self.put_many((node,))[0]

    def put_many(
        self,
        nodes: Sequence[MemoryNode],
        *,
        edges: Sequence[GraphEdge] = (),
        deleted: Mapping[UUID, Tombstone] | None = None,
        tombstones: Sequence[Tombstone] = (),
    ) -> list[MemoryNode]:
        """As `put`, in one batch, for memories, edges and tombstones of another store.

        ``deleted`` has the tombstones of those ``nodes`` that are soft-deleted, ``tombstones`` those of
        memories that are deleted for good. Raises as `store`; nothing is stored then.
        """
        with self._core.operation("put", writes=True) as core:
            return editing.put_nodes(core, nodes, edges=edges, deleted=deleted, tombstones=tombstones)

    def update(self, nodes: Iterable[MemoryNode]) -> None:
        """Write changed fields of live memories in one batch; content, times and embedding can't change."""
        with self._core.operation("update", writes=True) as core:
            editing.update_nodes(core, nodes)

    def accept(self, node_id: UUID | str) -> MemoryNode:
        """Mark a memory as fine as it is, although nothing is connected to it: no review asks for it again.

        Raises GraphQueryError if it is not in the store.
        """
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("update", writes=True) as core:
            node = core.live(wanted)
            if ACCEPTED not in node.metadata:
                node = replace(node, metadata={**node.metadata, ACCEPTED: True})
                editing.update_nodes(core, [node])
            core.tellings.confirm(wanted)
            return node

    def confirm(self, node_id: UUID | str, folder: str | None, *, take_back: bool = False) -> MemoryNode:
        """Note that a memory still holds: it rests on its files as they are now, and no review asks for it.

        Args:
            folder: In the checkout where the files are; None leaves what it rests on as it is.
            take_back: Undo the last confirmation instead.

        Raises GraphQueryError: It is not in the store; or there is no confirmation to take back.
        """
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("update", writes=True) as core:
            node = core.live(wanted)
            changed = unconfirmed(node) if take_back else confirmed(node, self.evidence, folder, now_ms())
            if changed is None:
                raise GraphQueryError(f"memory {wanted} was not confirmed; there is nothing to take back")
            editing.update_nodes(core, [changed])
            if not take_back:
                core.tellings.confirm(wanted)
            return changed

    def reword(self, node_id: UUID | str, content: str) -> MemoryNode:
        """Give a memory another text; all else stays, and what its session says later leaves it alone.

        Raises:
            GraphQueryError: It is not in the store.
            InvalidParamsError: The text is empty or too long; or the memory is a session's summary.
        """
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("put", writes=True) as core:
            return editing.put_nodes(core, [reworded(core.live(wanted), content, now_ms())])[0]

    def touch(self, ids: Iterable[UUID | str], followed: Iterable[GraphEdge] = ()) -> None:
        """Count a use of each memory: access count and time of last access. Unknown ids are skipped.

        Args:
            ids: Best first.
            followed: `Recall.followed`. Each of these edges between two of the memories gets one more
                traversal, and so do the paths they form. `traverse` sets what a traversal was worth.
        """
        wanted = [as_uuid("id", node_id) for node_id in ids]
        with self._core.operation("touch", writes=True) as core:
            editing.touch(core, wanted, now_ms(), tuple(followed))

    def forget(self, node_id: UUID | str, *, soft: bool = True, reason: str = "") -> Tombstone:
        """Delete a memory (REQ-CORE-013): softly, so that it can be restored until it is purged, or for good.

        If it is soft-deleted already, its first tombstone stays. Deleting for good also deletes the memories
        that were merged into it.

        Args:
            soft: False deletes for good; ``reason`` must then be "user_requested" (EC-CORE-012).
            reason: At most 500 characters, kept in the tombstone.

        Raises:
            GraphQueryError: It is not in the store.
            InvalidParamsError, StoreError
        """
        return self.forget_with_merged(node_id, soft=soft, reason=reason).tombstone

    def forget_with_merged(
        self, node_id: UUID | str, *, soft: bool = True, reason: str = "", quoting: Sequence[UUID] = ()
    ) -> Forgotten:
        """As `forget`; tells which merged memories went along, and which stay and why. Of those ``quoting``
        it the history goes too, where it is deleted for good."""
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("forget", writes=True) as core:
            forgotten = editing.forget(core, wanted, soft=soft, reason=reason, quoting=quoting)
            core.tellings.drop((wanted,))
            return forgotten

    def restore(self, node_id: UUID | str) -> MemoryNode:
        """Undo a soft delete and return the memory; GraphQueryError if it is not in the store any more."""
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("restore", writes=True) as core:
            return editing.restore(core, wanted)

    def purge(self, at_ms: int | None = None) -> list[UUID]:
        """Delete for good what was soft-deleted longer ago than the retention (30 days); returns the ids."""
        with self._core.operation("purge", writes=True) as core:
            return editing.purge(core, now_ms() if at_ms is None else at_ms)

    @property
    def is_purge_due(self) -> bool:
        """Whether the last `purge` was a day ago; the owner asks between requests."""
        return now_ms() - self._core.purged_ms >= editing.DAY_MS

    # Edges

    def link(
        self,
        source: UUID | str,
        target: UUID | str,
        relationship_type: str = "related_to",
        *,
        weight: float = 0.5,
        confidence: float = 1.0,
        domain: str = "general",
        metadata: Mapping[str, Any] | None = None,
        edge_id: UUID | None = None,
    ) -> GraphEdge:
        """Connect two memories and return the edge; an edge of the same type between them is changed instead.

        Args:
            weight, confidence: [0, 1].
            domain: code, legal, medical, creative, research or general; selects the edge's profile.
            edge_id: The id to use. If it exists already, that edge is returned and nothing is written.

        Raises:
            GraphQueryError: One of the memories is not in the store (-32001).
            InvalidParamsError: Names the field.
        """
        ends = as_uuid("source", source), as_uuid("target", target)
        with self._core.operation("link", writes=True) as core:
            if ends[0] == ends[1]:
                raise InvalidParamsError.of(
                    "target", f"is {target}, the same as source; an edge needs two memories"
                )
            for end in ends:
                core.live(end)
            there = core.store.edges.get(edge_id.bytes) if edge_id is not None else None
            if there is not None:
                return there
            if domain not in list(Domain):
                raise InvalidParamsError.of("domain", f"is {domain!r}, must be one of {', '.join(Domain)}")
            kind = Domain(domain)
            relationship_type = core.redactor.redact_id(relationship_type)
            known = core.store.edges.find(ends[0].bytes, ends[1].bytes, relationship_type)
            at = now_ms()
            edge = replace(
                known
                or GraphEdge(
                    id=edge_id or uuid4(),
                    source_id=ends[0],
                    target_id=ends[1],
                    relationship_type=relationship_type,
                    created_at_ms=at,
                    last_traversed_ms=at,
                ),
                weight=weight,
                confidence=confidence,
                domain=kind,
                neurotransmitter_weights=NeurotransmitterWeights.for_domain(kind),
                metadata=redacted(metadata, core.redactor) if metadata else {},
            )
            editing.put_edges(core, [edge], new=known is None)
            core.tellings.use(ends)
            if relationship_type in SUPERSEDING:
                core.tellings.drop(ends[1:])
            return edge

    def unlink(self, edge_id: UUID | str) -> GraphEdge:
        """Remove an edge and return it; GraphQueryError if there is none."""
        wanted = as_uuid("edge_id", edge_id)
        with self._core.operation("link", writes=True) as core:
            return editing.remove_edge(core, wanted)

    def traverse(self, edge_ids: Iterable[UUID | str], reward: float) -> Sequence[GraphEdge]:
        """Count one traversal of each edge, worth ``reward`` in [-1, 1]; returns the changed edges."""
        wanted = [as_uuid("edge_ids", edge_id) for edge_id in edge_ids]
        with self._core.operation("link", writes=True) as core:
            check_range("reward", reward, -1.0, 1.0)
            at = now_ms()
            edges = [editing.edge(core, edge_id).traversed(reward, at) for edge_id in dict.fromkeys(wanted)]
            if edges:
                editing.put_edges(core, edges, new=False)
            return edges

    def reward(self, worth: Iterable[tuple[UUID, float]]) -> None:
        """Note what edges were worth to the sessions that they brought a memory, [-1, 1]; skips unknown ids.

        A use and no change: it has no commit and no history. Raises InvalidParamsError, StoreError.
        """
        noted = list(worth)
        if noted:
            with self._core.operation("touch", writes=True) as core:
                editing.reward(core, noted)

    # Another provider

    def export(self, out: BinaryIO, *, embeddings: bool = False) -> int:
        """Write everything as JSONL (docs/dev/capture.md) page by page; returns how many there were."""
        return export_jsonl(self, out, embeddings=embeddings)

    def import_(self, source: BinaryIO, *, overwrite: bool = False) -> dict[str, int]:
        """Read what `export` wrote; ``source`` is read twice. See `importing.import_jsonl`."""
        return import_jsonl(self, source, overwrite=overwrite)

    def reindex(self, provider: EmbeddingProvider, progress: Callable[[Step], None] | None = None) -> int:
        """Change the embedding provider while the store is in use (D4.3); see `memory.reindex`."""
        return reindex(self._core, provider, progress)

    def reindex_step(self, provider: EmbeddingProvider) -> Step:
        """Return one step of `reindex`, for callers that do other work in between."""
        return reindex_step(self._core, provider)

    # Life

    def save(self) -> None:
        """Write snapshots of the derived data, so that the next opening is fast."""
        with self._core.operation("save") as core:
            core.save()

    def flush(self) -> None:
        """Write buffers to tables, and the snapshots. Durability does not need it."""
        with self._core.operation("flush", writes=True) as core:
            core.store.flush()
            core.save()

    def close(self) -> None:
        """Save the snapshots and close. Safe to call twice."""
        self._core.close()
        if self._owns_store:
            self._core.store.close()
