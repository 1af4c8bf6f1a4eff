"""The arithmetic of one memory and one topic (C level only, no module of its own).

Described in the oracle, tests/oracles/topics.py.
"""

from cython cimport overflowcheck
from libc.math cimport sqrt
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    int __builtin_popcountll(unsigned long long bits) noexcept nogil

cdef enum:
    DIM = 384
    FIRST = 256  # of them the Semantic space's
    SECOND = 128  # SPLADE's
    SPLADE = 1408  # where it begins
    EMBEDDING = 6144  # bytes
    COMMON = 1024
    BITS = 256
    WORDS = 4  # of 64 bits in a signature
    ID = 16
    VECTOR_BYTES = 768
    PACKED = 800
    MAX_TOPICS = 1024
    BANDS = 16
    KEYS = 65536
    RECENT = 128
    NEAR_BITS = 60
    NOWHERE = -1
    FIRST_ROWS = 1024
    FIRST_SLOTS = 4096  # a power of two


cdef struct Signature:
    uint64_t[WORDS] words


cdef struct Topic:
    int64_t members
    double centre_length
    int64_t[DIM] sums
    int16_t[DIM] centre


cdef struct Row:
    uint8_t[ID] id
    Signature signature
    int16_t slot
    uint8_t alive


cdef inline int32_t product16(const int16_t* a, const int16_t* b) noexcept nogil:
    cdef int32_t total = 0
    cdef int i
    for i in range(DIM):
        total += <int32_t>a[i] * <int32_t>b[i]
    return total


cdef inline int16_t whole(double value) noexcept nogil:
    """The nearest whole number, above -8192: one instruction, unlike floor."""
    return <int16_t>(<int32_t>(value + 8192.5) - 8192)


cdef inline double product(const double* a, const double* b, int size) noexcept nogil:
    """Their product in four lanes: a sum in one has to wait for each addition."""
    cdef double one = 0.0, two = 0.0, three = 0.0, four = 0.0
    cdef int i = 0
    while i < size:
        one += a[i] * b[i]
        two += a[i + 1] * b[i + 1]
        three += a[i + 2] * b[i + 2]
        four += a[i + 3] * b[i + 3]
        i += 4
    return (one + two) + (three + four)


cdef inline void take_away(double* vector, const uint8_t* common) noexcept nogil:
    """Take the part of a Semantic vector along ``common`` away."""
    cdef float[FIRST] packed
    cdef double[FIRST] other
    cdef double along
    cdef int i
    memcpy(packed, common, COMMON)
    for i in range(FIRST):
        other[i] = packed[i]
    along = product(vector, other, FIRST)
    for i in range(FIRST):
        vector[i] -= along * other[i]


cdef inline int unit(double* vector, int size) except -1:
    cdef double squares = product(vector, vector, size), scale
    cdef int i
    if not squares <= 1e300:
        raise ValueError("embedding must be finite")
    if squares < 1e-12:
        memset(vector, 0, size * sizeof(double))
        return 0
    scale = 1.0 / sqrt(squares)
    for i in range(size):
        vector[i] *= scale
    return 1


cdef inline void sign(const int16_t* q, Signature* signature) noexcept nogil:
    cdef uint64_t* signs = [
        0x243F6A8885A308D3, 0xBE5466CF34E90C6C, 0x452821E638D01377,
        0x082EFA98EC4E6C89, 0xA4093822299F31D0, 0x13198A2E03707344,
    ]
    cdef int32_t[DIM] mixed
    cdef int32_t a, b
    cdef int half = 1, start, i
    for i in range(DIM):
        mixed[i] = -q[i] if signs[i >> 6] >> (i & 63) & 1 else q[i]
    for i in range(SECOND):
        mixed[i] += mixed[BITS + i]
    while half < BITS:
        start = 0
        while start < BITS:
            for i in range(start, start + half):
                a = mixed[i]
                b = mixed[i + half]
                mixed[i] = a + b
                mixed[i + half] = a - b
            start += 2 * half
        half *= 2
    memset(signature, 0, sizeof(Signature))
    for i in range(BITS):
        signature.words[i >> 6] |= <uint64_t>(mixed[i] > 0) << (i & 63)  # a branch would be wrong every other time


cdef inline double likeness_of(double cosine) noexcept nogil:
    return min(1.0, max(0.0, (cosine - 0.1) / (1.0 - 0.1)))


cdef inline int differing(const Signature* a, const Signature* b, int limit) noexcept nogil:
    """Differing bits; counted no further once there are ``limit``."""
    cdef int i, bits = 0
    for i in range(WORDS):
        bits += __builtin_popcountll(a.words[i] ^ b.words[i])
        if bits >= limit:
            break
    return bits


cdef inline uint32_t band_key(const Signature* signature, int band) noexcept nogil:
    return (signature.words[band >> 2] >> (16 * (band & 3))) & 0xFFFF


@overflowcheck(False)  # a product of hashes is meant to
cdef inline uint64_t id_hash(const uint8_t* node) noexcept nogil:
    cdef uint64_t one, other
    memcpy(&one, node, 8)
    memcpy(&other, node + 8, 8)
    one ^= other
    one = (one ^ (one >> 33)) * <uint64_t>0xFF51AFD7ED558CCD  # MurmurHash3's finish: ids may be anything
    one = (one ^ (one >> 33)) * <uint64_t>0xC4CEB9FE1A85EC53
    return one ^ (one >> 33)


cdef inline void derive(Topic* topic) noexcept nogil:
    cdef double squared = 0.0, scale
    cdef int i
    for i in range(DIM):
        squared += <double>topic.sums[i] * <double>topic.sums[i]
    scale = 4096.0 / sqrt(squared) if squared >= 1.0 else 0.0
    for i in range(DIM):
        topic.centre[i] = whole(topic.sums[i] * scale)
    topic.centre_length = sqrt(<double>product16(topic.centre, topic.centre))


cdef inline void change(Topic* topic, const int16_t* q, int sign) noexcept nogil:
    cdef int i
    for i in range(DIM):
        topic.sums[i] += sign * q[i]
    topic.members += sign
    derive(topic)
