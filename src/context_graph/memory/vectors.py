"""Memories read together with their vectors, and vectors that are lost made anew from the texts.

A vector is derived from its memory's text, so that losing the table of vectors costs time and no memory. Only
an embedding that a caller had supplied is not the same afterwards: then it is the provider's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import TracebackType
from typing import Final

from context_graph.errors import UNREADABLE_RECORD, StoreError
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.writing import text_to_embed
from context_graph.store.graph import GraphStore, StoredNode

__all__ = ["Mending", "mend", "with_vectors"]

_LOG: Final = logging.getLogger(__name__)
BATCH: Final = 64
"""Vectors written at once; some 0.4 MB."""


def with_vectors(store: GraphStore) -> Iterator[tuple[StoredNode, bytes | None]]:
    """All memories, soft-deleted or not, in order of commit, each with its embedding.

    None where that is lost or can't be read. Memories that can't be read are passed over. Both have a line in
    the log. Cost: one pass over both families.
    """
    records = store.vectors.records(whole=True)
    at, record = next(records, (0, None))
    for found in store.in_order(skip_damaged=True):
        seq = found.node.commit_seq
        while record is not None and at < seq:
            at, record = next(records, (at, None))
        yield found, _decoded(store, seq, record) if record is not None and at == seq else None


def _decoded(store: GraphStore, seq: int, record: bytes) -> bytes | None:
    try:
        return store.vectors.decode(seq, record)
    except UNREADABLE_RECORD as error:
        _LOG.error("%s", error)
        return None


class Mending:
    """Writes vectors that were made anew, some at a time; those that are left on leaving."""

    def __init__(self, store: GraphStore) -> None:
        self.made = 0
        self._store = store
        self._waiting: list[tuple[int, bytes]] = []

    def put(self, seq: int, embedding: bytes) -> None:
        """The embedding of the memory with that commit number."""
        self.made += 1
        self._waiting.append((seq, embedding))
        if len(self._waiting) == BATCH:
            self._write()

    def __enter__(self) -> Mending:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._waiting:
            self._write()
        if self.made:
            _LOG.warning(
                "%d memories of %s had lost their vectors; these are made anew from the texts",
                self.made,
                self._store.path,
            )

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        if self._store.engine.read_only:
            return
        try:
            self._store.put_vectors(waiting)
        except StoreError as error:  # they are made again at the next opening
            _LOG.warning("vectors of %s can't be written: %s", self._store.path, error)


def mend(store: GraphStore, provider: EmbeddingProvider) -> int:
    """Make the vectors that are lost; how many. Cost: as `with_vectors`, and some 100 us for each of them."""
    with Mending(store) as mending:
        for found, embedding in with_vectors(store):
            if embedding is None:
                made = provider.encode(text_to_embed(found.node)).embedding
                mending.put(found.node.commit_seq, made)
    return mending.made
