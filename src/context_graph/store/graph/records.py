"""Encodes and decodes the records beside the nodes': edges, tombstones, the change log, counters, facts.

The envelope is that of `layout`; here its errors name the memory or edge, and an older version is the
caller's to convert. Numbers in use are on users' disks: never renumber.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson

from context_graph.errors import CorruptedMemoryError, InvalidParamsError, MemoryFormatError
from context_graph.model.edge import Domain, GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import Tombstone
from context_graph.store.layout import key_name, open_envelope, wrap

OTHER_VERSION: Final = 1
"""The version of every record but a node's."""
NO_TEXT: Final = 0xFFFF
"""A length that says None."""
REPAIR: Final = "context-graph-cli repair --cf memory_nodes"
MAX_METADATA_BYTES: Final = 1 << 20


def encode_json(name: str, content: Mapping[str, Any]) -> bytes:
    """Return ``content`` as JSON.

    Raises InvalidParamsError if it is no JSON object, or has more than 1 MiB; names ``name``.
    """
    try:
        text = orjson.dumps(content)
    except TypeError as error:
        raise InvalidParamsError.of(name, f"is not a JSON object: {error}") from error
    if not text.startswith(b"{"):
        raise InvalidParamsError.of(name, f"must be a JSON object, is {type(content).__name__}")
    if len(text) > MAX_METADATA_BYTES:
        raise InvalidParamsError.of(name, f"has {len(text)} bytes as JSON, at most {MAX_METADATA_BYTES}")
    return text


class Cutter:
    """Reads texts from a payload, one after another."""

    __slots__ = ("_at", "_payload")

    def __init__(self, payload: bytes, at: int) -> None:
        self._payload = payload
        self._at = at

    def raw(self, length: int) -> bytes:
        start, self._at = self._at, self._at + length
        if self._at > len(self._payload):
            raise ValueError(f"{len(self._payload)} bytes, its texts need {self._at}")
        return self._payload[start : self._at]

    def take(self, length: int) -> str:
        return bytes_text(self.raw(length))

    def optional(self, length: int) -> str | None:
        return None if length == NO_TEXT else bytes_text(self.raw(length))

    def rest(self) -> bytes:
        return self._payload[self._at :]

    def end(self) -> None:
        if self._at != len(self._payload):
            raise ValueError(f"{len(self._payload)} bytes, its texts need {self._at}")


def open_record(key: bytes, record: bytes) -> tuple[int, bytes]:
    """Return (version, payload) of ``record``, which was read from ``key``. Cost: one CRC pass.

    Raises CorruptedMemoryError if length or checksum don't fit; names the memory, the fault and the cure.
    """
    return open_envelope(key, record, damaged_memory)


def payload_of(key: bytes, record: bytes) -> bytes:
    """Return the payload of a record of one version. Raises as open_record, and MemoryFormatError."""
    version, payload = open_record(key, record)
    if version != OTHER_VERSION:
        raise unknown_version(key, version, OTHER_VERSION)
    return payload


def unpack_fixed(key: bytes, record: bytes, shape: struct.Struct) -> tuple[Any, ...]:
    """Return the fields of a record that is ``shape`` and nothing more. Raises as payload_of."""
    payload = payload_of(key, record)
    if len(payload) != shape.size:
        raise damaged_memory(key, f"content: {len(payload)} bytes, must be {shape.size}")
    return shape.unpack(payload)


def unknown_version(key: bytes, version: int, known: int) -> MemoryFormatError:
    """Return the error for a version that can't be converted; names node id and version (EC-CORE-018)."""
    return MemoryFormatError(
        f"memory {key_name(key)} has format version {version}, this build reads up to {known}; "
        "it was written by a newer version of context-graph: use that one",
        node_id=key_name(key),
        format_version=version,
    )


def damaged_memory(key: bytes, what: str) -> CorruptedMemoryError:
    """Return the error for a record under ``key`` that can't be read; ``what`` is wrong with it."""
    return CorruptedMemoryError(
        f"memory {key_name(key)} can't be read: {what}; run `{REPAIR}`", node_id=key_name(key)
    )


def text_bytes(text: str) -> bytes:
    """Return ``text`` as records keep it."""
    # surrogatepass: a project's path may hold bytes that are no UTF-8, which Python carries as surrogates.
    return text.encode("utf-8", "surrogatepass")


def bytes_text(raw: bytes) -> str:
    """Return the text of such bytes. Raises ValueError."""
    return raw.decode("utf-8", "surrogatepass")


def optional_bytes(text: str | None) -> bytes | None:
    """As text_bytes; None stays None."""
    return None if text is None else text_bytes(text)


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in ``raw``, {} for none. Raises ValueError."""
    if not raw:
        return {}
    content = orjson.loads(raw)
    if not isinstance(content, dict):
        raise ValueError("its metadata is not a JSON object")
    return content


# Never renumber.
_DOMAINS: Final = (
    Domain.GENERAL,
    Domain.CODE,
    Domain.LEGAL,
    Domain.MEDICAL,
    Domain.CREATIVE,
    Domain.RESEARCH,
)
_DOMAIN_NUMBER: Final = {domain: number for number, domain in enumerate(_DOMAINS)}

# source, target | weight, confidence, reward, 3 transmitters | created, traversed, count | shortcut, domain |
# bytes of relationship
EDGE: Final = struct.Struct("<16s16s6dqqI2BH")
_TOMBSTONE: Final = struct.Struct("<qB")
_CHANGE: Final = struct.Struct("<B16sq")
CHANGE_VERSION: Final = 2
_COUNTERS: Final = struct.Struct("<5Q")


class Op:
    """The kind of a change (never renumber)."""

    ADD: Final = 1
    UPDATE: Final = 2
    FORGET: Final = 3
    """Soft delete."""
    RESTORE: Final = 4
    REMOVE: Final = 5
    """Gone for good."""
    LINK: Final = 6
    UNLINK: Final = 7
    EMBED: Final = 8
    """Another embedding for the same content."""
    RELINK: Final = 9
    """An edge that was there has other numbers."""
    RUN: Final = 10
    """The first commit of a consolidation or of its undoing; the subject is its token (runs.Run)."""


class Change(NamedTuple):
    """One entry of the change log."""

    seq: int
    op: int
    subject: bytes
    """Id of the memory or the edge, or token of the run, 16 bytes."""
    at_ms: int = 0
    """Unix ms; 0 for a change from before times were kept."""


class Counters(NamedTuple):
    """The store's counts."""

    seq: int = 0
    """Number of the last commit."""
    nodes: int = 0
    """Memories, the soft-deleted ones not counted."""
    deleted: int = 0
    """Soft-deleted memories."""
    edges: int = 0
    content_bytes: int = 0
    """UTF-8 bytes of all contents, those of soft-deleted memories too."""


