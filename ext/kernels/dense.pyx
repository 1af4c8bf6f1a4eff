"""Stores vectors as bytes and scans them. Its oracle is tests/oracles/dense.py: change both.

How it is fast: a product of an int8 row and an int16 query is whole-number arithmetic, one multiply-add instruction for
8 (SSE2), 16 (AVX2) or 64 (AVX-512 VNNI, by halves) numbers, and exact in any order: all processors and the twin agree to the bit.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cython cimport final
from libc.math cimport fabs, floor, isfinite, sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from _products cimport cg_products, cg_products_t

from struct import Struct

__all__ = ["MAX_DIM", "Vectors"]

cdef enum:
    MOST_DIM = 4096  # 4096 * 127 * 4095 still fits 32 bits
    FINE = 4095  # steps of the query on each side of zero
    COARSE = 127  # of a row
    PIECE = 4_194_304
    STRETCH = 64  # rows whose products are made at once

MAX_DIM = MOST_DIM
MAGIC = b"CGV\x02"
HEAD = Struct("<4sIQ")  # magic, dim, rows: never renumber


@final
cdef class Vectors:
    """Rows 0, 1, ... of ``dim`` numbers. Not thread-safe; ``scan`` gives the GIL up.

    Raises:
        ValueError: A dim outside [1, MAX_DIM].
    """

    cdef int8_t* lent  # the first rows, in bytes that somebody else owns
    cdef int8_t* cell  # the others
    cdef float* scale
    cdef Py_ssize_t n_lent, n_rows, room
    cdef object owner
    cdef Py_ssize_t dim_

    def __init__(self, Py_ssize_t dim):
        if not 1 <= dim <= MOST_DIM:
            raise ValueError(f"dim must be in [1, {MAX_DIM}], got {dim}")
        if self.cell is not NULL:
            raise RuntimeError("vectors can't be initialised twice")
        self.dim_ = dim

    def __dealloc__(self):
        free(self.cell)
        free(self.scale)

    def __len__(self):
        return self.n_rows

    @property
    def dim(self):
        """Numbers of a row."""
        return self.dim_

    cdef inline int8_t* _at(self, Py_ssize_t row) noexcept nogil:
        if row < self.n_lent:
            return self.lent + row * self.dim_
        return self.cell + (row - self.n_lent) * self.dim_

    cdef int _grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t room = rows + rows // 8 + 64
        cdef void* moved
        if rows > self.room:
            moved = realloc(self.cell, (room - self.n_lent) * self.dim_)
            if moved is NULL:
                raise MemoryError
            self.cell = <int8_t*>moved
            moved = realloc(self.scale, room * sizeof(float))
            if moved is NULL:
                raise MemoryError
            self.scale = <float*>moved
            self.room = room
        return 0

    def append(self, vector):
        """Append a row (a buffer of floats); None is an empty one. Its number.

        Raises:
            ValueError: Not ``dim`` numbers, or one that is not finite.
        """
        self._grow(self.n_rows + 1)
        self._write(self.n_rows, vector)
        self.n_rows += 1
        return self.n_rows - 1

    def put(self, Py_ssize_t row, vector):
        """Write a row; rows up to it that don't exist yet are empty.

        Raises:
            ValueError: As for append.
            IndexError: A negative row.
        """
        cdef Py_ssize_t i
        if row < 0:
            raise IndexError(f"row must not be negative, got {row}")
        self._grow(row + 1)
        for i in range(self.n_rows, row):
            self._write(i, None)
        self._write(row, vector)
        if row >= self.n_rows:
            self.n_rows = row + 1

    @property
    def filled(self):
        """Rows that hold a vector that is not zero."""
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t i
        for i in range(self.n_rows):
            count += self.scale[i] > 0.0
        return count

    cdef int _write(self, Py_ssize_t row, object vector) except -1:
        cdef const float[::1] v
        cdef int8_t* cell = self._at(row)
        cdef float largest = 0.0
        cdef double step
        cdef Py_ssize_t i
        if vector is not None:
            v = vector
            if v.shape[0] != self.dim_:
                raise ValueError(f"vector must have {self.dim_} values, got {v.shape[0]}")
            for i in range(self.dim_):
                if not isfinite(v[i]):
                    raise ValueError(f"vector[{i}] must be finite, got {<double>v[i]!r}")
                if fabs(v[i]) > largest:
                    largest = <float>fabs(v[i])
        if largest < 1e-30:
            memset(cell, 0, self.dim_)
            self.scale[row] = 0.0
            return 0
        step = <double>largest / COARSE
        for i in range(self.dim_):
            cell[i] = <int8_t>floor(v[i] / step + 0.5)
        self.scale[row] = <float>step
        return 0

    def scan(self, query, live, scores):
        """Write the product of every live row with the query to scores; (count, mean, standard deviation).

        Dead and empty rows get 0 and don't count. Cost: ``dim`` bytes read a row.

        Args:
            query: Floats, ``dim`` of them.
            live: One byte a row, nonzero: live.
            scores: Floats, one a row at least, overwritten.

        Raises:
            ValueError: Buffers that don't fit, or a query that is not finite.
        """
        cdef const uint8_t[::1] alive = live
        cdef float[::1] out = scores
        cdef int16_t* fine
        cdef double fine_step, count = 0.0, total = 0.0, squares = 0.0
        if alive.shape[0] < self.n_rows or out.shape[0] < self.n_rows:
            raise ValueError(
                f"live and scores must have {self.n_rows} values, got {alive.shape[0]} and {out.shape[0]}"
            )
        if self.n_rows == 0:
            return 0, 0.0, 0.0
        fine = <int16_t*>malloc(self.dim_ * sizeof(int16_t))
        if fine is NULL:
            raise MemoryError
        try:
            fine_step = self._refine(query, fine)
            with nogil:
                self._scan(fine, fine_step, &alive[0], &out[0], &count, &total, &squares)
        finally:
            free(fine)
        if count == 0.0:
            return 0, 0.0, 0.0
        total /= count
        squares = squares / count - total * total
        return int(count), total, sqrt(squares) if squares > 0.0 else 0.0

    cdef double _refine(self, object query, int16_t* fine) except -1.0:
        cdef const float[::1] q = query
        cdef double largest = 0.0
        cdef Py_ssize_t i
        if q.shape[0] != self.dim_:
            raise ValueError(f"query must have {self.dim_} values, got {q.shape[0]}")
        for i in range(self.dim_):
            if not isfinite(q[i]):
                raise ValueError(f"query[{i}] must be finite, got {<double>q[i]!r}")
            if fabs(q[i]) > largest:
                largest = fabs(q[i])
        if largest < 1e-30:
            memset(fine, 0, self.dim_ * sizeof(int16_t))
            return 0.0
        for i in range(self.dim_):
            fine[i] = <int16_t>floor(q[i] / (largest / FINE) + 0.5)
        return largest / FINE

    cdef void _scan(
        self, const int16_t* fine, double fine_step, const uint8_t* alive, float* out, double* count,
        double* total, double* squares,
    ) noexcept nogil:
        cdef cg_products_t products = cg_products()
        cdef int32_t[STRETCH] product
        cdef double[4] sums  # side by side: one addition need not wait for the one before; live rows take turns
        cdef double[4] powers
        cdef int64_t found = 0
        cdef double value
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t row, rows, lane
        cdef bint counts
        for lane in range(4):
            sums[lane] = powers[lane] = 0.0
        while start < self.n_rows:
            rows = self.n_rows if start >= self.n_lent else self.n_lent
            rows = rows - start if rows - start < STRETCH else STRETCH
            products(self._at(start), fine, self.dim_, rows, product)
            for row in range(start, start + rows):
                counts = alive[row] and self.scale[row] > 0.0
                value = product[row - start] * (fine_step * self.scale[row]) if counts else 0.0
                out[row] = <float>value
                sums[found & 3] += value
                powers[found & 3] += value * value
                found += counts
            start += rows
        count[0] = <double>found
        total[0] = (sums[0] + sums[1]) + (sums[2] + sums[3])
        squares[0] = (powers[0] + powers[1]) + (powers[2] + powers[3])

    def likeness(self, left, right):
        """(pairs of two rows that are not empty, mean cosine of these): row left[i] with row right[i].

        0.0 where there is no such pair. Cost: two rows read a pair.

        Args:
            left: Row numbers, uint32.
            right: As many.

        Raises:
            ValueError: Another number of them, or a row that is not there.
        """
        cdef const uint32_t[::1] one = left
        cdef const uint32_t[::1] other = right
        cdef const int8_t* a
        cdef const int8_t* b
        cdef int64_t product, ours, theirs
        cdef double total = 0.0
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t i, j
        if one.shape[0] != other.shape[0]:
            raise ValueError(f"right must have {one.shape[0]} values, got {other.shape[0]}")
        for i in range(one.shape[0]):
            if one[i] >= self.n_rows or other[i] >= self.n_rows:
                raise ValueError(f"rows must be below {self.n_rows}, got {one[i]} and {other[i]}")
            if self.scale[one[i]] <= 0.0 or self.scale[other[i]] <= 0.0:
                continue
            a, b = self._at(one[i]), self._at(other[i])
            product = ours = theirs = 0
            for j in range(self.dim_):
                product += <int32_t>a[j] * b[j]
                ours += <int32_t>a[j] * a[j]
                theirs += <int32_t>b[j] * b[j]
            total += product / sqrt(<double>ours * <double>theirs)
            count += 1
        return count, total / count if count else 0.0

    def kept(self, live):
        """A copy with the live rows alone, in their order."""
        cdef const uint8_t[::1] alive = live
        cdef Vectors other = Vectors(self.dim_)
        cdef Py_ssize_t i
        if alive.shape[0] < self.n_rows:
            raise ValueError(f"live must have {self.n_rows} values, got {alive.shape[0]}")
        other._grow(self.n_rows)
        for i in range(self.n_rows):
            if alive[i]:
                memcpy(other.cell + other.n_rows * self.dim_, self._at(i), self.dim_)
                other.scale[other.n_rows] = self.scale[i]
                other.n_rows += 1
        return other

    def to_bytes(self):
        """All rows; load_bytes reads them."""
        return b"".join(self.parts())

    def parts(self):
        """The bytes of to_bytes, in pieces of at most some megabytes: a snapshot needs no copy of everything.

        Nothing may change meanwhile.
        """
        cdef Py_ssize_t size = self.n_rows * <Py_ssize_t>sizeof(float)
        cdef Py_ssize_t at
        yield HEAD.pack(MAGIC, self.dim_, self.n_rows)
        for at in range(0, size, PIECE):
            yield PyBytes_FromStringAndSize(<char*>self.scale + at, min(size - at, PIECE))
        yield bytes(_cells_at(self.n_rows) - HEAD.size - size)
        size = self.n_lent * self.dim_
        for at in range(0, size, PIECE):
            yield PyBytes_FromStringAndSize(<char*>self.lent + at, min(size - at, PIECE))
        size = (self.n_rows - self.n_lent) * self.dim_
        for at in range(0, size, PIECE):
            yield PyBytes_FromStringAndSize(<char*>self.cell + at, min(size - at, PIECE))

    def load_bytes(self, packed):
        """Replace all rows by what to_bytes gave.

        Raises:
            ValueError: Not such bytes; then nothing is changed.
        """
        cdef const uint8_t[::1] view = packed
        cdef Vectors other = self._loaded(view)
        if other.n_rows:
            other.cell = <int8_t*>malloc(other.n_rows * self.dim_)
            if other.cell is NULL:
                raise MemoryError
            memcpy(other.cell, &view[_cells_at(other.n_rows)], other.n_rows * self.dim_)
        self._take(other)

    def borrow(self, packed):
        """As ``load_bytes``, but the compiled one reads the rows where they are, and ``put`` writes there.

        So these bytes must be writable, and stay: a private mapping of a file is both, and takes no memory
        of its own for rows that nobody writes. Rows that are added are the object's own.
        """
        cdef uint8_t[::1] view = packed
        cdef Vectors other = self._loaded(view)
        if other.n_rows:
            other.lent = <int8_t*>&view[_cells_at(other.n_rows)]
            other.n_lent = other.n_rows
            other.owner = memoryview(packed)
        self._take(other)

    cdef Vectors _loaded(self, const uint8_t[::1] view):
        """Other vectors that have the scales, with their number of rows, but no rows yet."""
        cdef Vectors other
        cdef Py_ssize_t rows, i
        if view.shape[0] < HEAD.size or bytes(view[:4]) != MAGIC:
            raise ValueError(f"not vectors, or of a later version: {bytes(view[:4])!r}")
        magic, dim, count = HEAD.unpack_from(view)
        if dim != self.dim_:
            raise ValueError(f"vectors of {dim} numbers, not {self.dim_}")
        rows = min(count, view.shape[0])  # a number beyond the bytes may be beyond any C number
        if rows != count or view.shape[0] != _cells_at(rows) + rows * self.dim_:
            raise ValueError(f"{count} vectors don't take {view.shape[0] - HEAD.size} bytes")
        other = Vectors(self.dim_)
        other.room = rows
        other.scale = <float*>malloc((rows + 1) * sizeof(float))
        if other.scale is NULL:
            raise MemoryError
        memcpy(other.scale, &view[HEAD.size], rows * sizeof(float)) if rows else NULL
        for i in range(rows):
            if not (isfinite(other.scale[i]) and other.scale[i] >= 0.0):
                raise ValueError(f"the scale of vector {i} must be finite and not negative")
        other.n_rows = rows
        return other

    cdef void _take(self, Vectors other) noexcept:
        self.cell, other.cell = other.cell, self.cell
        self.scale, other.scale = other.scale, self.scale
        self.lent, self.n_lent, self.owner = other.lent, other.n_lent, other.owner
        self.n_rows, self.room = other.n_rows, other.room


cdef inline Py_ssize_t _cells_at(Py_ssize_t rows) noexcept:
    """Where the rows begin: at a multiple of 64 bytes, so that none is read across a line of the cache."""
    return (16 + 4 * rows + 63) // 64 * 64
