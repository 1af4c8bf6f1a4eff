"""Stores, finds, reads, forgets and links the memories of one store (seed 003 REQ-CORE-001 to 027).

    with Memex.open("/path/to/store") as memex:
        memex.store("Deploys run from main only", rationale="a rule the user stated")
        found = memex.recall("where do deploys run from?").nodes

Thread-safe: one lock, one call at a time. What a call acknowledged survives the death of every process, and a
recall sees what was stored before it. A failed write leaves disk and memory as they were.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final
from uuid import UUID, uuid4

from context_graph.config import data_root
from context_graph.config.settings import MemoryConfig
from context_graph.errors import InvalidParamsError, StoreError
from context_graph.memory import editing, runs
from context_graph.memory.core import Core, now_ms
from context_graph.memory.editing import Forgotten
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.exchange.exporting import export_jsonl
from context_graph.memory.exchange.importing import import_jsonl
from context_graph.memory.filters import RecallFilters
from context_graph.memory.reading import Reading
from context_graph.memory.reindex import Step, reindex, reindex_step
from context_graph.memory.runs import Undone
from context_graph.memory.writing import Draft, as_uuid, redacted, text_to_embed
from context_graph.model.edge import Domain, GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import MemoryNode, Tombstone, check_range
from context_graph.redact import TextRedactor, load_redactor
from context_graph.store.engine.failures import translate
from context_graph.store.engine.tuning import Durability, Tuning
from context_graph.store.graph.graph import GraphStore

_LOG: Final = logging.getLogger(__name__)
MAX_BATCH: Final = 1000
"""Memories of one batch; some 7 MB of log."""
_DEFAULT: Final = MemoryConfig()
_EVERYTHING: Final = RecallFilters()


class Memex(Reading):
    """The memories of one store. Make one with `open`, or `over` memories that are open already."""

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
        """Open the store folder ``path`` (its database is in ``path/db``) in this process.

        What was deleted longer ago than the retention is purged on the way.

        Args:
            create: Make what is missing, folder 0700.
            durability: ``normal`` survives the death of every process; ``power`` adds an fsync to each write.
            redactor: Takes secrets out before the first write; None for the package's own, whose rules are
                cached in the data root.
            provider: Makes the embeddings; None for the one the store records, or the default in a new one.

        Raises:
            StoreLockedError: Another process has it open, such as the owner (D1.2).
            StoreReadOnlyError: No permission; names the path and what is missing (EC-CORE-008).
            DatabaseCorruptionError, LogReplayError, StoreFullError, StoreError: As they say.
        """
        folder = Path(os.path.abspath(path))
        if create:
            _make_folder(folder)
        store = GraphStore.open(folder / "db", create=create, tuning=tuning_of(config, durability))
        try:
            memex = cls.over(
                store,
                config=config,
                redactor=redactor or load_redactor(data_root() / "cache", _LOG),
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
        """Over memories that are open already (`GraphStore.beside` sessions); closing leaves them open."""
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
        """``with memex.masking() as masked:`` what is taken out of the texts that are written inside.

        Filled when the `with` ends: kind of secret -> number. In one thread at a time.
        """
        return self._core.redactor.counting()

    # Writing

    def store(
        self,
        content: str,
        *,
        rationale: str,
        importance: float = 0.5,
        modality: str = "text",
        metadata: Mapping[str, Any] | None = None,
        link_to: Iterable[UUID | str] = (),
        session_id: str | None = None,
        agent_id: str | None = None,
        project: str | None = None,
        tags: Iterable[str] = (),
        occurred_at_ms: int | None = None,
        source: str = "library",
        pinned: bool = False,
        embedding: bytes | None = None,
        node_id: UUID | None = None,
    ) -> MemoryNode:
        """Store one memory and return it; durable, and to be found, when this returns (REQ-CORE-014).

        Args:
            content: 1 to 65,536 characters; base64 for what is no text. Secrets in it are replaced.
            rationale: Why it is kept, 10 to 500 characters.
            importance: [0, 1].
            modality: text, image, audio or video; of the last three the words about it are embedded.
            metadata: A JSON object of at most 1 MiB.
            link_to: At most 256 ids of memories; an edge ``related_to`` goes to each.
            session_id: At most 100 characters; its memories are each other's neighbours.
            tags: At most 32 of at most 64 characters.
            occurred_at_ms: Unix ms of what it is about; None for now.
            source: Who stores it: tool, capture, import, cli, library.
            embedding: 6144 bytes (1536 float32), None to have it made.
            node_id: The id to give; one that is there already is returned as it is, and nothing is written.

        Raises:
            InvalidParamsError: Names the field, the limit and the cure (EC-CORE-001 to 003).
            GraphQueryError: ``link_to`` names a memory that is not in the store.
            StoreFullError, StoreError: The write failed; nothing of it is stored.

        Cost: some 100 us for a text of 60 tokens.
        """
        draft = Draft(
            content=content,
            rationale=rationale,
            importance=importance,
            modality=modality,
            metadata=metadata,
            link_to=link_to,
            session_id=session_id,
            agent_id=agent_id,
            project=project,
            tags=tags,
            occurred_at_ms=occurred_at_ms,
            source=source,
            pinned=pinned,
            embedding=embedding,
            node_id=node_id,
        )
        draft.check()
        draft.redact(self._core.redactor)
        with self._core.operation("store", writes=True) as core:
            return editing.store_drafts(core, (draft,), (core.provider.encode(text_to_embed(draft)),))[0]

    def store_many(self, items: Sequence[Draft | Mapping[str, Any]]) -> list[MemoryNode]:
        """Store at most 1,000 memories in one batch, all or none; each as `store`'s arguments by name.

        Raises:
            As `store`.
        """
        if len(items) > MAX_BATCH:
            raise InvalidParamsError.of("items", f"has {len(items)} entries, at most {MAX_BATCH}; split it")
        drafts = [item if isinstance(item, Draft) else Draft(**item) for item in items]
        for draft in drafts:
            draft.check()
            draft.redact(self._core.redactor)
        with self._core.operation("store", writes=True) as core:
            encoded = [core.provider.encode(text_to_embed(draft)) for draft in drafts]
            return editing.store_drafts(core, drafts, encoded)

    def put(self, node: MemoryNode) -> MemoryNode:
        """Store a whole memory under its own id with all its fields, in the place of one that is there."""
        return self.put_many((node,))[0]

    def put_many(
        self,
        nodes: Sequence[MemoryNode],
        *,
        edges: Sequence[GraphEdge] = (),
        deleted: Mapping[UUID, Tombstone] | None = None,
        tombstones: Sequence[Tombstone] = (),
    ) -> list[MemoryNode]:
        """As `put`, for what comes from another store: memories, edges and tombstones in one batch.

        Args:
            deleted: Of those ``nodes`` that are soft-deleted.
            tombstones: Of memories that are gone for good.

        Raises:
            InvalidParamsError, GraphQueryError, StoreError: As `store`; nothing is stored then.
        """
        with self._core.operation("put", writes=True) as core:
            return editing.put_nodes(core, nodes, edges=edges, deleted=deleted, tombstones=tombstones)

    def update(self, nodes: Iterable[MemoryNode]) -> None:
        """Write changed fields of live memories in one batch: all but content, times and embedding."""
        with self._core.operation("update", writes=True) as core:
            editing.update_nodes(core, nodes)

    def touch(self, ids: Iterable[UUID | str], followed: Iterable[GraphEdge] = ()) -> None:
        """Count a use of each memory: access count and last access. Unknown ids are passed over.

        Args:
            ids: The best first.
            followed: An answer's edges (`Recall.followed`): a traversal is counted of each between two of
                these memories, and of the paths they make up. What it was worth is `traverse`'s to say.
        """
        wanted = [as_uuid("id", one) for one in ids]
        with self._core.operation("touch", writes=True) as core:
            editing.touch(core, wanted, now_ms(), tuple(followed))

    def forget(self, node_id: UUID | str, *, soft: bool = True, reason: str = "") -> Tombstone:
        """Delete a memory (REQ-CORE-013): to be restored until it is purged, or at once and for good.

        A memory that is soft-deleted already stays so, with its first tombstone. What was merged into one
        that is deleted for good goes with it.

        Args:
            soft: False deletes for good; ``reason`` must then be "user_requested" (EC-CORE-012).
            reason: At most 500 characters; kept in the tombstone.

        Raises:
            GraphQueryError: It is not in the store.
            InvalidParamsError, StoreError: As they say.
        """
        return self.forget_with_twins(node_id, soft=soft, reason=reason).tombstone

    def forget_with_twins(self, node_id: UUID | str, *, soft: bool = True, reason: str = "") -> Forgotten:
        """As `forget`; also tells which merged memories went with it, and which stay and why."""
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("forget", writes=True) as core:
            return editing.forget(core, wanted, soft=soft, reason=reason)

    def restore(self, node_id: UUID | str) -> MemoryNode:
        """Undo a soft delete and return the memory; a live one is returned as it is.

        Raises:
            GraphQueryError: There is none, or it is gone for good.
        """
        wanted = as_uuid("node_id", node_id)
        with self._core.operation("restore", writes=True) as core:
            return editing.restore(core, wanted)

    def purge(self, at_ms: int | None = None) -> list[UUID]:
        """Delete for good what was soft-deleted longer ago than the retention, 30 days; returns the ids."""
        with self._core.operation("purge", writes=True) as core:
            return editing.purge(core, now_ms() if at_ms is None else at_ms)

    def purge_if_due(self) -> None:
        """`purge` once a day; else nothing. For the owner, between two requests."""
        if self._core.purge_is_due(now_ms()):
            self.purge()

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
        """Connect two memories and return the edge; the same relation again changes the one that is there.

        Args:
            weight, confidence: [0, 1].
            domain: code, legal, medical, creative, research or general; selects the edge's profile.
            edge_id: The id to give; an edge of that id is returned as it is, and nothing is written.

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
            return edge

    def unlink(self, edge_id: UUID | str) -> GraphEdge:
        """Take an edge out and return it. Raises GraphQueryError if there is none."""
        wanted = as_uuid("edge_id", edge_id)
        with self._core.operation("link", writes=True) as core:
            return editing.remove_edge(core, wanted)

    def traverse(self, edge_ids: Iterable[UUID | str], reward: float) -> Sequence[GraphEdge]:
        """Count a traversal of each edge, worth ``reward`` in [-1, 1], and return them as they are now."""
        wanted = [as_uuid("edge_ids", one) for one in edge_ids]
        with self._core.operation("link", writes=True) as core:
            check_range("reward", reward, -1.0, 1.0)
            at = now_ms()
            edges = [editing.edge(core, edge_id).traversed(reward, at) for edge_id in dict.fromkeys(wanted)]
            if edges:
                editing.put_edges(core, edges, new=False)
            return edges

    # Consolidations

    def undo(self, token: UUID | str | None = None) -> Undone:
        """Undo a consolidation: everything as it was before it, but what was changed since.

        Args:
            token: The run's, or the beginning of it; None for the last that is not undone.

        Raises:
            GraphQueryError: There is no such run (their history is kept for the retention), or it was undone.
            InvalidParamsError: A token that is none, or the beginning of several.
            StoreError: The write failed; nothing of it is stored.

        Cost: some 0.3 ms for each memory it changed.
        """
        with self._core.operation("undo", writes=True) as core:
            return runs.undo(core, token)

    # Another provider

    def export(self, out: BinaryIO, *, embeddings: bool = False) -> int:
        """Write everything as JSONL (docs/capture.md); how many memories it was. Memory: that of a page."""
        return export_jsonl(self, out, embeddings=embeddings)

    def import_(self, source: BinaryIO, *, overwrite: bool = False) -> dict[str, int]:
        """Read what `export` wrote, from a file that can be read twice; see `importing.import_jsonl`."""
        return import_jsonl(self, source, overwrite=overwrite)

    def reindex(self, provider: EmbeddingProvider, progress: Callable[[Step], None] | None = None) -> int:
        """Change the embedding provider while the store is in use (D4.3); see `memory.reindex`."""
        return reindex(self._core, provider, progress)

    def reindex_step(self, provider: EmbeddingProvider) -> Step:
        """One step of `reindex`, for callers that must come back in between."""
        return reindex_step(self._core, provider)

    # Life

    def save(self) -> None:
        """Write snapshots of the derived state, so that the next opening is short."""
        with self._core.operation("save") as core:
            core.save()

    def flush(self) -> None:
        """Write buffers to tables and snapshots of the derived state to files. Not needed for durability."""
        with self._core.operation("flush", writes=True) as core:
            core.store.flush()
            core.save()

    def close(self) -> None:
        """Save what makes the next opening short, and close. Safe to call twice."""
        self._core.close()
        if self._owns_store:
            self._core.store.close()


def tuning_of(config: MemoryConfig, durability: Durability) -> Tuning:
    """What of ``config`` is the database's."""
    return Tuning(durability, config.wal, config.wal_dir, config.bloom_bits)


def _make_folder(folder: Path) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise translate(error, folder) from error
