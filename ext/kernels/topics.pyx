"""Keeps the topics of a store's memories as counts and sums. Its oracle is
tests/oracles/topics.py, where every figure is described: change both.

How it is fast: a centre is 384 16-bit numbers, whose product with a memory compilers turn into eight at a time; a
signature's 16 keys index a table of the last row that had them; ids are found by open addressing.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython cimport final
from libc.math cimport cos, sqrt
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from _topics cimport (
    BANDS, BITS, COMMON, DIM, EMBEDDING, FIRST, FIRST_ROWS, FIRST_SLOTS, ID, KEYS, MAX_TOPICS, NEAR_BITS,
    NOWHERE, PACKED, RECENT, SECOND, SPLADE, VECTOR_BYTES, Row, Signature, Topic, band_key, change, derive,
    differing, id_hash, likeness_of, product16, sign, take_away, unit, whole,
)

from struct import Struct

__all__ = ["PACKED_BYTES", "Topics", "likeness", "mean_cosine", "pack"]

PACKED_BYTES = PACKED

MAGIC = b"CGT\x03"
HEAD = Struct("<4sII")
TOPIC = Struct("<H384q")
ROW = Struct("<16s32sh")

cdef double LENGTH = 4096.0
cdef double PI = 3.141592653589793


@final
cdef class Topics:
    """Sorts memories into topics. Not thread-safe.

    A memory belongs to the topic whose centre is nearest, if its cosine is at least ``join``, else it starts
    one; when all slots are taken it joins the nearest whatever the cosine.

    Args:
        capacity: Slots for topics, 1 to 1024. A write compares with each centre in use.
        join: Cosine in [0, 1] from which a memory joins.
    """

    cdef Topic* topics
    cdef int capacity
    cdef int in_use
    cdef double join
    cdef Row* rows
    cdef Py_ssize_t n_rows, room
    cdef int32_t* slots  # open addressing: row of an id, -1 free
    cdef Py_ssize_t n_slots  # a power of two, at least twice the rows
    cdef int32_t* bands  # (BANDS, KEYS): 1 + the last row with that key

    def __cinit__(self):
        self.rows = <Row*>malloc(FIRST_ROWS * sizeof(Row))
        self.room = FIRST_ROWS
        self.slots = <int32_t*>malloc(FIRST_SLOTS * sizeof(int32_t))
        self.n_slots = FIRST_SLOTS
        self.bands = <int32_t*>calloc(BANDS * KEYS, sizeof(int32_t))
        if self.rows is NULL or self.slots is NULL or self.bands is NULL:
            raise MemoryError
        memset(self.slots, 0xFF, FIRST_SLOTS * sizeof(int32_t))

    def __init__(self, int capacity, double join):
        if not 1 <= capacity <= MAX_TOPICS:
            raise ValueError(f"capacity must be in [1, {MAX_TOPICS}], got {capacity}")
        if not 0.0 <= join <= 1.0:
            raise ValueError(f"join must be in [0, 1], got {join!r}")
        if self.topics is not NULL:
            raise TypeError("a Topics is made once")
        self.topics = <Topic*>calloc(capacity, sizeof(Topic))
        if self.topics is NULL:
            raise MemoryError
        self.capacity = capacity
        self.join = join

    def __dealloc__(self):
        free(self.topics)
        free(self.rows)
        free(self.slots)
        free(self.bands)

    cdef Py_ssize_t _seat(self, const uint8_t* node) noexcept nogil:
        """Where ``node`` is in the table of ids, or would be."""
        cdef Py_ssize_t seat = <Py_ssize_t>id_hash(node) & (self.n_slots - 1)
        while self.slots[seat] >= 0 and memcmp(self.rows[self.slots[seat]].id, node, ID) != 0:
            seat = (seat + 1) & (self.n_slots - 1)
        return seat

    cdef Row* _counted(self, bytes node) except? NULL:
        """The row of ``node`` while it is counted, else NULL."""
        if PyBytes_GET_SIZE(node) != ID:
            return NULL
        cdef int32_t row = self.slots[self._seat(<const uint8_t*>PyBytes_AS_STRING(node))]
        if row < 0 or not self.rows[row].alive:
            return NULL
        return &self.rows[row]

    cdef int _grow(self) except -1:
        cdef Row* rows
        cdef int32_t* slots
        cdef Py_ssize_t i
        if self.n_rows == self.room:
            rows = <Row*>realloc(self.rows, 2 * self.room * sizeof(Row))
            if rows is NULL:
                raise MemoryError
            self.rows = rows
            self.room *= 2
        if 2 * (self.n_rows + 1) > self.n_slots:
            slots = <int32_t*>malloc(2 * self.n_slots * sizeof(int32_t))
            if slots is NULL:
                raise MemoryError
            free(self.slots)
            self.slots = slots
            self.n_slots *= 2
            memset(slots, 0xFF, self.n_slots * sizeof(int32_t))
            for i in range(self.n_rows):
                slots[self._seat(self.rows[i].id)] = <int32_t>i
        return 0

    cdef int _nearest_topic(self, const int16_t* q, double* best) noexcept nogil:
        cdef double cosine, length = sqrt(<double>product16(q, q))
        cdef int i, found = NOWHERE
        best[0] = 0.0
        for i in range(self.capacity):
            if self.topics[i].members and self.topics[i].centre_length > 0.0:
                cosine = product16(q, self.topics[i].centre) / (length * self.topics[i].centre_length)
                if found < 0 or cosine > best[0]:
                    best[0] = cosine
                    found = i
        return found

    cdef Py_ssize_t _nearest_row(self, const Signature* signature, int* fewest) noexcept nogil:
        cdef Py_ssize_t row, nearest = NOWHERE
        cdef int band
        fewest[0] = NEAR_BITS + 1
        for band in range(BANDS):
            row = <Py_ssize_t>self.bands[band * KEYS + band_key(signature, band)] - 1
            if row >= 0:
                self._compare(row, signature, &nearest, fewest)
        row = self.n_rows - 1
        while row >= 0 and row >= self.n_rows - RECENT:
            self._compare(row, signature, &nearest, fewest)
            row -= 1
        return nearest

    cdef inline void _compare(
        self, Py_ssize_t row, const Signature* signature, Py_ssize_t* nearest, int* fewest
    ) noexcept nogil:
        cdef int bits
        if self.rows[row].alive and self.rows[row].slot >= 0:
            bits = differing(&self.rows[row].signature, signature, fewest[0])
            if bits < fewest[0]:
                nearest[0] = row
                fewest[0] = bits

    def place(self, bytes packed not None):
        """Where a memory would belong; nothing changes.

        Args:
            packed: From `pack`.

        Returns:
            (slot or -1 for a new topic, cosine to its centre, its members, id of the nearest memory if one is
            found to be very like or None, estimated cosine to it).
        """
        if PyBytes_GET_SIZE(packed) != PACKED:
            raise ValueError(f"packed must have {PACKED} bytes, got {PyBytes_GET_SIZE(packed)}")
        cdef const int16_t* q = <const int16_t*>PyBytes_AS_STRING(packed)
        cdef const Signature* signature = <const Signature*>(PyBytes_AS_STRING(packed) + VECTOR_BYTES)
        cdef double best
        cdef int bits
        cdef int slot = self._nearest_topic(q, &best)
        if slot >= 0 and best < self.join and self.in_use < self.capacity:
            slot = NOWHERE
        cdef Py_ssize_t row = self._nearest_row(signature, &bits)
        near, alike = None, 0.0
        if row >= 0:
            near = PyBytes_FromStringAndSize(<const char*>self.rows[row].id, ID)
            alike = cos(PI * bits / BITS)
        if slot < 0:
            return (NOWHERE, 0.0, 0, near, alike)
        return (slot, best, self.topics[slot].members, near, alike)

    def add(self, bytes node not None, int slot, bytes packed):
        """Count a memory in.

        Args:
            node: 16 bytes.
            slot: From `place`; -1 takes a free slot.
            packed: From `pack`; None for a memory without a vector, which belongs to no topic.

        Returns:
            The slot, -1 without a vector.

        Raises:
            ValueError: It is counted already, the slot does not exist, or none is free.
        """
        if PyBytes_GET_SIZE(node) != ID:
            raise ValueError(f"node must have 16 bytes, got {PyBytes_GET_SIZE(node)}")
        cdef Row* row = self._counted(node)
        if row is not NULL:
            raise ValueError("node is counted already")
        if packed is not None and PyBytes_GET_SIZE(packed) != PACKED:
            raise ValueError(f"packed must have {PACKED} bytes, got {PyBytes_GET_SIZE(packed)}")
        slot = NOWHERE if packed is None else self._slot(slot)
        row = self._row_for(<const uint8_t*>PyBytes_AS_STRING(node), slot)
        self._count_in(row, packed)
        return slot

    cdef int _slot(self, int slot) except -2:
        if not NOWHERE <= slot < self.capacity:
            raise ValueError(f"slot must be in [-1, {self.capacity - 1}], got {slot}")
        if slot == NOWHERE:
            for slot in range(self.capacity):
                if not self.topics[slot].members:
                    return slot
            raise ValueError("no slot is free")
        return slot

    cdef Row* _row_for(self, const uint8_t* wanted, int slot) except NULL:
        """A clean row of that id: its old one, or a new one."""
        self._grow()
        cdef Py_ssize_t seat = self._seat(wanted)
        if self.slots[seat] < 0:
            self.slots[seat] = <int32_t>self.n_rows
            self.n_rows += 1
        cdef Row* row = &self.rows[self.slots[seat]]
        memset(row, 0, sizeof(Row))
        memcpy(row.id, wanted, ID)
        row.slot = slot
        return row

    cdef void _count_in(self, Row* row, bytes packed):
        cdef int16_t[DIM] q
        cdef Topic* topic
        row.alive = 1
        if packed is None:
            return
        memcpy(q, PyBytes_AS_STRING(packed), VECTOR_BYTES)
        memcpy(&row.signature, PyBytes_AS_STRING(packed) + VECTOR_BYTES, sizeof(Signature))
        topic = &self.topics[row.slot]
        self.in_use += topic.members == 0
        change(topic, q, 1)
        self._enter_bands(row)

    cdef void _enter_bands(self, const Row* row) noexcept nogil:
        cdef int32_t entry = self.slots[self._seat(row.id)] + 1
        cdef int band
        for band in range(BANDS):
            self.bands[band * KEYS + band_key(&row.signature, band)] = entry

    def remove(self, bytes node not None, bytes packed):
        """Count a memory out; False if it is not counted.

        Args:
            node: 16 bytes.
            packed: As it was added.
        """
        cdef Row* row = self._counted(node)
        cdef int16_t[DIM] q
        cdef Topic* topic
        if row is NULL:
            return False
        if (packed is None) != (row.slot < 0):
            raise ValueError("packed must be what the node was added with")
        if packed is not None and PyBytes_GET_SIZE(packed) != PACKED:
            raise ValueError(f"packed must have {PACKED} bytes, got {PyBytes_GET_SIZE(packed)}")
        if packed is not None:
            memcpy(q, PyBytes_AS_STRING(packed), VECTOR_BYTES)
            topic = &self.topics[row.slot]
            change(topic, q, -1)
            self.in_use -= topic.members == 0
        row.alive = 0
        return True

    def __contains__(self, bytes node not None):
        """Whether a memory is counted."""
        return self._counted(node) is not NULL

    def slot(self, bytes node not None):
        """The slot of a memory that is counted; -1 for any other, and for one without a vector."""
        cdef Row* row = self._counted(node)
        return NOWHERE if row is NULL else row.slot

    def members(self, int slot):
        """Memories in that topic."""
        if not 0 <= slot < self.capacity:
            raise IndexError("list index out of range")
        return self.topics[slot].members

    def lone(self):
        """Ids of memories whose topic has no other. Cost: a pass over all rows."""
        cdef Py_ssize_t i
        cdef Row* row
        found = []
        for i in range(self.n_rows):
            row = &self.rows[i]
            if row.alive and row.slot >= 0 and self.topics[row.slot].members == 1:
                found.append(PyBytes_FromStringAndSize(<const char*>row.id, ID))
        return found

    def to_bytes(self):
        """Serialise all topics, without removed memories."""
        cdef Py_ssize_t i
        cdef Row* row
        cdef Topic* topic
        cdef Py_ssize_t alive = 0
        for i in range(self.n_rows):
            alive += self.rows[i].alive
        parts = [HEAD.pack(MAGIC, self.in_use, alive)]
        for i in range(self.capacity):
            topic = &self.topics[i]
            if topic.members:
                parts.append(TOPIC.pack(i, *[topic.sums[j] for j in range(DIM)]))
        for i in range(self.n_rows):
            row = &self.rows[i]
            if row.alive:
                parts.append(
                    ROW.pack(
                        PyBytes_FromStringAndSize(<const char*>row.id, ID),
                        PyBytes_FromStringAndSize(<const char*>&row.signature, sizeof(Signature)),
                        row.slot,
                    )
                )
        return b"".join(parts)

    def load_bytes(self, bytes packed not None):
        """Load what `to_bytes` wrote.

        Raises:
            ValueError: Not such bytes, or from more slots than these; nothing has changed then.
        """
        cdef Topics fresh = Topics(self.capacity, self.join)
        fresh._read(packed)
        self.topics, fresh.topics = fresh.topics, self.topics
        self.rows, fresh.rows = fresh.rows, self.rows
        self.slots, fresh.slots = fresh.slots, self.slots
        self.bands, fresh.bands = fresh.bands, self.bands
        self.n_rows, self.room, self.n_slots = fresh.n_rows, fresh.room, fresh.n_slots
        self.in_use = fresh.in_use

    cdef int _read(self, bytes packed) except -1:
        cdef Py_ssize_t at = HEAD.size, i
        cdef Py_ssize_t size = PyBytes_GET_SIZE(packed)
        cdef Topic* topic
        if size < at:
            raise ValueError("not the bytes of topics")
        magic, topics, rows = HEAD.unpack_from(packed)
        if magic != MAGIC or size != at + topics * TOPIC.size + rows * ROW.size:
            raise ValueError("not the bytes of topics")
        for _ in range(topics):
            slot, *sums = TOPIC.unpack_from(packed, at)
            if slot >= self.capacity:
                raise ValueError("not the bytes of topics: a slot beyond these")
            topic = &self.topics[<Py_ssize_t>slot]
            for i in range(DIM):
                topic.sums[i] = sums[i]
            at += TOPIC.size
        for _ in range(rows):
            self._read_row(<const uint8_t*>PyBytes_AS_STRING(packed) + at)
            at += ID + sizeof(Signature) + sizeof(int16_t)
        if self.n_rows != rows:
            raise ValueError("not the bytes of topics")
        for i in range(self.capacity):
            derive(&self.topics[i])
            self.in_use += self.topics[i].members > 0
        return 0

    cdef int _read_row(self, const uint8_t* packed) except -1:
        cdef int16_t slot
        memcpy(&slot, packed + ID + sizeof(Signature), sizeof(int16_t))
        if not NOWHERE <= slot < self.capacity:
            raise ValueError("not the bytes of topics: a slot beyond these")
        cdef Row* row = self._row_for(packed, slot)
        memcpy(&row.signature, packed + ID, sizeof(Signature))
        row.alive = 1
        if slot >= 0:
            self.topics[slot].members += 1
            self._enter_bands(row)
        return 0


def likeness(double cosine):
    """A cosine as likeness in [0, 1]: 0 for texts that have nothing to do with each other."""
    return likeness_of(cosine)


def pack(embedding, common):
    """A memory as `Topics` counts it, 800 bytes; None when its embedding says nothing.

    Args:
        embedding: 6144 bytes: 1536 float32.
        common: What all Semantic vectors have in common: up to two vectors of 256 float32, of length 1 and at
            right angles.

    Raises:
        ValueError: Another length, or a value that is not finite.
    """
    cdef const uint8_t[::1] view = memoryview(embedding).cast("B")
    cdef const uint8_t[::1] shared = memoryview(common).cast("B")
    cdef float[DIM] values
    cdef double[DIM] both
    cdef int16_t* q
    cdef int i
    if view.shape[0] != EMBEDDING:
        raise ValueError(f"embedding must have {EMBEDDING} bytes, got {view.shape[0]}")
    if shared.shape[0] not in (0, COMMON, 2 * COMMON):
        raise ValueError(f"common must have 0, 1024 or 2048 bytes, got {shared.shape[0]}")
    memcpy(values, &view[0], COMMON)
    memcpy(values + FIRST, &view[4 * SPLADE], 4 * SECOND)
    for i in range(DIM):
        both[i] = values[i]
    for i in range(shared.shape[0] // COMMON):
        take_away(both, &shared[i * COMMON])
    unit(both, FIRST)
    unit(both + FIRST, SECOND)
    if not unit(both, DIM):
        return None
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, PACKED)
    q = <int16_t*>PyBytes_AS_STRING(packed)
    for i in range(DIM):
        q[i] = whole(both[i] * LENGTH)
    sign(q, <Signature*>(PyBytes_AS_STRING(packed) + VECTOR_BYTES))
    return packed


def mean_cosine(packed):
    """The mean cosine over all pairs of memories from `pack`, clamped to [0, 1]; 0 with fewer than two."""
    cdef int64_t[DIM] sums
    cdef const int16_t* q
    cdef int64_t squares = 0
    cdef double squared = 0.0
    cdef Py_ssize_t found = 0
    cdef bytes one
    cdef int i
    memset(sums, 0, sizeof(sums))
    for one in packed:
        if one is None or PyBytes_GET_SIZE(one) != PACKED:
            raise ValueError(f"packed must have {PACKED} bytes, got {len(one)}")
        q = <const int16_t*>PyBytes_AS_STRING(one)
        found += 1
        squares += product16(q, q)
        for i in range(DIM):
            sums[i] += q[i]
    if found < 2:
        return 0.0
    for i in range(DIM):
        squared += <double>sums[i] * <double>sums[i]
    return min(1.0, max(0.0, (squared - squares) / ((found - 1) * <double>squares)))
