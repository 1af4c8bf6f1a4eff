"""Ranks all rows of an index by several scores. The readable twin is
context_graph/kernels/reference/ranking.py: change both.

Every function is one pass over the rows with the GIL released; scores are floats, sums are doubles.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

__all__ = [
    "NONE",
    "add_by_age",
    "add_by_class",
    "add_standardised",
    "clear",
    "expect",
    "keep_classes",
    "keep_numbers",
    "keep_rows",
    "keep_times",
    "lift_groups",
    "moments",
    "spaced",
    "spread",
    "top",
]

cdef enum:
    NO_ROW = 0xFFFFFFFF

NONE = 4_294_967_295


cdef int _fits(str name, Py_ssize_t found, Py_ssize_t wanted) except -1:
    if found < wanted:
        raise ValueError(f"{name} must have {wanted} values, got {found}")
    return 0


def moments(scores, live):
    """(count, mean, standard deviation) of the live rows' scores."""
    cdef const uint8_t[::1] alive = live
    cdef const float[::1] value = scores
    cdef Py_ssize_t n = alive.shape[0]
    cdef double count = 0.0, total = 0.0, squares = 0.0
    cdef Py_ssize_t i
    _fits("scores", value.shape[0], n)
    with nogil:
        for i in range(n):
            if alive[i]:
                count += 1.0
                total += value[i]
                squares += <double>value[i] * value[i]
    if count == 0.0:
        return 0, 0.0, 0.0
    total /= count
    squares = squares / count - total * total
    return int(count), total, sqrt(squares) if squares > 0.0 else 0.0


def clear(scores):
    """Set every score to 0."""
    cdef float[::1] value = scores
    if value.shape[0]:
        memset(&value[0], 0, value.shape[0] * sizeof(float))


def add_standardised(scores, double mean, double deviation, double weight, bint skip_zeros, out):
    """Add weight * (score - mean) / deviation to every row; with skip_zeros, not to rows whose score is 0."""
    cdef const float[::1] value = scores
    cdef float[::1] total = out
    cdef Py_ssize_t n = value.shape[0]
    cdef Py_ssize_t i
    cdef double factor
    _fits("out", total.shape[0], n)
    if deviation < 1e-9:
        return
    factor = weight / deviation
    with nogil:
        if skip_zeros:
            for i in range(n):  # without a branch, so that it is vectorised
                total[i] += <float>(factor * (value[i] - mean)) if value[i] != 0.0 else <float>0.0
        else:
            for i in range(n):
                total[i] += <float>(factor * (value[i] - mean))


def expect(like, double mean, double deviation, double its_mean, double slope, out):
    """Where ``out`` is 0 and ``like`` is not, write its_mean + slope * (like - mean) / deviation."""
    cdef const float[::1] known = like
    cdef float[::1] score = out
    cdef Py_ssize_t n = known.shape[0]
    cdef Py_ssize_t i
    cdef double factor
    _fits("out", score.shape[0], n)
    if deviation < 1e-9:
        return
    factor = slope / deviation
    with nogil:
        for i in range(n):
            if score[i] == 0.0 and known[i] != 0.0:
                score[i] = <float>(its_mean + factor * (known[i] - mean))


def add_by_class(classes, weights, out):
    """Add to every row the weight of its class; classes without a weight get nothing."""
    cdef const uint32_t[::1] kind = classes
    cdef const float[::1] weight = weights
    cdef float[::1] total = out
    cdef Py_ssize_t n = kind.shape[0]
    cdef Py_ssize_t known = weight.shape[0]
    cdef Py_ssize_t i
    _fits("out", total.shape[0], n)
    with nogil:
        for i in range(n):
            if kind[i] < known:
                total[i] += weight[kind[i]]


def add_by_age(times, int64_t now, double half_life, double weight, out):
    """Add weight / (1 + age / half_life) to every row; a time in the future has age 0."""
    cdef const int64_t[::1] time = times
    cdef float[::1] total = out
    cdef Py_ssize_t n = time.shape[0]
    cdef Py_ssize_t i
    cdef double age
    _fits("out", total.shape[0], n)
    if not half_life > 0.0:
        raise ValueError(f"half_life must be positive, got {half_life!r}")
    with nogil:
        for i in range(n):
            age = <double>now - <double>time[i]
            total[i] += <float>(weight / (1.0 + (age if age > 0.0 else 0.0) / half_life))


def spread(scores, live, before, asks, double after_question, double back, out):
    """Write to out each score and what its live neighbours pass on."""
    cdef const float[::1] value = scores
    cdef const uint8_t[::1] alive = live
    cdef const uint32_t[::1] previous = before
    cdef const uint32_t[::1] asking = asks
    cdef float[::1] total = out
    cdef Py_ssize_t n = alive.shape[0]
    cdef Py_ssize_t i
    cdef uint32_t j
    _fits("scores", value.shape[0], n)
    _fits("before", previous.shape[0], n)
    _fits("asks", asking.shape[0], n)
    _fits("out", total.shape[0], n)
    with nogil:
        for i in range(n):
            total[i] = value[i]
        for i in range(n):
            if not alive[i]:
                continue
            j = previous[i]
            # A row's predecessor is older than the row, so that this ends.
            while j < i and not alive[j]:
                j = previous[j] if previous[j] < j else <uint32_t>NO_ROW
            if j >= i:
                continue
            if value[j] > 0.0 and asking[j] & 1:
                total[i] += <float>(after_question * value[j])
            if value[i] > 0.0:
                total[j] += <float>(back * value[i])


