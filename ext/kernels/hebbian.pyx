"""Applies Hebb's rule with decay to a list of edges. Its oracle is
tests/oracles/hebbian.py: change both.

One pass with the GIL released; the activities are gathered, everything else streams.
"""

from libc.stdint cimport int32_t

__all__ = ["update"]


def update(source, target, activity, before, after, double learning, double decay, double floor):
    """The weights of edges after both their ends have fired as much as they did.

    Args:
        source, target: int32[m]: indices into ``activity``.
        activity: float64[n] in [0, 1].
        before: float64[m] in [0, 1].
        after: float64[m]: the result.
        learning, decay, floor: In [0, 1].

    Raises:
        ValueError: Lengths that differ, or an index outside ``activity``; ``after`` is undefined then.
    """
    cdef const int32_t[::1] start = source
    cdef const int32_t[::1] end = target
    cdef const double[::1] active = activity
    cdef const double[::1] old = before
    cdef double[::1] new = after
    cdef Py_ssize_t m = old.shape[0], n = active.shape[0], bad = -1, i
    cdef double keep = 1.0 - decay, weight, low
    if not (start.shape[0] == end.shape[0] == m == new.shape[0]):
        raise ValueError("source, target, before and after must have one length")
    with nogil:
        for i in range(m):
            if not (0 <= start[i] < n and 0 <= end[i] < n):
                bad = i
                break
            weight = old[i] * keep + learning * active[start[i]] * active[end[i]]
            low = floor if floor < old[i] else old[i]
            weight = weight if weight > low else low
            new[i] = weight if weight < 1.0 else 1.0
    if bad >= 0:
        raise ValueError(f"edge {bad} has an end outside activity")
