"""Keeps running goals, one mean of event vectors per space, and compares events with them. Its oracle is
tests/oracles/goals.py: change both.

How it is fast: a goal's decay is one factor beside its dense entries, and its sums are kept up to date, so that
an event touches only its own nonzeros.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython cimport final
from libc.math cimport INFINITY, NAN, fmin, sqrt
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from _sparse cimport N_BAGS, N_BUCKETS
from _types cimport N, doubles13, require_length

from struct import Struct

__all__ = ["COSINE", "COVERAGE", "ROOT", "GoalVectors"]

cdef enum:
    KIND_COSINE
    KIND_COVERAGE
    KIND_ROOT
    N_KINDS

cdef enum:
    MASK = 4095  # N_BUCKETS - 1; with run-time checks on, Cython can't compile a sum in an enum
    MAX_EVENTS = 1_000_000_000  # counts stop here; the share of an event is at its least long before

COSINE = KIND_COSINE
COVERAGE = KIND_COVERAGE
ROOT = KIND_ROOT

MAGIC = b"CGG\x01"
SPACE = Struct("<IHddd")  # events, nonzeros, scale, mass, squares: never renumber

cdef double SCANT = 1.0
cdef double YOUNG = 2.0
cdef double PROMPT_SHARE = 0.5
cdef double COVERED = 0.003
cdef double RESCALE_BELOW = 1.0 / 64.0
cdef double FORGET_BELOW = 1e-4


cdef enum:
    CELL = 6  # bytes of a nonzero: bucket (uint16) and entry (float)


cdef union Word:
    float number
    uint32_t bits


cdef struct Sparse:
    const uint16_t* bucket
    const float* value
    int n


@final
cdef class GoalVectors:
    """One goal per space. Not thread-safe.

    Args:
        bags: For each of the 13 spaces the row of the bag that it looks at, 13 bytes.
        kinds: For each space COSINE, COVERAGE or ROOT, 13 bytes.
        shares: For each space the least share of a new event in the mean, in (0, 1), buffer of 13 doubles.

    Raises:
        ValueError: Not 13 of each, or no such bag, kind or share.
    """

    cdef float* raw  # (N, N_BUCKETS); a goal is raw * scale
    cdef double[N] scale
    cdef double[N] mass  # sum of a goal's entries
    cdef double[N] squares  # sum of their squares
    cdef double[N] least
    cdef uint32_t[N] events
    cdef uint8_t[N] bag
    cdef uint8_t[N] kind

    def __cinit__(self):
        self.raw = <float*>calloc(N * N_BUCKETS, sizeof(float))
        if self.raw is NULL:
            raise MemoryError
        self._clear()

    def __init__(self, bytes bags not None, bytes kinds not None, shares):
        cdef const double[::1] share = doubles13(shares, "shares")
        cdef int k
        require_length("bags", len(bags), N)
        require_length("kinds", len(kinds), N)
        for k in range(N):
            self.bag[k] = <uint8_t>bags[k]
            self.kind[k] = <uint8_t>kinds[k]
            self.least[k] = share[k]
            if self.bag[k] >= N_BAGS or self.kind[k] >= N_KINDS or not 0.0 < share[k] < 1.0:
                raise ValueError(f"space {k} has no such bag, kind or share: {bags[k]}, {kinds[k]}, {share[k]!r}")

    def __dealloc__(self):
        free(self.raw)

    cdef void _clear(self) noexcept:
        cdef int k
        memset(self.raw, 0, N * N_BUCKETS * sizeof(float))
        for k in range(N):
            self.scale[k] = 1.0
            self.mass[k] = 0.0
            self.squares[k] = 0.0
            self.events[k] = 0

    def counts(self):
        """Events absorbed by each space, as capped."""
        return [self.events[k] for k in range(N)]

    def cap_counts(self, limit):
        """Let no space count more than ``limit`` events, so that new ones weigh as in a goal that young.

        Raises:
            ValueError: A limit below 1.
        """
        cdef uint32_t most = limit
        cdef int k
        if most < 1:
            raise ValueError(f"limit must be at least 1, got {limit}")
        for k in range(N):
            if self.events[k] > most:
                self.events[k] = most

    def measure(self, event, likeness, confidence):
        """Measure the similarity of the event to each goal, and how far to trust it.

        Args:
            event: An EventFeatures, or its three arrays under the same names.
            likeness: Array of 13 doubles, overwritten; in [0, 1], NaN where the event or the goal is empty.
            confidence: Likewise; in [0, 1), grows with the event's tokens and with the goal's events.
        """
        cdef double[::1] like = likeness
        cdef double[::1] sure = confidence
        cdef Sparse[N_BAGS] bags
        cdef double tokens, events
        cdef int k
        require_length("likeness", like.shape[0], N)
        require_length("confidence", sure.shape[0], N)
        view = _bags(event, bags)
        for k in range(N):
            like[k] = self._likeness(&bags[self.bag[k]], k)
            tokens = bags[self.bag[k]].n
            events = self.events[k]
            sure[k] = tokens / (tokens + SCANT) * (events / (events + YOUNG))

    def absorb(self, event, bint prompt):
        """Move each goal towards the event, where it has evidence.

        The share of the n-th event is 1/n, at least the space's own; of a prompt at least 1/2. Cost: the
        event's nonzeros, and all 4096 entries each time a goal has decayed to a 64th.
        """
        cdef Sparse[N_BAGS] bags
        cdef int k
        view = _bags(event, bags)
        for k in range(N):
            if bags[self.bag[k]].n:
                self._absorb(&bags[self.bag[k]], k, PROMPT_SHARE if prompt else self.least[k])

    cdef double _likeness(self, const Sparse* event, int k) noexcept nogil:
        cdef const float* goal = self.raw + k * N_BUCKETS
        cdef const uint16_t* bucket = event.bucket
        cdef const float* value = event.value
        cdef double total = 0.0
        cdef double whole = 0.0
        cdef double floor
        cdef int i
        cdef int n = event.n
        if n == 0 or self.events[k] == 0:
            return NAN
        if self.kind[k] == KIND_COSINE:
            for i in range(n):
                total += <double>goal[bucket[i] & MASK] * value[i]
            return fmin(total * self.scale[k] / sqrt(self.squares[k]), 1.0)
        if self.kind[k] == KIND_ROOT:
            for i in range(n):
                total += sqrt(<double>goal[bucket[i] & MASK]) * value[i]
            return fmin(total * sqrt(self.scale[k] / self.mass[k]), 1.0)
        floor = COVERED * sqrt(self.squares[k]) / self.scale[k]
        for i in range(n):
            whole += value[i]
            if goal[bucket[i] & MASK] > floor:
                total += value[i]
        return total / whole

    cdef void _absorb(self, const Sparse* event, int k, double share) noexcept nogil:
        cdef double keep
        if 1.0 / (self.events[k] + 1.0) > share:
            share = 1.0 / (self.events[k] + 1.0)
        # An empty goal has nothing that could decay, and a scale of 0 would lose what comes.
        keep = 1.0 - share if self.events[k] else 1.0
        if self.events[k] < MAX_EVENTS:
            self.events[k] += 1
        self._move(event, k, share, keep)

    cdef void _move(self, const Sparse* event, int k, double share, double keep) noexcept nogil:
        cdef float* goal = self.raw + k * N_BUCKETS
        cdef const uint16_t* bucket = event.bucket
        cdef const float* value = event.value
        cdef double added
        cdef int i
        self.scale[k] *= keep
        self.mass[k] *= keep
        self.squares[k] *= keep * keep
        for i in range(event.n):
            added = share * value[i]
            self.squares[k] += added * (2.0 * goal[bucket[i] & MASK] * self.scale[k] + added)
            self.mass[k] += added
            goal[bucket[i] & MASK] += <float>(added / self.scale[k])
        if self.scale[k] < RESCALE_BELOW:
            self._rescale(k)

    cdef void _rescale(self, int k) noexcept nogil:
        """Put the scale into the entries, forget the faintest, sum anew: rounding errors end here."""
        cdef float* goal = self.raw + k * N_BUCKETS
        cdef double floor = FORGET_BELOW * sqrt(self.squares[k])
        cdef double mass = 0.0
        cdef double squares = 0.0
        cdef double entry
        cdef Py_ssize_t i
        for i in range(N_BUCKETS):
            entry = goal[i] * self.scale[k]
            goal[i] = <float>entry if entry >= floor else 0.0
            mass += goal[i]
            squares += <double>goal[i] * goal[i]
        self.scale[k] = 1.0
        self.mass[k] = mass
        self.squares[k] = squares

    def to_bytes(self):
        """All goals, lossless: goals loaded from it go on bit for bit as these do. Cost: some 2 ms."""
        cdef int k
        cdef Py_ssize_t n, i
        cdef const float* goal
        parts = [MAGIC]
        for k in range(N):
            goal = self.raw + k * N_BUCKETS
            n = 0
            for i in range(N_BUCKETS):
                n += goal[i] != 0.0
            parts.append(SPACE.pack(self.events[k], n, self.scale[k], self.mass[k], self.squares[k]))
            parts.append(_packed(goal, n))
        return b"".join(parts)

    def load_bytes(self, bytes packed not None):
        """Replace the goals by those that to_bytes gave.

        Raises:
            ValueError: Not such bytes; the goals are empty then.
        """
        self._clear()
        try:
            self._load(packed)
        except ValueError:
            self._clear()
            raise

    cdef int _load(self, bytes packed) except -1:
        cdef const uint8_t* bytes_ = <const uint8_t*>PyBytes_AS_STRING(packed)
        cdef Py_ssize_t size = len(packed)
        cdef Py_ssize_t at = len(MAGIC)
        cdef Py_ssize_t n
        cdef int k
        if packed[:at] != MAGIC:
            raise ValueError(f"not goals, or of a later version: {packed[:at]!r}")
        for k in range(N):
            if size - at < SPACE.size:
                raise ValueError(f"goals end early: in space {k}")
            self.events[k], n, self.scale[k], self.mass[k], self.squares[k] = SPACE.unpack_from(packed, at)
            at += SPACE.size
            if (size - at) // CELL < n:
                raise ValueError(f"goals end early: in space {k}")
            self._load_space(k, bytes_ + at, n)
            at += CELL * n
        if at != size:
            raise ValueError(f"{size - at} bytes after the goals")
        return 0

    cdef int _load_space(self, int k, const uint8_t* cells, Py_ssize_t n) except -1:
        """Take over n cells, refusing what to_bytes can't have written."""
        cdef float* goal = self.raw + k * N_BUCKETS
        cdef const uint8_t* entries = cells + 2 * n
        cdef Py_ssize_t last = -1
        cdef Py_ssize_t bucket, i
        cdef Word word
        for i in range(n):
            bucket = cells[2 * i] | cells[2 * i + 1] << 8
            if not last < bucket < N_BUCKETS:
                raise ValueError(f"buckets of space {k} are not ascending below {N_BUCKETS}")
            last = bucket
            word.bits = entries[4 * i] | entries[4 * i + 1] << 8 | entries[4 * i + 2] << 16 | <uint32_t>entries[4 * i + 3] << 24
            if not 0.0 < word.number < INFINITY:
                raise ValueError(f"space {k} has an entry that is not a positive number")
            goal[bucket] = word.number
        if n == 0:
            whole = self.events[k] == 0 and self.mass[k] == 0.0 and self.squares[k] == 0.0
        else:
            whole = self.events[k] > 0 and 0.0 < self.mass[k] < INFINITY and 0.0 < self.squares[k] < INFINITY
        if not (whole and RESCALE_BELOW <= self.scale[k] <= 1.0):
            raise ValueError(f"the sums of space {k} don't belong to its entries")
        return 0


