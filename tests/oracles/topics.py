"""Keeps the topics of a store's memories as counts and sums: the readable twin of ext/kernels/topics.pyx.

Standard library only. A memory is 384 whole numbers of length 4096: its Semantic vector, freed of what all
texts have in common, beside its vector of Terms. A topic is the sum of its members: joining and leaving are
exact, and any order of them ends in the same state. Every figure is computed from whole numbers in one
fixed order: the twins agree to the last bit and read each other's bytes.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

SEMANTIC: Final = 256
TERMS: Final = slice(1408, 1536)
EMBEDDING_BYTES: Final = 4 * 1536
DIMENSIONS: Final = 384
BITS: Final = 256
LENGTH: Final = 4096.0
"""Length of a memory's whole-number vector."""
MAX_TOPICS: Final = 1024
BANDS: Final = 16
"""A signature of 256 bits is 16 keys of 16 bits; memories that share a key are compared."""
RECENT: Final = 128
"""The memories added last are compared with in any case."""
NEAR_BITS: Final = 60
"""Differing bits up to which the nearest memory counts: a cosine of about 0.74."""
UNRELATED: Final = 0.1
"""Cosine of texts that have nothing to do with each other; what is beyond it counts as likeness."""
NOWHERE: Final = -1

VECTOR: Final = Struct("<384h")
SIGNATURE_BYTES: Final = BITS // 8
PACKED_BYTES: Final = VECTOR.size + SIGNATURE_BYTES

MAGIC: Final = b"CGT\x03"
HEAD: Final = Struct("<4sII")
"""Magic, topics, rows. Never renumber."""
TOPIC: Final = Struct("<H384q")
"""Slot, sum of the members."""
ROW: Final = Struct("<16s32sh")
"""Id, signature, slot (-1: none)."""

# Random signs, fixed for ever (they decide what a stored signature means): digits of pi.
_SIGNS: Final = (
    0x13198A2E03707344A4093822299F31D0082EFA98EC4E6C89452821E638D01377BE5466CF34E90C6C243F6A8885A308D3
)
_FLIP: Final = [-1 if _SIGNS >> i & 1 else 1 for i in range(DIMENSIONS)]


def _total(products: Iterable[float]) -> float:
    """Their sum in four lanes, in this order: as the compiled twin adds four at a time."""
    lanes = [0.0] * 4
    for i, value in enumerate(products):
        lanes[i & 3] += value
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


def _freed(vector: Sequence[float], common: Sequence[float]) -> list[float]:
    """``vector`` without its part along ``common``, which has length 1."""
    along = _total(map(mul, vector, common))
    return [value - along * other for value, other in zip(vector, common, strict=True)]


def _unit(vector: Sequence[float]) -> list[float]:
    """``vector`` at length 1; zeros where it says nothing."""
    squares = _total(map(mul, vector, vector))
    if not squares <= 1e300:
        raise ValueError("embedding must be finite")
    if squares < 1e-12:
        return [0.0] * len(vector)
    scale = 1.0 / math.sqrt(squares)
    return [value * scale for value in vector]


def _whole(value: float) -> int:
    """The nearest whole number, above -8192."""
    return int(value + 8192.5) - 8192


def _floats(packed: memoryview) -> array[float]:
    values = array("f")
    values.frombytes(packed)
    return values


def _signature(vector: Sequence[int]) -> int:
    """256 signs of a random rotation: two vectors at an angle a differ in 256 * a / pi bits on average."""
    flipped = list(map(mul, vector, _FLIP))
    mixed = flipped[:BITS]
    for i, value in enumerate(flipped[BITS:]):
        mixed[i] += value
    half = 1
    while half < BITS:  # Walsh-Hadamard
        for start in range(0, BITS, 2 * half):
            for i in range(start, start + half):
                a, b = mixed[i], mixed[i + half]
                mixed[i], mixed[i + half] = a + b, a - b
        half *= 2
    return sum(1 << i for i, value in enumerate(mixed) if value > 0)


def _key(signature: int, band: int) -> int:
    return signature >> 16 * band & 0xFFFF


def _dot(a: Iterable[int], b: Iterable[int]) -> int:
    return sum(map(mul, a, b))


def _unpacked(packed: bytes) -> tuple[tuple[int, ...], int]:
    if len(packed) != PACKED_BYTES:
        raise ValueError(f"packed must have {PACKED_BYTES} bytes, got {len(packed)}")
    return VECTOR.unpack_from(packed), int.from_bytes(packed[VECTOR.size :], "little")


def likeness(cosine: float) -> float:
    """A cosine as likeness in [0, 1]: 0 for texts that have nothing to do with each other."""
    return min(1.0, max(0.0, (cosine - UNRELATED) / (1.0 - UNRELATED)))


