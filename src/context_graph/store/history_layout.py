"""What the family of before-images holds: keys and records.

    begun                       i64 Unix ms: what changed since then is in it
    c: + commit number (8)      what that commit overwrote: i64 Unix ms, u8 what (graph_records.Op), 16 bytes
                                subject, u8 number of images, u8 number of ends, 16 bytes for each end (the
                                memories of an edge), then each image: u8 family, u16 bytes of key, u32 bytes
                                of record plus one (0: there was none), key, record
    s: + id + commit number     nothing: that commit changed this memory or edge, or an edge of this memory
    r: + commit number          a run that began there, a JSON object (runs)

Numbers in use are on users' disks: never renumber.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from context_graph.store.graph_layout import ACCESS, EDGES, META, NODES, TOMBSTONES
from context_graph.store.layout import wrap
from context_graph.store.memory_envelope import OTHER_VERSION, damaged_memory, payload_of, unpack_fixed

__all__ = [
    "ACCESS_AFTER",
    "BEGUN_KEY",
    "CHANGE_PREFIX",
    "RUN_PREFIX",
    "SUBJECT_PREFIX",
    "Entry",
    "Image",
    "change_key",
    "decode_begun",
    "decode_entry",
    "encode_begun",
    "encode_entry",
    "run_key",
    "split_history_key",
    "subject_key",
    "subject_prefix",
]

BEGUN_KEY: Final = b"begun"
CHANGE_PREFIX: Final = b"c:"
SUBJECT_PREFIX: Final = b"s:"
RUN_PREFIX: Final = b"r:"
ACCESS_AFTER: Final = "memory_access after"
"""No family: the accesses that a run wrote, so that its undoing can keep the uses since."""

_FAMILIES: Final = ("", NODES, ACCESS, TOMBSTONES, EDGES, META, ACCESS_AFTER)
_NUMBER: Final = {name: number for number, name in enumerate(_FAMILIES)}
_BEGUN: Final = struct.Struct("<q")
_HEAD: Final = struct.Struct("<qB16s2B")
_IMAGE: Final = struct.Struct("<BHI")
_BE64: Final = struct.Struct(">Q")
_ID_BYTES: Final = 16


class Image(NamedTuple):
    """One record as it was before a commit."""

    family: str
    key: bytes
    before: bytes | None
    """None: there was none."""


class Entry(NamedTuple):
    """What one commit overwrote."""

    seq: int
    at_ms: int
    op: int
    subject: bytes
    """Id of a memory or an edge, or token of a run, 16 bytes."""
    ends: tuple[bytes, ...]
    """Of an edge: the memories at its ends, before and after."""
    images: tuple[Image, ...]

    def image(self, family: str) -> Image | None:
        """The image of that family; None if it has none."""
        return next((one for one in self.images if one.family == family), None)


def change_key(seq: int) -> bytes:
    """``c:`` + commit number."""
    return CHANGE_PREFIX + _BE64.pack(seq)


def run_key(seq: int) -> bytes:
    """``r:`` + number of the run's first commit."""
    return RUN_PREFIX + _BE64.pack(seq)


def subject_prefix(subject: bytes) -> bytes:
    """``s:`` + id."""
    return SUBJECT_PREFIX + subject


def subject_key(subject: bytes, seq: int) -> bytes:
    """``s:`` + id + commit number."""
    return SUBJECT_PREFIX + subject + _BE64.pack(seq)


def split_history_key(key: bytes) -> int:
    """The commit number at the end of such a key."""
    return int.from_bytes(key[-_BE64.size :], "big")


def encode_begun(at_ms: int) -> bytes:
    """The record of when this history begins."""
    return wrap(BEGUN_KEY, OTHER_VERSION, _BEGUN.pack(at_ms))


def decode_begun(record: bytes) -> int:
    """Unix ms. Raises as decode_node."""
    found: int = unpack_fixed(BEGUN_KEY, record, _BEGUN)[0]
    return found


def encode_entry(
    key: bytes, at_ms: int, op: int, subject: bytes, ends: Sequence[bytes], images: Sequence[Image]
) -> bytes:
    """The record of what one commit overwrote."""
    parts = [_HEAD.pack(at_ms, op, subject, len(images), len(ends)), *ends]
    for family, name, before in images:
        size = 0 if before is None else len(before) + 1
        parts += (_IMAGE.pack(_NUMBER[family], len(name), size), name, before or b"")
    return wrap(key, OTHER_VERSION, b"".join(parts))


def decode_entry(key: bytes, record: bytes) -> Entry:
    """What stands in ``record``, which was read from ``key``. Raises as decode_node."""
    payload = payload_of(key, record)
    try:
        at_ms, op, subject, images, ends = _HEAD.unpack_from(payload)
        at = _HEAD.size + _ID_BYTES * ends
        found = tuple(payload[one : one + _ID_BYTES] for one in range(_HEAD.size, at, _ID_BYTES))
        kept = []
        for _ in range(images):
            family, name, size = _IMAGE.unpack_from(payload, at)
            start = at + _IMAGE.size
            middle, at = start + name, start + name + max(0, size - 1)
            before = payload[middle:at] if size else None
            kept.append(Image(_FAMILIES[family], payload[start:middle], before))
        if at != len(payload):
            raise ValueError(f"{len(payload)} bytes, its images need {at}")
    except (struct.error, IndexError, ValueError) as error:
        raise damaged_memory(key, f"content: {error}") from error
    return Entry(split_history_key(key), at_ms, op, subject, found, tuple(kept))
