"""Defines the column families and keys of memories.

Numbers in keys are big-endian: key order is order in time and of commit. Numbers and prefixes in use are on
users' disks: never renumber, never reuse. docs/formats.md describes it byte by byte.
"""

from __future__ import annotations

import struct

# hashlib would load OpenSSL for this one function (see store.layout).
from _blake2 import blake2b
from typing import Final, NamedTuple

from context_graph.errors import InvalidParamsError

NODES: Final = "memory_nodes"
"""id (16 bytes) -> node record."""
EMBEDDINGS: Final = "embeddings"
"""commit_seq (8) -> 1536 float32. In commit order, not by id: tables then never overlap nor are rewritten.
Later generations and second vectors under a prefix before commit_seq; see vector_table."""
ACCESS: Final = "memory_access"
"""id -> access count and time, apart from the node so that a recall does not rewrite contents."""
EDGES: Final = "edges"
INDEX: Final = "memory_index"
LOG: Final = "memory_log"
"""commit_seq (8) -> what happened to which memory or edge."""
TOMBSTONES: Final = "tombstones"
"""id -> when and why it was deleted."""
META: Final = "memory_meta"
LEDGER: Final = "ledger"
HISTORY: Final = "memory_history"
"""What each change overwrote or removed, for the retention; see history."""
MEMORY_FAMILIES: Final = (NODES, EMBEDDINGS, ACCESS, EDGES, INDEX, LOG, TOMBSTONES, META, LEDGER, HISTORY)
"""Made together when a store's memory is first used; from then on each must be there."""

MEMORY_KEY: Final = b"memory"
"""In ``system``: the store has the families above. Written last, after all of them are on the disk."""
MEMORY_LAYOUT: Final = b"2"
LAYOUT_1: Final = b"1"
"""As first released: without HISTORY. Opened as it is for reading, and brought up for writing."""
LAYOUT_1_FAMILIES: Final = MEMORY_FAMILIES[:-1]
COUNTERS_KEY: Final = b"counters"
BEGUN_KEY: Final = b"begun"
"""In ``memory_history``: since when what changes overwrite is kept."""

# memory_index: kind, value, NUL, created_at_ms (8), commit_seq (8) -> id
BY_TIME: Final = b"t:"
SESSION: Final = b"s:"
AGENT: Final = b"a:"
PROJECT: Final = b"p:"
TAG: Final = b"g:"


class Place(NamedTuple):
    """Where a memory stands in a listing, and its id."""

    created_at_ms: int
    seq: int
    id: bytes


_EDGE: Final = b"e:"
_GENERATION: Final = 0xF0
_SECOND: Final = b"\xf8"
_ADJACENT: Final = {"out": b"o:", "in": b"i:"}

_BE64: Final = struct.Struct(">Q")
_PLACE: Final = struct.Struct(">QQ")
_MAX: Final = (1 << 63) - 1


def seq_key(seq: int) -> bytes:
    """The key of commit ``seq`` in ``embeddings`` and ``memory_log``."""
    return _BE64.pack(seq)


def split_seq(key: bytes) -> int:
    """The commit number of such a key; 0 for the format marker and anything else that is none."""
    return int.from_bytes(key, "big") if len(key) == _BE64.size else 0


def embedding_key(seq: int, generation: int = 0) -> bytes:
    """The key of the embedding of commit ``seq``; generation 0 is without prefix, as it was before others."""
    return _BE64.pack(seq) if generation == 0 else bytes((_GENERATION, generation)) + _BE64.pack(seq)


def second_key(seq: int) -> bytes:
    """The key of the second vector of commit ``seq``."""
    return _SECOND + _BE64.pack(seq)


def split_embedding_key(key: bytes) -> int:
    """The commit number of either of these keys."""
    return int.from_bytes(key[-_BE64.size :], "big")


def index_prefix(kind: bytes, value: str = "") -> bytes:
    """What all keys of one session, agent, project or tag begin with; of all memories for BY_TIME."""
    return kind + value.encode("utf-8", "surrogatepass") + b"\0"


def index_key(prefix: bytes, created_at_ms: int, seq: int) -> bytes:
    """The place of a memory among those of ``prefix``.

    Raises:
        InvalidParamsError: If the time is outside [0, 2**63), where byte order would not be time order.
    """
    if not 0 <= created_at_ms <= _MAX:
        raise InvalidParamsError.of("created_at_ms", f"is {created_at_ms}, must be in [0, 2**63)")
    return prefix + _PLACE.pack(created_at_ms, seq)


def split_index_key(key: bytes) -> tuple[int, int]:
    """(created_at_ms, commit_seq) at the end of an index key."""
    return _PLACE.unpack_from(key, len(key) - _PLACE.size)


def edge_key(edge_id: bytes) -> bytes:
    """``e:`` + id: the edge's record."""
    return _EDGE + edge_id


def adjacency_prefix(direction: str, node_id: bytes) -> bytes:
    """``o:`` or ``i:`` + node id: its edges that way."""
    return _ADJACENT[direction] + node_id


def adjacency_key(direction: str, node_id: bytes, other_id: bytes, relationship: str) -> bytes:
    """One edge seen from ``node_id``; the value is the edge's id. A pair has one edge a relationship."""
    kind = blake2b(relationship.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return _ADJACENT[direction] + node_id + other_id + kind


def key_name(key: bytes) -> str:
    """A key for people: ids as UUIDs, the rest as text or hexadecimal."""
    if len(key) == 16:
        text = key.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if key.startswith(_EDGE) and len(key) == 18:
        return f"edge {key_name(key[2:])}"
    return key.decode() if key.isascii() and key.decode().isprintable() else key.hex()
