"""Reads the fixed-size parts of all memories, accesses and edges, for work on the whole store.

It takes a sixth of the time of reading each memory. What can't be read is left out and named: as elsewhere,
one damaged record does not prevent the rest from being read.
"""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from context_graph.errors import UNREADABLE_RECORD
from context_graph.model.spaces import EMBEDDING_BYTES
from context_graph.store.engine.engine import Engine
from context_graph.store.graph.node_records import (
    NODE,
    NODE_VERSION,
    Access,
    decode_access,
    decode_node,
    encode_node,
)
from context_graph.store.graph.records import (
    EDGE,
    NO_TEXT,
    OTHER_VERSION,
    bytes_text,
    damaged_memory,
    open_record,
    payload_of,
)
from context_graph.store.graph.vector_table import VectorTable
from context_graph.store.layout import ACCESS, EDGES, NODES, after, edge_key

_LOG: Final = logging.getLogger(__name__)

NODE_FIELDS: Final = (
    ("seq", "<u8"),
    ("created_ms", "<i8"),
    ("accessed_ms", "<i8"),
    ("importance", "<f8"),
    ("utl", "<f8", (4,)),
    ("flags", "u1"),
    ("quadrant", "u1"),
    ("modality", "u1"),
    ("tags", "u1"),
    ("cluster", "V16"),
    ("lengths", "<u2", (6,)),
    ("metadata_bytes", "<u4"),
    ("content_bytes", "<u4"),
)
"""The fixed part of a node's record as a packed structure, as numpy.dtype takes it."""
EDGE_FIELDS: Final = (
    ("source", "V16"),
    ("target", "V16"),
    ("weight", "<f8"),
    ("confidence", "<f8"),
    ("reward", "<f8"),
    ("profile", "<f8", (3,)),
    ("created_ms", "<i8"),
    ("traversed_ms", "<i8"),
    ("traversals", "<u4"),
    ("shortcut", "u1"),
    ("domain", "u1"),
    ("relation_bytes", "<u2"),
)
"""The fixed part of an edge's record, likewise."""

EMBEDDING_AT: Final = slice(5, 5 + EMBEDDING_BYTES)
"""Where the 1536 float32 are in an embedding's record: after version and length, before a checksum."""
EMPTY_RECORD: Final = bytes(5 + EMBEDDING_BYTES + 4)
"""As long as an embedding's record."""
_EMBEDDING_HEAD: Final = struct.pack("<BI", OTHER_VERSION, EMBEDDING_BYTES)

SHORT_BYTES: Final = 256
"""The longest content that is read along with what has a fixed size."""
_NO_RECORD: Final = (1 << 63, b"")
"""Behind the last of them."""
_LENGTHS: Final = struct.Struct("<6HII")
"""The end of NODE: bytes of rationale, agent, session, project, source, another text, metadata, content."""


class NodeHead(NamedTuple):
    """The fixed-size part of one memory, soft-deleted or not."""

    id: bytes
    fixed: bytes
    """NODE_FIELDS."""
    session: bytes
    """UTF-8, empty for none, as the next two."""
    project: bytes
    source: bytes
    content: bytes | None
    """None if it has more than SHORT_BYTES."""


class EdgeHead(NamedTuple):
    """The fixed-size part of one edge."""

    id: bytes
    fixed: bytes
    """EDGE_FIELDS."""
    relation: bytes


