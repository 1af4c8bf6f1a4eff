"""A term's list of postings: a slot of the table of terms (C level only). Described in lexical.pyx."""

from cython cimport overflowcheck
from libc.math cimport log
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport malloc, realloc
from libc.string cimport memcpy

cdef enum:
    MOST_OFTEN = 255


cdef struct Slot:
    uint64_t term
    uint32_t* block  # somebody else's when room is 0; when it is 1, these bytes are the posting itself
    uint32_t used  # 0: the slot is free
    uint32_t room


cdef inline uint32_t* list_of(Slot* slot) noexcept nogil:
    return <uint32_t*>&slot.block if slot.room == 1 else slot.block


@overflowcheck(False)  # a product of hashes is meant to
cdef inline Py_ssize_t place_of(const Slot* slots, Py_ssize_t n, uint64_t term) noexcept nogil:
    """The slot of a term, or the free one where it would go."""
    # Term hashes may be anything; one multiplication spreads them over the high bits.
    cdef uint64_t mask = <uint64_t>n - 1
    cdef uint64_t at = ((term * <uint64_t>0x9E3779B97F4A7C15) >> 20) & mask
    while slots[at].used and slots[at].term != term:
        at = (at + 1) & mask
    return <Py_ssize_t>at


cdef inline uint32_t posting_of(Py_ssize_t row, uint16_t often) noexcept nogil:
    return (<uint32_t>row << 8) | <uint32_t>(often if often < MOST_OFTEN else MOST_OFTEN)


cdef inline int widen(Slot* slot, uint32_t room) except -1:
    cdef uint32_t* block
    if slot.room > 1:
        block = <uint32_t*>realloc(slot.block, room * sizeof(uint32_t))
    else:
        block = <uint32_t*>malloc(room * sizeof(uint32_t))
        if block is not NULL and slot.used:
            memcpy(block, list_of(slot), slot.used * sizeof(uint32_t))
    if block is NULL:
        raise MemoryError
    slot.block = block
    slot.room = room
    return 0


cdef inline uint32_t live_of(Slot* slot, const uint8_t* alive, bint all_live) noexcept nogil:
    cdef const uint32_t* block = list_of(slot)
    cdef uint32_t count = 0
    cdef uint32_t i
    if all_live:
        return slot.used
    for i in range(slot.used):
        count += alive[block[i] >> 8] != 0
    return count


cdef inline double idf_of(double rows, double holders) noexcept nogil:
    return log(1.0 + (rows - holders + 0.5) / (holders + 0.5))


cdef inline bint holds(Slot* slot, uint32_t row) noexcept nogil:
    """Rows only grow along a list, so that a search by halves finds one."""
    cdef const uint32_t* block = list_of(slot)
    cdef uint32_t low = 0
    cdef uint32_t high = slot.used
    cdef uint32_t middle
    while low < high:
        middle = low + (high - low) // 2
        if (block[middle] >> 8) < row:
            low = middle + 1
        else:
            high = middle
    return low < slot.used and (block[low] >> 8) == row


cdef inline int score_slot(
    Slot* slot, const uint16_t* length, const uint8_t* alive, bint all_live, double rows, double mean_length,
    double k1, double b, float weight, float* out,
) noexcept nogil:
    cdef const uint32_t* block = list_of(slot)
    cdef uint32_t holders = live_of(slot, alive, all_live)
    cdef double share, often
    cdef double base = k1 * (1.0 - b)
    cdef double slope = k1 * b / mean_length
    cdef uint32_t i, row
    if holders == 0:
        return 0
    share = weight * idf_of(rows, holders) * (k1 + 1.0)
    for i in range(slot.used):
        row = block[i] >> 8
        if all_live or alive[row]:
            often = block[i] & MOST_OFTEN
            out[row] += <float>(share * often / (often + base + slope * length[row]))
    return 1
