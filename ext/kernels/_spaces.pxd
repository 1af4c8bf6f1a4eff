"""The thirteen spaces' arithmetic over a text's pieces (C level only, no module of its own).

Described in the oracle, tests/oracles/spaces.py.
"""

from libc.math cimport sqrt
from libc.stdint cimport int8_t, int16_t, uint8_t, uint16_t, uint64_t

cdef enum:
    WIDTH = 256  # of a row of the table
    DIMENSIONS = 1536
    N_SPACES = 13

cdef enum:  # where the spaces begin that are made here; bags of `features` fill those between
    SEMANTIC = 0
    TEMPORAL = 256
    CAUSAL = 288
    STEPS = 1056
    TERMS = 1408
    N_LEXICONS = 2  # of Temporal and Steps

cdef enum:
    HALF = 64  # of the causal space: causes, then effects
    NEAR = 16  # words of one sentence that a connective reaches, each way

cdef enum:  # in a piece's first mark: its role, below 16 times a weight of 15
    BEFORE = 1  # a connective whose cause stands before it
    AFTER = 2
    BY = 3  # after such a one: caused by
    INFLECTION = 4  # ##s, ##ed, …
    ARTICLE = 5  # or whatever makes a noun of the next word

cdef enum:  # in its second
    STOPS = 4  # . ! ? ;
    COMMA = 8
    INNER = 16  # begins with ##

cdef enum:  # of a piece in its text
    FIRST = 1  # of its word
    ALONE = 2  # the only one of its word
    OPENS = 4  # a sentence
    INFLECTED = 16  # its word has one more piece, an inflection


cdef struct Table:
    const int8_t* rows
    const float* scales
    const uint8_t* marks  # (V, 2)
    int16_t* lexicon[N_LEXICONS]  # (V,) row of a piece, -1 for none
    const int8_t* values[N_LEXICONS]
    const float* value_scales[N_LEXICONS]


cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__x86_64__) && defined(__GNUC__)
      #define CG_AVX2 __attribute__((target("avx2")))
      #define CG_HAS_AVX2() __builtin_cpu_supports("avx2")
    #else
      #define CG_AVX2
      #define CG_HAS_AVX2() 0
    #endif
    /* Each value by itself and never fused: the same bits at every vector width. */
    #define CG_ADD_ROW for (int j = 0; j < n; j++) target[j] += scale * row[j];
    static void cg_add_row_any(float* target, const int8_t* row, float scale, int n) { CG_ADD_ROW }
    CG_AVX2 static void cg_add_row_wide(float* target, const int8_t* row, float scale, int n) { CG_ADD_ROW }
    static int cg_wide(void) {
        static int wide = -1;
        if (wide < 0) wide = CG_HAS_AVX2() ? 1 : 0;
        return wide;
    }
    static void cg_add_row(float* target, const int8_t* row, float scale, int n) {
        if (cg_wide()) cg_add_row_wide(target, row, scale, n); else cg_add_row_any(target, row, scale, n);
    }
    """
    void add_row "cg_add_row"(float* target, const int8_t* row, float scale, int width) noexcept nogil


cdef inline void add_pieces(
    float* target, const Table* table, const uint16_t* ids, Py_ssize_t start, Py_ssize_t end, float weight, int width
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(start, end):
        add_row(target, table.rows + ids[k] * WIDTH, weight * table.scales[ids[k]], width)


cdef inline void finish(float* values, int size, double weight) noexcept nogil:
    """Length sqrt(weight); what is shorter than rounding stays zero."""
    cdef double squares = 0.0
    cdef double factor
    cdef int j
    for j in range(size):
        squares += <double>values[j] * values[j]
    factor = sqrt(weight / squares) if squares > 1e-20 else 0.0
    for j in range(size):
        values[j] = <float>(values[j] * factor)


cdef inline void add_signed(float* target, int size, uint64_t hash, float weight) noexcept nogil:
    """A feature at the place and with the sign that its hash says."""
    target[(hash >> 8) % size] += weight if hash & 1 else -weight


cdef inline void add_meaning(
    float* vector, const Table* table, const uint16_t* ids, const float* weights, Py_ssize_t n
) noexcept nogil:
    """Semantic: the sum of the rows, each times its weight (``weights`` may be NULL: all 1)."""
    cdef Py_ssize_t k
    cdef float weight = 1.0
    for k in range(n):
        if weights is not NULL:
            weight = weights[k]
        add_row(vector + SEMANTIC, table.rows + ids[k] * WIDTH, weight * table.scales[ids[k]], WIDTH)


cdef inline void add_lexicons(
    float* vector, const Table* table, const uint16_t* ids, const uint8_t* flags, Py_ssize_t n
) noexcept nogil:
    """Temporal, Steps: rows of the words of their lexicons; after an article a word is no step."""
    cdef int* begins = [TEMPORAL, STEPS]
    cdef int* sizes = [32, 128]
    cdef bint noun = False
    cdef Py_ssize_t k
    cdef int space, row
    for k in range(n):
        if not flags[k] & (ALONE | INFLECTED):
            noun = False
            continue
        for space in range(N_LEXICONS):
            row = table.lexicon[space][ids[k]]
            if row >= 0 and not (noun and begins[space] == STEPS):
                add_row(
                    vector + begins[space], table.values[space] + row * sizes[space],
                    table.value_scales[space][row], sizes[space],
                )
        noun = flags[k] & ALONE != 0 and table.marks[2 * ids[k]] & 15 == ARTICLE


cdef inline Py_ssize_t sentence_start(const uint8_t* flags, Py_ssize_t k) noexcept nogil:
    """Where the sentence around piece ``k`` begins, at most NEAR pieces back."""
    cdef Py_ssize_t start = k
    while start > 0 and not flags[start] & OPENS and k - start < NEAR:
        start -= 1
    return start


cdef inline Py_ssize_t sentence_end(const uint8_t* flags, Py_ssize_t k, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t end = k + 1
    while end < n and not flags[end] & OPENS and end - k <= NEAR:
        end += 1
    return end


cdef inline void add_cause(
    float* target, const Table* table, const uint16_t* ids, const uint8_t* flags, Py_ssize_t k, Py_ssize_t n, uint8_t mark
) noexcept nogil:
    """Causal: what stands on the cause's side of a connective in the first half, on the effect's in the second."""
    cdef Py_ssize_t start = sentence_start(flags, k)
    cdef Py_ssize_t end = sentence_end(flags, k, n)
    cdef Py_ssize_t comma = k + 1
    cdef float weight = (mark >> 4) / <float>15.0
    cdef bint passive = k + 1 < end and table.marks[2 * ids[k + 1]] & 15 == BY
    if (mark & 15) == BEFORE and not passive:
        add_pieces(target, table, ids, start, k, weight, HALF)
        add_pieces(target + HALF, table, ids, k + 1, end, weight, HALF)
    elif start < k:
        add_pieces(target + HALF, table, ids, start, k, weight, HALF)
        add_pieces(target, table, ids, k + 1, end, weight, HALF)
    else:  # Because of this, that.
        while comma < end and not table.marks[2 * ids[comma] + 1] & COMMA:
            comma += 1
        add_pieces(target, table, ids, k + 1, comma, weight, HALF)
        add_pieces(target + HALF, table, ids, comma, end, weight, HALF)


cdef inline void add_causes(
    float* vector, const Table* table, const uint16_t* ids, const uint8_t* flags, Py_ssize_t n
) noexcept nogil:
    """Causal: connectives of one word, and what stands on both sides of them."""
    cdef uint8_t mark
    cdef Py_ssize_t k
    for k in range(n):
        mark = table.marks[2 * ids[k]]
        if flags[k] & ALONE and mark and mark & 15 <= AFTER:
            add_cause(vector + CAUSAL, table, ids, flags, k, n, mark)


cdef inline void finish_all(float* vector, const double* weights, const int* begins) noexcept nogil:
    """Each space to its length."""
    cdef int space
    for space in range(N_SPACES):
        finish(vector + begins[space], begins[space + 1] - begins[space], weights[space])
