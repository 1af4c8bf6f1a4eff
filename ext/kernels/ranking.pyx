"""Ranks all rows of an index by several scores. Its oracle is
tests/oracles/ranking.py: change both.

Every function is one pass over the rows with the GIL released; scores are floats, sums are doubles.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from _types cimport count_set

__all__ = [
    "NONE",
    "add_by_age",
    "add_standardised",
    "blend",
    "clear",
    "count",
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
    MOST_PARTS = 4
    STRETCH = 2048  # rows that are blended at once: their sums stay in the first cache
    BLOCK = 16  # rows of which the best is found first

NONE = 4_294_967_295


cdef int _fits(str name, Py_ssize_t found, Py_ssize_t wanted) except -1:
    if found < wanted:
        raise ValueError(f"{name} must have {wanted} values, got {found}")
    return 0


def count(mask):
    """How many bytes of the mask are not 0."""
    cdef const uint8_t[::1] keep = mask
    cdef Py_ssize_t n = keep.shape[0]
    cdef Py_ssize_t found
    with nogil:
        found = count_set(&keep[0], n) if n else 0
    return found


def moments(scores, live):
    """(count, mean, standard deviation) of the live rows' scores; zeros when there is none."""
    cdef const uint8_t[::1] alive = live
    cdef const float[::1] value = scores
    cdef Py_ssize_t n = alive.shape[0]
    cdef Py_ssize_t rows
    cdef double total = 0.0, squares = 0.0
    _fits("scores", value.shape[0], n)
    if n == 0:
        return 0, 0.0, 0.0
    with nogil:
        rows = count_set(&alive[0], n)
        _sums(&value[0], &alive[0], n, &total, &squares)
    if rows == 0:
        return 0, 0.0, 0.0
    total /= rows
    squares = squares / rows - total * total
    return rows, total, sqrt(squares) if squares > 0.0 else 0.0


cdef void _sums(
    const float* value, const uint8_t* alive, Py_ssize_t n, double* total, double* squares
) noexcept nogil:
    """Four sums side by side: one addition need not wait for the one before. Live rows take turns, so that dead
    ones change nothing, not even the last bit."""
    cdef double[4] sums
    cdef double[4] products
    cdef double number
    cdef Py_ssize_t i
    cdef unsigned int turn = 0
    cdef int lane
    for lane in range(4):
        sums[lane] = products[lane] = 0.0
    for i in range(n):
        number = value[i] if alive[i] else <float>0.0
        sums[turn & 3] += number
        products[turn & 3] += number * number
        turn += alive[i] != 0
    total[0] = (sums[0] + sums[1]) + (sums[2] + sums[3])
    squares[0] = (products[0] + products[1]) + (products[2] + products[3])


def clear(scores):
    """Set every score to 0."""
    cdef float[::1] value = scores
    if value.shape[0]:
        memset(&value[0], 0, value.shape[0] * sizeof(float))


def add_standardised(scores, double mean, double deviation, double weight, bint skip_zeros, out):
    """Add weight * (score - mean) / deviation of every row to ``out``; nothing when the deviation is 0.

    With ``skip_zeros`` a score of exactly 0 means that the row has none, and it gets nothing.
    """
    cdef const float[::1] value = scores
    cdef float[::1] total = out
    cdef Py_ssize_t n = value.shape[0]
    _fits("out", total.shape[0], n)
    if deviation < 1e-9 or n == 0:
        return
    with nogil:
        _add(&value[0], mean, weight / deviation, skip_zeros, n, &total[0])


cdef void _add(
    const float* value, double mean, double factor, bint skip_zeros, Py_ssize_t n, float* total
) noexcept nogil:
    cdef Py_ssize_t i
    if skip_zeros:
        for i in range(n):  # without a branch, so that it is vectorised
            total[i] += <float>(factor * (value[i] - mean)) if value[i] != 0.0 else <float>0.0
    else:
        for i in range(n):
            total[i] += <float>(factor * (value[i] - mean))