def encode_edge(key: bytes, edge: GraphEdge) -> bytes:
    """Return the record of ``edge``.

    Raises InvalidParamsError for a number or the metadata that no record can hold.
    """
    relation, profile = text_bytes(edge.relationship_type), edge.neurotransmitter_weights
    metadata = encode_json("metadata", edge.metadata) if edge.metadata else b""
    try:
        head = EDGE.pack(
            edge.source_id.bytes,
            edge.target_id.bytes,
            edge.weight,
            edge.confidence,
            edge.steering_reward,
            profile.excitatory,
            profile.inhibitory,
            profile.modulatory,
            edge.created_at_ms,
            edge.last_traversed_ms,
            edge.traversal_count,
            edge.is_amortized_shortcut,
            _DOMAIN_NUMBER[edge.domain],
            len(relation),
        )
    except struct.error as error:
        raise InvalidParamsError.of("edge", f"a field is out of range for a record: {error}") from error
    return wrap(key, OTHER_VERSION, head + relation + metadata)


def decode_edge(key: bytes, record: bytes) -> GraphEdge:
    """Return the edge in ``record``, which was read from ``e:`` and its id. Raises as decode_node."""
    payload = payload_of(key, record)
    try:
        head = EDGE.unpack_from(payload)
        texts = Cutter(payload, EDGE.size)
        return GraphEdge(
            id=UUID(bytes=key[2:]),
            source_id=UUID(bytes=head[0]),
            target_id=UUID(bytes=head[1]),
            weight=head[2],
            confidence=head[3],
            steering_reward=head[4],
            neurotransmitter_weights=NeurotransmitterWeights(*head[5:8]),
            created_at_ms=head[8],
            last_traversed_ms=head[9],
            traversal_count=head[10],
            is_amortized_shortcut=bool(head[11]),
            domain=_DOMAINS[head[12]],
            relationship_type=texts.take(head[13]),
            metadata=json_object(texts.rest()),
        )
    except (struct.error, ValueError, IndexError, InvalidParamsError) as error:
        raise damaged_memory(key, f"content: {error}") from error


def encode_tombstone(key: bytes, tombstone: Tombstone) -> bytes:
    """Return the record of ``tombstone``."""
    reason = text_bytes(tombstone.reason)
    return wrap(key, OTHER_VERSION, _TOMBSTONE.pack(tombstone.deleted_at_ms, tombstone.soft) + reason)


def decode_tombstone(key: bytes, record: bytes) -> Tombstone:
    """Return the tombstone in ``record``, which was read from a memory's id. Raises as decode_node."""
    payload = payload_of(key, record)
    try:
        at_ms, soft = _TOMBSTONE.unpack_from(payload)
        return Tombstone(UUID(bytes=key), at_ms, bytes_text(payload[_TOMBSTONE.size :]), bool(soft))
    except (struct.error, ValueError) as error:
        raise damaged_memory(key, f"content: {error}") from error


def encode_change(key: bytes, op: int, subject: bytes, at_ms: int) -> bytes:
    """Return the record of one change."""
    return wrap(key, CHANGE_VERSION, _CHANGE.pack(op, subject, at_ms))


def decode_change(key: bytes, record: bytes) -> Change:
    """Return the change in ``record``, which was read from its commit number. Raises as decode_node."""
    version, payload = open_record(key, record)
    if version != CHANGE_VERSION:
        raise unknown_version(key, version, CHANGE_VERSION)
    if len(payload) != _CHANGE.size:
        raise damaged_memory(key, f"content: {len(payload)} bytes, must be {_CHANGE.size}")
    return Change(int.from_bytes(key, "big"), *_CHANGE.unpack(payload))


def encode_counters(key: bytes, counters: Counters) -> bytes:
    """Return the record of the store's counters."""
    return wrap(key, OTHER_VERSION, _COUNTERS.pack(*counters))


def decode_counters(key: bytes, record: bytes) -> Counters:
    """Return the counters in ``record``. Raises as decode_node."""
    return Counters(*unpack_fixed(key, record, _COUNTERS))


def encode_meta(key: bytes, content: Mapping[str, Any]) -> bytes:
    """Return the record of a JSON object about the store, such as its provider."""
    return wrap(key, OTHER_VERSION, encode_json(key_name(key), content))


def decode_meta(key: bytes, record: bytes) -> dict[str, Any]:
    """Return the object in ``record``. Raises as decode_node."""
    try:
        return json_object(payload_of(key, record))
    except ValueError as error:
        raise damaged_memory(key, f"content: {error}") from error
