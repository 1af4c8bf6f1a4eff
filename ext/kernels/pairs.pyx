"""Finds rows that are close to each other. Its oracle is tests/oracles/pairs.py, where every
number is described: change both.

How it is fast: a row is bounded by 64 whole numbers of a byte, so that one instruction multiplies 64 of them and 16
rows stay in registers while others pass by; the exact product is only taken of pairs whose bound reaches the limit.
"""

from cython cimport final
from libc.math cimport fabs, isfinite
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from _sweep cimport CODES as N_CODES, GROUP, LANES, PACKED, exact, pack_bytes, pack_words, sweep_kind, sweep_of, sweep_t

__all__ = ["CODES", "GROUP_PAIRS", "KINDS", "Block", "Sets", "close_pairs"]

CODES = N_CODES
GROUP_PAIRS = GROUP * LANES
KINDS = tuple(("plain", "avx2", "vnni")[: sweep_kind() + 1])

cdef enum:
    WORDS = 0
    BYTES = 2
    LARGEST = 536_870_912  # 2^29, limits and slacks: their sums stay far inside 32 bits
    NEVER = -1_073_741_824


@final
cdef class Block:
    """Rows that are compared with another block's, or with each other. Not changed by that: threads share it.

    Args:
        rows: float32[n, d], contiguous, finite, d a multiple of 8; the buffer is kept, not copied.
        codes: int8[n, 64].
        slack: int32[n], each in [0, 2^29].
        kind: One of KINDS; the last. All give the same.

    Raises:
        ValueError: Buffers that don't fit, or a value out of range.
    """

    cdef const float[:, ::1] rows
    cdef const int32_t[::1] slack
    cdef int8_t* a  # codes in groups of 8 rows: bytes or int16
    cdef int8_t* b  # packed in 16 rows
    cdef int32_t* sums  # of each row's codes
    cdef Py_ssize_t n, dim
    cdef int kind

    def __init__(self, rows, codes, slack, kind=None):
        cdef const float[:, ::1] values = rows
        cdef const int8_t[:, ::1] whole = codes
        cdef const int32_t[::1] added = slack
        cdef Py_ssize_t i, k
        if self.a is not NULL:
            raise RuntimeError("a block can't be initialised twice")
        if values.shape[0] < 1 or values.shape[1] < 8 or values.shape[1] % 8:
            raise ValueError(
                f"rows must be of a multiple of 8 values, got {values.shape[0]} of {values.shape[1]}"
            )
        if whole.shape[0] != values.shape[0] or whole.shape[1] != N_CODES:
            raise ValueError(
                f"codes must be {values.shape[0]} rows of {CODES}, got {whole.shape[0]} of {whole.shape[1]}"
            )
        if added.shape[0] != values.shape[0]:
            raise ValueError(f"slack must have {values.shape[0]} values, got {added.shape[0]}")
        for i in range(values.shape[0]):
            if not 0 <= added[i] <= LARGEST:
                raise ValueError(f"slack[{i}] must be in [0, {LARGEST}], got {added[i]}")
            for k in range(values.shape[1]):
                if not isfinite(values[i, k]):
                    raise ValueError(f"rows[{i}, {k}] must be finite, got {<double>values[i, k]!r}")
        name = KINDS[len(KINDS) - 1] if kind is None else kind
        if name not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {name!r}")
        self.kind = ("plain", "avx2", "vnni").index(name)
        self.rows, self.slack = values, added
        self.n, self.dim = values.shape[0], values.shape[1]
        self._pack(&whole[0, 0])

    cdef int _pack(self, const int8_t* codes) except -1:
        cdef Py_ssize_t groups = (self.n + GROUP - 1) // GROUP
        cdef Py_ssize_t tiles = (self.n + LANES - 1) // LANES
        cdef Py_ssize_t width = 1 if self.kind == BYTES else 2
        cdef Py_ssize_t i, k
        self.a = <int8_t*>malloc(groups * GROUP * N_CODES * width)
        self.b = <int8_t*>malloc(tiles * PACKED * width)
        self.sums = <int32_t*>malloc(self.n * sizeof(int32_t))
        if self.a is NULL or self.b is NULL or self.sums is NULL:
            raise MemoryError
        memset(self.a, 0, groups * GROUP * N_CODES * width)
        for i in range(self.n):
            self.sums[i] = 0
            for k in range(N_CODES):
                self.sums[i] += codes[i * N_CODES + k]
        if self.kind == BYTES:
            memcpy(self.a, codes, self.n * N_CODES)
        else:
            for i in range(self.n * N_CODES):
                (<int16_t*>self.a)[i] = codes[i]
        for i in range(tiles):
            k = min(self.n - i * LANES, <Py_ssize_t>LANES)
            if self.kind == BYTES:
                pack_bytes(codes + i * PACKED, k, self.b + i * PACKED)
            else:
                pack_words(codes + i * PACKED, k, self.b + i * PACKED * 2)
        return 0

    def __dealloc__(self):
        free(self.a)
        free(self.b)
        free(self.sums)

    def __len__(self):
        return self.n


