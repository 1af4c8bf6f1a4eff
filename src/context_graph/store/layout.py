"""Defines the database's column families and keys, and the envelope around every record.

Numbers and prefixes in use are on users' disks: never renumber, never reuse (tests/unit/store/test_layout.py
and the golden files check them). A new kind of record takes a new prefix, a changed payload a new version.
Numbers in keys are big-endian, so key order is order in time. docs/dev/formats.md describes every byte.

Envelope of every record, integers little-endian: u8 version, u32 payload length, payload, u32 CRC-32. The
checksum covers the key as well, so a record that was copied under another key is refused like a damaged one.
"""

from __future__ import annotations

import struct
import zlib

# hashlib would load OpenSSL, 4 MiB of the owner's memory, for this one function.
from _blake2 import blake2b
from collections.abc import Callable
from typing import Final, NamedTuple

from context_graph import kernels as _kernels
from context_graph.errors import (
    CorruptedIdentityError,
    FormatVersionError,
    InvalidInputError,
    InvalidParamsError,
)
from context_graph.model import cut_session_id
from context_graph.store.engine.failures import REPAIR

# Families and keys of sessions

DEFAULT: Final = "default"
SESSION_IDENTITY: Final = "session_identity"
"""REQ-SESSION-04."""
RUNTIME: Final = "runtime"
EVENTS: Final = "events"
SYSTEM: Final = "system"
FAMILIES: Final = (DEFAULT, SESSION_IDENTITY, RUNTIME, EVENTS, SYSTEM)
"""Every family a store must have; others in the database are opened and left alone."""

FORMAT_VERSION: Final = 2
"""The version of the database as a whole: raised when another build could no longer read it."""
FORMAT_KEY: Final = b"format"
PROJECT_KEY: Final = b"project"
EVENT_LOG_KEY: Final = b"event_log"
"""How far the event log has been read."""
LATEST: Final = b"latest"

SNAPSHOT_PREFIX: Final = b"s:"
TIME_PREFIX: Final = b"t:"
_PREVIOUS: Final = b"p:"
_RUNTIME: Final = b"r:"
_GOALS: Final = b"g:"
WORK_PREFIX: Final = b"w:"
_EVIDENCE: Final = b"v:"
COMPACTIONS_PREFIX: Final = b"k:"
_EVENT: Final = b"e:"
_APPLIED: Final = b"d:"
DREAM_PREFIX: Final = b"q:"
CAPTURE_PREFIX: Final = b"c:"
REQUIREMENT_LOG_PREFIX: Final = b"l:"
"""Keys in EVENTS of what the requirement gates refused and what satisfied them."""

wrap: Final = _kernels.sealing.seal
"""``wrap(key, version, payload)``: the envelope of ``payload`` as it is stored under ``key``."""
_BE64: Final = struct.Struct(">Q")
_HEAD: Final = struct.Struct("<BI")
_CRC: Final = struct.Struct("<I")
CRC_BYTES: Final = _CRC.size
"""Bytes of the checksum at the end of every record."""
ENVELOPE_BYTES: Final = _HEAD.size + CRC_BYTES


def id_bytes(session_id: str) -> bytes:
    """Return ``session_id`` as keys have it: UTF-8 of its first 100 characters, as snapshots keep them.

    Raises InvalidInputError if it is empty, holds NUL (the separator of event keys) or is not valid Unicode.
    """
    if not session_id or "\0" in session_id:
        raise InvalidInputError(f"session_id {session_id!r} must have a character and no NUL")
    try:
        return cut_session_id(session_id).encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"session_id {session_id!r} is not valid Unicode: {error.reason}") from error


def _session_key(prefix: bytes) -> Callable[[str], bytes]:
    return lambda session_id: prefix + id_bytes(session_id)


snapshot_key = _session_key(SNAPSHOT_PREFIX)
previous_key = _session_key(_PREVIOUS)
"""Of the previous id; the value is the id of the session that continues it (seed 001 6.3.1)."""
runtime_key = _session_key(_RUNTIME)
"""The live state beside the snapshot, opaque to the store."""
goals_key = _session_key(_GOALS)
"""Checkpoint of the goals, opaque to the store."""
work_key = _session_key(WORK_PREFIX)
"""What the session's work was about, for later sessions; opaque to the store."""
evidence_key = _session_key(_EVIDENCE)
"""What callers of the library reported (D3.4)."""
capture_key = _session_key(CAPTURE_PREFIX)
"""The session's memory is to be refreshed."""

compactions_key = _session_key(COMPACTIONS_PREFIX)
"""How much of the session outlived its compactions."""


