"""Encodes and decodes memory nodes, in two versions, with their accesses and embeddings.

Version 1 held only seed 003's fields, reals as float32. It is converted on reading (EC-CORE-018) and leaves
the disk when the node is next written. Numbers in use are on users' disks: never renumber.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.model.memory import JohariQuadrant, MemoryNode, Modality, UTLState
from context_graph.model.spaces import EMBEDDING_BYTES
from context_graph.store.graph.records import (
    NO_TEXT,
    OTHER_VERSION,
    Cutter,
    damaged_memory,
    encode_json,
    json_object,
    open_record,
    optional_bytes,
    payload_of,
    text_bytes,
    unknown_version,
    unpack_fixed,
)
from context_graph.store.layout import wrap

NODE_VERSION: Final = 2

# Never renumber.
_QUADRANTS: Final = (JohariQuadrant.OPEN, JohariQuadrant.BLIND, JohariQuadrant.HIDDEN, JohariQuadrant.UNKNOWN)
MODALITIES: Final = (Modality.TEXT, Modality.IMAGE, Modality.AUDIO, Modality.VIDEO)
_QUADRANT_NUMBER: Final = {quadrant: number for number, quadrant in enumerate(_QUADRANTS)}
_MODALITY_NUMBER: Final = {modality: number for number, modality in enumerate(MODALITIES)}
DELETED: Final = 1
PINNED: Final = 2
_CLUSTER: Final = 4
_NO_CLUSTER: Final = bytes(16)

# commit_seq, created, accessed | importance, delta_s, delta_c, w_e, phi | flags, quadrant, modality, tags |
# cluster | bytes of rationale, agent, session, project, source, tags, metadata, content
NODE: Final = struct.Struct("<Qqq5d4B16s6H2I")
# commit_seq, created, accessed, accesses | the same reals | flags, quadrant | agent, rationale, content
_NODE_1: Final = struct.Struct("<QqqI5f2B2HI")
_ACCESS: Final = struct.Struct("<Iq")


class Access(NamedTuple):
    """How often and when a memory was last used."""

    times: int
    last_ms: int


class StoredNode(NamedTuple):
    """A node as it is on the disk."""

    node: MemoryNode
    deleted: bool


def encode_node(key: bytes, node: MemoryNode, *, deleted: bool = False) -> bytes:
    """Return the record of ``node`` without its embedding and its accesses.

    Raises InvalidParamsError if a text or the metadata is too long for a record, or metadata is no JSON
    object.
    """
    content = text_bytes(node.content)
    rationale, source = text_bytes(node.rationale), text_bytes(node.source)
    agent = optional_bytes(node.agent_id)
    session, project = optional_bytes(node.session_id), optional_bytes(node.project)
    tags = text_bytes("\0".join(node.tags)) if node.tags else b""
    metadata = encode_json("metadata", node.metadata) if node.metadata else b""
    utl, cluster = node.utl_state, node.semantic_cluster
    flags = deleted | node.pinned << 1 | (cluster is not None) << 2
    try:
        head = NODE.pack(
            node.commit_seq,
            node.created_at_ms,
            node.last_accessed_ms,
            node.importance,
            utl.delta_s,
            utl.delta_c,
            utl.w_e,
            utl.phi,
            flags,
            _QUADRANT_NUMBER[node.johari_quadrant],
            _MODALITY_NUMBER[node.modality],
            len(node.tags),
            _NO_CLUSTER if cluster is None else cluster.bytes,
            len(rationale),
            NO_TEXT if agent is None else len(agent),
            NO_TEXT if session is None else len(session),
            NO_TEXT if project is None else len(project),
            len(source),
            len(tags),
            len(metadata),
            len(content),
        )
    except struct.error as error:
        raise InvalidParamsError.of("memory", f"a field is out of range for a record: {error}") from error
    payload = b"".join(
        (head, rationale, agent or b"", session or b"", project or b"", source, tags, metadata, content)
    )
    return wrap(key, NODE_VERSION, payload)


def decode_node(key: bytes, record: bytes, access: Access | None = None) -> StoredNode:
    """Return the node in ``record``, which was read from ``key``, with its accesses; older versions are
    converted.

    Raises MemoryFormatError for a version that can't be converted; names node id and version (EC-CORE-018).
    Raises CorruptedMemoryError if length, checksum or content are wrong; names node id, fault and cure.
    """
    version, payload = open_record(key, record)
    decode = _NODE_DECODERS.get(version)
    if decode is None:
        raise unknown_version(key, version, NODE_VERSION)
    try:
        return decode(key, payload, access)
    except (struct.error, ValueError, IndexError, InvalidParamsError) as error:
        raise damaged_memory(key, f"content: {error}") from error


def _decode_node_2(key: bytes, payload: bytes, access: Access | None) -> StoredNode:
    head = NODE.unpack_from(payload)
    texts, flags = Cutter(payload, NODE.size), head[8]
    rationale = texts.take(head[13])
    agent, session, project = texts.optional(head[14]), texts.optional(head[15]), texts.optional(head[16])
    source, tags = texts.take(head[17]), texts.take(head[18])
    metadata, content = texts.raw(head[19]), texts.take(head[20])
    texts.end()
    if len(tags.split("\0") if head[11] else ()) != head[11]:
        raise ValueError(f"{head[11]} tags, but another number of texts")
    node = MemoryNode(
        id=UUID(bytes=key),
        content=content,
        rationale=rationale,
        created_at_ms=head[1],
        last_accessed_ms=access.last_ms if access else head[2],
        importance=head[3],
        access_count=access.times if access else 0,
        johari_quadrant=_QUADRANTS[head[9]],
        utl_state=UTLState(*head[4:8]),
        agent_id=agent,
        session_id=session,
        project=project,
        semantic_cluster=UUID(bytes=head[12]) if flags & _CLUSTER else None,
        modality=MODALITIES[head[10]],
        tags=tuple(tags.split("\0")) if head[11] else (),
        pinned=bool(flags & PINNED),
        source=source,
        commit_seq=head[0],
        metadata=json_object(metadata),
    )
    return StoredNode(node, bool(flags & DELETED))


def _decode_node_1(key: bytes, payload: bytes, access: Access | None) -> StoredNode:
    """Decode version 1, seed 003's fields alone; later fields take their defaults."""
    head = _NODE_1.unpack_from(payload)
    texts, flags = Cutter(payload, _NODE_1.size), head[9]
    cluster = texts.raw(16) if flags & _CLUSTER else None
    agent, rationale, content = texts.optional(head[11]), texts.take(head[12]), texts.take(head[13])
    node = MemoryNode(
        id=UUID(bytes=key),
        content=content,
        rationale=rationale,
        created_at_ms=head[1],
        last_accessed_ms=access.last_ms if access else head[2],
        importance=_decimal(head[4]),
        access_count=access.times if access else head[3],
        johari_quadrant=_QUADRANTS[head[10]],
        utl_state=UTLState(*(_decimal(value) for value in head[5:9])),
        agent_id=agent,
        semantic_cluster=UUID(bytes=cluster) if cluster else None,
        commit_seq=head[0],
        metadata=json_object(texts.rest()),
    )
    return StoredNode(node, bool(flags & DELETED))