cdef struct Search:
    int32_t* out_i
    int32_t* out_j
    double* out_cosine
    Py_ssize_t room, count
    int32_t* parent  # of rows a, then of rows b unless they are the same; NULL: all pairs
    Py_ssize_t shift  # of rows b in parent
    double threshold
    bint same


def close_pairs(Block a not None, Block b not None, Py_ssize_t limit, double threshold, out_i, out_j, out_cosine,
                *, bint forest=False, Py_ssize_t start=0):
    """Write pairs (i of a, j of b) with a product of at least ``threshold``.

    With the same block twice only pairs i < j are looked at. A forest leaves out a pair whose rows hang
    together by the pairs before it: at most len(a) + len(b) are left, by which the same rows hang together.
    Gives the GIL up.

    Args:
        limit: In [-2^29, 2^29]; pairs whose bound is below it are not looked at.
        threshold: Finite.
        out_i: int32, overwritten; as are out_j and out_cosine (doubles). Room for len(a) + len(b) pairs
            for a forest, else for GROUP_PAIRS.
        start: Where to go on: 0, or what the call before returned. 0 for a forest.

    Returns:
        Pairs written, and the start of the next call: -1 when all pairs are done.

    Raises:
        ValueError: Something is out of its range, or the blocks differ in kind or in length of rows.

    Cost: len(a) * len(b) * 64 products of bytes, and an exact product (d numbers) for each pair that passes.
    """
    cdef int32_t[::1] first = out_i
    cdef int32_t[::1] second = out_j
    cdef double[::1] cosine = out_cosine
    cdef Search search
    cdef Py_ssize_t k
    cdef Py_ssize_t needed = a.n + b.n if forest else GROUP * LANES
    cdef int32_t* least = NULL
    if a.dim != b.dim or a.kind != b.kind:
        raise ValueError("blocks must have rows of one length and codes of one kind")
    if not -LARGEST <= limit <= LARGEST:
        raise ValueError(f"limit must be in [{-LARGEST}, {LARGEST}], got {limit}")
    if not isfinite(threshold):
        raise ValueError(f"threshold must be finite, got {threshold!r}")
    if start < 0 or (forest and start):
        raise ValueError(f"start must not be negative, and 0 for a forest; got {start}")
    search.room = min(first.shape[0], second.shape[0], cosine.shape[0])
    if search.room < needed:
        raise ValueError(f"the buffers must have room for {needed} pairs, have {search.room}")
    search.out_i, search.out_j, search.out_cosine = &first[0], &second[0], &cosine[0]
    search.count, search.threshold, search.same, search.parent = 0, threshold, a is b, NULL
    search.shift = 0 if search.same else a.n
    least = <int32_t*>malloc((a.n + GROUP) * sizeof(int32_t))
    try:
        if forest:
            search.parent = <int32_t*>malloc((a.n + search.shift + b.n) * sizeof(int32_t))
        if least is NULL or (forest and search.parent is NULL):
            raise MemoryError
        if forest:
            for k in range(search.shift + b.n):
                search.parent[k] = <int32_t>k
        for k in range(a.n + GROUP):
            least[k] = INT32_MAX
        for k in range(a.n):
            least[k] = <int32_t>limit - a.slack[k] + (128 * a.sums[k] if a.kind == BYTES else 0)
        with nogil:
            start = _sweep(a, b, least, &search, start)
    finally:
        free(least)
        free(search.parent)
    return search.count, start


