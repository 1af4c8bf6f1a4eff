"""Reads a store's live memories as arrays, at one commit: the input of every finder.

A finder is a pure function of a snapshot, so its work can be done in another process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final
from uuid import UUID

import numpy as np
import orjson
from numpy.typing import NDArray

from context_graph.consolidation.progress import Progress, silent
from context_graph.errors import CorruptedMemoryError, StoreError
from context_graph.model.edge import TraversedPath
from context_graph.model.memory import MemoryNode
from context_graph.model.spaces import DIM, EMBEDDING_BYTES, SIZES, SLICES, SPACES
from context_graph.store.graph.columns import (
    EDGE_FIELDS,
    EMBEDDING_AT,
    EMPTY_RECORD,
    NODE_FIELDS,
    Columns,
    EdgeHead,
    NodeHead,
)
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.node_records import DELETED, MODALITIES, PINNED
from context_graph.store.graph.records import bytes_text
from context_graph.store.graph.tables import InjectionRecords

_LOG: Final = logging.getLogger(__name__)
BLOCK_ROWS: Final = 4096
"""Rows of 1536 float32 that are in memory at a time: 24 MiB."""
KEPT_ROWS: Final = 16_384
"""Memories up to which their embeddings stay in memory: 96 MiB."""
_EVERY: Final = 4096
"""Records between two calls of progress."""
_SIZES: Final = {name: part.stop - part.start for name, part in SLICES.items()}
_NODE: Final = np.dtype(list(NODE_FIELDS))
_EDGE: Final = np.dtype(list(EDGE_FIELDS))
_MODALITY_NAMES: Final = [modality.value for modality in MODALITIES]

STARTS: Final = np.array([SLICES[name].start for name in SPACES])
"""Where each space of an embedding begins."""

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Heads = NDArray[np.void]


@dataclass(slots=True)
class Links:
    """The edges between the rows of a snapshot, as columns; an edge to a memory outside it is left out."""

    ids: list[UUID]
    source: I32
    """Rows."""
    target: I32
    kind: list[str]
    weight: F64
    confidence: F64


@dataclass(slots=True)
class Snapshot:
    """n live memories in order of commit, oldest first."""

    seq: int
    """The last commit that is in it."""
    taken_ms: int
    total: int
    """Live memories in the store; more than n when the run is limited to the newest."""
    ids: list[UUID]
    created_ms: I64
    accessed_ms: I64
    accesses: I64
    used: I64
    """Times that a session used it after it was shown, by the ledger of what prompts brought."""
    importance: F64
    pinned: NDArray[np.bool_]
    session: I32
    """Which memories are of one session: a number from 1, 0 for none."""
    project: I32
    """Which memories are of one project: a number from 1, 0 for none."""
    modality: list[str]
    """text, image, audio or video."""
    source: list[str]
    """Who stored each: tool, capture, import, cli, library."""
    degree: I32
    """Edges of each memory, of both directions."""
    links: Links
    node: Callable[[int], MemoryNode]
    """Row -> the whole memory; some 20 us."""
    text: Callable[[int], str]
    """Row -> content; some 1 us if it is short, 8 us else."""
    read_blocks: Callable[[int], Iterator[tuple[int, F32]]]
    """Rows to a block -> (first row, float32[k, 1536] as stored), in order."""
    paths: list[TraversedPath] = field(default_factory=list)
    """Ways along edges that answers took; may lead through memories that are not in here."""
    unreadable: set[int] = field(default_factory=set)
    """Rows whose embedding was missing or damaged and was read as zeros: to be left alone."""
    left_out: int = 0
    """Memories and edges whose records can't be read; they have no rows here."""
    _wanted: tuple[str, ...] = ()
    _spaces: dict[str, F32] = field(default_factory=dict)
    _row: dict[UUID, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def row_of(self, node_id: UUID) -> int | None:
        """Return the memory's row; None if it is not in here."""
        if not self._row:
            self._row = {node_id: row for row, node_id in enumerate(self.ids)}
        return self._row.get(node_id)

    def rows_of(self, ids: Iterable[UUID]) -> I64:
        """Return the rows of those memories that are in here, in their order."""
        return np.array([row for row in map(self.row_of, ids) if row is not None], np.int64)

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[tuple[int, F32]]:
        """Yield (first row, float32[k, 1536] as stored), in order. Cost: some 7 us a row."""
        wanted = [name for name in self._wanted if name not in self._spaces]
        self._wanted = ()
        made = {name: np.empty((len(self), _SIZES[name]), np.float32) for name in wanted}
        for start, block in self.read_blocks(rows):
            for name, values in made.items():
                values[start : start + len(block)] = block[:, SLICES[name]]
            yield start, block
        for name, values in made.items():
            self._spaces[name] = unit_rows(values)

    def want(self, *names: str) -> None:
        """Load these spaces during the next whole pass over the store."""
        self._wanted = names

    def load(self, *names: str) -> None:
        """Load these spaces, in one pass over the store."""
        if all(name in self._spaces for name in names):
            return
        self.want(*names)
        for _ in self.blocks():
            pass

    def space(self, name: str) -> F32:
        """float32[n, size] of one space, each row of length 1, or zeros where the text says nothing in it."""
        self.load(name)
        return self._spaces[name]

    def release(self, *names: str) -> None:
        """Give the memory of these spaces back."""
        for name in names:
            self._spaces.pop(name, None)


def unit_rows(values: F32) -> F32:
    """Return ``values`` with each row divided by its length, in place; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    np.divide(values, lengths[:, None], out=values, where=lengths[:, None] > 0)
    return values


def space_units(vector: F64) -> F64:
    """Return 1,536 values with each space of them at length 1, or zero."""
    lengths = np.sqrt(np.add.reduceat(vector * vector, STARTS))
    scale = np.divide(1.0, lengths, out=np.zeros(len(SPACES)), where=lengths > 1e-9)
    return np.asarray(vector * np.repeat(scale, SIZES))


def numbered(names: Iterable[str | bytes | None]) -> I32:
    """Return each name's number in order of appearance, from 1; 0 for none."""
    known: dict[str | bytes, int] = {}
    return np.array([known.setdefault(name, len(known) + 1) if name else 0 for name in names], np.int32)


def read(store: GraphStore, *, newest: int = 0, taken_ms: int = 0, progress: Progress = silent) -> Snapshot:
    """Return the live memories of ``store``, which must not change meanwhile (a checkpoint, or under its
    lock).

    Only the ``newest`` stored, 0 for all; ``taken_ms`` are Unix ms that count as now for ages.

    Raises StoreError if the database can't be read; a single damaged record is left out instead.
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
        ids=[UUID(bytes=node_id) for node_id in at],
        created_ms=fixed["created_ms"].astype(np.int64),
        accessed_ms=accessed_ms,
        accesses=accesses,
        used=_used(InjectionRecords(store.engine), at),
        importance=fixed["importance"].astype(np.float64),
        pinned=(fixed["flags"] & PINNED) != 0,
        session=numbered(row.session for row in rows),
        project=numbered(row.project for row in rows),
        modality=[_MODALITY_NAMES[number] for number in fixed["modality"].tolist()],
        source=[sources.setdefault(row.source, row.source.decode("utf-8", "replace")) for row in rows],
        degree=degree,
        links=links,
        node=partial(_node, store, rows),
        text=partial(_text, columns, rows),
        read_blocks=embeddings.blocks,
        paths=list(store.paths.all()),
        unreadable=embeddings.missing,
        left_out=columns.unreadable,
    )


def _uses(columns: Columns, at: Mapping[bytes, int], stored_ms: I64) -> tuple[I64, I64]:
    """Return (uses, Unix ms of the last) of each row; where none is noted, ``stored_ms`` stays."""
    counts = np.zeros(len(at), np.int64)
    for node_id, access in columns.accesses():
        row = at.get(node_id)
        if row is not None:
            counts[row], stored_ms[row] = access
    return counts, stored_ms


def _used(records: InjectionRecords, at: Mapping[bytes, int]) -> I64:
    """Uses of each row in the kept records; a damaged ledger ends the counting, not the run."""
    counts = np.zeros(len(at), np.int64)
    try:
        for _, payload in records.newest():
            for memory in orjson.loads(payload)["memories"]:
                row = at.get(UUID(memory["id"]).bytes) if memory["used"] else None
                if row is not None:
                    counts[row] += 1
    except (StoreError, KeyError, TypeError, ValueError) as error:
        _LOG.error("the ledger can't be read to its end: %s", error)
    return counts


def _live(columns: Columns, expected: int, progress: Progress) -> tuple[Heads, list[NodeHead]]:
    """Return the live memories' heads in order of commit, as an array and as they were read."""
    rows: list[NodeHead] = []
    for number, head in enumerate(columns.nodes()):
        rows.append(head)
        if number % _EVERY == 0:
            progress(number, expected)
    fixed = np.frombuffer(b"".join(row.fixed for row in rows), _NODE)
    keep = np.flatnonzero((fixed["flags"] & DELETED) == 0)
    # Two memories never share a commit number, so any sort is stable.
    keep = keep[np.argsort(fixed["seq"][keep])]
    return fixed[keep], [rows[row] for row in keep.tolist()]


def _links(columns: Columns, rows: list[NodeHead], newest: int) -> tuple[Links, I32]:
    """Return the edges among the ``newest`` memories, and how many each of ``rows`` has among all."""
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
    fixed = np.frombuffer(b"".join(head.fixed for head in heads), _EDGE)
    rows_of = np.array(ends, np.int32).reshape(-1, 2)
    kinds: dict[bytes, str] = {}
    links = Links(
        ids=[UUID(bytes=head.id) for head in heads],
        source=rows_of[:, 0].copy(),
        target=rows_of[:, 1].copy(),
        kind=[kinds.setdefault(head.relation, head.relation.decode("utf-8", "replace")) for head in heads],
        weight=fixed["weight"].astype(np.float64),
        confidence=fixed["confidence"].astype(np.float64),
    )
    return links, degree


def _node(store: GraphStore, rows: list[NodeHead], row: int) -> MemoryNode:
    node = store.get(rows[row].id)
    if node is None:
        name = str(UUID(bytes=rows[row].id))
        raise CorruptedMemoryError(f"memory {name} is no longer in the checkpoint", node_id=name)
    return node


def _text(columns: Columns, rows: list[NodeHead], row: int) -> str:
    head = rows[row]
    return columns.content(head.id) if head.content is None else bytes_text(head.content)


class _Embeddings:
    """The embeddings of the memories with these commit numbers.

    Those of a small store stay in memory after the first pass. For a large one each pass reads the store
    again, but checks each record only once.
    """

    def __init__(self, columns: Columns, store: GraphStore, seqs: I64) -> None:
        self._columns = columns
        self._vectors = store.vectors
        self._seqs: list[int] = seqs.tolist()
        self._kept: F32 | None = None
        self._checked = False
        self.missing: set[int] = set()
        """Rows whose embedding is not there or can't be read, and is given as zeros."""

    def blocks(self, size: int) -> Iterator[tuple[int, F32]]:
        """Yield (first row, float32[k, 1536]), ``size`` rows at a time; nobody may write to them."""
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

    def _fill(self, block: F32, start: int, records: Iterator[bytes | None]) -> None:
        raw = memoryview(block.data).cast("B")
        for at, record in enumerate(islice(records, len(block))):
            if record is None or start + at in self.missing:
                self.missing.add(start + at)
                record = EMPTY_RECORD
            raw[at * EMBEDDING_BYTES : (at + 1) * EMBEDDING_BYTES] = memoryview(record)[EMBEDDING_AT]
