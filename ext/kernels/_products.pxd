# The inner loop of a scan: products of int8 rows with one int16 query, in whole numbers.
#
# Three ways, chosen while running: AVX-512 VNNI (64 half products an instruction), AVX2 (16), plain C (SSE2: 8). All give
# the same sums: whole numbers add up alike in any order.

from libc.stdint cimport int8_t, int16_t, int32_t

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__x86_64__) && defined(__GNUC__)
      #include <immintrin.h>
      #define CG_X86 1
    #else
      #define CG_X86 0
    #endif

    #define CG_MOST 4096  /* numbers of a row */
    #define CG_AHEAD 8192 /* bytes that are asked of the memory ahead of their use */

    static int32_t cg_product(const int8_t* row, const int16_t* query, long from, long n) {
      int32_t total = 0;
      for (long i = from; i < n; i++) total += (int32_t)row[i] * (int32_t)query[i];
      return total;
    }

    /* out[r] = sum(row[r] * query): `rows` rows of n numbers, one after another. */
    typedef void (*cg_products_t)(const int8_t* row, const int16_t* query, long n, long rows, int32_t* out);

    static void cg_products_any(const int8_t* row, const int16_t* query, long n, long rows, int32_t* out) {
      for (long r = 0; r < rows; r++, row += n) out[r] = cg_product(row, query, 0, n);
    }

    #if CG_X86
    __attribute__((target("avx2")))
    static void cg_products_avx2(const int8_t* row, const int16_t* query, long n, long rows, int32_t* out) {
      for (long r = 0; r < rows; r++, row += n) {
        __m256i one = _mm256_setzero_si256(), two = one;
        long i = 0;
        _mm_prefetch((const char*)row + CG_AHEAD, _MM_HINT_T0);
        for (; i + 32 <= n; i += 32) {
          __m256i a = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(row + i)));
          __m256i b = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(row + i + 16)));
          one = _mm256_add_epi32(one, _mm256_madd_epi16(a, _mm256_loadu_si256((const __m256i*)(query + i))));
          two = _mm256_add_epi32(two, _mm256_madd_epi16(b, _mm256_loadu_si256((const __m256i*)(query + i + 16))));
        }
        one = _mm256_add_epi32(one, two);
        __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(one), _mm256_extracti128_si256(one, 1));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
        out[r] = _mm_cvtsi128_si32(sum) + cg_product(row, query, i, n);
      }
    }

    /* The instruction takes bytes, one side unsigned: a row's numbers plus 128, and the query as 128 high + low. Of a
       sum of (row + 128) * query, 128 * sum(query) is taken off again. Four rows at a time: the query is read once for
       the four, and their sums are added up together. */
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
    static inline __m256i cg_halves(__m512i high, __m512i low) {
      const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(high, 7), low);
      return _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
    }

    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
    static void cg_products_vnni(const int8_t* row, const int16_t* query, long n, long rows, int32_t* out) {
      int8_t high[CG_MOST], low[CG_MOST];
      const __m512i top = _mm512_set1_epi8((char)0x80);
      const long whole = n - n % 64;
      uint32_t off = 0;
      long r = 0;
      for (long i = 0; i < whole; i++) {
        high[i] = (int8_t)((query[i] + 64) >> 7);
        low[i] = (int8_t)(query[i] - 128 * high[i]);
        off += (uint32_t)(int32_t)query[i];
      }
      const __m128i taken = _mm_set1_epi32((int32_t)(128 * off));
      for (; r + 4 <= rows; r += 4, row += 4 * n) {
        __m512i ah = _mm512_setzero_si512(), al = ah, bh = ah, bl = ah, ch = ah, cl = ah, dh = ah, dl = ah;
        for (long i = 0; i < whole; i += 64) {
          const __m512i h = _mm512_loadu_si512((const void*)(high + i)), l = _mm512_loadu_si512((const void*)(low + i));
          const int8_t* at = row + i;
          const __m512i a = _mm512_xor_si512(_mm512_loadu_si512((const void*)at), top);
          const __m512i b = _mm512_xor_si512(_mm512_loadu_si512((const void*)(at + n)), top);
          const __m512i c = _mm512_xor_si512(_mm512_loadu_si512((const void*)(at + 2 * n)), top);
          const __m512i d = _mm512_xor_si512(_mm512_loadu_si512((const void*)(at + 3 * n)), top);
          _mm_prefetch((const char*)at + CG_AHEAD, _MM_HINT_T0);
          _mm_prefetch((const char*)at + n + CG_AHEAD, _MM_HINT_T0);
          _mm_prefetch((const char*)at + 2 * n + CG_AHEAD, _MM_HINT_T0);
          _mm_prefetch((const char*)at + 3 * n + CG_AHEAD, _MM_HINT_T0);
          ah = _mm512_dpbusd_epi32(ah, a, h);
          al = _mm512_dpbusd_epi32(al, a, l);
          bh = _mm512_dpbusd_epi32(bh, b, h);
          bl = _mm512_dpbusd_epi32(bl, b, l);
          ch = _mm512_dpbusd_epi32(ch, c, h);
          cl = _mm512_dpbusd_epi32(cl, c, l);
          dh = _mm512_dpbusd_epi32(dh, d, h);
          dl = _mm512_dpbusd_epi32(dl, d, l);
        }
        const __m256i ab = _mm256_hadd_epi32(cg_halves(ah, al), cg_halves(bh, bl));
        const __m256i cd = _mm256_hadd_epi32(cg_halves(ch, cl), cg_halves(dh, dl));
        const __m256i all = _mm256_hadd_epi32(ab, cd);
        const __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
        _mm_storeu_si128((__m128i*)(out + r), _mm_sub_epi32(sum, taken));
        if (whole < n)
          for (long k = 0; k < 4; k++) out[r + k] += cg_product(row + k * n, query, whole, n);
      }
      cg_products_avx2(row, query, n, rows - r, out + r);
    }
    #endif

    static cg_products_t cg_products(void) {
    #if CG_X86
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
          && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")) return cg_products_vnni;
      if (__builtin_cpu_supports("avx2")) return cg_products_avx2;
    #endif
      return cg_products_any;
    }
    """
    ctypedef void (*cg_products_t)(const int8_t*, const int16_t*, long, long, int32_t*) noexcept nogil
    cg_products_t cg_products() noexcept nogil