def time_key(timestamp_ms: int, session_id: str) -> bytes:
    """Return ``t:`` + 8 raw big-endian bytes + id (D3.5): key order is time order, one entry a session.

    Raises InvalidInputError if the time is outside [0, 2**63), where byte order would not be time order.
    """
    return TIME_PREFIX + _ordered("timestamp_ms", timestamp_ms) + id_bytes(session_id)


def split_time_key(key: bytes) -> tuple[int, str]:
    """Return (timestamp_ms, session id) of a ``t:`` key.

    Raises CorruptedIdentityError if ``key`` is no such key.
    """
    try:
        if not key.startswith(TIME_PREFIX):
            raise ValueError("prefix")
        return _BE64.unpack(key[2:10])[0], key[10:].decode()
    except (struct.error, ValueError) as error:
        raise damaged(key, "no time index entry") from error


def event_prefix(session_id: str) -> bytes:
    """Return the prefix of a session's event keys; NUL, which no id holds, ends the id."""
    return _EVENT + id_bytes(session_id) + b"\0"


def event_key(session_id: str, seq: int) -> bytes:
    """Return ``e:`` + id + NUL + 8 big-endian bytes: key order is the order of application."""
    return event_prefix(session_id) + _ordered("seq", seq)


def applied_key(session_id: str, dedupe_key: str) -> bytes:
    """Return ``d:`` + id + NUL + 16-byte digest of an event's dedupe key: that event has been applied."""
    digest = blake2b(dedupe_key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return applied_prefix(session_id) + digest


def applied_prefix(session_id: str) -> bytes:
    """Return the prefix of the digests of a session's applied events."""
    return _APPLIED + id_bytes(session_id) + b"\0"


def dream_key(at_ms: int, session_id: str) -> bytes:
    """Return ``q:`` + 8 big-endian bytes + 8-byte digest of the id: in the order of asking."""
    return DREAM_PREFIX + _ordered("at_ms", at_ms) + blake2b(id_bytes(session_id), digest_size=8).digest()


def requirement_log_key(seq: int) -> bytes:
    """Return ``l:`` + 8 big-endian bytes: the log's order is the order of recording."""
    return REQUIREMENT_LOG_PREFIX + _ordered("seq", seq)


def _ordered(name: str, number: int) -> bytes:
    """8 bytes that sort as numbers do."""
    if not 0 <= number < 1 << 63:
        raise InvalidInputError(f"{name} {number} must be in [0, 2**63)")
    return _BE64.pack(number)


def after(prefix: bytes) -> bytes:
    """Return the smallest key that sorts after every key beginning with ``prefix``."""
    # Never overflows: a prefix begins with an ASCII character.
    return (int.from_bytes(prefix, "big") + 1).to_bytes(len(prefix), "big")


def key_text(key: bytes) -> str:
    """Return a key as people read it: text where it is text, the rest as \\x escapes."""
    return key.decode("utf-8", "backslashreplace").encode("unicode_escape").decode()


def unwrap(key: bytes, record: bytes, version: int) -> bytes:
    """Return the payload of ``record``, which was read from ``key``. Cost: one CRC pass.

    Raises FormatVersionError if it was written in another version; names key and version. Raises
    CorruptedIdentityError: If length or checksum don't fit; names the key, the fault and the cure.
    """
    if len(record) >= ENVELOPE_BYTES and record[0] != version:
        raise FormatVersionError(
            f"record {key_text(key)} has format version {record[0]}, this build reads {version}; "
            "it was written by another version of context-graph: use that one"
        )
    return open_envelope(key, record, damaged)[1]


def open_envelope(key: bytes, record: bytes, damaged: Callable[[bytes, str], Exception]) -> tuple[int, bytes]:
    """Return (version, payload) of ``record``, which was read from ``key``; raises what ``damaged`` makes."""
    end = len(record) - CRC_BYTES
    if end < _HEAD.size:
        raise damaged(key, f"{len(record)} bytes, shorter than any record")
    version, length = _HEAD.unpack_from(record)
    if _HEAD.size + length != end:
        raise damaged(key, f"{len(record)} bytes, its header says {_HEAD.size + length + CRC_BYTES}")
    if zlib.crc32(memoryview(record)[:end], zlib.crc32(key)) != _CRC.unpack_from(record, end)[0]:
        raise damaged(key, "checksum mismatch")
    return version, record[_HEAD.size : end]


def damaged(key: bytes, what: str) -> CorruptedIdentityError:
    """Return the error for a record under ``key`` that can't be read; ``what`` is wrong with it."""
    return CorruptedIdentityError(f"corrupted identity: record {key_text(key)}: {what}; run `{REPAIR}`")


# Families and keys of memories

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
"""Name -> a fact about the store: a JSON object, and counters."""
GOALS_FACT: Final = "goals"
"""The goals that consolidations keep."""
MAP_FACT: Final = "map"
"""The map that they draw."""
ALIKE_FACT: Final = "alike"
"""How alike an earlier session has to be for a session to be shown it."""
SYNC_PREFIX: Final = b"sync:"
"""Of the notes of exchanges with other machines (`sync_table.SyncTable`)."""
LEDGER: Final = "ledger"
HISTORY: Final = "memory_history"
"""What each change overwrote or removed, for the retention; see history."""
MEMORY_FAMILIES: Final = (NODES, EMBEDDINGS, ACCESS, EDGES, INDEX, LOG, TOMBSTONES, META, LEDGER, HISTORY)
"""Made together when a store's memory is first used; from then on each must be there."""

MEMORY_KEY: Final = b"memory"
"""In ``system``: the store has the families above. Written last, after all of them are on the disk."""
MEMORY_LAYOUT: Final = b"2"
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
    """The place of a memory in a listing, and its id."""

    created_at_ms: int
    seq: int
    id: bytes


_EDGE: Final = b"e:"
_GENERATION: Final = 0xF0
_SECOND: Final = b"\xf8"
_ADJACENT: Final = {"out": b"o:", "in": b"i:"}

_PLACE: Final = struct.Struct(">QQ")


def seq_key(seq: int) -> bytes:
    """Return the key of commit ``seq`` in ``embeddings`` and ``memory_log``."""
    return _BE64.pack(seq)


def split_seq(key: bytes) -> int:
    """Return the commit number of such a key; 0 for the format marker and anything else that is none."""
    return int.from_bytes(key, "big") if len(key) == _BE64.size else 0


def embedding_key(seq: int, generation: int = 0) -> bytes:
    """Return the key of the embedding of commit ``seq``; generation 0, the first, has no prefix."""
    return _BE64.pack(seq) if generation == 0 else bytes((_GENERATION, generation)) + _BE64.pack(seq)


def second_key(seq: int) -> bytes:
    """Return the key of the second vector of commit ``seq``."""
    return _SECOND + _BE64.pack(seq)


def split_embedding_key(key: bytes) -> int:
    """Return the commit number of either of these keys."""
    return int.from_bytes(key[-_BE64.size :], "big")


def index_prefix(kind: bytes, value: str = "") -> bytes:
    """Return the prefix of the keys of one session, agent, project or tag; of all memories for BY_TIME."""
    return kind + value.encode("utf-8", "surrogatepass") + b"\0"


def index_key(prefix: bytes, created_at_ms: int, seq: int) -> bytes:
    """Return the place of a memory among those of ``prefix``. Raises as `index_place`."""
    return prefix + index_place(created_at_ms, seq)


def index_place(created_at_ms: int, seq: int) -> bytes:
    """Return what follows the prefix in each of a memory's secondary keys.

    Raises InvalidParamsError if the time is outside [0, 2**63), where byte order would not be time order.
    """
    if not 0 <= created_at_ms < 1 << 63:
        raise InvalidParamsError.of("created_at_ms", f"is {created_at_ms}, must be in [0, 2**63)")
    return _PLACE.pack(created_at_ms, seq)


def split_index_key(key: bytes) -> tuple[int, int]:
    """Return (created_at_ms, commit_seq) at the end of an index key."""
    return _PLACE.unpack_from(key, len(key) - _PLACE.size)


def edge_key(edge_id: bytes) -> bytes:
    """Return ``e:`` + id: the edge's record."""
    return _EDGE + edge_id


def adjacency_prefix(direction: str, node_id: bytes) -> bytes:
    """Return ``o:`` or ``i:`` + node id: its edges that way."""
    return _ADJACENT[direction] + node_id


def adjacency_key(direction: str, node_id: bytes, other_id: bytes, relationship: str) -> bytes:
    """Return the key of an edge seen from ``node_id``: a pair has one edge a relationship."""
    kind = blake2b(relationship.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return _ADJACENT[direction] + node_id + other_id + kind


def key_name(key: bytes) -> str:
    """Return a key for people: ids as UUIDs, the rest as text or hexadecimal."""
    if len(key) == 16:
        text = key.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if key.startswith(_EDGE) and len(key) == 18:
        return f"edge {key_name(key[2:])}"
    return key.decode() if key.isascii() and key.decode().isprintable() else key.hex()
