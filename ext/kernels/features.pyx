"""Turns an event's two texts into sparse vectors of words, names and paths. Its oracle is
tests/oracles/features.py, where the bags are described: change both.

How it is fast: one pass over the bytes by a table of byte classes, CRC-32 carried from byte to byte so that the
buckets of a word, its stem and every prefix of a path cost one step a byte, and scratch arrays that are cleaned by
the list of what was touched.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython cimport final
from libc.math cimport log, sqrt
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

from _sparse cimport N_BAGS, N_BUCKETS

from array import array

__all__ = ["BAGS", "BUCKETS", "EventFeatures"]

# Plain numbers in every enum: with run-time checks on, Cython can't compile a sum in one.
cdef enum:
    MASK = 4095  # N_BUCKETS - 1
    MAX_TEXT = 8192  # bytes of each text that are read
    MAX_CLEAN = 10926  # 4/3 of MAX_TEXT and some: a three-byte ideograph becomes four bytes
    TRIGRAM_BYTES = 1500
    STEM_BYTES = 5
    PREFIX_BYTES = 4
    COMMON = 32
    TABLE = 4096  # slots of a word table; at most half are used

cdef enum:
    STEM
    DEFINED
    DOTTED
    PAIR
    WORD
    CODE
    PATH
    TRIGRAM
    INTENT
    PROPER
    EXPANDED
    PACKAGE
    FILE
    ERROR

cdef enum:  # classes of bytes, as bits
    UPPER = 1
    LOWER = 2  # bytes of letters beyond ASCII too
    DIGIT = 4
    UNDERSCORE = 8
    JOINER = 16  # . / - + @ ~
    BLANK = 32  # space and tab
    START = 11  # UPPER | LOWER | UNDERSCORE
    PART = 15  # START | DIGIT
    RUN = 31  # PART | JOINER

BAGS = ("stem", "defined", "dotted", "pair", "word", "code", "path", "trigram", "intent", "proper", "expanded",
        "package", "file", "error")
BUCKETS = N_BUCKETS

cdef float INPUT_WEIGHT = 2.0
cdef float PREFIX_WEIGHT = 0.5

cdef uint32_t[256] CRC
cdef uint32_t[256] CRC_FIRST  # of three bytes: CRC-32 is linear, so a trigram's is the sum of its bytes' parts
cdef uint32_t[256] CRC_SECOND
cdef double[COMMON] LOGS  # 1 + ln of small whole numbers
cdef uint8_t[256] CLASS
cdef uint8_t[256] FOLDED


cdef void _fill_tables() noexcept:
    cdef uint32_t value
    cdef int i, bit
    for i in range(256):
        value = i
        for bit in range(8):
            value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
        CRC[i] = value
        FOLDED[i] = i + 32 if 65 <= i <= 90 else i
        CLASS[i] = UPPER if 65 <= i <= 90 else LOWER if 97 <= i <= 122 or i >= 128 else DIGIT if 48 <= i <= 57 else 0
    for i in range(256):
        CRC_SECOND[i] = CRC[CRC[i] & 0xFF] ^ CRC[i] >> 8
    for i in range(256):
        CRC_FIRST[i] = CRC[CRC_SECOND[i] & 0xFF] ^ CRC_SECOND[i] >> 8 ^ 0xFF41D912  # and the part of three zero bytes
    LOGS[0] = 1.0
    for i in range(1, COMMON):
        LOGS[i] = 1.0 + log(i)
    CLASS[95] = UNDERSCORE
    for i in b"./-+@~":
        CLASS[i] = JOINER
    CLASS[32] = CLASS[9] = BLANK


_fill_tables()


cdef inline double _sublinear(float total) noexcept nogil:
    cdef int whole = <int>total
    if whole < COMMON and whole == total:  # nearly all are
        return LOGS[whole]
    return 1.0 + log(total) if total > 1.0 else 1.0


cdef inline uint32_t _crc_byte(uint32_t crc, uint8_t byte) noexcept nogil:
    return CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)


cdef inline uint32_t _crc(const uint8_t* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    cdef uint32_t crc = 0xFFFFFFFF
    cdef Py_ssize_t i
    for i in range(start, end):
        crc = _crc_byte(crc, text[i])
    return ~crc


cdef struct WordTable:
    uint32_t[TABLE] slots  # CRC-32 of the word; 0 is an empty slot


cdef inline bint _known(const WordTable* table, uint32_t crc) noexcept nogil:
    cdef uint32_t slot = crc & (TABLE - 1)
    while table.slots[slot]:  # ends: at least half of the slots are empty
        if table.slots[slot] == crc:
            return True
        slot = (slot + 1) & (TABLE - 1)
    return False


cdef int _fill(WordTable* table, object words) except -1:
    cdef uint32_t crc, slot
    cdef int used = 0
    for word in words:
        if not isinstance(word, bytes):
            raise TypeError(f"words must be bytes, not {type(word).__name__}")
        crc = _crc(<const uint8_t*>PyBytes_AS_STRING(word), 0, PyBytes_GET_SIZE(word))
        if crc == 0 or _known(table, crc):
            continue
        used += 1
        if used > TABLE // 2:
            raise ValueError(f"at most {TABLE // 2} words")
        slot = crc & (TABLE - 1)
        while table.slots[slot]:
            slot = (slot + 1) & (TABLE - 1)
        table.slots[slot] = crc
    return 0


cdef struct Scan:
    const uint8_t* text
    float weight
    bint is_input
    bint pair_open
    uint32_t pair_crc  # CRC state after the previous word and one space


@final
cdef class EventFeatures:
    """The bags of one event; reused from event to event. Not thread-safe.

    Attributes:
        counts: Nonzeros of each bag, array of 14 ints.
        buckets: Row by row (14 x 4096), each bag's buckets in order of first appearance, array of uint16.
        values: Their weights, parallel to ``buckets``, array of floats; each bag has unit length.

    Args:
        stop_words: Lower-case words that say nothing about a purpose, as bytes; at most 2048.
        heads: Words after which a name is defined or imported, as bytes; at most 2048.

    Raises:
        TypeError: A word that is not bytes.
        ValueError: Too many words.
    """

    cdef readonly object counts, buckets, values  # arrays, for whoever measures
    cdef int[::1] _counts  # (N_BAGS,) nonzeros of each bag
    cdef uint16_t[::1] _buckets  # (N_BAGS * N_BUCKETS,) each bag's touched buckets in order of first touch
    cdef float[::1] _values  # parallel to _buckets
    cdef int* used  # into _counts, as rows into _buckets, and weights into _values
    cdef uint16_t* rows
    cdef float* weights
    cdef float* totals  # (N_BAGS * N_BUCKETS,) zero between scans
    cdef WordTable stop
    cdef WordTable head
    cdef uint8_t[MAX_CLEAN] clean

    def __cinit__(self):
        self.totals = <float*>calloc(N_BAGS * N_BUCKETS, sizeof(float))
        if self.totals is NULL:
            raise MemoryError
        self.counts = array("i", bytes(4 * N_BAGS))
        self.buckets = array("H", bytes(2 * N_BAGS * N_BUCKETS))
        self.values = array("f", bytes(4 * N_BAGS * N_BUCKETS))
        self._counts, self._buckets, self._values = self.counts, self.buckets, self.values
        self.used, self.rows, self.weights = &self._counts[0], &self._buckets[0], &self._values[0]

    def __init__(self, stop_words, heads):
        _fill(&self.stop, stop_words)
        _fill(&self.head, heads)

    def __dealloc__(self):
        free(self.totals)

    def scan(self, bytes input_text not None, bytes output_text not None):
        """Replace the bags by those of an event.

        Args:
            input_text: UTF-8 of the tool input or prompt; the first 8192 bytes are read.
            output_text: UTF-8 of the response or error, likewise.

        Raises:
            TypeError: A text that is not bytes.

        Cost: linear; compiled about 12 ns a byte. Any bytes will do, valid UTF-8 or not.
        """
        cdef Py_ssize_t n
        cdef int bag
        for bag in range(N_BAGS):
            self.used[bag] = 0
        n = _clean(<const uint8_t*>PyBytes_AS_STRING(input_text), PyBytes_GET_SIZE(input_text), self.clean)
        self._scan_text(n, True)
        self._scan_trigrams(n)
        n = _clean(<const uint8_t*>PyBytes_AS_STRING(output_text), PyBytes_GET_SIZE(output_text), self.clean)
        self._scan_text(n, False)
        for bag in range(N_BAGS):
            self._finish(bag)

    def fold(self, float[::1] vector not None, const uint8_t[::1] bags not None, const int[::1] starts not None):
        """Add bags to slices of a vector: a bucket's low bit is its sign, the others say the place.

        Args:
            vector: float32, written to.
            bags: Numbers of bags, one a slice; 255 leaves it alone.
            starts: Where each slice begins, and last where they end; one more than ``bags``.

        Raises:
            ValueError: Slices that are not in the vector, or bags that are none.
        """
        cdef Py_ssize_t k, size
        cdef int i, bag
        cdef const uint16_t* bucket
        if starts.shape[0] != bags.shape[0] + 1:
            raise ValueError(f"starts must have {bags.shape[0] + 1} values, got {starts.shape[0]}")
        for k in range(bags.shape[0]):
            size, bag = starts[k + 1] - starts[k], bags[k]
            if bag == 255:
                continue
            if bag >= N_BAGS or starts[k] < 0 or size <= 0 or starts[k + 1] > vector.shape[0]:
                raise ValueError(f"slice {k} is not in the vector, or its bag is none")
            bucket = self.rows + bag * N_BUCKETS
            for i in range(self.used[bag]):
                vector[starts[k] + (bucket[i] >> 1) % size] += (
                    self.weights[bag * N_BUCKETS + i] * (1.0 if bucket[i] & 1 else -1.0)
                )

    cdef inline void _add(self, int bag, uint32_t crc, float weight) noexcept nogil:
        # Inside the arrays: bag < N_BAGS, crc is masked, and a bucket is counted once, as weights are positive.
        # Written whether new or not: that can't be predicted, and a wrong guess costs more than the write.
        cdef Py_ssize_t base = bag * N_BUCKETS
        cdef uint32_t bucket = crc & MASK
        cdef float* total = self.totals + base + bucket
        cdef int used = self.used[bag]
        if used < N_BUCKETS:
            self.rows[base + used] = bucket
        self.used[bag] = used + (total[0] == 0.0)
        total[0] += weight

    cdef void _finish(self, int bag) noexcept nogil:
        """Totals become sublinear weights of unit length; the scratch is zero again."""
        cdef const uint16_t* bucket = self.rows + bag * N_BUCKETS
        cdef float* value = self.weights + bag * N_BUCKETS
        cdef float* totals = self.totals + bag * N_BUCKETS
        cdef double squares = 0.0
        cdef double weight
        cdef int i
        cdef int n = self.used[bag]
        for i in range(n):
            weight = _sublinear(totals[bucket[i]])
            totals[bucket[i]] = 0.0
            value[i] = <float>weight
            squares += weight * weight
        squares = sqrt(squares)
        for i in range(n):
            value[i] = <float>(value[i] / squares)

    cdef void _scan_text(self, Py_ssize_t n, bint is_input) noexcept nogil:
        cdef Scan state
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t end
        cdef bint defines = False
        state.text = self.clean
        state.weight = INPUT_WEIGHT if is_input else 1.0
        state.is_input = is_input
        state.pair_open = False
        state.pair_crc = 0
        while i < n:
            if not CLASS[self.clean[i]] & RUN:
                if not CLASS[self.clean[i]] & BLANK:
                    defines = False
                i += 1
                continue
            end = i + 1
            while end < n and CLASS[self.clean[end]] & RUN:
                end += 1
            defines = self._scan_run(&state, i, end, defines)
            i = end

    cdef bint _scan_run(self, Scan* state, Py_ssize_t start, Py_ssize_t end, bint defines) noexcept nogil:
        """One run of word and joining bytes; True when it is a word after which a name is defined."""
        cdef const uint8_t* text = state.text
        cdef Py_ssize_t i = start
        cdef Py_ssize_t chain, links
        cdef bint heads = False
        cdef bint slashed = self._scan_path(state, start, end)
        while i < end:
            if not CLASS[text[i]] & START:
                i += 1
                continue
            chain = i
            links = 0
            while True:
                i = self._scan_word(state, i, end)
                links += 1
                if i + 1 < end and text[i] == 46 and CLASS[text[i + 1]] & START:  # a dot between two names
                    i += 1
                    continue
                break
            if links > 1:
                self._add(DOTTED, _crc(text, chain, i), state.weight)
                if not slashed:
                    self._add_packages(state, chain, i, 46)
            if defines and chain == start and i - chain > 1:
                self._add(DEFINED, _crc(text, chain, i), state.weight)
            heads = chain == start and i == end and links == 1 and _known(&self.head, _crc(text, chain, i))
        return heads

    cdef Py_ssize_t _scan_word(self, Scan* state, Py_ssize_t start, Py_ssize_t limit) noexcept nogil:
        """The word at ``start``, which ends before ``limit``; returns its end."""
        cdef const uint8_t* text = state.text
        cdef uint32_t crc = 0xFFFFFFFF
        cdef uint32_t stem = 0
        cdef uint32_t pair = state.pair_crc
        cdef uint8_t first = CLASS[text[start]]
        cdef uint8_t later = 0
        cdef uint8_t byte
        cdef Py_ssize_t end = start
        while end < limit and CLASS[text[end]] & PART:
            byte = FOLDED[text[end]]
            crc = _crc_byte(crc, byte)
            pair = _crc_byte(pair, byte)
            if end - start < STEM_BYTES:
                stem = crc
            if end > start:
                later |= CLASS[text[end]]
            end += 1
        if end - start < 2:
            return end
        crc = ~crc
        if later == LOWER and first & (UPPER | LOWER):  # most words: one part, whose sums are known
            if end - start > 2 and not _known(&self.stop, crc):
                self._add_part(state, start, end, crc, ~stem)
        else:
            self._scan_parts(state, start, end)
        if _names_error(text, start, end):
            self._add(ERROR, _crc(text, start, end), state.weight)
        if _known(&self.stop, crc):
            state.pair_open = False
            return end
        self._add(WORD, crc, state.weight)
        if state.pair_open:
            self._add(PAIR, ~pair, state.weight)
        state.pair_open = True
        state.pair_crc = _crc_byte(~crc, 32)  # goes on from this word
        if later & UPPER and (later | first) & LOWER or _has_inner_underscore(text, start, end, later):
            self._add(CODE, _crc(text, start, end), state.weight)
        if first & UPPER and later & LOWER:
            self._add(PROPER, _crc(text, start, end), state.weight)
        return end

    cdef void _add_packages(self, Scan* state, Py_ssize_t start, Py_ssize_t end, uint8_t joint) noexcept nogil:
        """The names before each joint, `.` of a chain or `/` of a path, in lower case."""
        cdef uint32_t crc = 0xFFFFFFFF
        cdef Py_ssize_t begins = start
        cdef Py_ssize_t i
        for i in range(start, end):
            if state.text[i] != joint:
                crc = _crc_byte(crc, FOLDED[state.text[i]])
                continue
            if i - begins > 1:
                self._add(PACKAGE, ~crc, state.weight)
            crc = 0xFFFFFFFF
            begins = i + 1

    cdef void _scan_parts(self, Scan* state, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """The parts of a compound word: fooBar, FooBAR, foo_bar."""
        cdef const uint8_t* text = state.text
        cdef Py_ssize_t i = start
        cdef Py_ssize_t stop
        while i < end:
            if CLASS[text[i]] & UPPER:
                stop = i + 1
                while stop < end and CLASS[text[stop]] & UPPER:
                    stop += 1
                if stop < end and CLASS[text[stop]] & LOWER:
                    if stop - i > 1:  # the last capital begins the next part
                        self._scan_part(state, i, stop - 1)
                        i = stop - 1
                    while stop < end and CLASS[text[stop]] & LOWER:
                        stop += 1
            elif CLASS[text[i]] & LOWER:
                stop = i + 1
                while stop < end and CLASS[text[stop]] & LOWER:
                    stop += 1
            else:
                i += 1
                continue
            self._scan_part(state, i, stop)
            i = stop

    cdef void _scan_part(self, Scan* state, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef uint32_t crc = 0xFFFFFFFF
        cdef uint32_t stem = 0
        cdef Py_ssize_t i
        if end - start < 3:
            return
        for i in range(start, end):
            crc = _crc_byte(crc, FOLDED[state.text[i]])
            if i - start < STEM_BYTES:
                stem = crc
        crc = ~crc
        if not _known(&self.stop, crc):
            self._add_part(state, start, end, crc, ~stem)

    cdef inline void _add_part(
        self, Scan* state, Py_ssize_t start, Py_ssize_t end, uint32_t crc, uint32_t stem
    ) noexcept nogil:
        cdef uint32_t prefix = _crc_byte(0xFFFFFFFF, 126)  # '~': a prefix is another token than a word
        cdef Py_ssize_t i
        for i in range(start, min(end, start + PREFIX_BYTES)):
            prefix = _crc_byte(prefix, FOLDED[state.text[i]])
        self._add(STEM, stem, state.weight)
        self._add(EXPANDED, crc, state.weight)
        self._add(EXPANDED, ~prefix, PREFIX_WEIGHT * state.weight)
        if state.is_input:
            self._add(INTENT, stem, 1.0)

    cdef bint _scan_path(self, Scan* state, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """A run with a slash or a file extension: its prefixes, the nearer to the leaf the heavier.

        Whether it has a slash.
        """
        cdef const uint8_t* text = state.text
        cdef uint32_t crc = 0xFFFFFFFF
        cdef Py_ssize_t parts = 1
        cdef Py_ssize_t i
        cdef bint slashed
        while start < end and (text[start] == 46 or text[start] == 47):
            start += 1
        while end > start and (text[end - 1] == 46 or text[end - 1] == 47):
            end -= 1
        for i in range(start, end):
            if text[i] == 47:
                parts += 1
        slashed = parts > 1
        if not slashed and not _has_extension(text, start, end):
            return False
        for i in range(start, end):
            if text[i] == 47:
                self._add(PATH, ~crc, state.weight / parts)
                parts -= 1
            crc = _crc_byte(crc, text[i])
        self._add(PATH, ~crc, state.weight)
        self._add_packages(state, start, end, 47)
        self._add_file(state, start, end)
        return slashed

    cdef void _add_file(self, Scan* state, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """The stem of a path's last name, up to its first dot, in lower case."""
        cdef uint32_t crc = 0xFFFFFFFF
        cdef Py_ssize_t i
        cdef Py_ssize_t leaf = end
        while leaf > start and state.text[leaf - 1] != 47:
            leaf -= 1
        i = leaf
        while i < end and (i == leaf or state.text[i] != 46):
            crc = _crc_byte(crc, FOLDED[state.text[i]])
            i += 1
        if i - leaf > 1:
            self._add(FILE, ~crc, state.weight)

    cdef void _scan_trigrams(self, Py_ssize_t n) noexcept nogil:
        """Trigrams of the folded text, white space collapsed to one blank."""
        cdef uint8_t a = 0
        cdef uint8_t b = 0
        cdef uint8_t c
        cdef Py_ssize_t seen = 0
        cdef Py_ssize_t i
        for i in range(n):
            c = self.clean[i]
            if c == 32 or 9 <= c <= 13:
                if seen and b == 32:
                    continue
                c = 32
            else:
                c = FOLDED[c]
            seen += 1
            if seen > TRIGRAM_BYTES:
                return
            if seen > 2:
                self._add(TRIGRAM, CRC_FIRST[a] ^ CRC_SECOND[b] ^ CRC[c], 1.0)
            a = b
            b = c


