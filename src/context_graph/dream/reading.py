"""The snapshot of a store's database, read in a few passes over it (`store.columns`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from context_graph.dream.progress import Progress, silent
from context_graph.dream.snapshot import I32, I64, Links, Snapshot, numbered
from context_graph.errors import CorruptedMemoryError
from context_graph.model.memory import MemoryNode
from context_graph.model.spaces import DIM, EMBEDDING_BYTES
from context_graph.store.columns import (
    EDGE_FIELDS,
    EMBEDDING_AT,
    EMPTY_RECORD,
    NODE_FIELDS,
    Columns,
    EdgeHead,
    NodeHead,
)
from context_graph.store.graph import GraphStore
from context_graph.store.memory_envelope import bytes_text
from context_graph.store.node_records import DELETED, MODALITIES, PINNED

__all__ = ["read"]

_NODE: Final = np.dtype(list(NODE_FIELDS))
_EDGE: Final = np.dtype(list(EDGE_FIELDS))
KEPT_ROWS: Final = 16_384
"""Memories up to which their embeddings stay in memory: 96 MiB."""
_EVERY: Final = 4096
"""Records between two calls of progress."""
_MODALITY_NAMES: Final = [one.value for one in MODALITIES]

Heads = NDArray[np.void]


def read(store: GraphStore, *, newest: int = 0, taken_ms: int = 0, progress: Progress = silent) -> Snapshot:
    """The live memories of ``store``, which nobody may change meanwhile (a checkpoint, or under its lock).

    Args:
        newest: Only so many, those stored last; 0 for all.
        taken_ms: Unix ms that count as now for ages.

    Raises:
        StoreError: The database can't be read. A single damaged record is left out instead.

    Cost: some 6 us a memory and 4 us an edge; 300 bytes a memory.
    """
    columns = Columns(store.engine)
    fixed, rows = _live(columns, store.counters.nodes + store.counters.deleted, progress)
    total = len(rows)
    links, degree = _links(columns, rows, newest)
    if newest:
        fixed, rows, degree = fixed[-newest:], rows[-newest:], degree[-newest:]
    at = {head.id: row for row, head in enumerate(rows)}
    accesses, accessed_ms = _uses(columns, at, fixed["accessed_ms"].astype(np.int64))
    sources: dict[bytes, str] = {}
    seqs = fixed["seq"].astype(np.int64)
    embeddings = _Embeddings(columns, store, seqs)
    return Snapshot(
        seq=store.counters.seq,
        taken_ms=taken_ms,
        total=total,
        ids=[UUID(bytes=one) for one in at],
        created_ms=fixed["created_ms"].astype(np.int64),
        accessed_ms=accessed_ms,
        accesses=accesses,
        importance=fixed["importance"].astype(np.float64),
        pinned=(fixed["flags"] & PINNED) != 0,
        session=numbered(row.session for row in rows),
        project=numbered(row.project for row in rows),
        modality=[_MODALITY_NAMES[number] for number in fixed["modality"].tolist()],
        size=fixed["content_bytes"].astype(np.int32),
        utl=fixed["utl"].astype(np.float64),
        source=[sources.setdefault(row.source, row.source.decode("utf-8", "replace")) for row in rows],
        degree=degree,
        links=links,
        read_node=lambda node_id: _node(store, node_id),
        read_text=partial(_text, columns, rows),
        read_blocks=embeddings.blocks,
        paths=list(store.paths.all()),
        unreadable=embeddings.missing,
        left_out=columns.unreadable,
    )


def _uses(columns: Columns, at: Mapping[bytes, int], stored_ms: I64) -> tuple[I64, I64]:
    """(uses, Unix ms of the last) of each row; where none is noted, ``stored_ms`` stays."""
    counts = np.zeros(len(at), np.int64)
    for node_id, access in columns.accesses():
        row = at.get(node_id)
        if row is not None:
            counts[row], stored_ms[row] = access
    return counts, stored_ms


def _live(columns: Columns, expected: int, progress: Progress) -> tuple[Heads, list[NodeHead]]:
    """The heads of the live memories in order of commit, as a structured array and as they were read."""
    rows: list[NodeHead] = []
    for number, head in enumerate(columns.nodes()):
        rows.append(head)
        if number % _EVERY == 0:
            progress(number, expected)
    fixed = _packed((row.fixed for row in rows), _NODE)
    keep = np.flatnonzero((fixed["flags"] & DELETED) == 0)
    # Two memories never share a commit number, so any sort is stable.
    keep = keep[np.argsort(fixed["seq"][keep])]
    return fixed[keep], [rows[row] for row in keep.tolist()]


def _links(columns: Columns, rows: list[NodeHead], newest: int) -> tuple[Links, I32]:
    """The edges among the ``newest`` memories (0 for all), and how many each of ``rows`` has among all."""
    at = {head.id: row for row, head in enumerate(rows)}
    first = max(0, len(rows) - newest) if newest else 0
    degree = np.zeros(len(rows), np.int32)
    heads: list[EdgeHead] = []
    ends: list[tuple[int, int]] = []
    for head in columns.edges():
        source, target = at.get(head.fixed[:16]), at.get(head.fixed[16:32])
        if source is None or target is None:  # it leads to a soft-deleted memory
            continue
        degree[source] += 1
        degree[target] += 1
        if source >= first and target >= first:
            heads.append(head)
            ends.append((source - first, target - first))
    fixed = _packed((head.fixed for head in heads), _EDGE)
    rows_of = np.array(ends, np.int32).reshape(-1, 2)
    kinds: dict[bytes, str] = {}
    links = Links(
        ids=[UUID(bytes=head.id) for head in heads],
        source=rows_of[:, 0].copy(),
        target=rows_of[:, 1].copy(),
        kind=[kinds.setdefault(head.relation, head.relation.decode("utf-8", "replace")) for head in heads],
        weight=fixed["weight"].astype(np.float64),
        confidence=fixed["confidence"].astype(np.float64),
        reward=fixed["reward"].astype(np.float64),
        traversals=fixed["traversals"].astype(np.int64),
        shortcut=fixed["shortcut"] != 0,
    )
    return links, degree


def _packed(parts: Iterable[bytes], kind: np.dtype[np.void]) -> Heads:
    return np.frombuffer(b"".join(parts), kind)


def _node(store: GraphStore, node_id: UUID) -> MemoryNode:
    found = store.get(node_id.bytes)
    if found is None:
        raise CorruptedMemoryError(f"memory {node_id} is no longer in the checkpoint", node_id=str(node_id))
    return found


def _text(columns: Columns, rows: list[NodeHead], row: int) -> str:
    head = rows[row]
    return columns.content(head.id) if head.content is None else bytes_text(head.content)


class _Embeddings:
    """The embeddings of the memories with these commit numbers, read as often as they are asked for.

    Those of a small store stay in memory from the first pass on. Of a large one each pass reads the store
    again, but checks no record twice: nobody writes to it meanwhile.
    """

    def __init__(self, columns: Columns, store: GraphStore, seqs: I64) -> None:
        self._columns = columns
        self._vectors = store.vectors
        self._seqs: list[int] = seqs.tolist()
        self._kept: NDArray[np.float32] | None = None
        self._checked = False
        self.missing: set[int] = set()
        """Rows whose embedding is not there or can't be read, and is given as zeros."""

    def blocks(self, size: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """(first row, float32[k, 1536]), ``size`` rows at a time; nobody may write to them."""
        count = len(self._seqs)
        if self._kept is not None:
            for start in range(0, count, size):
                yield start, self._kept[start : start + size]
            return
        kept = np.empty((count, DIM), np.float32) if count <= KEPT_ROWS else None
        records = self._columns.embeddings(self._vectors, self._seqs, checked=self._checked)
        for start in range(0, count, size):
            block = (
                np.empty((min(size, count - start), DIM), np.float32) if kept is None else kept[start:][:size]
            )
            self._fill(block, start, records)
            yield start, block
        self._kept, self._checked = kept, True

    def _fill(self, block: NDArray[np.float32], start: int, records: Iterator[bytes | None]) -> None:
        raw = memoryview(block.data).cast("B")
        for at, record in enumerate(islice(records, len(block))):
            if record is None or start + at in self.missing:
                self.missing.add(start + at)
                record = EMPTY_RECORD
            raw[at * EMBEDDING_BYTES : (at + 1) * EMBEDDING_BYTES] = memoryview(record)[EMBEDDING_AT]