cdef bytes _packed(const float* goal, Py_ssize_t n):
    """The n nonzeros as their buckets and then their entries, little-endian."""
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, CELL * n)
    cdef uint8_t* buckets = <uint8_t*>PyBytes_AS_STRING(packed)
    cdef uint8_t* entries = buckets + 2 * n
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t i
    cdef Word word
    for i in range(N_BUCKETS):
        if goal[i] != 0.0:
            word.number = goal[i]
            buckets[2 * at] = i & 0xFF
            buckets[2 * at + 1] = i >> 8
            entries[4 * at] = word.bits & 0xFF
            entries[4 * at + 1] = word.bits >> 8 & 0xFF
            entries[4 * at + 2] = word.bits >> 16 & 0xFF
            entries[4 * at + 3] = word.bits >> 24
            at += 1
    return packed


cdef object _bags(object event, Sparse* bags):
    """Point ``bags`` into the event's arrays, which the returned views keep alive."""
    cdef const int[::1] counts = event.counts
    cdef const uint16_t[::1] buckets = event.buckets
    cdef const float[::1] values = event.values
    cdef int bag
    require_length("counts", counts.shape[0], N_BAGS)
    require_length("buckets", buckets.shape[0], N_BAGS * N_BUCKETS)
    require_length("values", values.shape[0], N_BAGS * N_BUCKETS)
    for bag in range(N_BAGS):
        if not 0 <= counts[bag] <= N_BUCKETS:
            raise ValueError(f"counts[{bag}] must be in [0, {N_BUCKETS}], got {counts[bag]}")
        bags[bag] = Sparse(&buckets[bag * N_BUCKETS], &values[bag * N_BUCKETS], counts[bag])
    return counts, buckets, values