class Columns:
    """Reads a database from one end to the other."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.unreadable = 0
        """Records that were left out so far; each has a line in the log."""

    def nodes(self) -> Iterator[NodeHead]:
        """Yield all memories by id. Cost: 4 us each."""
        for key, record in self._engine.rows(NODES, whole=True):
            try:
                yield _node_head(key, record)
            except UNREADABLE_RECORD as error:
                self._pass_over(error)

    def content(self, node_id: bytes) -> str:
        """Return the content of a memory, and nothing else. Cost: 6 us.

        Raises CorruptedMemoryError, MemoryFormatError if it can't be read, or is not there.
        """
        record = self._engine.get(NODES, node_id)
        if record is None:
            raise damaged_memory(node_id, "its record is gone")
        version, payload = open_record(node_id, record)
        if version != NODE_VERSION:
            return decode_node(node_id, record).node.content
        try:
            return bytes_text(payload[len(payload) - NODE.unpack_from(payload)[-1] :])
        except (struct.error, ValueError) as error:
            raise damaged_memory(node_id, f"content: {error}") from error

    def accesses(self) -> Iterator[tuple[bytes, Access]]:
        """Yield the accesses of those memories that were ever used, by id."""
        for key, record in self._engine.rows(ACCESS, whole=True):
            try:
                yield key, decode_access(key, record)
            except UNREADABLE_RECORD as error:
                self._pass_over(error)

    def edges(self) -> Iterator[EdgeHead]:
        """Yield all edges by id."""
        prefix = edge_key(b"")
        for key, record in self._engine.scan(EDGES, prefix, after(prefix), whole=True):
            try:
                payload = payload_of(key, record)
                if len(payload) < EDGE.size:
                    raise damaged_memory(key, f"content: {len(payload)} bytes")
                end = EDGE.size + EDGE.unpack_from(payload)[-1]
                yield EdgeHead(key[len(prefix) :], payload[: EDGE.size], payload[EDGE.size : end])
            except UNREADABLE_RECORD as error:
                self._pass_over(error)

    def embeddings(
        self, vectors: VectorTable, seqs: Iterable[int], *, checked: bool = False
    ) -> Iterator[bytes | None]:
        """Yield the embedding's record of each memory with these commit numbers, which ascend; None where
        there is none that can be read. EMBEDDING_AT says where the numbers are.

        With ``checked`` they were all read before, and the caller knows which were damaged: only their length
        is looked at again. Cost: 8 us each, 3 us if checked.
        """
        wanted = iter(seqs)
        first = next(wanted, None)
        if first is None:
            return
        records = vectors.records(first - 1, whole=True)
        seq_read, record = next(records, _NO_RECORD)
        for seq in chain((first,), wanted):
            while seq_read < seq:  # of a memory that was soft-deleted
                seq_read, record = next(records, _NO_RECORD)
            if seq_read != seq:
                yield None
            elif checked:
                yield record if len(record) == len(EMPTY_RECORD) else None
            else:
                yield self._checked(vectors, seq, record)

    def _checked(self, vectors: VectorTable, seq: int, record: bytes) -> bytes | None:
        end, crc = len(record) - 4, zlib.crc32(vectors.key(seq))
        if (
            len(record) == len(EMPTY_RECORD)
            and record.startswith(_EMBEDDING_HEAD)
            and zlib.crc32(memoryview(record)[:end], crc) == int.from_bytes(record[end:], "little")
        ):
            return record
        try:
            vectors.decode(seq, record)
        except UNREADABLE_RECORD as error:
            self._pass_over(error)
        return None

    def _pass_over(self, error: Exception) -> None:
        self.unreadable += 1
        _LOG.error("%s", error)


def _node_head(key: bytes, record: bytes) -> NodeHead:
    version, payload = open_record(key, record)
    if version != NODE_VERSION:
        node, deleted = decode_node(key, record)
        payload = open_record(key, encode_node(key, node, deleted=deleted))[1]
    if len(payload) < NODE.size:
        raise damaged_memory(key, f"content: {len(payload)} bytes, must be at least {NODE.size}")
    lengths = _LENGTHS.unpack_from(payload, NODE.size - _LENGTHS.size)
    size = lengths[-1]
    if NO_TEXT in lengths[:5]:
        lengths = tuple(0 if length == NO_TEXT else length for length in lengths[:5])
    at = NODE.size + lengths[0] + lengths[1]
    to_project = at + lengths[2]
    to_source = to_project + lengths[3]
    return NodeHead(
        key,
        payload[: NODE.size],
        payload[at:to_project],
        payload[to_project:to_source],
        payload[to_source : to_source + lengths[4]],
        payload[len(payload) - size :] if size <= SHORT_BYTES else None,
    )