def blend(parts, classes, weights, out):
    """Write to ``out`` the sum of each row's standardised scores, and the weight of its class.

    Args:
        parts: At most 4 times (scores, mean, deviation, weight, skip_zeros), as for `add_standardised`.
        classes: One a row: there are as many rows as classes.
        weights: Floats; a class beyond them gets nothing.

    Raises:
        ValueError: More parts, or buffers that don't fit each other.
    """
    cdef const uint32_t[::1] kind = classes
    cdef const float[::1] weight = weights
    cdef float[::1] total = out
    cdef const float[::1] value
    cdef const float* scores[MOST_PARTS]
    cdef double[MOST_PARTS] means
    cdef double[MOST_PARTS] factors
    cdef bint[MOST_PARTS] skip
    cdef Py_ssize_t n = kind.shape[0]
    cdef Py_ssize_t known = weight.shape[0]
    cdef Py_ssize_t used = 0
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t rows, i
    _fits("out", total.shape[0], n)
    if len(parts) > MOST_PARTS:
        raise ValueError(f"parts must be at most {MOST_PARTS}, got {len(parts)}")
    held = [memoryview(part[0]) for part in parts]  # no array may move meanwhile
    for view, (_, mean, deviation, its_weight, skip_zeros) in zip(held, parts):
        value = view
        _fits("scores", value.shape[0], n)
        if deviation >= 1e-9 and n:
            scores[used], means[used], factors[used] = &value[0], mean, its_weight / deviation
            skip[used] = skip_zeros
            used += 1
    with nogil:
        while start < n:
            rows = n - start if n - start < STRETCH else STRETCH
            memset(&total[start], 0, rows * sizeof(float))
            for i in range(used):
                _add(scores[i] + start, means[i], factors[i], skip[i], rows, &total[start])
            for i in range(start, start + rows):
                total[i] += weight[kind[i]] if kind[i] < known else <float>0.0
            start += STRETCH


def expect(like, double mean, double deviation, double its_mean, double slope, out):
    """Write the score that a row may be expected to have into each row of ``out`` without one (of exactly 0).

    Where ``like`` has a score: its_mean + slope * (like - mean) / deviation, the line through what the two
    kinds of scores have in common. Nothing when the deviation is 0.
    """
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


def add_by_age(times, int64_t now, double half_life, double weight, out):
    """Add weight / (1 + age / half_life) to every row in ``out``; a time in the future has age 0.

    Half of the weight is left after a half-life, a third after two: old and very old still differ.

    Raises:
        ValueError: A half-life that is not positive.
    """
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
    """Write to ``out`` each score and what its live neighbours pass on of theirs, where positive.

    A row gets ``after_question`` times the score of the row it follows where that one asks (the lowest bit of
    ``asks``), and ``back`` times the score of the row that follows it. Dead rows are skipped.

    Args:
        before: For each row the older one that it follows, or NONE.
    """
    cdef const float[::1] value = scores
    cdef const uint8_t[::1] alive = live
    cdef const uint32_t[::1] previous = before
    cdef const uint32_t[::1] asking = asks
    cdef float[::1] total = out
    cdef Py_ssize_t n = alive.shape[0]
    cdef Py_ssize_t i
    cdef uint32_t j
    cdef float mine
    cdef double[2] share
    _fits("scores", value.shape[0], n)
    _fits("before", previous.shape[0], n)
    _fits("asks", asking.shape[0], n)
    _fits("out", total.shape[0], n)
    share[0], share[1] = 0.0, after_question
    with nogil:
        for i in range(n):
            mine = value[i]
            total[i] = mine
            if not alive[i]:
                continue
            j = previous[i]
            # A row's predecessor is older than the row, so that this ends.
            while j < i and not alive[j]:
                j = previous[j] if previous[j] < j else <uint32_t>NO_ROW
            if j >= i:
                continue
            total[i] = mine + <float>(share[asking[j] & 1] * _positive(value[j]))
            total[j] += <float>(back * _positive(mine))


cdef inline float _positive(float number) noexcept nogil:
    """The number, 0 for one below; half of them are, in no order, so that a branch would be guessed wrong."""
    cdef int32_t bits
    memcpy(&bits, &number, 4)
    bits &= ~(bits >> 31)
    memcpy(&number, &bits, 4)
    return number


def spaced(live, Py_ssize_t most):
    """At most so many live rows, lowest first, as many of the live ones between each two."""
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
    cdef uint32_t last = 0
    cdef float highest = 0.0
    cdef float* best
    _fits("scores", value.shape[0], n)
    _fits("groups", group.shape[0], n)
    with nogil:
        for i in range(n):
            most = group[i] if group[i] > most else most
    if most == 0:
        return
    best = <float*>calloc(<size_t>most + 1, sizeof(float))
    if best is NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            if group[i] != last:  # rows of a group mostly follow each other
                best[last] = highest
                last = group[i]
                highest = best[last]
            if alive[i]:
                highest = value[i] if value[i] > highest else highest
        best[last] = highest
        for i in range(<Py_ssize_t>most + 1):
            best[i] = <float>(weight * best[i])
        best[0] = 0.0
        for i in range(n):
            value[i] += best[group[i]] if alive[i] else <float>0.0
    free(best)


