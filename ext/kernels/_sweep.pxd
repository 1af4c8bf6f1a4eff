# The inner loop of the search for close rows: bounds of 16 rows against 8 at a time, in whole numbers.
#
# Three ways, chosen while running: AVX-512 VNNI (64 products an instruction), AVX2 (16), what every processor of
# the kind has (SSE2: 8; elsewhere plain C). All give the same sums: whole numbers add up alike in any order.

from libc.stdint cimport int8_t, int16_t, int32_t, uint16_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__x86_64__) && defined(__GNUC__)
      #include <immintrin.h>
      #define CG_X86 1
    #else
      #define CG_X86 0
    #endif

    #define CG_CODES 64 /* whole numbers of a row */
    #define CG_LANES 16 /* rows b that are bounded at once */
    #define CG_GROUP 8  /* rows a that are bounded at once */
    #define CG_PACKED (CG_LANES * CG_CODES)

    /* Rows a: as they are for VNNI, as int16 for the others. */
    /* Rows b: per 16 rows, codes + 128 as bytes, [quad][row][4] for VNNI; as int16, [pair][row][2] for the others. */

    static int cg_sweep_kind(void) {
    #if CG_X86
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
          && __builtin_cpu_supports("avx512vnni")) return 2;
      if (__builtin_cpu_supports("avx2")) return 1;
    #endif
      return 0;
    }

    static void cg_pack_bytes(const int8_t* rows, long count, void* packed) {
      uint8_t* out = (uint8_t*)packed;
      for (long q = 0; q < CG_CODES / 4; q++)
        for (long r = 0; r < CG_LANES; r++)
          for (long k = 0; k < 4; k++)
            *out++ = (uint8_t)((r < count ? rows[r * CG_CODES + 4 * q + k] : 0) + 128);
    }

    static void cg_pack_words(const int8_t* rows, long count, void* packed) {
      int16_t* out = (int16_t*)packed;
      for (long p = 0; p < CG_CODES / 2; p++)
        for (long r = 0; r < CG_LANES; r++)
          for (long k = 0; k < 2; k++) *out++ = r < count ? rows[r * CG_CODES + 2 * p + k] : 0;
    }

    /* hits[i]: a bit for each row b with sum(a[i] * b) + own >= least[i]. 8 rows a. */
    typedef int (*cg_sweep_t)(const void* a, const void* packed, const int32_t* own, const int32_t* least,
                              uint16_t* hits);

    #if !CG_X86
    static int cg_sweep_plain(const void* rows, const void* packed, const int32_t* own, const int32_t* least,
                              uint16_t* hits) {
      const int16_t* a = (const int16_t*)rows;
      int any = 0;
      for (int i = 0; i < CG_GROUP; i++, a += CG_CODES) {
        const int16_t* b = (const int16_t*)packed;
        int32_t sum[CG_LANES];
        memcpy(sum, own, sizeof sum);
        for (int p = 0; p < CG_CODES; p += 2, b += 2 * CG_LANES)
          for (int r = 0; r < CG_LANES; r++) sum[r] += a[p] * b[2 * r] + a[p + 1] * b[2 * r + 1];
        unsigned bits = 0;
        for (int r = 0; r < CG_LANES; r++) bits |= (unsigned)(sum[r] >= least[i]) << r;
        hits[i] = (uint16_t)bits;
        any |= (int)bits;
      }
      return any;
    }
    #else
    /* What every x86-64 can: 8 products an instruction. */
    static int cg_sweep_least(const void* rows, const void* packed, const int32_t* own, const int32_t* least,
                              uint16_t* hits) {
      const int16_t* a = (const int16_t*)rows;
      int any = 0;
      for (int i = 0; i < CG_GROUP; i += 2, a += 2 * CG_CODES) {
        const __m128i* b = (const __m128i*)packed;
        __m128i sum[2][4];
        for (int k = 0; k < 4; k++) sum[0][k] = sum[1][k] = _mm_loadu_si128((const __m128i*)own + k);
        for (int p = 0; p < CG_CODES / 2; p++, b += 4) {
          for (int r = 0; r < 2; r++) {
            int32_t pair;
            memcpy(&pair, a + r * CG_CODES + 2 * p, sizeof pair);
            const __m128i both = _mm_set1_epi32(pair);
            for (int k = 0; k < 4; k++)
              sum[r][k] = _mm_add_epi32(sum[r][k], _mm_madd_epi16(both, _mm_loadu_si128(b + k)));
          }
        }
        for (int r = 0; r < 2; r++) {
          const __m128i below = _mm_set1_epi32(least[i + r] - 1);
          int bits = 0;
          for (int k = 0; k < 4; k++)
            bits |= _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(sum[r][k], below))) << (4 * k);
          hits[i + r] = (uint16_t)bits;
          any |= bits;
        }
      }
      return any;
    }

    __attribute__((target("avx2")))
    static int cg_sweep_wide(const void* rows, const void* packed, const int32_t* own, const int32_t* least,
                             uint16_t* hits) {
      const int16_t* a = (const int16_t*)rows;
      int any = 0;
      for (int i = 0; i < CG_GROUP; i += 4, a += 4 * CG_CODES) {
        const __m256i* b = (const __m256i*)packed;
        __m256i low[4], high[4];
        for (int r = 0; r < 4; r++) {
          low[r] = _mm256_loadu_si256((const __m256i*)own);
          high[r] = _mm256_loadu_si256((const __m256i*)own + 1);
        }
        for (int p = 0; p < CG_CODES / 2; p++, b += 2) {
          const __m256i first = _mm256_loadu_si256(b), second = _mm256_loadu_si256(b + 1);
          for (int r = 0; r < 4; r++) {
            int32_t pair;
            memcpy(&pair, a + r * CG_CODES + 2 * p, sizeof pair);
            const __m256i both = _mm256_set1_epi32(pair);
            low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(both, first));
            high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(both, second));
          }
        }
        for (int r = 0; r < 4; r++) {
          const __m256i below = _mm256_set1_epi32(least[i + r] - 1);
          const int first = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(low[r], below)));
          const int second = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(high[r], below)));
          hits[i + r] = (uint16_t)(first | second << 8);
          any |= hits[i + r];
        }
      }
      return any;
    }

    #define CG_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
    __attribute__((target("avx512f,avx512bw,avx512vnni")))
    static int cg_sweep_vnni(const void* rows, const void* packed, const int32_t* own, const int32_t* least,
                             uint16_t* hits) {
      const int8_t* a = (const int8_t*)rows;
      const __m512i* b = (const __m512i*)packed;
      const __m512i start = _mm512_loadu_si512(own);
      #define CG_START(i) __m512i sum##i = start;
      CG_EACH(CG_START)
      for (int q = 0; q < CG_CODES / 4; q++) {
        const __m512i quad = _mm512_loadu_si512(b + q);
        #define CG_ADD(i) { int32_t four; memcpy(&four, a + i * CG_CODES + 4 * q, 4); \\
          sum##i = _mm512_dpbusd_epi32(sum##i, quad, _mm512_set1_epi32(four)); }
        CG_EACH(CG_ADD)
      }
      int any = 0;
      #define CG_TEST(i) hits[i] = (uint16_t)_mm512_cmpge_epi32_mask(sum##i, _mm512_set1_epi32(least[i])); \\
        any |= hits[i];
      CG_EACH(CG_TEST)
      return any;
    }
    #endif

    static cg_sweep_t cg_sweep(int kind) {
    #if CG_X86
      if (kind == 2) return cg_sweep_vnni;
      if (kind == 1) return cg_sweep_wide;
      return cg_sweep_least;
    #else
      return cg_sweep_plain;
    #endif
    }

    /* Product of two rows of float in double, in the twin's order: eight sums, then their sum by pairs. */
    static inline double cg_exact(const float* x, const float* y, long n) {
      double s[8] = {0};
      for (long k = 0; k < n; k += 8)
        for (int l = 0; l < 8; l++) s[l] += (double)x[k + l] * (double)y[k + l];
      return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    }
    """
    cdef enum:
        CODES "CG_CODES"
        LANES "CG_LANES"
        GROUP "CG_GROUP"
        PACKED "CG_PACKED"

    ctypedef int (*sweep_t "cg_sweep_t")(
        const void* a, const void* packed, const int32_t* own, const int32_t* least, uint16_t* hits
    ) noexcept nogil

    int sweep_kind "cg_sweep_kind"() noexcept nogil
    sweep_t sweep_of "cg_sweep"(int kind) noexcept nogil
    void pack_bytes "cg_pack_bytes"(const int8_t* rows, long count, void* packed) noexcept nogil
    void pack_words "cg_pack_words"(const int8_t* rows, long count, void* packed) noexcept nogil
    double exact "cg_exact"(const float* x, const float* y, long n) noexcept nogil