_NODE_DECODERS: Final[dict[int, Callable[[bytes, bytes, Access | None], StoredNode]]] = {
    1: _decode_node_1,
    2: _decode_node_2,
}


def encode_embedding(key: bytes, embedding: bytes) -> bytes:
    """Return the record of an embedding, 1536 float32. Raises InvalidParamsError for another length."""
    if len(embedding) != EMBEDDING_BYTES:
        raise InvalidParamsError.of(
            "embedding", f"has {len(embedding)} bytes, must have {EMBEDDING_BYTES} (1536 float32)"
        )
    return wrap(key, OTHER_VERSION, embedding)


def decode_embedding(key: bytes, record: bytes) -> bytes:
    """Return the embedding in ``record``. Raises as decode_node."""
    embedding = payload_of(key, record)
    if len(embedding) != EMBEDDING_BYTES:
        raise damaged_memory(key, f"an embedding of {len(embedding)} bytes")
    return embedding


def encode_access(key: bytes, access: Access) -> bytes:
    """Return the record of a memory's accesses."""
    return wrap(key, OTHER_VERSION, _ACCESS.pack(*access))


def decode_access(key: bytes, record: bytes) -> Access:
    """Return the accesses in ``record``. Raises as decode_node."""
    return Access(*unpack_fixed(key, record, _ACCESS))


def content_bytes(node: MemoryNode) -> int:
    """UTF-8 bytes of its content."""
    text = node.content
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _decimal(value: float) -> float:
    """Return the shortest decimal number that rounds to float32 ``value``: 0.8, not 0.800000011920929."""
    short = float(f"{value:.7g}")
    return short if struct.pack("<f", short) == struct.pack("<f", value) else value
