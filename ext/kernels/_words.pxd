"""The WordPiece vocabulary and the cache of words already cut and stemmed (C level only, no module of its own).

Described in the oracle, tests/oracles/tokens.py.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from _text cimport fnv, fnv_byte, mixed

cdef enum:
    MOST_PIECES = 65_535  # a piece is a uint16
    WORD_SLOTS = 65_536
    MOST_WORDS = 32_768  # of one filling of the cache
    KEY_ROOM = 393_216  # bytes of the cached words
    CUT_ROOM = 131_072  # pieces of the cached words
    LONGEST_KEY = 40  # bytes; longer words are cut anew each time and not stemmed
    LONGEST_WORD = 100  # characters; longer words are [UNK]
    NO_PIECE = 65_535


cdef struct Piece:
    uint64_t hash
    uint32_t start  # within the vocabulary's text
    uint16_t length  # bytes; 0: the slot is free
    uint16_t id


cdef struct Vocabulary:
    const uint8_t* text
    Piece* whole  # pieces that begin a word
    Piece* inner  # pieces that go on, without their ##
    Py_ssize_t slots  # of each table; a power of two, at least twice the pieces
    Py_ssize_t size
    Py_ssize_t longest
    uint16_t unknown


cdef struct Word:
    uint64_t hash
    uint64_t term  # hash of the stem; 0 for a stop word
    uint32_t key
    uint32_t cut  # where its pieces are
    uint8_t length  # bytes; 0: the slot is free
    uint8_t pieces


cdef struct WordCache:
    Word* slots
    uint8_t* keys
    uint16_t* cuts
    Py_ssize_t n_words, n_keys, n_cuts


cdef inline void learn(Vocabulary* vocabulary, Piece* table, uint32_t start, uint16_t length, uint16_t id) noexcept nogil:
    cdef uint64_t hash = fnv(vocabulary.text + start, length)
    cdef Py_ssize_t slot = hash & (vocabulary.slots - 1)
    while table[slot].length:
        slot = (slot + 1) & (vocabulary.slots - 1)
    table[slot].hash, table[slot].start, table[slot].length, table[slot].id = hash, start, length, id
    if length > vocabulary.longest:
        vocabulary.longest = length


cdef inline int find_piece(Vocabulary* vocabulary, Piece* table, uint64_t hash, const uint8_t* data, Py_ssize_t n) noexcept nogil:
    """Id of a piece, -1 for none."""
    cdef Py_ssize_t slot = hash & (vocabulary.slots - 1)
    while table[slot].length:
        if table[slot].hash == hash and table[slot].length == n and memcmp(vocabulary.text + table[slot].start, data, n) == 0:
            return table[slot].id
        slot = (slot + 1) & (vocabulary.slots - 1)
    return -1


cdef inline bint begins_character(const uint8_t* data, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    return i == n or (data[i] & 0xC0) != 0x80


cdef inline Py_ssize_t cut_word(Vocabulary* vocabulary, const uint8_t* word, Py_ssize_t n, uint16_t* pieces) noexcept nogil:
    """The longest piece first, again and again; returns how many (at most n), one [UNK] if any part has none."""
    cdef Piece* table = vocabulary.whole
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t characters = 0
    cdef Py_ssize_t end, best_end
    cdef uint64_t state
    cdef int found, best
    for end in range(n):
        characters += begins_character(word, end, n)
    while start < n and characters <= LONGEST_WORD:
        state = <uint64_t>0xCBF29CE484222325
        best = -1
        best_end = start
        end = start
        while end < n and end - start < vocabulary.longest:
            state = fnv_byte(state, word[end])
            end += 1
            if begins_character(word, end, n):
                found = find_piece(vocabulary, table, mixed(state), word + start, end - start)
                if found >= 0:
                    best = found
                    best_end = end
        if best < 0:
            break
        pieces[count] = best
        count += 1
        start = best_end
        table = vocabulary.inner
    if start < n:
        pieces[0] = vocabulary.unknown
        return 1
    return count


cdef inline int make_cache(WordCache* cache) noexcept nogil:
    cache.slots = <Word*>calloc(WORD_SLOTS, sizeof(Word))
    cache.keys = <uint8_t*>malloc(KEY_ROOM)
    cache.cuts = <uint16_t*>malloc(2 * CUT_ROOM)
    return -1 if cache.slots is NULL or cache.keys is NULL or cache.cuts is NULL else 0


cdef inline void free_cache(WordCache* cache) noexcept nogil:
    free(cache.slots)
    free(cache.keys)
    free(cache.cuts)


cdef inline Word* find_word(WordCache* cache, uint64_t hash, const uint8_t* word, Py_ssize_t n) noexcept nogil:
    """The word's entry, or the free slot where it would be."""
    cdef Word* slot
    cdef Py_ssize_t i = hash & (WORD_SLOTS - 1)
    while True:  # ends: at most half of the slots are used
        slot = &cache.slots[i]
        if slot.length == 0:
            return slot
        if slot.hash == hash and slot.length == n and memcmp(cache.keys + slot.key, word, n) == 0:
            return slot
        i = (i + 1) & (WORD_SLOTS - 1)


cdef inline bint is_full(const WordCache* cache) noexcept nogil:
    return (
        cache.n_words >= MOST_WORDS
        or cache.n_keys + LONGEST_KEY > KEY_ROOM
        or cache.n_cuts + LONGEST_KEY > CUT_ROOM
    )


cdef inline void forget_words(WordCache* cache) noexcept nogil:
    memset(cache.slots, 0, WORD_SLOTS * sizeof(Word))
    cache.n_words = cache.n_keys = cache.n_cuts = 0


cdef inline void remember(
    WordCache* cache, Word* slot, uint64_t hash, uint64_t term, const uint8_t* word, Py_ssize_t n,
    const uint16_t* pieces, Py_ssize_t n_pieces,
) noexcept nogil:
    slot.hash, slot.term, slot.length, slot.pieces = hash, term, <uint8_t>n, <uint8_t>n_pieces
    slot.key, slot.cut = <uint32_t>cache.n_keys, <uint32_t>cache.n_cuts
    memcpy(cache.keys + cache.n_keys, word, n)
    memcpy(cache.cuts + cache.n_cuts, pieces, 2 * n_pieces)
    cache.n_words += 1
    cache.n_keys += n
    cache.n_cuts += n_pieces