class _Topic:
    """Sums over the members of one topic, and what is derived from them."""

    __slots__ = ("centre", "centre_length", "members", "sums")

    def __init__(self) -> None:
        self.members = 0
        self.sums = [0] * DIMENSIONS
        self.derive()

    def change(self, vector: Iterable[int], sign: int) -> None:
        for i, value in enumerate(vector):
            self.sums[i] += sign * value
        self.members += sign
        self.derive()

    def derive(self) -> None:
        squared = 0.0
        for value in self.sums:
            squared += float(value) * float(value)
        scale = LENGTH / math.sqrt(squared) if squared >= 1.0 else 0.0
        self.centre = [_whole(value * scale) for value in self.sums]
        self.centre_length = math.sqrt(_dot(self.centre, self.centre))


class _Row:
    __slots__ = ("alive", "id", "signature", "slot")

    def __init__(self, node: bytes, signature: int, slot: int) -> None:
        self.id = node
        self.signature = signature
        self.slot = slot
        self.alive = True


class Topics:
    """Sorts memories into topics. Not thread-safe."""

    def __init__(self, capacity: int, join: float) -> None:
        if not 1 <= capacity <= MAX_TOPICS:
            raise ValueError(f"capacity must be in [1, {MAX_TOPICS}], got {capacity}")
        if not 0.0 <= join <= 1.0:
            raise ValueError(f"join must be in [0, 1], got {join!r}")
        self._join = join
        self._clear(capacity)

    def _clear(self, capacity: int) -> None:
        self._topics = [_Topic() for _ in range(capacity)]
        self._rows: list[_Row] = []
        self._row_of: dict[bytes, int] = {}
        self._bands: dict[tuple[int, int], int] = {}

    def place(self, packed: bytes) -> tuple[int, float, int, bytes | None, float]:
        """Where a memory would belong; nothing changes."""
        q, signature = _unpacked(packed)
        slot, best = self._nearest_topic(q)
        full = all(topic.members for topic in self._topics)
        if slot >= 0 and best < self._join and not full:
            slot = NOWHERE
        near, alike = self._nearest_row(signature)
        members = self._topics[slot].members if slot >= 0 else 0
        return (slot, best if slot >= 0 else 0.0, members, near, alike)

    def _nearest_topic(self, q: Sequence[int]) -> tuple[int, float]:
        best, slot = 0.0, NOWHERE
        length = math.sqrt(_dot(q, q))
        for i, topic in enumerate(self._topics):
            if topic.members and topic.centre_length > 0.0:
                cosine = _dot(q, topic.centre) / (length * topic.centre_length)
                if slot < 0 or cosine > best:
                    best, slot = cosine, i
        return slot, best

    def _nearest_row(self, signature: int) -> tuple[bytes | None, float]:
        nearest, fewest = NOWHERE, NEAR_BITS + 1
        keyed = (self._bands.get((band, _key(signature, band)), NOWHERE) for band in range(BANDS))
        last = len(self._rows)
        for row in (*keyed, *range(last - 1, max(-1, last - 1 - RECENT), -1)):
            if row >= 0 and self._rows[row].alive and self._rows[row].slot >= 0:
                bits = (self._rows[row].signature ^ signature).bit_count()
                if bits < fewest:
                    nearest, fewest = row, bits
        if nearest < 0:
            return None, 0.0
        return self._rows[nearest].id, math.cos(math.pi * fewest / BITS)

    def add(self, node: bytes, slot: int, packed: bytes | None) -> int:
        """Count a memory in."""
        row = self._row_of.get(node, NOWHERE)
        if len(node) != 16:
            raise ValueError(f"node must have 16 bytes, got {len(node)}")
        if row >= 0 and self._rows[row].alive:
            raise ValueError("node is counted already")
        vector, signature = (None, 0) if packed is None else _unpacked(packed)
        slot = self._slot(slot) if vector is not None else NOWHERE
        made = _Row(node, signature, slot)
        if row < 0:
            row = len(self._rows)
            self._row_of[node] = row
            self._rows.append(made)
        else:
            self._rows[row] = made
        if vector is not None:
            self._topics[slot].change(vector, 1)
            self._enter_bands(row)
        return slot

    def _slot(self, slot: int) -> int:
        if not NOWHERE <= slot < len(self._topics):
            raise ValueError(f"slot must be in [-1, {len(self._topics) - 1}], got {slot}")
        if slot == NOWHERE:
            for i, topic in enumerate(self._topics):
                if not topic.members:
                    return i
            raise ValueError("no slot is free")
        return slot

    def _enter_bands(self, row: int) -> None:
        signature = self._rows[row].signature
        for band in range(BANDS):
            self._bands[band, _key(signature, band)] = row

    def remove(self, node: bytes, packed: bytes | None) -> bool:
        """Count a memory out; False if it is not counted."""
        index = self._row_of.get(node, NOWHERE)
        if index < 0 or not self._rows[index].alive:
            return False
        row = self._rows[index]
        if (packed is None) != (row.slot < 0):
            raise ValueError("packed must be what the node was added with")
        if packed is not None:
            self._topics[row.slot].change(_unpacked(packed)[0], -1)
        row.alive = False
        return True

    def __contains__(self, node: bytes) -> bool:
        """Whether a memory is counted."""
        row = self._row_of.get(node, NOWHERE)
        return row >= 0 and self._rows[row].alive

    def slot(self, node: bytes) -> int:
        """The slot of a memory that is counted; -1 for any other, and for one without a vector."""
        row = self._row_of.get(node, NOWHERE)
        return self._rows[row].slot if row >= 0 and self._rows[row].alive else NOWHERE

    def members(self, slot: int) -> int:
        """Memories in that topic."""
        return self._topics[slot].members

    def lone(self) -> list[bytes]:
        """Ids of memories whose topic has no other. Cost: a pass over all rows."""
        return [
            row.id
            for row in self._rows
            if row.alive and row.slot >= 0 and self._topics[row.slot].members == 1
        ]

    def to_bytes(self) -> bytes:
        """Serialise all topics, without removed memories."""
        used = [(i, topic) for i, topic in enumerate(self._topics) if topic.members]
        alive = [row for row in self._rows if row.alive]
        parts = [HEAD.pack(MAGIC, len(used), len(alive))]
        parts += [TOPIC.pack(i, *topic.sums) for i, topic in used]
        parts += [
            ROW.pack(
                row.id,
                row.signature.to_bytes(SIGNATURE_BYTES, "little"),
                row.slot,
            )
            for row in alive
        ]
        return b"".join(parts)

    def load_bytes(self, packed: bytes) -> None:
        """Load what `to_bytes` wrote."""
        fresh = Topics(len(self._topics), self._join)
        try:
            fresh._read(packed)
        except (StructError, IndexError) as error:
            raise ValueError(f"not the bytes of topics: {error}") from None
        self.__dict__ = fresh.__dict__

    def _read(self, packed: bytes) -> None:
        magic, topics, rows = HEAD.unpack_from(packed)
        if magic != MAGIC or len(packed) != HEAD.size + topics * TOPIC.size + rows * ROW.size:
            raise ValueError("not the bytes of topics")
        at = HEAD.size
        for _ in range(topics):
            slot, *sums = TOPIC.unpack_from(packed, at)
            topic = self._topics[slot]
            topic.sums = sums
            at += TOPIC.size
        for index in range(rows):
            node, signature, slot = ROW.unpack_from(packed, at)
            at += ROW.size
            self._row_of[node] = index
            self._rows.append(_Row(node, int.from_bytes(signature, "little"), slot))
            if slot >= 0:
                self._topics[slot].members += 1
                self._enter_bands(index)
        if len(self._row_of) != rows:
            raise ValueError("not the bytes of topics")
        for topic in self._topics:
            topic.derive()


