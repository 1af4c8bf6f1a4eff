"""Salvages memories: decides which records are sound, and rebuilds what is derived from them.

Secondary keys, the edges' keys at their ends, the keys to entries of the history, counters and the store's id
are derived: they are not copied. The new id keeps snapshots of an index that was made beside the damaged
database from being taken for the salvaged one's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from context_graph.errors import CorruptedMemoryError, InvalidInputError
from context_graph.model.memory import TOMBSTONE_LOST, Tombstone
from context_graph.store import layout
from context_graph.store.engine.engine import Engine
from context_graph.store.graph import records
from context_graph.store.graph.edits import index_keys
from context_graph.store.graph.history import (
    ACT_PREFIX,
    CHANGE_PREFIX,
    RUN_PREFIX,
    SUBJECT_PREFIX,
    decode_begun,
    decode_entry,
    decode_run,
    subject_key,
)
from context_graph.store.graph.node_records import decode_access, decode_embedding, decode_node
from context_graph.store.graph.reader import GraphReader, counted
from context_graph.store.graph.records import Op, payload_of
from context_graph.store.graph.tables import edge_removal, edge_writes
from context_graph.store.graph.vector_table import PROVIDER_KEY, SECOND_KEY, VECTORS_KEY
from context_graph.store.layout import (
    ACCESS,
    BEGUN_KEY,
    EDGES,
    EMBEDDINGS,
    FORMAT_KEY,
    HISTORY,
    INDEX,
    LEDGER,
    LOG,
    META,
    NODES,
    TOMBSTONES,
    after,
    unwrap,
)

BATCH_ENTRIES: Final = 256
_NUMBERED_BYTES: Final = 10
_HISTORY_RECORDS: Final[dict[bytes, Callable[[bytes, bytes], object]]] = {
    CHANGE_PREFIX: decode_entry,
    RUN_PREFIX: decode_run,
    ACT_PREFIX: decode_run,
}


def check_history(key: bytes, record: bytes) -> bool:
    """Decode a record of the history; True for those that are not copied but worked out anew.

    Raises CorruptedMemoryError, MemoryFormatError if it can't be read. Raises InvalidInputError if it is none
    of ours.
    """
    if key == BEGUN_KEY:
        decode_begun(record)
        return False
    if key.startswith(SUBJECT_PREFIX):
        return True
    decode = _HISTORY_RECORDS.get(key[:2])
    if decode is None or len(key) != _NUMBERED_BYTES:
        raise InvalidInputError("no record that this build knows")
    decode(key, record)
    return False


def complete_history(target: Engine) -> None:
    """Write the keys that lead from memories and edges to the entries that are about them."""
    batch = target.batch()
    entries = target.scan(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX))
    for number, (key, record) in enumerate(entries, 1):
        entry = decode_entry(key, record)
        for subject_id in (entry.subject, *entry.ends):
            batch.put(HISTORY, subject_key(subject_id, entry.seq), b"")
        if number % BATCH_ENTRIES == 0:
            target.write(batch)
            batch = target.batch()
    target.write(batch)


BATCH_RECORDS: Final = 256
LEDGER_VERSION: Final = 1
_ID_BYTES: Final = 16
_SEQ_BYTES: Final = 8
_DERIVED_META: Final = (layout.COUNTERS_KEY, b"uid")


def check_memory(family: str, key: bytes, record: bytes) -> bool:
    """Decode a record of a memory family; True for those that are not copied but worked out anew.

    Raises CorruptedMemoryError, FormatVersionError, CorruptedIdentityError if it can't be read. Raises
    InvalidInputError: It is no database of context-graph.
    """
    if family == INDEX or (family == EDGES and not key.startswith(layout.edge_key(b""))):
        return True
    if family == META and key in _DERIVED_META:
        return True
    if family == HISTORY:
        return check_history(key, record)
    if family == LEDGER:
        unwrap(key, record, LEDGER_VERSION)
        return False
    decode, length = _RECORDS[family]
    if length and len(key) != length:
        raise InvalidInputError("no record that this build knows")
    decode(key, record)
    return False


def _check_vector(key: bytes, record: bytes) -> None:
    if layout.split_embedding_key(key) == 0:
        raise InvalidInputError("no record that this build knows")
    if key.startswith(layout.second_key(0)[:1]):
        payload_of(key, record)  # of another length, that of its model
    else:
        decode_embedding(key, record)


_RECORDS: Final[dict[str, tuple[Callable[[bytes, bytes], object], int]]] = {
    NODES: (decode_node, _ID_BYTES),
    EMBEDDINGS: (_check_vector, 0),
    ACCESS: (decode_access, _ID_BYTES),
    EDGES: (records.decode_edge, 2 + _ID_BYTES),
    LOG: (records.decode_change, _SEQ_BYTES),
    TOMBSTONES: (records.decode_tombstone, _ID_BYTES),
    META: (records.decode_meta, 0),
}


def complete_memory(target: Engine) -> list[str]:
    """Work out in ``target`` what was not copied; what could not be saved in whole, in words."""
    work = _Completion(target)
    work.whose_vectors()
    work.nodes()
    work.edges()
    work.loose_embeddings()
    work.second_vectors()
    work.lost()
    complete_history(target)
    record = records.encode_counters(layout.COUNTERS_KEY, counted(target))
    target.put(META, layout.COUNTERS_KEY, record)
    return work.notes


class _Completion:
    def __init__(self, target: Engine) -> None:
        self.notes: list[str] = []
        self._left_out = 0
        self._target = target
        self._reader = GraphReader(target)
        self._vectors = self._reader.vectors
        self._seqs: set[int] = set()
        self._ids: set[bytes] = set()
        self._now_ms = time.time_ns() // 1_000_000

    def whose_vectors(self) -> None:
        """Drop vectors of which it is not known any more who made them, or which of two sets is in use."""
        keys = [key for key, _ in self._target.rows(EMBEDDINGS)]
        if not keys:
            return
        generations = any(key.startswith(layout.embedding_key(0, 1)[:1]) for key in keys)
        known = self._target.get(META, PROVIDER_KEY) is not None
        if known and not (generations and self._target.get(META, VECTORS_KEY) is None):
            return
        batch = self._target.batch()
        batch.delete_range(EMBEDDINGS, b"", FORMAT_KEY)
        batch.delete_range(EMBEDDINGS, FORMAT_KEY + b"\0", b"\xff" * 9)
        self._target.write(batch)
        self.notes.append("the record of what made the vectors is lost: they are made anew from the texts")

    def second_vectors(self) -> None:
        """Begin the second vectors anew unless all that are listed are there."""
        second = self._vectors.second
        if second is None:
            return
        there = {seq for seq, _ in self._vectors.seconds()}
        if not {seq for seq in self._seqs if seq <= second.done} <= there:
            batch = self._target.batch()
            batch.delete(META, SECOND_KEY)
            start = layout.second_key(0)
            batch.delete_range(EMBEDDINGS, start, after(start[:1]))
            self._target.write(batch)
            self.notes.append("some of the model's vectors are lost: they are made anew")

    def lost(self) -> None:
        """Count what the change log names and no record tells."""
        there: dict[bytes, int] = {}
        for change in self._reader.changes_after(0):
            if change.op in (Op.ADD, Op.LINK, Op.REMOVE, Op.UNLINK):
                there[change.subject] = change.op
        nodes = sum(op == Op.ADD and node_id not in self._ids for node_id, op in there.items())
        if nodes:
            self.notes.append(f"{nodes} memories are lost: the log names them, but their records are missing")
        links = sum(
            op == Op.LINK and self._target.get(EDGES, layout.edge_key(edge_id)) is None
            for edge_id, op in there.items()
        )
        if links > self._left_out:
            self.notes.append(f"{links - self._left_out} links are lost")

    def nodes(self) -> None:
        """Secondary keys, the change log's first entry and, of the deleted, the tombstone of each memory."""
        without_vector = 0
        batch = self._target.batch()
        for size, (key, record) in enumerate(self._target.rows(NODES), 1):
            node, deleted = decode_node(key, record)
            at = layout.seq_key(node.commit_seq)
            self._seqs.add(node.commit_seq)
            self._ids.add(key)
            without_vector += self._vectors.get(node.commit_seq) is None
            if self._added(at) != key:
                batch.put(LOG, at, records.encode_change(at, Op.ADD, key, 0))
            if not deleted:
                for place in index_keys(node):
                    batch.put(INDEX, place, key)
            elif self._target.get(TOMBSTONES, key) is None:
                stone = Tombstone(node.id, self._now_ms, TOMBSTONE_LOST, soft=True)
                batch.put(TOMBSTONES, key, records.encode_tombstone(key, stone))
            if size % BATCH_RECORDS == 0:
                self._target.write(batch)
                batch = self._target.batch()
        self._target.write(batch)
        if without_vector:
            self.notes.append(
                f"{without_vector} memories have lost their vector; "
                "it is made anew from the text when the store is used next"
            )

    def edges(self) -> None:
        """Write the keys at the ends of each edge; an edge to a memory that is gone is left out."""
        lost = 0
        batch = self._target.batch()
        for edge in list(self._reader.edges.all()):
            ends = (edge.source_id.bytes, edge.target_id.bytes)
            if any(self._target.get(NODES, end) is None for end in ends):
                batch.apply(edge_removal(edge))
                lost += 1
            else:
                batch.apply(edge_writes(edge))
        self._target.write(batch)
        self._left_out = lost
        if lost:
            self.notes.append(f"{lost} edges are left out: a memory at one of their ends is lost")

    def loose_embeddings(self) -> None:
        """Vectors whose memory is lost are of no use."""
        batch = self._target.batch()
        for key, _ in self._target.rows(EMBEDDINGS):
            if layout.split_embedding_key(key) not in self._seqs:
                batch.delete(EMBEDDINGS, key)
        self._target.write(batch)

    def _added(self, at: bytes) -> bytes | None:
        """Return the memory that the change log says was added by that commit."""
        record = self._target.get(LOG, at)
        try:
            change = None if record is None else records.decode_change(at, record)
        except CorruptedMemoryError:
            return None
        return change.subject if change is not None and change.op == Op.ADD else None
