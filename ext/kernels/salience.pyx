"""Scores the salience of a block of memories, space by space. The readable twin is
context_graph/kernels/reference/salience.py: change both.

One pass with the GIL released: a row is read once and stays in the cache for every centre it is compared with.
Sums run in 16 lanes of single precision, which the compiler keeps in vector registers.
"""

from libc.math cimport sqrt

__all__ = ["add_weighted", "score"]

cdef enum:
    LANES = 16
    SPACES = 13
    DIM = 1536

cdef int[SPACES] SIZES = [256, 32, 128, 96, 64, 64, 192, 128, 96, 128, 32, 192, 128]


cdef inline double _dot(const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    """``n`` is a multiple of the lanes, as the size of every space is."""
    cdef float[LANES] lanes
    cdef double total = 0.0
    cdef Py_ssize_t k = 0, j
    for j in range(LANES):
        lanes[j] = 0.0
    while k < n:
        for j in range(LANES):
            lanes[j] += x[k + j] * y[k + j]
        k += LANES
    for j in range(LANES):
        total += lanes[j]
    return total


cdef double _near(const float* part, double length, const float* centres, Py_ssize_t count, Py_ssize_t n,
                  const double* most) noexcept nogil:
    """The greatest of cosine times weight over the centres, in [0, 1]."""
    cdef double near = 0.0, value
    cdef Py_ssize_t c
    for c in range(count):
        value = _dot(part, centres + c * DIM, n) / length
        if value > 1.0:
            value = 1.0
        value *= most[c]
        if value > near:
            near = value
    return near


cdef void _row(const float* row, double told, double base, double unread, const float* centres, Py_ssize_t count,
               const double* most, double* out) noexcept nogil:
    cdef Py_ssize_t start = 0, s
    cdef double square
    for s in range(SPACES):
        square = _dot(row + start, row + start, SIZES[s])
        if square > 0.0:
            out[s] = 1.0 - base * (1.0 - told * _near(
                row + start, sqrt(square), centres + start, count, SIZES[s], most))
        else:
            out[s] = 0.0
            if s == 0 and told > 0.0:
                for s in range(SPACES):
                    out[s] = unread * (1.0 - base)
                return
        start += SIZES[s]


def score(const float[:, ::1] block, const double[::1] told, const double[::1] base, const float[:, ::1] centres,
          const double[::1] most, double unread, double[:, ::1] out):
    """The 13 scores of each row."""
    cdef Py_ssize_t rows = block.shape[0], count = centres.shape[0], i
    cdef const float* first = NULL
    cdef const double* weights = NULL
    if block.shape[1] != DIM or centres.shape[1] != DIM or out.shape[1] != SPACES:
        raise ValueError("rows and centres have 1536 values, scores 13")
    if not (told.shape[0] == base.shape[0] == out.shape[0] == rows and most.shape[0] == count):
        raise ValueError("told, base and out are needed for each row, most for each centre")
    if count:
        first = &centres[0, 0]
        weights = &most[0]
    with nogil:
        for i in range(rows):
            _row(&block[i, 0], told[i], base[i], unread, first, count, weights, &out[i, 0])


def add_weighted(const float[:, ::1] block, const double[::1] weights, double[::1] total):
    """Add each row times its weight to ``total``."""
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
