"""Scores the salience of a block of memories, space by space. Its oracle is
tests/oracles/salience.py: change both.

How it is fast: one pass with the GIL released; a loop for each size of a space, so that the compiler unrolls it; four
centres at once, so that no sum waits for the one before; and AVX-512 or AVX2 where the processor has it, chosen while
running. All give the same bits: each of 16 lanes adds up by itself, in single precision and in order, and then the
lanes are added in pairs.
"""

__all__ = ["KINDS", "add_weighted", "score"]

cdef extern from *:
    """
    #include <math.h>
    #include <string.h>

    #if defined(__x86_64__) && defined(__GNUC__)
      #define CG_X86 1
    #else
      #define CG_X86 0
    #endif
    #if defined(__GNUC__)
      #define CG_INLINE static inline __attribute__((always_inline))
    #else
      #define CG_INLINE static inline
    #endif
    #define CG_DIM 1536
    #define CG_LANES 16

    CG_INLINE double cg_nearer(double near, double cosine, double most) {
      const double value = (cosine > 1.0 ? 1.0 : cosine) * most;
      return value > near ? value : near;
    }

    /* One of the 13 spaces; its place and size are numbers here, so each has a loop of its own. */
    #define CG_SPACE(near_of, s, start, n) \\
      near = near_of(row + start, centres + start, count, most, n); \\
      out[s] = near < 0.0 ? 0.0 : 1.0 - base[i] * (1.0 - told[i] * near);

    /* The functions for one kind of processor: vectors of W lanes, G centres at once.

       cg_dots: products of x with g rows that are CG_DIM apart. Lane j is added to j + 8, then j to j + 4, and so on.
       cg_near: the greatest of cosine times weight over the centres, in [0, 1]; -1 in a space that is all zeros.
       cg_rows: the 13 scores of each row. */
    #define CG_KIND(kind, W, G, ATTRIBUTES) \\
      CG_VECTOR(kind, W) \\
      ATTRIBUTES CG_INLINE void cg_dots_##kind(const float* x, const float* y, const int n, const int g, \\
                                               float* found) { \\
        cg_vector_##kind sum[G][CG_LANES / W]; \\
        memset(sum, 0, sizeof sum); \\
        for (int k = 0; k < n; k += CG_LANES) \\
          for (int w = 0; w < CG_LANES / W; w++) { \\
            const cg_vector_##kind part = *(const cg_vector_##kind*)(x + k + w * W); \\
            for (int c = 0; c < g; c++) \\
              sum[c][w] += part * *(const cg_vector_##kind*)(y + c * CG_DIM + k + w * W); \\
          } \\
        for (int c = 0; c < g; c++) { \\
          float lane[CG_LANES]; \\
          memcpy(lane, sum[c], sizeof lane); \\
          for (int j = 0; j < 8; j++) lane[j] += lane[j + 8]; \\
          for (int j = 0; j < 4; j++) lane[j] += lane[j + 4]; \\
          for (int j = 0; j < 2; j++) lane[j] += lane[j + 2]; \\
          found[c] = lane[0] + lane[1]; \\
        } \\
      } \\
      ATTRIBUTES CG_INLINE double cg_near_##kind(const float* x, const float* centres, long count, \\
                                                 const double* most, const int n) { \\
        float found[G]; \\
        double near = 0.0; \\
        long c = 0; \\
        cg_dots_##kind(x, x, n, 1, found); \\
        if (!(found[0] > 0.0f)) return -1.0; \\
        const double length = sqrt((double)found[0]); \\
        for (; c + G <= count; c += G) { \\
          cg_dots_##kind(x, centres + c * CG_DIM, n, G, found); \\
          for (int j = 0; j < G; j++) near = cg_nearer(near, found[j] / length, most[c + j]); \\
        } \\
        for (; c < count; c++) { \\
          cg_dots_##kind(x, centres + c * CG_DIM, n, 1, found); \\
          near = cg_nearer(near, found[0] / length, most[c]); \\
        } \\
        return near; \\
      } \\
      ATTRIBUTES static void cg_rows_##kind(const float* rows, long n, const double* told, const double* base, \\
                                            double unread, const float* centres, long count, \\
                                            const double* most, double* out) { \\
        for (long i = 0; i < n; i++, out += 13) { \\
          const float* row = rows + i * CG_DIM; \\
          double near; \\
          CG_SPACE(cg_near_##kind, 0, 0, 256) \\
          if (near < 0.0 && told[i] > 0.0) { \\
            for (int s = 0; s < 13; s++) out[s] = unread * (1.0 - base[i]); \\
            continue; \\
          } \\
          CG_SPACE(cg_near_##kind, 1, 256, 32) \\
          CG_SPACE(cg_near_##kind, 2, 288, 128) \\
          CG_SPACE(cg_near_##kind, 3, 416, 128) \\
          CG_SPACE(cg_near_##kind, 4, 544, 96) \\
          CG_SPACE(cg_near_##kind, 5, 640, 96) \\
          CG_SPACE(cg_near_##kind, 6, 736, 96) \\
          CG_SPACE(cg_near_##kind, 7, 832, 128) \\
          CG_SPACE(cg_near_##kind, 8, 960, 96) \\
          CG_SPACE(cg_near_##kind, 9, 1056, 128) \\
          CG_SPACE(cg_near_##kind, 10, 1184, 96) \\
          CG_SPACE(cg_near_##kind, 11, 1280, 128) \\
          CG_SPACE(cg_near_##kind, 12, 1408, 128) \\
        } \\
      }

    #if defined(__GNUC__)
      #define CG_VECTOR(kind, W) \\
        typedef float cg_vector_##kind __attribute__((vector_size(4 * W), aligned(4), may_alias));
      CG_KIND(plain, 4, 2, )
    #else
      #define CG_VECTOR(kind, W) typedef float cg_vector_##kind;
      CG_KIND(plain, 1, 1, )
    #endif
    #if CG_X86
      CG_KIND(avx2, 8, 4, __attribute__((target("avx2"))))
      CG_KIND(avx512, 16, 4, __attribute__((target("avx512f,avx512vl"))))
      static int cg_best(void) {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return 2;
        return __builtin_cpu_supports("avx2") != 0;
      }
    #else
      #define cg_rows_avx2 cg_rows_plain
      #define cg_rows_avx512 cg_rows_plain
      static int cg_best(void) { return 0; }
    #endif
    typedef void (*cg_rows_t)(const float* rows, long n, const double* told, const double* base, double unread,
                              const float* centres, long count, const double* most, double* out);
    static cg_rows_t cg_rows_of(int kind) {
      return kind == 2 ? cg_rows_avx512 : kind == 1 ? cg_rows_avx2 : cg_rows_plain;
    }
    """
    ctypedef void (*rows_t "cg_rows_t")(const float* rows, long n, const double* told, const double* base,
                                        double unread, const float* centres, long count, const double* most,
                                        double* out) noexcept nogil
    int best_kind "cg_best"() nogil
    rows_t rows_of "cg_rows_of"(int kind) nogil

