"""A text's lexical terms and how often each occurs, in order of first appearance (C level only).

Described in the oracle, tests/oracles/tokens.py.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cdef enum:
    MOST_FREQUENT = 65_535
    TERM_BYTES = 12  # of a packed term
    MOST_KEPT = 65_536  # slots beyond which the table of one giant text is not kept


cdef struct Term:
    uint64_t hash
    uint32_t count  # 0: the slot is free


cdef struct Terms:
    Term* slots
    Py_ssize_t* order  # slots in use
    Py_ssize_t n
    Py_ssize_t room  # slots; a power of two


cdef inline void free_terms(Terms* terms) noexcept nogil:
    free(terms.slots)
    free(terms.order)
    memset(terms, 0, sizeof(Terms))


cdef inline int make_terms(Terms* terms, Py_ssize_t room) noexcept nogil:
    """An empty table; -1 when there is no memory."""
    free_terms(terms)
    terms.slots = <Term*>calloc(room, sizeof(Term))
    terms.order = <Py_ssize_t*>malloc(room * sizeof(Py_ssize_t))
    if terms.slots is NULL or terms.order is NULL:
        free_terms(terms)
        return -1
    terms.room = room
    return 0


cdef inline int clear_terms(Terms* terms, Py_ssize_t wanted) noexcept nogil:
    """No terms, and at least ``wanted`` slots; -1 when there is no memory."""
    cdef Py_ssize_t room = 1024
    cdef Py_ssize_t k
    while room < wanted:
        room *= 2
    if room > terms.room or terms.room > MOST_KEPT and room < terms.room:
        return make_terms(terms, room)
    for k in range(terms.n):
        terms.slots[terms.order[k]].count = 0
    terms.n = 0
    return 0


cdef inline void add_term(Terms* terms, uint64_t hash) noexcept nogil:
    """One more occurrence; 0 is no term."""
    cdef Py_ssize_t slot = hash & (terms.room - 1)
    if hash == 0:
        return
    while terms.slots[slot].count and terms.slots[slot].hash != hash:
        slot = (slot + 1) & (terms.room - 1)
    if terms.slots[slot].count == 0:
        terms.slots[slot].hash = hash
        terms.order[terms.n] = slot
        terms.n += 1
    if terms.slots[slot].count < MOST_FREQUENT:
        terms.slots[slot].count += 1


cdef inline void pack_terms(const Terms* terms, uint8_t* packed) noexcept nogil:
    """Write each term as ``<QHH``: hash, occurrences, 0."""
    cdef Py_ssize_t k
    cdef const Term* term
    memset(packed, 0, TERM_BYTES * terms.n)
    for k in range(terms.n):
        term = terms.slots + terms.order[k]
        memcpy(packed, &term.hash, 8)
        memcpy(packed + 8, &term.count, 2)
        packed += TERM_BYTES


cdef inline bint joins(uint8_t byte) noexcept nogil:
    """Whether it makes a compound of the identifiers to its sides: . / - : ' @"""
    return byte == 46 or byte == 47 or byte == 45 or byte == 58 or byte == 39 or byte == 64


cdef inline bint is_clitic(const uint8_t* word, Py_ssize_t n) noexcept nogil:
    """s t d m re ve ll"""
    if n == 1:
        return word[0] == 115 or word[0] == 116 or word[0] == 100 or word[0] == 109
    if n != 2:
        return False
    return (
        word[0] == 114 and word[1] == 101
        or word[0] == 118 and word[1] == 101
        or word[0] == 108 and word[1] == 108
    )
