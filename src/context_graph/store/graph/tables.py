"""Reads and writes the smaller tables of memory: edges, the paths along them, the ledger of injections.

An edge has one record, and a key at each of its two ends that leads to it. A path is a sequence of edges that
an answer used, one record each in ``memory_meta``, a bounded number: a use is not a change of a memory and
has no commit number. The project's profile is one record there. What was put into which context is in
``ledger``, bounded as well: ``i:`` + 8 big-endian bytes (number) -> a JSON object; ``t`` -> totals since the
store's beginning. `memory.context.ledger` gives those a meaning; here they are bytes.
"""

from __future__ import annotations

import struct

# hashlib would load OpenSSL for this one function (see store.layout).
from _blake2 import blake2b
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from context_graph.errors import CorruptedMemoryError
from context_graph.model.edge import Direction, GraphEdge, TraversedPath
from context_graph.store import layout
from context_graph.store.engine.batches import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.tuning import Write
from context_graph.store.graph.node_records import Access, decode_access, encode_access
from context_graph.store.graph.records import decode_edge, decode_meta, encode_edge, encode_meta
from context_graph.store.layout import ACCESS, EDGES, LEDGER, META, SYNC_PREFIX, after, unwrap, wrap
from context_graph.store.schema import has_memory

MAX_PATHS: Final = 1024
"""Records kept; when there are more, the quarter that was taken least goes."""
_PATH_PREFIX: Final = b"path:"
RECORDS_KEPT: Final = 2048
"""Newest records that are kept; some 400 bytes each."""
RECORD_VERSION: Final = 1
_PROFILE: Final = b"profile"
_INJECTION_PREFIX: Final = b"i:"
_TOTALS: Final = b"t"
_BE64: Final = struct.Struct(">Q")
_SIDES = {Direction.OUT: ("out",), Direction.IN: ("in",), Direction.BOTH: ("out", "in")}
_EDGE_PREFIX = layout.edge_key(b"")


class EdgeTable:
    """Reads edges."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, edge_id: bytes) -> GraphEdge | None:
        """Return the edge of that id, None if there is none."""
        key = layout.edge_key(edge_id)
        record = self._engine.get(EDGES, key)
        return None if record is None else decode_edge(key, record)

    def record(self, edge_id: bytes) -> bytes | None:
        """Return the edge's record as it is on the disk."""
        return self._engine.get(EDGES, layout.edge_key(edge_id))

    def find(self, source: bytes, target: bytes, relationship: str) -> GraphEdge | None:
        """Return the edge from one memory to another with that relationship; there is at most one."""
        edge_id = self._engine.get(EDGES, layout.adjacency_key("out", source, target, relationship))
        return None if edge_id is None else self.get(edge_id)

    def of(self, node_id: bytes, direction: Direction = Direction.BOTH) -> list[GraphEdge]:
        """Return the edges of a memory; those that leave it first. Cost: one lookup an edge, some 10 us."""
        edge_ids: dict[bytes, None] = {}
        for side in _SIDES[direction]:
            prefix = layout.adjacency_prefix(side, node_id)
            for _, edge_id in self._engine.scan(EDGES, prefix, after(prefix)):
                edge_ids[edge_id] = None
        edges = (self.get(edge_id) for edge_id in edge_ids)
        return [edge for edge in edges if edge is not None]

    def all(self, after_id: bytes = b"") -> Iterator[GraphEdge]:
        """Yield every edge, by id, from the one after ``after_id``."""
        start = layout.edge_key(after_id + b"\0") if after_id else _EDGE_PREFIX
        for key, record in self._engine.scan(EDGES, start, after(_EDGE_PREFIX)):
            yield decode_edge(key, record)


def edge_writes(edge: GraphEdge) -> list[Write]:
    """Return an edge's record, then the keys at its ends that lead to it.

    Raises InvalidParamsError for a field that no record can hold.
    """
    key = layout.edge_key(edge.id.bytes)
    ends = (Write(EDGES, end, edge.id.bytes) for end in _end_keys(edge))
    return [Write(EDGES, key, encode_edge(key, edge)), *ends]


