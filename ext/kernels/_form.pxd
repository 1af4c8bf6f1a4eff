"""The features of a text that its pieces don't carry: form, code, dates (C level only, no module of its own).

Described in the oracle, tests/oracles/form.py.
"""

from libc.math cimport cos, log2, sin
from libc.stdint cimport uint8_t, uint64_t

from _spaces cimport CODE, STRUCTURAL, TEMPORAL, add_signed
from _text cimport BLANK, CAPITAL, DIGIT, NEWLINE, SINGLE, TERM, WORD, Text, fnv, mixed

cdef enum:  # places in the structural space
    PUNCTUATION = 0  # 32 marks
    TOKENS = 32  # 10 buckets
    LINES = 42  # 6
    WORD_LENGTH = 48  # 6
    SENTENCE = 54  # 6
    RATIOS = 60  # capitals, digits, beyond ASCII, blanks
    LINE_KINDS = 64  # bullet, number, heading, fence, quote, indented, table, key: value, empty
    ENDING = 73  # ? . : other word
    OPENING = 78  # speaker, bracket, capital
    RUNS = 81  # shouted, capitalised, mixed with digits, humps, snakes, paths, urls, mails, numbers, quotes, brackets
    SHAPE = 92  # one line, paragraphs, line length, lines that end as code does

cdef enum:  # of an identifier
    SNAKE = 1
    HUMP = 2
    MIXED = 4
    NUMBER = 8
    SHOUTED = 16


cdef inline void bucket(float* target, int n, double place, float weight) noexcept nogil:
    """A soft one-hot: the two buckets next to ``place`` share ``weight``."""
    cdef int low
    cdef double rest
    if place < 0.0:
        place = 0.0
    if place > n - 1:
        place = n - 1
    low = <int>place
    rest = place - low
    target[low] += <float>(weight * (1.0 - rest))
    if low + 1 < n:
        target[low + 1] += <float>(weight * rest)


cdef inline bint is_word_part(const Text* text, Py_ssize_t i) noexcept nogil:
    """Letters, digits and underscores; no ideographs."""
    return 0 <= i < text.n and (text.kinds[i] & (WORD | TERM) == (WORD | TERM) or text.bytes[i] == 95)