cdef inline bint _ends_with(const uint8_t* text, Py_ssize_t start, Py_ssize_t end, const char* tail, int n) noexcept nogil:
    return end - start > n and memcmp(text + end - n, tail, n) == 0


cdef inline bint _names_error(const uint8_t* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """ValueError, DeprecationWarning, E501, ENOENT."""
    cdef Py_ssize_t i
    if _ends_with(text, start, end, b"Error", 5) or _ends_with(text, start, end, b"Exception", 9):
        return True
    if _ends_with(text, start, end, b"Warning", 7):
        return True
    if text[start] != 69 or not 4 <= end - start <= 12:  # E
        return False
    for i in range(start + 1, end):
        if CLASS[text[i]] != CLASS[text[start + 1]]:
            return False
    return CLASS[text[start + 1]] == UPPER or CLASS[text[start + 1]] == DIGIT


cdef inline bint _has_inner_underscore(const uint8_t* text, Py_ssize_t start, Py_ssize_t end, uint8_t later) noexcept nogil:
    cdef Py_ssize_t i
    if not later & UNDERSCORE:
        return False
    while start < end and text[start] == 95:
        start += 1
    while end > start and text[end - 1] == 95:
        end -= 1
    for i in range(start, end):
        if text[i] == 95:
            return True
    return False


cdef inline bint _has_extension(const uint8_t* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """A dot after something, then a letter, then at most five more word bytes up to the end."""
    cdef Py_ssize_t i = end
    while i > start and CLASS[text[i - 1]] & PART:
        i -= 1
    return i - 1 > start and 1 <= end - i <= 6 and text[i - 1] == 46 and CLASS[text[i]] & (UPPER | LOWER) and text[i] < 128


cdef Py_ssize_t _clean(const uint8_t* source, Py_ssize_t n, uint8_t* target) noexcept nogil:
    """Copy text: symbols beyond ASCII become blanks, ideographs and kana words of their own; returns the length."""
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t j = 0
    cdef uint8_t byte
    if n > MAX_TEXT:
        n = MAX_TEXT
    while i < n:  # j <= i + i // 3 + 1: only three-byte characters grow, each by one
        byte = source[i]
        if byte < 0x80 or byte >= 0xEA and byte != 0xF0:
            target[j] = byte
            j += 1
            i += 1
        elif byte == 0xC2 and _continues(source, i, n, 2):
            target[j] = 32
            j += 1
            i += 2
        elif byte == 0xE2 and _continues(source, i, n, 3) or byte == 0xE3 and _continues(source, i, n, 3) and source[i + 1] == 0x80:
            target[j] = 32
            j += 1
            i += 3
        elif byte == 0xF0 and _continues(source, i, n, 4):
            target[j] = 32
            j += 1
            i += 4
        elif 0xE3 <= byte <= 0xE9 and _continues(source, i, n, 3):
            target[j] = byte
            target[j + 1] = source[i + 1]
            target[j + 2] = source[i + 2]
            target[j + 3] = 32
            j += 4
            i += 3
        else:
            target[j] = byte
            j += 1
            i += 1
    return j


cdef inline bint _continues(const uint8_t* source, Py_ssize_t i, Py_ssize_t n, int length) noexcept nogil:
    cdef int k
    if i + length > n:
        return False
    for k in range(1, length):
        if (source[i + k] & 0xC0) != 0x80:
            return False
    return True
