"""The parts of a text's identifiers, and the times that its numbers say (C level only, no module of its own).

Described in the oracle, tests/oracles/form.py.
"""

from libc.math cimport cos, sin
from libc.stdint cimport uint8_t, uint64_t

from _spaces cimport TEMPORAL
from _text cimport BLANK, CAPITAL, DIGIT, NEWLINE, SINGLE, TERM, WORD, Text, fnv, mixed

cdef inline bint is_word_part(const Text* text, Py_ssize_t i) noexcept nogil:
    """Letters, digits and underscores; no ideographs."""
    return 0 <= i < text.n and (text.kinds[i] & (WORD | TERM) == (WORD | TERM) or text.bytes[i] == 95)


cdef inline uint64_t hash_part(const Text* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    return fnv(text.bytes + start, end - start)


cdef inline Py_ssize_t part_end(const Text* text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """End of the part of an identifier that begins at ``i``: before an underscore or a hump, HTTPServer as HTTP Server."""
    cdef Py_ssize_t stop = i + 1
    cdef bint capitals = text.kinds[i] & CAPITAL != 0
    while stop < end and text.bytes[stop] != 95:
        if text.kinds[stop] & CAPITAL and (text.bytes[stop] & 0xC0) != 0x80:
            if not capitals and not text.kinds[stop - 1] & DIGIT:
                return stop
            if capitals and stop + 1 < end and text.kinds[stop + 1] & TERM and not text.kinds[stop + 1] & (CAPITAL | DIGIT):
                if text.kinds[stop - 1] & CAPITAL:
                    return stop
        elif not text.kinds[stop] & CAPITAL:
            capitals = False
        stop += 1
    return stop


cdef inline int number_at(const Text* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """The whole number of at most four digits that fills [start, end), else -1."""
    cdef int value = 0
    cdef Py_ssize_t i
    if not 0 < end - start <= 4:
        return -1
    for i in range(start, end):
        if not 48 <= text.bytes[i] <= 57:
            return -1
        value = 10 * value + text.bytes[i] - 48
    return value


cdef inline void add_year(float* target, int year) noexcept nogil:
    cdef double angle = 0.7853981633974483 * (year % 8)
    target[28] += <float>cos(angle)
    target[29] += <float>sin(angle)


cdef inline void add_hour(float* target, double hour) noexcept nogil:
    cdef double angle = 0.2617993877991494 * hour
    target[30] += <float>cos(angle)
    target[31] += <float>sin(angle)


cdef inline Py_ssize_t digits_end(const Text* text, Py_ssize_t i) noexcept nogil:
    while i < text.n and 48 <= text.bytes[i] <= 57:
        i += 1
    return i


cdef inline Py_ssize_t add_date(float* target, const Text* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """A number as a year, a date 2024-05-12 or a time 7:30, 7 pm; returns where to go on."""
    cdef int value = number_at(text, start, end)
    cdef int other
    cdef Py_ssize_t stop
    if value < 0:
        return end
    if 1900 <= value <= 2099 and end - start == 4:
        add_year(target, value)
        if end < text.n and text.bytes[end] == 45:
            stop = digits_end(text, end + 1)
            other = number_at(text, end + 1, stop)
            if stop - end == 3 and 1 <= other <= 12:
                target[other - 1] += 1.0
                if stop < text.n and text.bytes[stop] == 45:
                    stop = digits_end(text, stop + 1)
                return stop
        return end
    if value > 24:
        return end
    other = 0
    stop = end
    if end < text.n and text.bytes[end] == 58:
        stop = digits_end(text, end + 1)
        other = number_at(text, end + 1, stop) if stop - end == 3 else -1
        if other > 59:
            other = -1
    if other < 0:
        return end
    end = stop
    if stop < text.n and text.kinds[stop] & BLANK:
        stop += 1
    if stop + 1 < text.n and text.bytes[stop + 1] == 109 and not is_word_part(text, stop + 2) and 1 <= value <= 12:
        if text.bytes[stop] == 97 or text.bytes[stop] == 112:  # am, pm
            add_hour(target, value % 12 + other / 60.0 + (12.0 if text.bytes[stop] == 112 else 0.0))
            return stop + 2
    if end > start + 2 and text.bytes[end - 3] == 58:
        add_hour(target, value + other / 60.0)
    return end


cdef inline void add_dates(float* vector, const Text* text) noexcept nogil:
    """Temporal: years, months of ISO dates and hours, where numbers say them."""
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t end
    while i < text.n:
        if not is_word_part(text, i):
            i += 1
            continue
        end = digits_end(text, i)
        if end > i and not is_word_part(text, end):
            i = add_date(vector + TEMPORAL, text, i, end)
            continue
        while is_word_part(text, end):
            end += 1
        i = end
