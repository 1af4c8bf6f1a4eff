"""The thirteen spaces' arithmetic over a text's pieces (C level only, no module of its own).

Described in the oracle, tests/oracles/spaces.py.
"""

from libc.math cimport sqrt
from libc.stdint cimport int8_t, int16_t, uint8_t, uint16_t, uint64_t

cdef enum:
    WIDTH = 256  # of a row of the table
    DIMENSIONS = 1536
    N_SPACES = 13
    N_LEXICONS = 5

cdef enum:  # where each space begins
    SEMANTIC = 0
    TEMPORAL = 256
    CAUSAL = 288
    COUNTERFACTUAL = 416
    MORAL = 512
    AESTHETIC = 576
    TELEOLOGICAL = 640
    CONTEXTUAL = 832
    STRUCTURAL = 960
    BEHAVIORAL = 1056
    EMOTIONAL = 1184
    CODE = 1216
    SPLADE = 1408

cdef enum:
    HALF = 64  # of the causal space: causes, then effects
    KINDS = 16  # marker kinds at the head of the counterfactual and teleological spaces
    POLARITY = 8  # values at the head of a lexicon's row that a negation turns round
    PAIR = 128  # values of the contextual space
    NEAR = 16  # words of one sentence that a marker reaches, each way
    NEGATES = 3  # words that a negation reaches

cdef enum:  # in a piece's first mark
    BEFORE = 1  # a connective whose cause stands before it
    AFTER = 2
    BY = 3  # after such a one: caused by
    INFLECTION = 4  # ##s, ##ed, …
    ARTICLE = 5  # or whatever makes a noun of the next word

cdef enum:  # of a piece, from the data file
    NEGATION = 1
    BASE_VERB = 2
    STOPS = 4  # . ! ? ;
    COMMA = 8
    INNER = 16  # begins with ##
    MARKS_ONLY = 32  # punctuation
    KEYWORD = 64  # of programming languages

cdef enum:  # of a piece in its text
    FIRST = 1  # of its word
    ALONE = 2  # the only one of its word
    OPENS = 4  # a sentence
    DENIES = 8  # not, never, n't
    INFLECTED = 16  # its word has one more piece, an inflection