def keep_classes(mask, classes, allowed):
    """Clear the mask of rows whose class is not allowed; ``allowed`` has one byte a class."""
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
    """Clear the mask of every row but these (uint32).

    Raises:
        ValueError: Rows that don't grow, or are beyond the mask.
    """
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
    """Clear the mask of rows whose time (an int64) is not in [low, high]."""
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
    """The k best rows of the mask, best first; of equal ones the higher row first."""
    cdef const float[::1] value = scores
    cdef const uint8_t[::1] keep = mask
    cdef Py_ssize_t n = keep.shape[0]
    cdef Py_ssize_t held = 0
    cdef Py_ssize_t i
    cdef uint64_t* heap
    _fits("scores", value.shape[0], n)
    if k <= 0 or n == 0:
        return []
    if k > n:
        k = n
    heap = <uint64_t*>malloc(k * sizeof(uint64_t))
    if heap is NULL:
        raise MemoryError
    try:
        with nogil:
            held = _gather(&value[0], &keep[0], n, heap, k)
        if held < 0:
            raise MemoryError
        best = [0] * held
        for i in range(held - 1, -1, -1):
            best[i] = heap[0] & NO_ROW
            heap[0] = heap[i]
            _sink(heap, i)
    finally:
        free(heap)
    return best


cdef Py_ssize_t _gather(
    const float* value, const uint8_t* keep, Py_ssize_t n, uint64_t* heap, Py_ssize_t k
) noexcept nogil:
    """Fill the heap with the k best; how many there are, -1 without memory.

    As many blocks as rows are wanted have a row of at least ``least``: no worse one can be among them.
    """
    cdef Py_ssize_t blocks = (n + BLOCK - 1) // BLOCK
    cdef float* most = <float*>malloc(2 * blocks * sizeof(float))
    cdef Py_ssize_t held = 0
    cdef Py_ssize_t b, i, end
    cdef float least = -INFINITY
    cdef uint64_t key
    if most is NULL:
        return -1
    for b in range(blocks):
        most[b] = _most(value + b * BLOCK, keep + b * BLOCK, BLOCK if n - b * BLOCK > BLOCK else n - b * BLOCK)
    if k <= blocks:
        memcpy(most + blocks, most, blocks * sizeof(float))
        least = _kth(most + blocks, blocks, k)
    for b in range(blocks):
        if most[b] < least:
            continue
        end = (b + 1) * BLOCK if (b + 1) * BLOCK < n else n
        for i in range(b * BLOCK, end):
            if not keep[i] or value[i] < least:
                continue
            key = _key(value[i], <uint32_t>i)
            if held < k:
                heap[held] = key
                held += 1
                _rise(heap, held - 1)
            elif key > heap[0]:
                heap[0] = key
                _sink(heap, held)
    free(most)
    return held


cdef inline float _most(const float* value, const uint8_t* keep, Py_ssize_t n) noexcept nogil:
    cdef float most = -INFINITY
    cdef float number
    cdef Py_ssize_t i
    for i in range(n):
        number = value[i] if keep[i] else <float>-INFINITY
        most = number if number > most else most
    return most


cdef float _kth(float* number, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """The k-th largest; changes the order of the numbers."""
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high = n - 1
    cdef Py_ssize_t i, j
    cdef float middle
    while low < high:
        middle = number[low + (high - low) // 2]
        i = low
        j = high
        while i <= j:
            while number[i] > middle:
                i += 1
            while number[j] < middle:
                j -= 1
            if i <= j:
                number[i], number[j] = number[j], number[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return number[k - 1]


cdef inline uint64_t _key(float score, uint32_t row) noexcept nogil:
    """A number that is larger for a higher score, and for the higher row of two equal ones."""
    cdef uint32_t bits
    score += <float>0.0  # one zero, without a sign
    memcpy(&bits, &score, 4)
    bits = ~bits if bits >> 31 else bits | <uint32_t>0x80000000
    return (<uint64_t>bits << 32) | row


cdef void _rise(uint64_t* heap, Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t parent
    cdef uint64_t moved = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        if moved >= heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = moved


cdef void _sink(uint64_t* heap, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t child
    cdef uint64_t moved = heap[0]
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= moved:
            break
        heap[at] = heap[child]
        at = child
    if n:
        heap[at] = moved