cdef Py_ssize_t _sweep(Block a, Block b, const int32_t* least, Search* search, Py_ssize_t start) noexcept nogil:
    """All groups of 8 rows a against all tiles of 16 rows b, from number ``start``; -1 or where there is no room."""
    cdef Py_ssize_t groups = (a.n + GROUP - 1) // GROUP
    cdef Py_ssize_t tiles = (b.n + LANES - 1) // LANES
    cdef Py_ssize_t width = 1 if a.kind == BYTES else 2
    cdef Py_ssize_t tile, group, upto, lane, lanes
    cdef Py_ssize_t group_from = start % groups
    cdef int32_t[LANES] own
    cdef uint16_t[GROUP] hits
    cdef sweep_t bound = sweep_of(a.kind)
    for tile in range(start // groups, tiles):
        lanes = min(b.n - tile * LANES, <Py_ssize_t>LANES)
        for lane in range(LANES):
            own[lane] = b.slack[tile * LANES + lane] if lane < lanes else NEVER
        # Of a block with itself only pairs i < j: groups past the tile have none.
        upto = min(groups, (tile + 1) * LANES // GROUP) if search.same else groups
        for group in range(group_from, upto):
            if bound(
                a.a + group * GROUP * N_CODES * width, b.b + tile * PACKED * width, own, least + group * GROUP, hits
            ):
                if search.parent is NULL and search.room - search.count < GROUP * LANES:
                    return tile * groups + group
                _settle(a, b, group * GROUP, tile * LANES, hits, search)
        group_from = 0
    return -1


cdef void _settle(
    Block a, Block b, Py_ssize_t row, Py_ssize_t column, const uint16_t* hits, Search* search
) noexcept nogil:
    """Take the exact product of the pairs whose bound reached the limit."""
    cdef Py_ssize_t i, j, k, lane
    cdef int32_t one = 0
    cdef int32_t other = 0
    cdef double product
    for k in range(GROUP):
        if not hits[k]:
            continue
        i = row + k
        for lane in range(LANES):
            j = column + lane
            if not hits[k] >> lane & 1 or (search.same and j <= i):
                continue
            if search.parent is not NULL:
                one, other = _root(search.parent, <int32_t>i), _root(search.parent, <int32_t>(search.shift + j))
                if one == other:
                    continue
            product = exact(&a.rows[i, 0], &b.rows[j, 0], a.dim)
            if product >= search.threshold:
                if search.parent is not NULL:
                    search.parent[max(one, other)] = min(one, other)
                search.out_i[search.count] = <int32_t>i
                search.out_j[search.count] = <int32_t>j
                search.out_cosine[search.count] = product
                search.count += 1


cdef int32_t _root(int32_t* parent, int32_t one) noexcept nogil:
    while parent[one] != one:
        parent[one] = parent[parent[one]]  # halve the path: later searches are short
        one = parent[one]
    return one


@final
cdef class Sets:
    """Disjoint sets of the numbers 0 .. n - 1, each alone at first (union-find). Not thread-safe.

    Raises:
        ValueError: n is negative or beyond 32 bits.
    """

    cdef int32_t* parent
    cdef Py_ssize_t n

    def __init__(self, Py_ssize_t n):
        cdef Py_ssize_t i
        if not 0 <= n <= INT32_MAX:
            raise ValueError(f"n must be in [0, {INT32_MAX}], got {n}")
        if self.parent is not NULL:
            raise RuntimeError("sets can't be initialised twice")
        self.parent = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        if self.parent is NULL:
            raise MemoryError
        self.n = n
        for i in range(n):
            self.parent[i] = <int32_t>i

    def __dealloc__(self):
        free(self.parent)

    def __len__(self):
        return self.n

    def join(self, ones, others):
        """Make one set of the sets of each pair; how many sets there are fewer.

        Raises:
            ValueError: Arrays of different lengths.
            IndexError: A number that is in no set; then nothing is joined.
        """
        cdef const int32_t[::1] first = ones
        cdef const int32_t[::1] second = others
        cdef Py_ssize_t i
        cdef Py_ssize_t fewer = 0
        cdef int32_t one, other
        if first.shape[0] != second.shape[0]:
            raise ValueError(f"others must have {first.shape[0]} values, got {second.shape[0]}")
        for i in range(first.shape[0]):
            if not (0 <= first[i] < self.n and 0 <= second[i] < self.n):
                raise IndexError(f"pair {i} must be of numbers in [0, {self.n}), is {first[i]}, {second[i]}")
        with nogil:
            for i in range(first.shape[0]):
                one, other = _root(self.parent, first[i]), _root(self.parent, second[i])
                if one != other:
                    self.parent[max(one, other)] = min(one, other)
                    fewer += 1
        return fewer

    def labels(self, out):
        """Write the least number of each number's set to ``out`` (int32, n of them).

        Raises:
            ValueError: ``out`` has another length.
        """
        cdef int32_t[::1] label = out
        cdef Py_ssize_t i
        if label.shape[0] != self.n:
            raise ValueError(f"out must have {self.n} values, got {label.shape[0]}")
        with nogil:
            for i in range(self.n):
                label[i] = _root(self.parent, <int32_t>i)
