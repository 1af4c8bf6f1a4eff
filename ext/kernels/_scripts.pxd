"""Scripts that write words without spaces, or join particles to them: which letters, and what pairs (C level only).

Described in the oracle, tests/oracles/scripts.py.
"""

from libc.stdint cimport uint8_t, uint32_t

from _form cimport hash_part
from _terms cimport Terms, add_term
from _text cimport Text


cdef inline uint32_t letter_at(const Text* text, Py_ssize_t i) noexcept nogil:
    """The letter of three bytes at ``i``; 0 for a shorter or a longer one. Scripts of this kind have no other."""
    cdef const uint8_t* b = text.bytes + i
    if b[0] < 0xE0 or b[0] >= 0xF0 or i + 2 >= text.n:
        return 0
    return (<uint32_t>(b[0] & 15) << 12) | (<uint32_t>(b[1] & 63) << 6) | (b[2] & 63)


cdef inline bint is_joined(uint32_t letter) noexcept nogil:
    """Thai, Lao, Myanmar, Hangul (as Jamo), Khmer, kana."""
    return (
        0x0E00 <= letter <= 0x0EFF
        or 0x1000 <= letter <= 0x109F
        or 0x1100 <= letter <= 0x11FF
        or 0x1780 <= letter <= 0x17FF
        or 0x3041 <= letter <= 0x318E
        or 0x31F0 <= letter <= 0x31FF
        or 0xFF66 <= letter <= 0xFF9F
    )


cdef inline Py_ssize_t letter_end(const Text* text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """End of the letter at ``i``; of the syllable, if it is a Jamo."""
    cdef uint32_t letter = letter_at(text, i)
    i += 3
    if 0x1100 <= letter <= 0x11FF:
        while i < end and 0x1160 <= letter_at(text, i) <= 0x11FF:
            i += 3
    return i


cdef inline Py_ssize_t script_end(const Text* text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """Where letters of such a script begin or stop, counted from ``i``."""
    cdef bint joined = is_joined(letter_at(text, i))
    while i < end:
        if text.bytes[i] < 0xE0:
            if joined:
                return i
            i += 1
        elif is_joined(letter_at(text, i)) != joined:
            return i
        else:
            i += 3 if joined else 1
            while i < end and not joined and (text.bytes[i] & 0xC0) == 0x80:
                i += 1
    return end


cdef inline bint add_joined(Terms* terms, const Text* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """The pairs of neighbours of a run of such letters, or the one that it is; False where it is of others."""
    cdef Py_ssize_t middle, stop
    if not is_joined(letter_at(text, start)):
        return False
    middle = letter_end(text, start, end)
    if middle >= end:
        add_term(terms, hash_part(text, start, end))
    while middle < end:
        stop = letter_end(text, middle, end)
        add_term(terms, hash_part(text, start, stop))
        start, middle = middle, stop
    return True