def spaced(live, Py_ssize_t most):
    """At most so many live rows at equal distances, lowest first."""
    cdef const uint8_t[::1] alive = live
    cdef Py_ssize_t n = alive.shape[0]
    cdef Py_ssize_t count = 0, seen = 0, taken = 0
    cdef Py_ssize_t i
    for i in range(n):
        count += alive[i] != 0
    found = []
    for i in range(n):
        if alive[i]:
            if taken < most and seen * most >= taken * count:
                found.append(i)
                taken += 1
            seen += 1
    return found


def lift_groups(scores, live, groups, double weight):
    """Add weight * the best positive score of its group to every live row; group 0 is none."""
    cdef float[::1] value = scores
    cdef const uint8_t[::1] alive = live
    cdef const uint32_t[::1] group = groups
    cdef Py_ssize_t n = alive.shape[0]
    cdef Py_ssize_t i
    cdef uint32_t most = 0
    cdef float* best
    _fits("scores", value.shape[0], n)
    _fits("groups", group.shape[0], n)
    for i in range(n):
        if group[i] > most:
            most = group[i]
    if most == 0:
        return
    best = <float*>malloc((<size_t>most + 1) * sizeof(float))
    if best is NULL:
        raise MemoryError
    with nogil:
        for i in range(<Py_ssize_t>most + 1):
            best[i] = 0.0
        for i in range(n):
            if alive[i] and value[i] > best[group[i]]:
                best[group[i]] = value[i]
        best[0] = 0.0
        for i in range(n):
            if alive[i]:
                value[i] += <float>(weight * best[group[i]])
    free(best)


def keep_classes(mask, classes, allowed):
    """Clear the mask of rows whose class is not allowed; allowed has one byte a class."""
    cdef uint8_t[::1] keep = mask
    cdef const uint32_t[::1] kind = classes
    cdef const uint8_t[::1] good = allowed
    cdef Py_ssize_t n = keep.shape[0]
    cdef Py_ssize_t known = good.shape[0]
    cdef Py_ssize_t i
    _fits("classes", kind.shape[0], n)
    with nogil:
        for i in range(n):
            if kind[i] >= known or not good[kind[i]]:
                keep[i] = 0


def keep_numbers(mask, numbers, double low, double high):
    """Clear the mask of rows whose number (a double) is not in [low, high]."""
    cdef uint8_t[::1] keep = mask
    cdef const double[::1] number = numbers
    cdef Py_ssize_t n = keep.shape[0]
    cdef Py_ssize_t i
    _fits("numbers", number.shape[0], n)
    with nogil:
        for i in range(n):
            if not (low <= number[i] <= high):
                keep[i] = 0


def keep_rows(mask, rows):
    """Clear the mask of every row but these, which must grow."""
    cdef uint8_t[::1] keep = mask
    cdef const uint32_t[::1] kept = rows
    cdef Py_ssize_t n = keep.shape[0]
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t i
    for i in range(kept.shape[0]):
        if not start <= kept[i] < n:
            raise ValueError(f"rows must grow and be below {n}, got {kept[i]}")
        memset(&keep[start], 0, kept[i] - start) if kept[i] > start else NULL
        start = kept[i] + 1
    if start < n:
        memset(&keep[start], 0, n - start)


def keep_times(mask, times, int64_t low, int64_t high):
    """Clear the mask of rows whose time is not in [low, high]."""
    cdef uint8_t[::1] keep = mask
    cdef const int64_t[::1] time = times
    cdef Py_ssize_t n = keep.shape[0]
    cdef Py_ssize_t i
    _fits("times", time.shape[0], n)
    with nogil:
        for i in range(n):
            if not (low <= time[i] <= high):
                keep[i] = 0


def top(scores, mask, Py_ssize_t k):
    """The k best rows of the mask, best first; of equal ones the higher row."""
    cdef const float[::1] value = scores
    cdef const uint8_t[::1] keep = mask
    cdef Py_ssize_t n = keep.shape[0]
    cdef Py_ssize_t held = 0
    cdef Py_ssize_t i
    cdef uint32_t* heap
    _fits("scores", value.shape[0], n)
    if k <= 0 or n == 0:
        return []
    if k > n:
        k = n
    heap = <uint32_t*>malloc(k * sizeof(uint32_t))
    if heap is NULL:
        raise MemoryError
    try:
        with nogil:
            for i in range(n):
                if not keep[i]:
                    continue
                if held < k:
                    heap[held] = <uint32_t>i
                    held += 1
                    _rise(heap, held - 1, &value[0])
                elif not _worse(<uint32_t>i, heap[0], &value[0]):
                    heap[0] = <uint32_t>i
                    _sink(heap, held, &value[0])
        best = []
        while held:
            best.append(heap[0])
            held -= 1
            heap[0] = heap[held]
            _sink(heap, held, &value[0])
    finally:
        free(heap)
    best.reverse()
    return best


cdef inline bint _worse(uint32_t a, uint32_t b, const float* value) noexcept nogil:
    return value[a] < value[b] or (value[a] == value[b] and a < b)


cdef void _rise(uint32_t* heap, Py_ssize_t at, const float* value) noexcept nogil:
    cdef Py_ssize_t parent
    cdef uint32_t moved = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        if not _worse(moved, heap[parent], value):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = moved


cdef void _sink(uint32_t* heap, Py_ssize_t n, const float* value) noexcept nogil:
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t child
    cdef uint32_t moved = heap[0]
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _worse(heap[child + 1], heap[child], value):
            child += 1
        if not _worse(heap[child], moved, value):
            break
        heap[at] = heap[child]
        at = child
    if n:
        heap[at] = moved
