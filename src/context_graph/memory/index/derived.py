"""Keeps the data derived from a store's records: the recall index and the metrics.

Both change with each commit, under the same lock, so a recall sees everything stored before it. Snapshots
beside the database make opening fast; without one, or after a removal, they are rebuilt.
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.index.file import open_index, save_index, with_vectors
from context_graph.memory.metrics.metrics import common_of
from context_graph.memory.metrics.store_metrics import StoreMetrics
from context_graph.memory.writing import text_to_embed
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.records import Change, Op

_LOG: Final = logging.getLogger(__name__)
INDEX_FILE: Final = "memory.index"
METRICS_FILE: Final = "memory.figures"
SAVE_AFTER: Final = 5000
"""Commits after which a snapshot is written; or a quarter of the memories, if that is more."""
_METRICS_HEAD: Final = struct.Struct("<Q16s")
_TOLD_BY_RECORD: Final = frozenset({Op.ADD, Op.FORGET, Op.RESTORE})


class Derived:
    """Index and metrics of one store. Under Memex's lock."""

    def __init__(self, store: GraphStore, provider: EmbeddingProvider, folder: Path) -> None:
        """Load what `save` wrote into ``folder`` and bring it up to date, or rebuild it."""
        self._store = store
        self._folder = folder
        self.provider = provider
        self.index = open_index(store, provider, folder / INDEX_FILE)
        self.metrics = self._load_metrics()
        self.seq, self._saved = store.counters.seq, self.index.saved
        self.save_if_due()

    def forgotten(self, node: MemoryNode, embedding: bytes | None, edges: list[GraphEdge]) -> None:
        """Take in that a live memory was soft-deleted."""
        self.index.remove(node.id)
        self.metrics.removed(node, embedding or b"", edges)

    def restored(self, node: MemoryNode, embedding: bytes, edges: list[GraphEdge]) -> None:
        """Take in that a soft-deleted memory is live again."""
        self.index.restore(node.id)
        self.metrics.added(node, embedding, edges)

    def save_if_due(self) -> None:
        """Write the snapshots if enough has changed."""
        if self.seq - self._saved > max(SAVE_AFTER, self._store.counters.nodes // 4):
            self.save()

    def save(self) -> None:
        """Write the snapshots; a failure only makes the next opening slower."""
        if self._store.engine.read_only or (self.seq == self._saved and (self._folder / INDEX_FILE).exists()):
            return
        try:
            save_index(self.index, self._folder / INDEX_FILE)
            draft = self._folder / (METRICS_FILE + ".new")
            head = _METRICS_HEAD.pack(self.seq, self._store.uid)
            draft.write_bytes(head + self.metrics.to_bytes())
            os.replace(draft, self._folder / METRICS_FILE)
            self._saved = self.seq
        except OSError as error:
            _LOG.warning("snapshot of %s: %s", self._folder.name, error)

    def _load_metrics(self) -> StoreMetrics:
        """Return the metrics' snapshot, brought up to date; rebuilt if something was removed since."""
        try:
            packed = (self._folder / METRICS_FILE).read_bytes()
            seq, uid = _METRICS_HEAD.unpack_from(packed)
            if uid != self._store.uid or seq > self._store.counters.seq:
                raise ValueError("of another store, or of a later state of it")
            figures = StoreMetrics.from_bytes(packed[_METRICS_HEAD.size :], common_of(self.provider))
            return self._brought_up(figures, seq)
        except (OSError, ValueError, struct.error) as error:
            if not isinstance(error, FileNotFoundError):
                _LOG.info("figures of %s are worked out anew: %s", self._folder.name, error)
            return StoreMetrics.rebuilt(self._live_nodes(), self._store.edges.all(), common_of(self.provider))

    def _brought_up(self, figures: StoreMetrics, seq: int) -> StoreMetrics:
        """Return ``figures`` plus later commits; ValueError if the records don't tell them."""
        for change in self._store.changes_after(seq):
            if change.op in (Op.RELINK, Op.RUN):
                continue  # an edge that is counted has other numbers; a run is in its changes
            if change.op == Op.LINK:
                edge = self._store.edges.get(change.subject)
                if edge is None:
                    raise ValueError("an edge that came since is gone")
                figures.linked(edge)
            elif change.op in _TOLD_BY_RECORD:
                self._replay(figures, change)
            else:
                raise ValueError("memories or edges were changed or removed since")
        return figures

    def _replay(self, figures: StoreMetrics, change: Change) -> None:
        stored = self._store.read(change.subject)
        vector = None if stored is None else self._store.vectors.get(stored.node.commit_seq)
        if stored is None or vector is None:
            raise ValueError("a memory that came since is gone")
        if change.op == Op.ADD:
            if stored.node.commit_seq != change.seq:
                raise ValueError("a memory that came since was replaced")
            if not stored.deleted:  # else it was imported as a forgotten one, or forgotten since
                figures.added(stored.node, vector)
            return
        edges = self._store.edges.of(change.subject)
        if change.op == Op.FORGET:
            figures.removed(stored.node, vector, edges)
        else:
            figures.added(stored.node, vector, edges)

    def _live_nodes(self) -> Iterator[tuple[MemoryNode, bytes]]:
        """Yield every live memory with its embedding, in order of commit: one pass over both families."""
        for stored, embedding in with_vectors(self._store):
            if not stored.deleted:
                yield stored.node, embedding or self.provider.encode(text_to_embed(stored.node)).embedding