def edge_removal(edge: GraphEdge) -> list[Write]:
    """Return the writes that remove an edge."""
    return [Write(EDGES, key, None) for key in (layout.edge_key(edge.id.bytes), *_end_keys(edge))]


def _end_keys(edge: GraphEdge) -> tuple[bytes, bytes]:
    source, target = edge.source_id.bytes, edge.target_id.bytes
    return (
        layout.adjacency_key("out", source, target, edge.relationship_type),
        layout.adjacency_key("in", target, source, edge.relationship_type),
    )


def path_key(nodes: Sequence[UUID]) -> bytes:
    """Return the key of the way through ``nodes`` in this order."""
    digest = blake2b(b"".join(node.bytes for node in nodes), digest_size=16).hexdigest()
    return _PATH_PREFIX + digest.encode()


class PathTable:
    """Reads paths, and writes them into batches that its caller commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._count: int | None = None
        """Records there are, counted when first needed."""

    def get(self, nodes: Sequence[UUID]) -> TraversedPath | None:
        """Return the path through ``nodes``; None if it was never taken, or its record can't be read."""
        key = path_key(nodes)
        record = self._engine.get(META, key)
        return None if record is None else _decoded(key, record)

    def all(self) -> Iterator[TraversedPath]:
        """Yield every path, in no particular order; records that can't be read are passed over."""
        for key, record in self._engine.scan(META, _PATH_PREFIX, after(_PATH_PREFIX)):
            path = _decoded(key, record)
            if path is not None:
                yield path

    def note(self, batch: Batch, nodes: Sequence[UUID], confidence: float, at_ms: int) -> None:
        """Add to ``batch``: the way through ``nodes`` was taken once more, at ``at_ms``; ``confidence`` is
        the least of its edges'. Cost: one lookup, some 10 us.
        """
        known = self.get(nodes)
        if known is None:
            self._make_room(batch)
            known = TraversedPath(tuple(nodes), 0, 1.0, at_ms)
        key = path_key(nodes)
        content = {
            "nodes": [node.hex for node in known.nodes],
            "traversals": known.traversals + 1,
            "confidence": min(known.confidence, confidence),
            "last_ms": max(known.last_ms, at_ms),
        }
        batch.put(META, key, encode_meta(key, content))

    def _make_room(self, batch: Batch) -> None:
        if self._count is None:
            self._count = sum(1 for _ in self._engine.scan(META, _PATH_PREFIX, after(_PATH_PREFIX)))
        if self._count >= MAX_PATHS:
            by_use = sorted(self.all(), key=lambda path: (path.traversals, path.last_ms))
            for path in by_use[: MAX_PATHS // 4]:
                batch.delete(META, path_key(path.nodes))
            self._count = None  # what the batch leaves; it may fail
        else:
            self._count += 1


def _decoded(key: bytes, record: bytes) -> TraversedPath | None:
    """Return the record; nothing of one that is damaged, which is derived from uses."""
    try:
        content = decode_meta(key, record)
        nodes = tuple(UUID(hex=node_id) for node_id in content["nodes"])
        return TraversedPath(
            nodes, int(content["traversals"]), float(content["confidence"]), int(content["last_ms"])
        )
    except (CorruptedMemoryError, KeyError, TypeError, ValueError):
        return None


class ProfileTable:
    """The project's profile, one JSON object; `memory.context.profile` gives it a meaning."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self) -> dict[str, Any] | None:
        """Return the profile; None if there is none, or it can't be read: it is derived from summaries."""
        record = self._engine.get(META, _PROFILE) if has_memory(self._engine) else None
        try:
            return None if record is None else decode_meta(_PROFILE, record)
        except CorruptedMemoryError:
            return None

    def put(self, profile: Mapping[str, Any]) -> None:
        """Replace it. Raises StoreError if the write failed."""
        self._engine.put(META, _PROFILE, encode_meta(_PROFILE, profile))


class InjectionRecords:
    """The ledger's records in one database. Not thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def newest(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number, record) of all that are kept, newest first.

        Raises CorruptedIdentityError at a record that can't be read back; it names the record and the cure.
        """
        for key, record in self._engine.scan(
            LEDGER, after(_INJECTION_PREFIX), _INJECTION_PREFIX, reverse=True
        ):
            yield _BE64.unpack_from(key, len(_INJECTION_PREFIX))[0], unwrap(key, record, RECORD_VERSION)

    def totals(self) -> bytes | None:
        """Return the totals that were written last, None before the first write."""
        record = self._engine.get(LEDGER, _TOTALS)
        return None if record is None else unwrap(_TOTALS, record, RECORD_VERSION)

    def write(self, records: Mapping[int, bytes], totals: bytes) -> None:
        """Add or replace records by their number and set the totals, as one batch; the oldest leave.

        Raises StoreError if the write failed; nothing of it is stored.
        """
        batch = self._engine.batch()
        for number, payload in records.items():
            key = _key(number)
            batch.put(LEDGER, key, wrap(key, RECORD_VERSION, payload))
        if records and max(records) > RECORDS_KEPT:
            batch.delete_range(LEDGER, _INJECTION_PREFIX, _key(max(records) - RECORDS_KEPT + 1))
        batch.put(LEDGER, _TOTALS, wrap(_TOTALS, RECORD_VERSION, totals))
        self._engine.write(batch)


def _key(number: int) -> bytes:
    return _INJECTION_PREFIX + _BE64.pack(number)


class SyncTable:
    """Reads the notes, and writes them into batches that their caller commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the note of that name; None if there is none. Raises CorruptedMemoryError."""
        key = SYNC_PREFIX + name.encode()
        record = self._engine.get(META, key)
        return None if record is None else decode_meta(key, record)

    def scan(
        self, prefix: str, after_name: str = "", limit: int = 1 << 30
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield at most ``limit`` (name, note) that begin with ``prefix``, from after ``after_name``."""
        start = SYNC_PREFIX + prefix.encode()
        first = SYNC_PREFIX + after_name.encode() + b"\0" if after_name else start
        for key, record in islice(self._engine.scan(META, first, after(start)), limit):
            yield key[len(SYNC_PREFIX) :].decode(), decode_meta(key, record)

    def put(self, batch: Batch, name: str, note: Mapping[str, Any]) -> None:
        """Add a note to ``batch``. Raises InvalidParamsError for more than 1 MiB."""
        key = SYNC_PREFIX + name.encode()
        batch.put(META, key, encode_meta(key, note))

    def remove(self, batch: Batch, name: str) -> None:
        """Take a note away."""
        batch.delete(META, SYNC_PREFIX + name.encode())

    def access(self, node_id: bytes) -> Access:
        """Return how often a memory was used, (0, 0) if never."""
        record = self._engine.get(ACCESS, node_id)
        return Access(0, 0) if record is None else decode_access(node_id, record)

    def put_access(self, batch: Batch, node_id: bytes, access: Access) -> None:
        """Add to ``batch``: how often a memory was used."""
        batch.put(ACCESS, node_id, encode_access(node_id, access))

    def accesses(self, after_id: bytes, limit: int) -> Iterator[tuple[bytes, Access]]:
        """Yield at most ``limit`` (id, uses) of memories, by id."""
        rows = self._engine.rows(ACCESS, after_id + b"\0" if after_id else b"")
        for key, record in islice(rows, limit):
            if len(key) == 16:
                yield key, decode_access(key, record)

    def commit(self, batch: Batch) -> None:
        """Write notes alone: no change of the store."""
        self._engine.write(batch)

    def batch(self) -> Batch:
        """Return an empty batch of notes."""
        return self._engine.batch()
