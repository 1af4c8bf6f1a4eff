"""Turns texts into WordPieces, lexical terms and one embedding of thirteen spaces. Its oracle is
tests/oracles/tokens.py (with form.py and spaces.py): change both.

How it is fast: a text is cleaned once into bytes and kinds of bytes (_clean.pxd); a word's pieces and stem are
remembered, so most words cost one hash and one comparison (_words.pxd); the rows are int8, and every sum runs over
whole rows (_spaces.pxd). The spaces that are bags are read by `features`.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython cimport auto_pickle, final
from libc.stdint cimport int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from _clean cimport Kinds, clean, fill_kinds, special_name
from _form cimport add_dates, hash_part, is_word_part, part_end
from _scripts cimport add_joined, script_end
from _spaces cimport (
    ALONE, DIMENSIONS, FIRST, INFLECTED, INFLECTION, INNER, N_LEXICONS, N_SPACES, OPENS, STOPS, TERMS, WIDTH, Table,
    add_causes, add_lexicons, add_meaning, add_signed, finish, finish_all,
)
from _terms cimport TERM_BYTES, Term, Terms, add_term, clear_terms, free_terms, is_clitic, joins, make_terms, pack_terms
from _text cimport BLANK, NEWLINE, SINGLE, SPECIAL, TERM, WORD, Text, fnv
from _words cimport (
    LONGEST_KEY, MOST_PIECES, Piece, Vocabulary, Word, WordCache, cut_word, find_word, forget_words,
    free_cache, is_full, learn, make_cache, remember,
)

from array import array

__all__ = ["Encoded", "Encoder"]

cdef enum:
    FIRST_TERMS = 1024
    MOST_SCRATCH = 1_048_576  # bytes of text beyond which scratch memory is given back
    LONGEST_COMPOUND = 64


@final
@auto_pickle(False)
cdef class Encoded:
    """Holds the result of encoding a text.

    Attributes:
        embedding: 1536 float32, little-endian: the thirteen spaces side by side (model/spaces.py).
        terms: For every distinct term in order of first appearance ``<QHH``: hash, occurrences (at most
        65535), 0. pieces: Ids of the WordPieces in order, uint16 each.
        tokens: How many pieces.

    A text without a single piece has an embedding of zeros.
    """

    cdef readonly bytes embedding, terms, pieces
    cdef readonly Py_ssize_t tokens


@final
cdef class Encoder:
    """Cuts, counts and embeds texts. Not thread-safe: the compiled one reuses its scratch memory.

    Args:
        vocabulary: The pieces, one a line, in order of their ids; those that go on in a word begin with
        ``##``. rows: int8, 256 values for every piece.
        scales: float32, what each row is multiplied by.
        marks: Two bytes for every piece: role (16 * 15 * weight + kind; 0 for none), flags.
        lexicons: Of Temporal, Steps: piece ids (uint16), scales (float32), values (int8; 32, 128 a piece).
        stop_words: Lower-case words that are no terms, UTF-8.
        stem: Gives a word's stem.
        reader: Reads texts into bags (features.EventFeatures).
        bags: Numbers of those that fill the spaces from the third to the last but one, in their order; 255 for
            one that is none of a bag's.
        begins: int32: where each of the 13 spaces begins, and where the last ends.
        weights: float64: the square of each space's length.

    Raises:
        ValueError: A buffer of the wrong length, a vocabulary without [UNK].
    """

    cdef Vocabulary vocabulary
    cdef WordCache cache
    cdef Table table
    cdef Text text
    cdef Kinds kinds
    cdef bytes vocabulary_text
    cdef list held  # buffers that the table points into
    cdef object stem
    cdef set stop
    cdef dict folds
    cdef uint16_t* ids
    cdef uint8_t* flags
    cdef uint32_t* ends  # bytes of the text up to the end of each piece's word
    cdef Py_ssize_t n, room
    cdef Terms terms
    cdef object reader, bags, bag_starts, values
    cdef float[::1] view
    cdef float* vector  # of values
    cdef int[N_SPACES + 1] begins
    cdef double[N_SPACES] weights

    def __cinit__(self):
        if make_cache(&self.cache) or make_terms(&self.terms, FIRST_TERMS):
            raise MemoryError
        fill_kinds(&self.kinds)

    def __init__(self, bytes vocabulary not None, rows, scales, marks, lexicons, stop_words, stem, reader, bags, begins, weights):
        cdef int space
        self.reader, self.bags, self.bag_starts = reader, bytes(bags), array("i", begins[2:N_SPACES])
        self.values = array("f", bytes(4 * DIMENSIONS))
        self.view = self.values
        self.vector = &self.view[0]
        if len(begins) != N_SPACES + 1 or len(weights) != N_SPACES or begins[N_SPACES] != DIMENSIONS:
            raise ValueError(f"begins must have {N_SPACES + 1} values up to {DIMENSIONS}, weights {N_SPACES}")
        for space in range(N_SPACES):
            self.begins[space], self.weights[space] = begins[space], weights[space]
        self.begins[N_SPACES] = DIMENSIONS
        self.held, self.folds, self.stem = [], {}, stem
        self.stop = {bytes(word) for word in stop_words}
        self._learn(vocabulary)
        cdef Py_ssize_t size = self.vocabulary.size
        self.table.rows = self._signed(rows, size * WIDTH, "rows")
        self.table.scales = self._floats(scales, size, "scales")
        self.table.marks = self._unsigned(marks, 2 * size, "marks")
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
        free_terms(&self.terms)
        for space in range(N_LEXICONS):
            free(self.table.lexicon[space])

    @property
    def vocabulary_size(self):
        return self.vocabulary.size

    def encode(self, str text not None):
        """A text's embedding, terms and pieces; the Semantic space is the plain sum of the rows."""
        self._scan(text)
        self._find_terms()
        self._embed(text, NULL)
        return self._encoded()

    def query(self, str text not None, counts, uint64_t total, double a=1e-3):
        """As ``encode``, the Semantic space weighted by rarity: a / (a + share of the piece among all).

        Args:
            text: What to search for.
            counts: uint32, how often each piece was seen.
            total: The sum of counts.
            a: Above 0; the share at which a piece counts half.

        Raises:
            ValueError: Counts of another length, ``a`` not above 0.
        """
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
        self._embed(text, weights)
        free(weights)
        return self._encoded()

    def terms_of(self, str text not None):
        """The terms that `encode` gives, without the rest."""
        clean(&self.text, &self.kinds, self.folds, text)
        self._find_terms()
        return self._packed_terms()

    def meaning_of(self, str text not None):
        """The Semantic space that `encode` gives, float32, without the rest."""
        cdef int size = self.begins[1]
        self._scan(text)
        memset(self.vector, 0, size * sizeof(float))
        if self.n:
            add_meaning(self.vector, &self.table, self.ids, NULL, self.n)
            finish(self.vector, size, self.weights[0])
        return PyBytes_FromStringAndSize(<const char*>self.vector, size * sizeof(float))

    def count(self, str text not None):
        """How many pieces a text has."""
        self._scan(text)
        return self.n

    def cut(self, str text not None, Py_ssize_t tokens):
        """The longest beginning of whole words with at most ``tokens`` pieces.

        If already the first word has more, the beginning of that word of exactly ``tokens`` pieces. What
        follows the last word and makes no piece is left out.

        Raises:
            ValueError: ``tokens`` below 0.
        """
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
        free(self.vocabulary.whole)
        free(self.vocabulary.inner)
        memset(&self.vocabulary, 0, sizeof(Vocabulary))
        self.vocabulary.slots = 1024
        while self.vocabulary.slots < 2 * (vocabulary.count(b"\n") + 1):
            self.vocabulary.slots *= 2
        self.vocabulary.whole = <Piece*>calloc(self.vocabulary.slots, sizeof(Piece))
        self.vocabulary.inner = <Piece*>calloc(self.vocabulary.slots, sizeof(Piece))
        if self.vocabulary.whole is NULL or self.vocabulary.inner is NULL:
            raise MemoryError
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
        cdef int* sizes = [32, 128]
        cdef int16_t* rows = <int16_t*>malloc(2 * self.vocabulary.size)
        cdef Py_ssize_t i
        if rows is NULL:
            raise MemoryError
        free(self.table.lexicon[space])
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
        clean(&self.text, &self.kinds, self.folds, text)
        self._cut_words()

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
        cdef bytes name = special_name(number)
        cdef uint64_t hash = fnv(<const uint8_t*>PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
        cdef Py_ssize_t slot = hash & (self.vocabulary.slots - 1)
        while self.vocabulary.whole[slot].length:
            if self.vocabulary.whole[slot].hash == hash:
                return self.vocabulary.whole[slot].id
            slot = (slot + 1) & (self.vocabulary.slots - 1)
        return self.vocabulary.unknown

    cdef inline void _put_piece(self, uint16_t id, uint8_t flags, Py_ssize_t end) noexcept:
        self.ids[self.n] = id
        self.flags[self.n] = flags
        self.ends[self.n] = <uint32_t>end
        self.n += 1

    cdef bint _closes(self, Py_ssize_t end) noexcept:
        """Whether the piece just put ends a sentence: a stop before a blank or the end."""
        if self.n == 0 or not self.table.marks[2 * self.ids[self.n - 1] + 1] & STOPS:
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
        elif count == 2 and self.table.marks[2 * pieces[1]] & 15 == INFLECTION:
            flags |= INFLECTED
        for k in range(count):
            self.flags[self.n + k] = flags if k == 0 else 0
            self.ends[self.n + k] = <uint32_t>end
        self.n += count

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
            i += len(piece) - (2 if self.table.marks[2 * self.ids[k] + 1] & INNER else 0)
        return i

    # ------------------------------------------------------------------------------------------ lexical terms

    cdef inline int _add_word_term(self, Py_ssize_t start, Py_ssize_t end) except -1:
        if end - start <= LONGEST_KEY:
            add_term(&self.terms, self._word(start, end).term)
        else:
            add_term(&self.terms, hash_part(&self.text, start, end))
        return 0

    cdef int _find_terms(self) except -1:
        """Lexical terms; the rules are in the twin, `terms`."""
        cdef const uint8_t* data = self.text.bytes
        cdef const uint8_t* kinds = self.text.kinds
        cdef Py_ssize_t n = self.text.n
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t end
        if clear_terms(&self.terms, 4 * n):  # a part, its identifier, its compound: at most 1.5 terms a byte
            raise MemoryError
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
            if not (apostrophe and is_clitic(data + i, end - i)):
                self._add_identifier(i, end)
                joined += 1
            if not (end + 1 < self.text.n and joins(data[end]) and is_word_part(&self.text, end + 1)):
                break
            apostrophe = data[end] == 39
            if apostrophe:
                joined -= 1  # an apostrophe makes no compound
            end += 1
            i = end
        if joined > 1 and end - start <= LONGEST_COMPOUND:
            add_term(&self.terms, hash_part(&self.text, start, end))
        return end

    cdef int _add_identifier(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """The parts of an identifier and, if there are several, the whole."""
        cdef const uint8_t* data = self.text.bytes
        cdef Py_ssize_t i = start
        cdef Py_ssize_t parts = 0
        cdef Py_ssize_t script = start
        cdef Py_ssize_t stop
        while i < end:
            if data[i] == 95:
                i += 1
                continue
            if i >= script:  # once a run: a part of two letters must not look at all that follow it
                script = script_end(&self.text, i, end)
            stop = script
            if not add_joined(&self.terms, &self.text, i, stop):
                stop = part_end(&self.text, i, stop)
                self._add_word_term(i, stop)
                parts += 1
            i = stop
        if parts > 1:
            add_term(&self.terms, hash_part(&self.text, start, end))

    # ------------------------------------------------------------------------------------------- the embedding

    cdef int _embed(self, str text, const float* weights) except -1:
        cdef Py_ssize_t k
        cdef float count
        cdef Term* term
        memset(self.vector, 0, DIMENSIONS * sizeof(float))
        if self.n == 0:
            return 0
        add_meaning(self.vector, &self.table, self.ids, weights, self.n)
        add_lexicons(self.vector, &self.table, self.ids, self.flags, self.n)
        add_causes(self.vector, &self.table, self.ids, self.flags, self.n)
        add_dates(self.vector, &self.text)
        self.reader.scan(text.encode("utf-8", "replace"), b"")
        self.reader.fold(self.values, self.bags, self.bag_starts)
        for k in range(self.terms.n):
            term = self.terms.slots + self.terms.order[k]
            count = term.count
            add_signed(self.vector + TERMS, DIMENSIONS - TERMS, term.hash, count / (count + <float>0.9))
        finish_all(self.vector, self.weights, self.begins)

    cdef Encoded _encoded(self):
        cdef Encoded encoded = Encoded.__new__(Encoded)
        encoded.tokens = self.n
        encoded.embedding = PyBytes_FromStringAndSize(<const char*>self.vector, DIMENSIONS * sizeof(float))
        encoded.pieces = PyBytes_FromStringAndSize(<const char*>self.ids, 2 * self.n)
        encoded.terms = self._packed_terms()
        return encoded

    cdef bytes _packed_terms(self):
        cdef bytes packed = PyBytes_FromStringAndSize(NULL, TERM_BYTES * self.terms.n)
        pack_terms(&self.terms, <uint8_t*>PyBytes_AS_STRING(packed))
        return packed