cdef inline int describe(const Text* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """What an identifier looks like."""
    cdef int looks = 0
    cdef int digits = 0
    cdef int capitals = 0
    cdef Py_ssize_t i
    for i in range(start, end):
        if text.kinds[i] & DIGIT:
            digits += 1
        if text.kinds[i] & CAPITAL:
            capitals += 1
            if i > start and text.kinds[i - 1] & TERM and not text.kinds[i - 1] & (CAPITAL | DIGIT):
                looks |= HUMP
        if text.bytes[i] == 95 and start < i < end - 1:
            looks |= SNAKE
    if digits == end - start:
        looks |= NUMBER
    elif digits:
        looks |= MIXED
    if capitals > 1 and capitals + digits == end - start:
        looks |= SHOUTED
    return looks


cdef inline bint stands_in_code(const Text* text, Py_ssize_t start, Py_ssize_t end, int looks) noexcept nogil:
    """Whether the identifier, or what touches it, is what only code has."""
    cdef uint8_t before = text.bytes[start - 1] if start > 0 else 32
    cdef uint8_t after = text.bytes[end] if end < text.n else 32
    if looks & NUMBER:
        return False
    if looks & (SNAKE | HUMP) or after == 40 or after == 96 or before == 96 or before == 36:  # ( ` $
        return True
    if before == 46 or before == 47:  # . /
        return is_word_part(text, start - 2)
    if after == 46 or after == 47:
        return is_word_part(text, end + 1)
    return before == 45 and start > 1 and text.bytes[start - 2] == 45  # --flag


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


cdef inline void add_identifier(float* target, const Text* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Code: an identifier's parts, itself, and its trigrams."""
    cdef Py_ssize_t i = start
    cdef Py_ssize_t stop
    while i < end:
        if text.bytes[i] == 95:
            i += 1
            continue
        stop = part_end(text, i, end)
        add_signed(target, 192, hash_part(text, i, stop), 1.0)
        i = stop
    add_signed(target, 192, mixed(hash_part(text, start, end)), 1.0)
    for i in range(start, end - 2):
        add_signed(target, 192, mixed(hash_part(text, i, i + 3) ^ 1), 0.25)


cdef inline bint is_operator(uint8_t a, uint8_t b) noexcept nogil:
    """== != <= >= += -= *= /= -> => :: && || () {} []"""
    if b == 61:
        return a == 61 or a == 33 or a == 60 or a == 62 or a == 43 or a == 45 or a == 42 or a == 47
    if b == 62:
        return a == 45 or a == 61
    return (
        a == b == 58 or a == b == 38 or a == b == 124
        or a == 40 and b == 41 or a == 123 and b == 125 or a == 91 and b == 93
    )


cdef inline int add_code(float* vector, const Text* text) noexcept nogil:
    """Code and the structural counts of runs; returns how much code there is."""
    cdef float* target = vector + CODE
    cdef float* runs = vector + STRUCTURAL + RUNS
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t end
    cdef int looks
    cdef int found = 0
    while i < text.n:
        if not is_word_part(text, i):
            if i + 1 < text.n and is_operator(text.bytes[i], text.bytes[i + 1]):
                add_signed(target, 192, mixed(256 * text.bytes[i] + text.bytes[i + 1]), 0.5)
                found += 1
            i += 1
            continue
        end = i + 1
        while is_word_part(text, end):
            end += 1
        looks = describe(text, i, end)
        runs[0] += looks & SHOUTED != 0
        runs[1] += text.kinds[i] & CAPITAL != 0 and not looks & SHOUTED
        runs[2] += looks & MIXED != 0
        runs[3] += looks & HUMP != 0
        runs[4] += looks & SNAKE != 0
        runs[8] += looks & NUMBER != 0
        if end + 1 < text.n and is_word_part(text, end + 1):
            runs[5] += text.bytes[end] == 47
            runs[7] += text.bytes[end] == 64
        runs[6] += end + 2 < text.n and text.bytes[end] == 58 and text.bytes[end + 1] == 47 and text.bytes[end + 2] == 47
        if stands_in_code(text, i, end, looks):
            add_identifier(target, text, i, end)
            found += 1
        i = end
    return found


cdef inline int punctuation_place(uint8_t byte) noexcept nogil:
    """0 to 31 in the order of ASCII."""
    if byte < 48:
        return byte - 33
    if byte < 65:
        return byte - 43
    if byte < 97:
        return byte - 69
    return byte - 95


cdef inline int line_kind(const Text* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Which of LINE_KINDS a line is, -1 for plain."""
    cdef Py_ssize_t i = start
    cdef uint8_t first
    while i < end and text.kinds[i] & BLANK:
        i += 1
    if i == end:
        return 8
    first = text.bytes[i]
    if (first == 45 or first == 42 or first == 43) and i + 1 < end and text.kinds[i + 1] & BLANK:
        return 0
    if text.kinds[i] & DIGIT:
        while i < end and text.kinds[i] & DIGIT:
            i += 1
        return 1 if i + 1 < end and (text.bytes[i] == 46 or text.bytes[i] == 41) and text.kinds[i + 1] & BLANK else -1
    if first == 35:
        return 2
    if first == 96 and i + 2 < end and text.bytes[i + 1] == 96 and text.bytes[i + 2] == 96:
        return 3
    if first == 62:
        return 4
    if first == 124:
        return 6
    if i - start >= 2:
        return 5
    while is_word_part(text, i) and i < end:
        i += 1
    return 7 if i + 1 < end and text.bytes[i] == 58 and text.kinds[i + 1] & BLANK else -1


cdef inline void add_line(float* target, const Text* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    cdef int kind = line_kind(text, start, end)
    cdef uint8_t last
    if kind >= 0:
        target[LINE_KINDS + kind] += 1.0
    while end > start and text.kinds[end - 1] & BLANK:
        end -= 1
    if end > start:
        last = text.bytes[end - 1]
        target[SHAPE + 3] += last == 59 or last == 123 or last == 125 or last == 41  # ; { } )


cdef inline void add_ends(float* target, const Text* text) noexcept nogil:
    """How the text opens and ends."""
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t end = text.n
    cdef uint8_t byte
    while start < end and text.kinds[start] & BLANK:
        start += 1
    while end > start and text.kinds[end - 1] & BLANK:
        end -= 1
    if start == end:
        return
    byte = text.bytes[end - 1]
    target[ENDING + (0 if byte == 63 else 1 if byte == 46 else 2 if byte == 58 else 3 if text.kinds[end - 1] & SINGLE else 4)] += 1.0
    byte = text.bytes[start]
    if byte == 91 or byte == 123 or byte == 60:
        target[OPENING + 1] += 1.0
    if text.kinds[start] & CAPITAL:
        target[OPENING + 2] += 1.0
    while is_word_part(text, start):
        start += 1
    target[OPENING] += start + 1 < end and text.bytes[start] == 58 and text.kinds[start + 1] & BLANK != 0


cdef inline void add_form(float* target, const Text* text, Py_ssize_t tokens, Py_ssize_t sentences) noexcept nogil:
    """Structural: counts become their logarithms, sizes soft buckets."""
    cdef Py_ssize_t i
    cdef Py_ssize_t line = 0
    cdef Py_ssize_t lines = 1
    cdef Py_ssize_t words = 0
    cdef Py_ssize_t letters = 0
    cdef double capitals = 0.0
    cdef double digits = 0.0
    cdef double beyond = 0.0
    cdef double blanks = 0.0
    cdef uint8_t kind
    cdef uint8_t before = BLANK
    if tokens == 0:
        return
    for i in range(text.n):
        kind = text.kinds[i]
        if kind & WORD:
            letters += 1
            words += not before & WORD
        elif kind & SINGLE and text.bytes[i] < 128 and text.bytes[i] > 32:
            target[punctuation_place(text.bytes[i])] += 1.0
        if kind & NEWLINE:
            add_line(target, text, line, i)
            line = i + 1
            lines += 1
        capitals += kind & CAPITAL != 0
        digits += kind & DIGIT != 0
        blanks += kind & BLANK != 0
        beyond += text.bytes[i] >= 128
        before = kind
    add_line(target, text, line, text.n)
    target[RUNS + 9] += target[1] + target[6]  # " '
    target[RUNS + 10] += target[7] + target[22] + target[28]  # ( [ {
    for i in range(PUNCTUATION, TOKENS):
        target[i] = <float>log2(1.0 + target[i])
    for i in range(LINE_KINDS, ENDING):
        target[i] = <float>(2.0 * log2(1.0 + target[i]))
    for i in range(RUNS, SHAPE):
        target[i] = <float>log2(1.0 + target[i])
    target[SHAPE + 3] = <float>log2(1.0 + target[SHAPE + 3])
    bucket(target + TOKENS, 10, log2(1.0 + tokens) / 1.4, 2.0)
    bucket(target + LINES, 6, log2(<double>lines) / 1.5, 2.0)
    bucket(target + WORD_LENGTH, 6, ((<double>letters / words if words else 0.0) - 2.0) / 1.5, 1.0)
    bucket(target + SENTENCE, 6, log2(1.0 + <double>tokens / sentences) / 1.2, 1.0)
    target[RATIOS] = <float>(4.0 * capitals / text.n)
    target[RATIOS + 1] = <float>(4.0 * digits / text.n)
    target[RATIOS + 2] = <float>(4.0 * beyond / text.n)
    target[RATIOS + 3] = <float>(4.0 * blanks / text.n)
    target[SHAPE] = 1.0 if lines == 1 else 0.0
    target[SHAPE + 1] = 1.0 if target[LINE_KINDS + 8] > 0.0 else 0.0
    target[SHAPE + 2] = <float>(log2(1.0 + <double>text.n / lines) / 4.0)
    add_ends(target, text)


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