def pack(embedding: Buffer, common: Buffer) -> bytes | None:
    """A memory as `Topics` counts it, 800 bytes; None when its embedding says nothing."""
    view, shared = memoryview(embedding).cast("B"), memoryview(common).cast("B")
    if len(view) != EMBEDDING_BYTES:
        raise ValueError(f"embedding must have {EMBEDDING_BYTES} bytes, got {len(view)}")
    if len(shared) not in (0, 1024, 2048):
        raise ValueError(f"common must have 0, 1024 or 2048 bytes, got {len(shared)}")
    meaning: Sequence[float] = _floats(view[: 4 * SEMANTIC])
    for start in range(0, len(shared), 4 * SEMANTIC):
        meaning = _freed(meaning, _floats(shared[start : start + 4 * SEMANTIC]))
    both = _unit(_unit(meaning) + _unit(_floats(view[4 * TERMS.start : 4 * TERMS.stop])))
    if not any(both):
        return None
    q = [_whole(value * LENGTH) for value in both]
    return VECTOR.pack(*q) + _signature(q).to_bytes(SIGNATURE_BYTES, "little")


def mean_cosine(packed: Sequence[bytes]) -> float:
    """The mean cosine over all pairs of memories from `pack`, clamped to [0, 1]; 0 with fewer than two."""
    found = [_unpacked(one)[0] for one in packed]
    if len(found) < 2:
        return 0.0
    squares = sum(_dot(q, q) for q in found)
    sums = [sum(column) for column in zip(*found, strict=True)]
    squared = 0.0
    for value in sums:
        squared += float(value) * float(value)
    return min(1.0, max(0.0, (squared - squares) / ((len(found) - 1) * float(squares))))
