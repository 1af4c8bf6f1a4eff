"""A text cleaned as BERT's uncased normaliser does, byte by byte with the kind and origin of each (C level only).

Described in the oracle, tests/oracles/tokens.py.
"""

from cython cimport overflowcheck
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc

cdef enum:  # what a byte is, as bits
    BLANK = 1
    SINGLE = 2  # a word of its own: punctuation, an ideograph, a special token
    WORD = 4
    TERM = 8  # may be part of a lexical term: letters and digits, not symbols
    CAPITAL = 16
    DIGIT = 32
    NEWLINE = 64
    SPECIAL = 128  # the byte is the number of a special token


cdef struct Text:
    uint8_t* bytes
    uint8_t* kinds
    uint32_t* origin  # index of the character that each byte comes from
    Py_ssize_t n
    Py_ssize_t room
    Py_ssize_t characters


cdef inline int reserve(Text* text, Py_ssize_t n) noexcept nogil:
    """Room for ``n`` bytes in all; -1 when there is no memory."""
    cdef Py_ssize_t room
    cdef void* block
    if n <= text.room:
        return 0
    room = n + n // 2 + 64
    block = realloc(text.bytes, room)
    if block is NULL:
        return -1
    text.bytes = <uint8_t*>block
    block = realloc(text.kinds, room)
    if block is NULL:
        return -1
    text.kinds = <uint8_t*>block
    block = realloc(text.origin, 4 * room)
    if block is NULL:
        return -1
    text.origin = <uint32_t*>block
    text.room = room
    return 0


cdef inline void put(Text* text, uint8_t byte, uint8_t kind, uint32_t origin) noexcept nogil:
    text.bytes[text.n] = byte
    text.kinds[text.n] = kind
    text.origin[text.n] = origin
    text.n += 1


@overflowcheck(False)  # a product of hashes is meant to
cdef inline uint64_t fnv_byte(uint64_t state, uint8_t byte) noexcept nogil:
    return (state ^ byte) * <uint64_t>0x100000001B3


@overflowcheck(False)
cdef inline uint64_t mixed(uint64_t state) noexcept nogil:
    """The last step of a hash: every bit depends on every bit of ``state``."""
    state ^= state >> 33
    state *= <uint64_t>0xFF51AFD7ED558CCD
    state ^= state >> 33
    state *= <uint64_t>0xC4CEB9FE1A85EC53
    return state ^ state >> 33


cdef inline uint64_t fnv(const uint8_t* data, Py_ssize_t n) noexcept nogil:
    """FNV-1a, 64 bits, mixed."""
    cdef uint64_t state = <uint64_t>0xCBF29CE484222325
    cdef Py_ssize_t i
    for i in range(n):
        state = fnv_byte(state, data[i])
    return mixed(state)
