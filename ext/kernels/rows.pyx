"""Finds rows of an index. Its oracle is tests/oracles/rows.py: change both.

How it is small: a place in the table is a row's number, 4 bytes; the id itself is looked at in the index's column.
"""

from cython cimport final, overflowcheck
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from array import array

__all__ = ["Ids", "previous"]

cdef enum:
    ID = 16
    FREE = 0  # a place holds a row's number + 2
    LEFT = 1  # a row was here; a search goes on
    FIRST_PLACES = 64  # a power of two
    NO_ROW = 0xFFFFFFFF


@final
cdef class Ids:
    """Which row has an id. Not thread-safe. Compiled: some 8 bytes a row, 0.1 us a call.

    Each call takes the column of the ids as it is now; ValueError where it lacks a row that was put.
    """

    cdef uint32_t* place
    cdef Py_ssize_t n_places  # a power of two, at least 1.5 times what was ever put there
    cdef Py_ssize_t held, used

    def __dealloc__(self):
        free(self.place)

    def __len__(self):
        return self.held

    def find(self, ids, key):
        """The row of this id, or None; ValueError for an id of another length."""
        cdef const uint8_t[::1] column = ids
        cdef const uint8_t[::1] wanted = _key(key)
        cdef Py_ssize_t at = self._find(column, &wanted[0])
        return None if at < 0 else self.place[at] - 2

    cdef Py_ssize_t _find(self, const uint8_t[::1] column, const uint8_t* key) except -2:
        """The place of an id, -1 without one."""
        cdef Py_ssize_t at
        cdef Py_ssize_t row
        if self.held == 0:
            return -1
        at = _hash(key) & (self.n_places - 1)
        while self.place[at] != FREE:
            if self.place[at] != LEFT:
                row = <Py_ssize_t>self.place[at] - 2
                if (row + 1) * ID > column.shape[0]:
                    raise ValueError(f"ids must have {row + 1} values, got {column.shape[0] // ID}")
                if memcmp(&column[row * ID], key, ID) == 0:
                    return at
            at = (at + 1) & (self.n_places - 1)
        return -1

    def put(self, ids, uint32_t row):
        """Let the id in this row of the column lead to it, whichever it led to before."""
        cdef const uint8_t[::1] column = ids
        self._set(column, row)

    cdef int _set(self, const uint8_t[::1] column, uint32_t row) except -1:
        cdef Py_ssize_t at
        if (<Py_ssize_t>row + 1) * ID > column.shape[0] or row > NO_ROW - 2:
            raise ValueError(f"ids must have {row + 1} values, got {column.shape[0] // ID}")
        at = self._find(column, &column[row * ID])
        if at >= 0:
            self.place[at] = row + 2
            return 0
        if (self.used + 1) * 3 > self.n_places * 2:
            self._grow(column)
        self._put(&column[row * ID], row)
        return 0

    def put_all(self, ids, flags, uint32_t without):
        """As ``put``, for every row, in order, whose flags (uint32) have none of the bits ``without``."""
        cdef const uint8_t[::1] column = ids
        cdef const uint32_t[::1] flag = flags
        cdef Py_ssize_t row
        if flag.shape[0] * ID > column.shape[0]:
            raise ValueError(f"ids must have {flag.shape[0]} values, got {column.shape[0] // ID}")
        for row in range(flag.shape[0]):
            if not flag[row] & without:
                self._set(column, <uint32_t>row)

    cdef void _put(self, const uint8_t* key, uint32_t row) noexcept nogil:
        cdef Py_ssize_t at = _hash(key) & (self.n_places - 1)
        while self.place[at] != FREE:
            at = (at + 1) & (self.n_places - 1)
        self.place[at] = row + 2
        self.held += 1
        self.used += 1

    cdef int _grow(self, const uint8_t[::1] column) except -1:
        """Make room for half as many more than there are."""
        cdef uint32_t* old = self.place
        cdef Py_ssize_t count = self.n_places
        cdef Py_ssize_t wanted = FIRST_PLACES
        cdef Py_ssize_t i
        while wanted * 4 < (self.held + 1) * 9:
            wanted *= 2
        self.place = <uint32_t*>calloc(wanted, sizeof(uint32_t))
        if self.place is NULL:
            self.place = old
            raise MemoryError
        self.n_places, self.held, self.used = wanted, 0, 0
        for i in range(count):
            if old[i] > LEFT:
                self._put(&column[(<Py_ssize_t>old[i] - 2) * ID], old[i] - 2)
        free(old)
        return 0

    def drop(self, ids, key):
        """Forget an id; its row, or None."""
        cdef const uint8_t[::1] column = ids
        cdef const uint8_t[::1] wanted = _key(key)
        cdef Py_ssize_t at = self._find(column, &wanted[0])
        cdef uint32_t row
        if at < 0:
            return None
        row = self.place[at] - 2
        self.place[at] = LEFT
        self.held -= 1
        return row

    def rows(self):
        """The rows (uint32) that are found, in no order."""
        return array("I", [self.place[i] - 2 for i in range(self.n_places) if self.place[i] > LEFT])


cdef const uint8_t[::1] _key(object key):
    cdef const uint8_t[::1] wanted = key
    if wanted.shape[0] != ID:
        raise ValueError(f"an id must have {ID} bytes, got {wanted.shape[0]}")
    return wanted


@overflowcheck(False)  # a product of hashes is meant to
cdef inline Py_ssize_t _hash(const uint8_t* key) noexcept nogil:
    cdef uint64_t low, high
    memcpy(&low, key, 8)
    memcpy(&high, key + 8, 8)
    low = (low ^ (high * <uint64_t>0x9E3779B97F4A7C15)) * <uint64_t>0xC2B2AE3D27D4EB4F
    return <Py_ssize_t>(low >> 24)


def previous(groups):
    """For each row the last one before it in its group, and for each group from 0 on its last row.

    `ranking.NONE` where there is none; group 0 is none. Cost: some ns a row.
    """
    cdef const uint32_t[::1] group = groups
    cdef Py_ssize_t n = group.shape[0]
    cdef Py_ssize_t i
    cdef uint32_t most = 0
    cdef uint32_t[::1] before, last
    for i in range(n):
        most = group[i] if group[i] > most else most
    found, ends = array("I", bytes(4 * n)), array("I", bytes(4 * (<Py_ssize_t>most + 1)))
    before, last = found, ends
    with nogil:
        for i in range(<Py_ssize_t>most + 1):
            last[i] = NO_ROW
        for i in range(n):
            before[i] = last[group[i]]
            last[group[i]] = <uint32_t>i if group[i] else <uint32_t>NO_ROW
    return found, ends
