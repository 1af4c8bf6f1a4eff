"""Cleans a text as BERT's uncased normaliser does (C level only, no module of its own).

Described in the oracle, tests/oracles/text.py.
"""

from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ
from libc.stdint cimport uint8_t, uint32_t

from _text cimport BLANK, CAPITAL, DIGIT, NEWLINE, SINGLE, SPECIAL, TERM, WORD, Text, put, reserve

cdef enum:
    REMEMBERED = 16_384  # characters beyond ASCII


cdef struct Kinds:  # of ASCII, 0 for what is dropped
    uint8_t[128] kind
    uint8_t[128] folded


cdef inline void fill_kinds(Kinds* kinds) noexcept nogil:
    cdef int i
    for i in range(128):
        kinds.folded[i] = i + 32 if 65 <= i <= 90 else i
        kinds.kind[i] = SINGLE if 33 <= i <= 126 else 0
        if 48 <= i <= 57:
            kinds.kind[i] = WORD | TERM | DIGIT
        elif 97 <= i <= 122:
            kinds.kind[i] = WORD | TERM
        elif 65 <= i <= 90:
            kinds.kind[i] = WORD | TERM | CAPITAL
    kinds.kind[32] = kinds.kind[9] = kinds.kind[13] = BLANK
    kinds.kind[10] = BLANK | NEWLINE
    kinds.folded[9] = kinds.folded[10] = kinds.folded[13] = 32


cdef inline bytes special_name(int number):
    return (b"[PAD]", b"[UNK]", b"[CLS]", b"[SEP]", b"[MASK]")[number]


cdef inline bint is_ideograph(uint32_t point) noexcept nogil:
    return (
        0x4E00 <= point <= 0x9FFF or 0x3400 <= point <= 0x4DBF or 0x20000 <= point <= 0x2A6DF
        or 0x2A700 <= point <= 0x2B73F or 0x2B740 <= point <= 0x2B81F or 0x2B920 <= point <= 0x2CEAF
        or 0xF900 <= point <= 0xFAFF or 0x2F800 <= point <= 0x2FA1F
    )


cdef inline bytes fold(const Kinds* kinds, uint32_t point):
    """A character beyond ASCII, cleaned: kind and byte in turn."""
    from unicodedata import category, normalize

    cdef bytearray out = bytearray()
    cdef int kind
    cdef str character = chr(point)
    cdef str group = category(character)
    cdef str part_group
    if point == 0xFFFD or group in ("Cc", "Cf", "Cs", "Co"):
        return b""
    if group in ("Zs", "Zl", "Zp"):
        return bytes((BLANK, 32))
    for part in normalize("NFD", character):
        part_group = category(part)
        if part_group == "Mn":
            continue
        for small in part.lower():
            kind = WORD
            if is_ideograph(point):
                kind = SINGLE | TERM
            elif ord(small) < 128:
                kind = kinds.kind[<int>ord(small)]
            elif part_group[0] == "P":
                kind = SINGLE
            elif part_group[0] in "LNM":
                kind = WORD | TERM
            if kind & WORD and group in ("Lu", "Lt"):
                kind |= CAPITAL
            for byte in small.encode():
                out += bytes((kind, byte))
    return bytes(out)


cdef inline int put_folded(Text* text, const Kinds* kinds, dict folds, uint32_t point, Py_ssize_t i) except -1:
    cdef bytes folded
    cdef Py_ssize_t k
    found = folds.get(point)
    if found is None:
        if len(folds) >= REMEMBERED:
            folds.clear()
        found = folds[point] = fold(kinds, point)
    folded = found
    if reserve(text, text.n + PyBytes_GET_SIZE(folded) + text.characters - i):
        raise MemoryError
    for k in range(0, PyBytes_GET_SIZE(folded), 2):
        put(text, <uint8_t>folded[k + 1], <uint8_t>folded[k], <uint32_t>i)
    return 0


cdef inline int special_at(str text, Py_ssize_t i) except -2:
    """Number of the special token that stands at ``i``; -1 for none."""
    cdef int number
    for number in range(5):
        if text.startswith(special_name(number).decode(), i):
            return number
    return -1


cdef inline int clean(Text* text, const Kinds* kinds, dict folds, str source) except -1:
    """Replace ``text`` by the bytes of ``source``. ``folds`` remembers characters beyond ASCII."""
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(source)
    cdef int width = PyUnicode_KIND(source)
    cdef void* data = PyUnicode_DATA(source)
    cdef Py_ssize_t i = 0
    cdef uint32_t point
    cdef int special
    text.n = 0
    text.characters = length
    if reserve(text, length + 1):
        raise MemoryError
    while i < length:
        point = PyUnicode_READ(width, data, i)
        if point >= 128:
            put_folded(text, kinds, folds, point, i)
        elif point == 91:
            special = special_at(source, i)
            if special < 0:
                put(text, 91, kinds.kind[91], <uint32_t>i)
            else:
                put(text, special, SINGLE | SPECIAL, <uint32_t>i)
                i += len(special_name(special)) - 1
        elif kinds.kind[point]:
            put(text, kinds.folded[point], kinds.kind[point], <uint32_t>i)
        i += 1
    return 0