cdef enum:
    SPACES = 13
    DIM = 1536

KINDS = ("plain", "avx2", "avx512")[: best_kind() + 1]


def score(const float[:, ::1] block, const double[::1] told, const double[::1] base, const float[:, ::1] centres,
          const double[::1] most, double unread, double[:, ::1] out, kind=None):
    """The 13 scores of each row.

    Args:
        block: float32[k, 1536], embeddings as stored, contiguous.
        told: float64[k] in [0, 1]: what each row's words tell.
        base: float64[k] in [0, 1]: what is missing to 1 apart from nearness.
        centres: float32[m, 1536], contiguous, each space of length 1 or 0.
        most: float64[m] in [0, 1]: what nearness to each centre is worth.
        unread: [0, 1].
        out: float64[k, 13]: the result.
        kind: One of KINDS, the vector instructions to use; None for the best that the processor has.

    Raises:
        ValueError: Other lengths or types.

    Cost: 0.3 us a row, and 0.1 us for each centre of it (compiled, AVX-512).
    """
    cdef Py_ssize_t rows = block.shape[0], count = centres.shape[0]
    cdef const float* first = NULL
    cdef const double* weights = NULL
    cdef rows_t scored
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    scored = rows_of(best_kind() if kind is None else KINDS.index(kind))
    if block.shape[1] != DIM or centres.shape[1] != DIM or out.shape[1] != SPACES:
        raise ValueError("rows and centres have 1536 values, scores 13")
    if not (told.shape[0] == base.shape[0] == out.shape[0] == rows and most.shape[0] == count):
        raise ValueError("told, base and out are needed for each row, most for each centre")
    if count:
        first = &centres[0, 0]
        weights = &most[0]
    if not rows:
        return
    with nogil:
        scored(&block[0, 0], rows, &told[0], &base[0], unread, first, count, weights, &out[0, 0])


def add_weighted(const float[:, ::1] block, const double[::1] weights, double[::1] total):
    """Add each row times its weight to ``total``, row after row.

    Args:
        block: float32[k, 1536], contiguous.
        weights: float64[k].
        total: float64[1536]: changed.

    Raises:
        ValueError: Other lengths or types.
    """
    cdef Py_ssize_t rows = block.shape[0], i, j
    cdef const float* row
    cdef double* sums
    cdef double weight
    if block.shape[1] != DIM or total.shape[0] != DIM or weights.shape[0] != rows:
        raise ValueError("rows and total have 1536 values; a weight is needed for each row")
    sums = &total[0]
    with nogil:
        for i in range(rows):
            row = &block[i, 0]
            weight = weights[i]
            for j in range(DIM):
                sums[j] += weight * row[j]
