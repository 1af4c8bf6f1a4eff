"""Texts as WordPieces, lexical terms and one embedding of thirteen spaces. The readable twin is
context_graph/_kernels/_reference_tokens.py (with _reference_form.py and _reference_spaces.py): change both.

How it is fast: a text is cleaned once into bytes and kinds of bytes; a word's pieces and stem are remembered, so most
words cost one hash and one comparison; the rows are int8, and every sum runs over whole rows.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ
from cython cimport final
from libc.stdint cimport int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from _form cimport add_code, add_dates, add_form, digits_end, hash_part, is_word_part, part_end
from _spaces cimport (
    ALONE, CODE, DENIES, DIMENSIONS, FIRST, INNER, KEYWORD, N_LEXICONS, N_SPACES, NEGATION, OPENS, SPLADE, STOPS,
    STRUCTURAL, WIDTH, Table, add_lexicons, add_markers, add_meaning, add_pairs, add_signed, finish_all,
)
from _text cimport (
    BLANK, CAPITAL, DIGIT, NEWLINE, SINGLE, SPECIAL, TERM, WORD, Text, fnv, mixed, put, reserve,
)
from _words cimport (
    LONGEST_KEY, MOST_PIECES, PIECE_SLOTS, Piece, Vocabulary, Word, WordCache, cut_word, find_word, forget_words,
    free_cache, is_full, learn, make_cache, remember,
)

from unicodedata import category, normalize

__all__ = ["Encoded", "Encoder"]

cdef enum:
    TERM_BYTES = 12
    MOST_FREQUENT = 65_535
    FOLDED_ROOM = 16_384  # characters beyond ASCII that are remembered
    MOST_SCRATCH = 1_048_576  # bytes of text beyond which scratch memory is given back
    LONGEST_COMPOUND = 64

cdef uint8_t[128] KIND
cdef uint8_t[128] FOLD
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
cdef double[N_SPACES] WEIGHTS = [0.15, 0.08, 0.10, 0.06, 0.05, 0.04, 0.12, 0.10, 0.08, 0.06, 0.04, 0.07, 0.05]


cdef void _fill_tables() noexcept:
    cdef int i
    for i in range(128):
        FOLD[i] = i + 32 if 65 <= i <= 90 else i
        KIND[i] = SINGLE if 33 <= i <= 126 else 0
        if 48 <= i <= 57:
            KIND[i] = WORD | TERM | DIGIT
        elif 97 <= i <= 122:
            KIND[i] = WORD | TERM
        elif 65 <= i <= 90:
            KIND[i] = WORD | TERM | CAPITAL
    KIND[32] = KIND[9] = KIND[13] = BLANK
    KIND[10] = BLANK | NEWLINE
    FOLD[9] = FOLD[10] = FOLD[13] = 32


_fill_tables()


def _is_ideograph(int point):
    return (
        0x4E00 <= point <= 0x9FFF or 0x3400 <= point <= 0x4DBF or 0x20000 <= point <= 0x2A6DF
        or 0x2A700 <= point <= 0x2B73F or 0x2B740 <= point <= 0x2B81F or 0x2B920 <= point <= 0x2CEAF
        or 0xF900 <= point <= 0xFAFF or 0x2F800 <= point <= 0x2FA1F
    )


def _folded(int point):
    """A character beyond ASCII, cleaned: kind and bytes in turn."""
    cdef bytearray out = bytearray()
    character = chr(point)
    group = category(character)
    if point == 0xFFFD or group in ("Cc", "Cf", "Cs", "Co"):
        return b""
    if group in ("Zs", "Zl", "Zp"):
        return bytes((BLANK, 32))
    ideograph = _is_ideograph(point)
    capital = CAPITAL if group in ("Lu", "Lt") else 0
    for part in normalize("NFD", character):
        part_group = category(part)
        if part_group == "Mn":
            continue
        for lower in part.lower():
            kind = WORD
            if ideograph:
                kind = SINGLE | TERM
            elif ord(lower) < 128:
                kind = KIND[<int>ord(lower)]
            elif part_group[0] == "P":
                kind = SINGLE
            elif part_group[0] in "LNM":
                kind = WORD | TERM
            if kind & WORD:
                kind |= capital
            for byte in lower.encode():
                out += bytes((kind, byte))
    return bytes(out)


cdef struct Term:
    uint64_t hash
    uint32_t count


@final
cdef class Encoded:
    """What a text became; see the twin."""

    cdef readonly bytes embedding
    cdef readonly bytes terms
    cdef readonly bytes pieces
    cdef readonly Py_ssize_t tokens


@final
cdef class Encoder:
    """Cuts, counts and embeds texts; scratch memory is reused from text to text. Not thread-safe; see the twin."""

    cdef Vocabulary vocabulary
    cdef WordCache cache
    cdef Table table
    cdef Text text
    cdef bytes vocabulary_text
    cdef list held  # buffers that the table points into
    cdef object stem
    cdef set stop
    cdef dict folds
    cdef uint16_t* ids
    cdef uint8_t* flags
    cdef uint32_t* ends  # bytes of the text up to the end of each piece's word
    cdef Py_ssize_t n, room
    cdef Term* terms
    cdef Py_ssize_t* order
    cdef Py_ssize_t n_terms, term_slots
    cdef float[DIMENSIONS] vector

    def __cinit__(self):
        if make_cache(&self.cache):
            raise MemoryError
        self.vocabulary.whole = <Piece*>calloc(PIECE_SLOTS, sizeof(Piece))
        self.vocabulary.inner = <Piece*>calloc(PIECE_SLOTS, sizeof(Piece))
        if self.vocabulary.whole is NULL or self.vocabulary.inner is NULL:
            raise MemoryError
        self._make_terms(1024)

    def __init__(self, bytes vocabulary not None, rows, scales, marks, lexicons, stop_words, stem):
        self.held = []
        self.folds = {}
        self.stem = stem
        self.stop = {bytes(word) for word in stop_words}
        self._learn(vocabulary)
        cdef Py_ssize_t size = self.vocabulary.size
        self.table.rows = self._signed(rows, size * WIDTH, "rows")
        self.table.scales = self._floats(scales, size, "scales")
        self.table.marks = self._unsigned(marks, 4 * size, "marks")
        if len(lexicons) != N_LEXICONS:
            raise ValueError(f"lexicons must be {N_LEXICONS}, got {len(lexicons)}")
        for space, (pieces, value_scales, values) in enumerate(lexicons):
            self._take_lexicon(space, pieces, value_scales, values)

    def __dealloc__(self):
        cdef int space
        free_cache(&self.cache)
        free(self.vocabulary.whole)
        free(self.vocabulary.inner)
        free(self.text.bytes)
        free(self.text.kinds)
        free(self.text.origin)
        free(self.ids)
        free(self.flags)
        free(self.ends)
        free(self.terms)
        free(self.order)
        for space in range(N_LEXICONS):
            free(self.table.lexicon[space])

    @property
    def vocabulary_size(self):
        return self.vocabulary.size

    def encode(self, str text not None):
        """See the twin."""
        self._scan(text)
        self._find_terms()
        self._embed(NULL)
        return self._encoded()

    def query(self, str text not None, counts, uint64_t total, double a=1e-3):
        """See the twin."""
        cdef const uint32_t[::1] view = counts
        cdef float* weights
        cdef Py_ssize_t k
        if view.shape[0] != self.vocabulary.size:
            raise ValueError(f"counts must have {self.vocabulary.size} values, got {view.shape[0]}")
        if not a > 0.0:
            raise ValueError(f"a must be above 0, got {a!r}")
        self._scan(text)
        self._find_terms()
        weights = <float*>malloc(4 * (self.n + 1))
        if weights is NULL:
            raise MemoryError
        for k in range(self.n):
            weights[k] = <float>(a / (a + view[self.ids[k]] / <double>(total if total else 1)))
        self._embed(weights)
        free(weights)
        return self._encoded()

    def pieces(self, str text not None):
        """See the twin."""
        self._scan(text)
        return [self.ids[k] for k in range(self.n)]

    def count(self, str text not None):
        """See the twin."""
        self._scan(text)
        return self.n

    def cut(self, str text not None, Py_ssize_t tokens):
        """See the twin."""
        cdef Py_ssize_t k
        cdef Py_ssize_t end
        if tokens < 0:
            raise ValueError(f"tokens must be at least 0, got {tokens}")
        self._scan(text)
        if self.n <= tokens:
            return text
        k = tokens
        while k > 0 and not self.flags[k] & FIRST:  # the whole word or nothing of it
            k -= 1
        if k > 0:
            end = self.ends[k - 1]
        elif tokens == 0:
            return ""
        else:
            end = self._inside_first_word(tokens)
        return text[: self.text.origin[end] if end < self.text.n else self.text.characters]

    # ----------------------------------------------------------------------------------------- reading the data

    cdef int _learn(self, bytes vocabulary) except -1:
        """Every line is a piece, its number the piece's id."""
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t end
        cdef Py_ssize_t length = PyBytes_GET_SIZE(vocabulary)
        cdef Py_ssize_t id = 0
        cdef const uint8_t* text
        self.vocabulary_text = vocabulary
        self.vocabulary.text = text = <const uint8_t*>PyBytes_AS_STRING(vocabulary)
        self.vocabulary.unknown = MOST_PIECES
        while start < length:
            end = start
            while end < length and text[end] != 10:
                end += 1
            if id >= MOST_PIECES or end == start or end - start > 255:
                raise ValueError(f"vocabulary: line {id + 1} is empty, too long, or one too many")
            if end - start > 2 and text[start] == 35 and text[start + 1] == 35:
                learn(&self.vocabulary, self.vocabulary.inner, start + 2, end - start - 2, id)
            else:
                learn(&self.vocabulary, self.vocabulary.whole, start, end - start, id)
            if vocabulary[start:end] == b"[UNK]":
                self.vocabulary.unknown = id
            id += 1
            start = end + 1
        self.vocabulary.size = id
        if self.vocabulary.unknown == MOST_PIECES:
            raise ValueError("vocabulary: [UNK] is missing")

    cdef const int8_t* _signed(self, source, Py_ssize_t n, str name) except NULL:
        cdef const int8_t[::1] view = memoryview(source).cast("B").cast("b")
        if view.shape[0] != n or n == 0:
            raise ValueError(f"{name} must have {n} values, got {view.shape[0]}")
        self.held.append(view)
        return &view[0]

    cdef const uint8_t* _unsigned(self, source, Py_ssize_t n, str name) except NULL:
        return <const uint8_t*>self._signed(source, n, name)

    cdef const float* _floats(self, source, Py_ssize_t n, str name) except NULL:
        cdef const float[::1] view = memoryview(source).cast("B").cast("f")
        if view.shape[0] != n or n == 0:
            raise ValueError(f"{name} must have {n} values, got {view.shape[0]}")
        self.held.append(view)
        return &view[0]

    cdef int _take_lexicon(self, int space, pieces, scales, values) except -1:
        cdef const uint16_t[::1] ids = memoryview(pieces).cast("B").cast("H")
        cdef int* sizes = [32, 64, 64, 128, 32]
        cdef int16_t* rows = <int16_t*>malloc(2 * self.vocabulary.size)
        cdef Py_ssize_t i
        if rows is NULL:
            raise MemoryError
        self.table.lexicon[space] = rows
        for i in range(self.vocabulary.size):
            rows[i] = -1
        for i in range(ids.shape[0]):
            if ids[i] >= self.vocabulary.size or i > 32_767:
                raise ValueError(f"lexicon {space}: no piece {ids[i]}")
            rows[ids[i]] = i
        self.table.value_scales[space] = self._floats(scales, ids.shape[0], "a lexicon's scales")
        self.table.values[space] = self._signed(values, ids.shape[0] * sizes[space], "a lexicon's values")

    # ------------------------------------------------------------------------------------------ a text's pieces

    cdef int _scan(self, str text) except -1:
        if self.text.room > MOST_SCRATCH:  # one giant text is no reason to stay big
            free(self.text.bytes)
            free(self.text.kinds)
            free(self.text.origin)
            memset(&self.text, 0, sizeof(Text))
        self._clean(text)
        self._cut_words()

    cdef int _clean(self, str text) except -1:
        cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text)
        cdef int width = PyUnicode_KIND(text)
        cdef void* data = PyUnicode_DATA(text)
        cdef Text* clean = &self.text
        cdef Py_ssize_t i = 0
        cdef uint32_t point
        clean.n = 0
        clean.characters = length
        if reserve(clean, length + 1):
            raise MemoryError
        while i < length:
            point = PyUnicode_READ(width, data, i)
            if point >= 128:
                self._put_folded(point, i, length - i)
            elif point == 91 and self._put_special(text, i):
                i = text.index("]", i)
            elif KIND[point]:
                put(clean, FOLD[point], KIND[point], i)
            i += 1

    cdef int _put_folded(self, uint32_t point, Py_ssize_t i, Py_ssize_t rest) except -1:
        cdef bytes folded
        cdef Py_ssize_t k
        found = self.folds.get(point)
        if found is None:
            if len(self.folds) >= FOLDED_ROOM:
                self.folds.clear()
            found = self.folds[point] = _folded(point)
        folded = found
        if reserve(&self.text, self.text.n + PyBytes_GET_SIZE(folded) + rest):
            raise MemoryError
        for k in range(0, PyBytes_GET_SIZE(folded), 2):
            put(&self.text, <uint8_t>folded[k + 1], <uint8_t>folded[k], i)

    cdef bint _put_special(self, str text, Py_ssize_t i) except -1:
        cdef int k
        for k in range(5):
            if text.startswith(SPECIALS[k], i):
                put(&self.text, k, SINGLE | SPECIAL, i)
                return True
        return False

    cdef int _room_for(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t room
        if n <= self.room:
            return 0
        room = n + n // 2 + 64
        free(self.ids)
        free(self.flags)
        free(self.ends)
        self.room = 0
        self.ids = <uint16_t*>malloc(2 * room)
        self.flags = <uint8_t*>malloc(room)
        self.ends = <uint32_t*>malloc(4 * room)
        if self.ids is NULL or self.flags is NULL or self.ends is NULL:
            raise MemoryError
        self.room = room

    cdef int _cut_words(self) except -1:
        """Fill ids, flags and ends."""
        cdef const uint8_t* kinds = self.text.kinds
        cdef const uint8_t* data = self.text.bytes
        cdef Py_ssize_t n = self.text.n
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t end
        cdef bint opens = True
        cdef Word* word
        self.n = 0
        self._room_for(n + 1)
        while i < n:
            if kinds[i] & BLANK:
                opens = opens or kinds[i] & NEWLINE != 0
                i += 1
                continue
            end = i + 1
            if kinds[i] & SINGLE:
                while end < n and (data[end] & 0xC0) == 0x80 and kinds[end] & SINGLE and not kinds[end] & SPECIAL:
                    end += 1
            else:
                while end < n and kinds[end] & WORD:
                    end += 1
            if kinds[i] & SPECIAL:
                self._put_piece(self._special_id(data[i]), FIRST, end)
            else:
                self._put_word(i, end, opens)
            opens = self._closes(end)
            i = end

    cdef uint16_t _special_id(self, int number) except? 0:
        cdef bytes name = SPECIALS[number].encode()
        cdef uint64_t hash = fnv(<const uint8_t*>PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
        cdef Py_ssize_t slot = hash & (PIECE_SLOTS - 1)
        while self.vocabulary.whole[slot].length:
            if self.vocabulary.whole[slot].hash == hash:
                return self.vocabulary.whole[slot].id
            slot = (slot + 1) & (PIECE_SLOTS - 1)
        return self.vocabulary.unknown

    cdef inline void _put_piece(self, uint16_t id, uint8_t flags, Py_ssize_t end) noexcept:
        self.ids[self.n] = id
        self.flags[self.n] = flags
        self.ends[self.n] = <uint32_t>end
        self.n += 1

    cdef bint _closes(self, Py_ssize_t end) noexcept:
        """Whether the piece just put ends a sentence: a stop before a blank or the end."""
        if self.n == 0 or not self.table.marks[4 * self.ids[self.n - 1] + 3] & STOPS:
            return False
        return end >= self.text.n or self.text.kinds[end] & BLANK != 0

    cdef int _put_word(self, Py_ssize_t start, Py_ssize_t end, bint opens) except -1:
        cdef uint16_t* pieces = self.ids + self.n
        cdef Py_ssize_t count, k
        cdef uint8_t flags = FIRST | (OPENS if opens else 0)
        cdef Word* word
        if end - start <= LONGEST_KEY:
            word = self._word(start, end)
            count = word.pieces
            memcpy(pieces, self.cache.cuts + word.cut, 2 * count)
        else:
            count = cut_word(&self.vocabulary, self.text.bytes + start, end - start, pieces)
        if count == 1:
            flags |= ALONE
            if self.table.marks[4 * pieces[0] + 3] & NEGATION or self._is_nt(start, end):
                flags |= DENIES
        for k in range(count):
            self.flags[self.n + k] = flags if k == 0 else 0
            self.ends[self.n + k] = <uint32_t>end
        self.n += count

    cdef inline bint _is_nt(self, Py_ssize_t start, Py_ssize_t end) noexcept:
        """The t of don't."""
        return end - start == 1 and start > 1 and self.text.bytes[start] == 116 and self.text.bytes[start - 1] == 39

    cdef Word* _word(self, Py_ssize_t start, Py_ssize_t end) except NULL:
        """The entry of a word of at most LONGEST_KEY bytes."""
        cdef const uint8_t* data = self.text.bytes + start
        cdef Py_ssize_t n = end - start
        cdef uint64_t hash = fnv(data, n)
        cdef Word* word = find_word(&self.cache, hash, data, n)
        cdef uint16_t[LONGEST_KEY] pieces
        cdef Py_ssize_t count
        cdef uint64_t term
        if word.length:
            return word
        term = self._term_of(data, n)
        count = cut_word(&self.vocabulary, data, n, pieces)
        if is_full(&self.cache):
            forget_words(&self.cache)
            word = find_word(&self.cache, hash, data, n)
        remember(&self.cache, word, hash, term, data, n, pieces, count)
        return word

    cdef uint64_t _term_of(self, const uint8_t* data, Py_ssize_t n) except? 0:
        """Hash of a word's stem, 0 for a stop word."""
        cdef bytes word = PyBytes_FromStringAndSize(<const char*>data, n)
        if word in self.stop:
            return 0
        word = self.stem(word.decode()).encode()
        return fnv(<const uint8_t*>PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word))

    cdef Py_ssize_t _inside_first_word(self, Py_ssize_t tokens) except -1:
        """Bytes up to the end of the first word's piece number ``tokens``."""
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t k
        cdef bytes piece
        cdef list lines
        while self.text.kinds[i] & BLANK:
            i += 1
        lines = self.vocabulary_text.split(b"\n")
        for k in range(tokens):
            piece = lines[self.ids[k]]
            i += len(piece) - (2 if self.table.marks[4 * self.ids[k] + 3] & INNER else 0)
        return i

    # ------------------------------------------------------------------------------------------ lexical terms

    cdef int _make_terms(self, Py_ssize_t slots) except -1:
        free(self.terms)
        free(self.order)
        self.term_slots = self.n_terms = 0
        self.terms = <Term*>calloc(slots, sizeof(Term))
        self.order = <Py_ssize_t*>malloc(slots * sizeof(Py_ssize_t))
        if self.terms is NULL or self.order is NULL:
            raise MemoryError
        self.term_slots = slots

    cdef inline void _add_term(self, uint64_t hash) noexcept:
        cdef Py_ssize_t slot = hash & (self.term_slots - 1)
        if hash == 0:
            return
        while self.terms[slot].count and self.terms[slot].hash != hash:
            slot = (slot + 1) & (self.term_slots - 1)
        if self.terms[slot].count == 0:
            self.terms[slot].hash = hash
            self.order[self.n_terms] = slot
            self.n_terms += 1
        if self.terms[slot].count < MOST_FREQUENT:
            self.terms[slot].count += 1

    cdef inline int _add_word_term(self, Py_ssize_t start, Py_ssize_t end) except -1:
        if end - start <= LONGEST_KEY:
            self._add_term(self._word(start, end).term)
        else:
            self._add_term(hash_part(&self.text, start, end))
        return 0

    cdef int _find_terms(self) except -1:
        """Lexical terms; the rules are in the twin, `terms`."""
        cdef const uint8_t* data = self.text.bytes
        cdef const uint8_t* kinds = self.text.kinds
        cdef Py_ssize_t n = self.text.n
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t end, parts, k
        cdef Py_ssize_t slots = 1024
        while slots < 4 * n:  # a part, its identifier and its compound: at most 1.5 terms a byte
            slots *= 2
        if slots != self.term_slots and (slots > self.term_slots or self.term_slots > 65_536):
            self._make_terms(slots)
        else:
            for k in range(self.n_terms):
                self.terms[self.order[k]].count = 0
        self.n_terms = 0
        while i < n:
            if kinds[i] & (SINGLE | TERM) == (SINGLE | TERM):
                end = i + 1
                while end < n and (data[end] & 0xC0) == 0x80:
                    end += 1
                self._add_word_term(i, end)
                i = end
            elif is_word_part(&self.text, i):
                i = self._add_compound(i)
            else:
                i += 1

    cdef Py_ssize_t _add_compound(self, Py_ssize_t start) except -1:
        """Identifiers joined by . / - : ' @: each one's terms, and the whole; returns its end."""
        cdef const uint8_t* data = self.text.bytes
        cdef Py_ssize_t i = start
        cdef Py_ssize_t end = start
        cdef Py_ssize_t joined = 0
        cdef bint apostrophe = False
        while True:
            while is_word_part(&self.text, end):
                end += 1
            if not (apostrophe and self._is_clitic(i, end)):
                self._add_identifier(i, end)
                joined += 1
            if not (end + 1 < self.text.n and self._joins(data[end]) and is_word_part(&self.text, end + 1)):
                break
            apostrophe = data[end] == 39
            if apostrophe:
                joined -= 1  # an apostrophe makes no compound
            end += 1
            i = end
        if joined > 1 and end - start <= LONGEST_COMPOUND:
            self._add_term(hash_part(&self.text, start, end))
        return end

    cdef inline bint _joins(self, uint8_t byte) noexcept:
        return byte == 46 or byte == 47 or byte == 45 or byte == 58 or byte == 39 or byte == 64

    cdef inline bint _is_clitic(self, Py_ssize_t start, Py_ssize_t end) noexcept:
        """s t d m re ve ll, after an apostrophe."""
        cdef const uint8_t* data = self.text.bytes
        if end - start == 1:
            return data[start] == 115 or data[start] == 116 or data[start] == 100 or data[start] == 109
        if end - start != 2:
            return False
        return (
            data[start] == 114 and data[start + 1] == 101
            or data[start] == 118 and data[start + 1] == 101
            or data[start] == 108 and data[start + 1] == 108
        )

    cdef int _add_identifier(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """The parts of an identifier and, if there are several, the whole."""
        cdef const uint8_t* data = self.text.bytes
        cdef Py_ssize_t i = start
        cdef Py_ssize_t parts = 0
        cdef Py_ssize_t stop
        while i < end:
            if data[i] == 95:
                i += 1
                continue
            stop = part_end(&self.text, i, end)
            self._add_word_term(i, stop)
            parts += 1
            i = stop
        if parts > 1:
            self._add_term(hash_part(&self.text, start, end))

    # ------------------------------------------------------------------------------------------- the embedding

    cdef int _embed(self, const float* weights) except -1:
        cdef Py_ssize_t k
        cdef Py_ssize_t sentences = 1
        cdef float count
        memset(self.vector, 0, sizeof(self.vector))
        if self.n == 0:
            return 0
        for k in range(1, self.n):
            sentences += self.flags[k] & OPENS != 0
        add_meaning(self.vector, &self.table, self.ids, weights, self.n)
        add_pairs(self.vector, &self.table, self.ids, self.n)
        add_lexicons(self.vector, &self.table, self.ids, self.flags, self.n)
        add_markers(self.vector, &self.table, self.ids, self.flags, self.n)
        add_dates(self.vector, &self.text)
        if add_code(self.vector, &self.text):
            for k in range(self.n):
                if self.flags[k] & ALONE and self.table.marks[4 * self.ids[k] + 3] & KEYWORD:
                    add_signed(self.vector + CODE, 192, mixed(self.ids[k] + 1), 0.5)
        add_form(self.vector + STRUCTURAL, &self.text, self.n, sentences)
        for k in range(self.n_terms):
            count = self.terms[self.order[k]].count
            add_signed(self.vector + SPLADE, 128, self.terms[self.order[k]].hash, count / (count + <float>0.9))
        finish_all(self.vector, WEIGHTS)

    cdef Encoded _encoded(self):
        cdef Encoded encoded = Encoded.__new__(Encoded)
        cdef uint8_t* packed
        cdef Py_ssize_t k
        cdef Term* term
        encoded.tokens = self.n
        encoded.embedding = PyBytes_FromStringAndSize(<const char*>self.vector, sizeof(self.vector))
        encoded.pieces = PyBytes_FromStringAndSize(<const char*>self.ids, 2 * self.n)
        encoded.terms = PyBytes_FromStringAndSize(NULL, TERM_BYTES * self.n_terms)
        packed = <uint8_t*>PyBytes_AS_STRING(encoded.terms)
        for k in range(self.n_terms):
            term = &self.terms[self.order[k]]
            memcpy(packed, &term.hash, 8)
            memcpy(packed + 8, &term.count, 2)
            memset(packed + 10, 0, 2)
            packed += TERM_BYTES
        return encoded