cdef struct Table:
    const int8_t* rows
    const float* scales
    const uint8_t* marks  # (V, 4): causal, counterfactual, teleological, flags
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
    #define CG_ADD_PAIR \
        for (int j = 0; j < n; j++) target[j] += scale * (float)((int)before[j] * (int)row[last - j]);
    static void cg_add_row_any(float* target, const int8_t* row, float scale, int n) { CG_ADD_ROW }
    CG_AVX2 static void cg_add_row_wide(float* target, const int8_t* row, float scale, int n) { CG_ADD_ROW }
    static void cg_add_pair_any(
        float* target, const int8_t* before, const int8_t* row, int last, float scale, int n) { CG_ADD_PAIR }
    CG_AVX2 static void cg_add_pair_wide(
        float* target, const int8_t* before, const int8_t* row, int last, float scale, int n) { CG_ADD_PAIR }
    static int cg_wide(void) {
        static int wide = -1;
        if (wide < 0) wide = CG_HAS_AVX2() ? 1 : 0;
        return wide;
    }
    static void cg_add_row(float* target, const int8_t* row, float scale, int n) {
        if (cg_wide()) cg_add_row_wide(target, row, scale, n); else cg_add_row_any(target, row, scale, n);
    }
    static void cg_add_pair(
        float* target, const int8_t* before, const int8_t* row, int last, float scale, int n) {
        if (cg_wide()) cg_add_pair_wide(target, before, row, last, scale, n);
        else cg_add_pair_any(target, before, row, last, scale, n);
    }
    """
    void add_row "cg_add_row"(float* target, const int8_t* row, float scale, int width) noexcept nogil
    void add_pair "cg_add_pair"(
        float* target, const int8_t* before, const int8_t* row, int last, float scale, int width
    ) noexcept nogil


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


cdef inline void add_pairs(float* vector, const Table* table, const uint16_t* ids, Py_ssize_t n) noexcept nogil:
    """Contextual: products of neighbouring rows, the first's dimension j with the second's 255 - j."""
    cdef const int8_t* before = NULL
    cdef const int8_t* row
    cdef float before_scale = 0.0
    cdef float scale
    cdef Py_ssize_t k
    for k in range(n):
        if table.marks[4 * ids[k] + 3] & MARKS_ONLY:
            continue
        row = table.rows + ids[k] * WIDTH
        scale = table.scales[ids[k]]
        if before is not NULL:
            scale *= before_scale
            add_pair(vector + CONTEXTUAL, before, row, WIDTH - 1, scale, PAIR)
            scale = table.scales[ids[k]]
        before = row
        before_scale = scale


cdef inline void add_lexicon(
    float* target, int size, bint polar, bint negated, const int8_t* values, float scale
) noexcept nogil:
    cdef int j = 0
    if polar and negated:
        while j < POLARITY:
            target[j] -= scale * values[j]
            j += 1
    while j < size:
        target[j] += scale * values[j]
        j += 1


cdef inline void add_lexicons(
    float* vector, const Table* table, const uint16_t* ids, const uint8_t* flags, Py_ssize_t n
) noexcept nogil:
    """Temporal, Moral, Aesthetic, Behavioral, Emotional: rows of the words of their lexicons."""
    cdef int* begins = [TEMPORAL, MORAL, AESTHETIC, BEHAVIORAL, EMOTIONAL]
    cdef int* sizes = [32, 64, 64, 128, 32]
    cdef bint* polar = [False, True, True, False, True]
    cdef bint noun = False  # the piece before was an article
    cdef Py_ssize_t negation = -NEGATES - 1
    cdef Py_ssize_t k
    cdef int space, row
    for k in range(n):
        if flags[k] & OPENS:
            negation = -NEGATES - 1
        if flags[k] & DENIES:
            negation = k
        if not flags[k] & (ALONE | INFLECTED):
            noun = False
            continue
        for space in range(N_LEXICONS):
            row = table.lexicon[space][ids[k]]
            if row >= 0 and not (noun and begins[space] == BEHAVIORAL):
                add_lexicon(
                    vector + begins[space], sizes[space], polar[space], k - negation <= NEGATES,
                    table.values[space] + row * sizes[space], table.value_scales[space][row],
                )
        noun = flags[k] & ALONE != 0 and table.marks[4 * ids[k]] & 15 == ARTICLE


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
    cdef bint passive = k + 1 < end and table.marks[4 * ids[k + 1]] & 15 == BY
    if (mark & 15) == BEFORE and not passive:
        add_pieces(target, table, ids, start, k, weight, HALF)
        add_pieces(target + HALF, table, ids, k + 1, end, weight, HALF)
    elif start < k:
        add_pieces(target + HALF, table, ids, start, k, weight, HALF)
        add_pieces(target, table, ids, k + 1, end, weight, HALF)
    else:  # Because of this, that.
        while comma < end and not table.marks[4 * ids[comma] + 3] & COMMA:
            comma += 1
        add_pieces(target, table, ids, k + 1, comma, weight, HALF)
        add_pieces(target + HALF, table, ids, comma, end, weight, HALF)


cdef inline void add_markers(
    float* vector, const Table* table, const uint16_t* ids, const uint8_t* flags, Py_ssize_t n
) noexcept nogil:
    """Causal, Counterfactual, Teleological: markers and what stands around or after them."""
    cdef const uint8_t* mark
    cdef float* target
    cdef float weight
    cdef Py_ssize_t k
    for k in range(n):
        if not flags[k] & ALONE:
            continue
        mark = table.marks + 4 * ids[k]
        if mark[0] and mark[0] & 15 <= AFTER:
            add_cause(vector + CAUSAL, table, ids, flags, k, n, mark[0])
        if mark[1]:
            target = vector + COUNTERFACTUAL
            weight = (mark[1] >> 4) / <float>15.0
            target[mark[1] & 15] += weight
            add_pieces(target + KINDS, table, ids, sentence_start(flags, k), k, weight, 96 - KINDS)
            add_pieces(target + KINDS, table, ids, k + 1, sentence_end(flags, k, n), weight, 96 - KINDS)
        target = vector + TELEOLOGICAL
        if mark[2]:
            weight = (mark[2] >> 4) / <float>15.0
            target[mark[2] & 15] += weight
            add_pieces(target + KINDS, table, ids, k + 1, sentence_end(flags, k, n), weight, 192 - KINDS)
        elif mark[3] & BASE_VERB and flags[k] & OPENS:  # an imperative
            target[0] += 1.0
            add_pieces(target + KINDS, table, ids, k, sentence_end(flags, k, n), 1.0, 192 - KINDS)


cdef inline void finish_all(float* vector, const double* weights) noexcept nogil:
    """Each space to its length; markers count as much as what stands around them, of goals a third of it."""
    cdef int* begins = [
        SEMANTIC, TEMPORAL, CAUSAL, COUNTERFACTUAL, MORAL, AESTHETIC, TELEOLOGICAL, CONTEXTUAL, STRUCTURAL,
        BEHAVIORAL, EMOTIONAL, CODE, SPLADE, DIMENSIONS,
    ]
    cdef int space
    finish(vector + COUNTERFACTUAL, KINDS, 1.0)
    finish(vector + COUNTERFACTUAL + KINDS, 96 - KINDS, 1.0)
    finish(vector + TELEOLOGICAL, KINDS, 1.0)
    finish(vector + TELEOLOGICAL + KINDS, 192 - KINDS, 3.0)
    for space in range(N_SPACES):
        finish(vector + begins[space], begins[space + 1] - begins[space], weights[space])
