"""Computes a purpose vector from one event's comparison with the goals. Its oracle is
tests/oracles/purpose.py: change both.
"""

from libc.math cimport sqrt, tanh

from _types cimport N, doubles, require_length

__all__ = ["observe"]

cdef enum:  # of the coding
    LEVEL_SHIFT
    LEVEL_RATE
    LEVEL_MIN
    LEVEL_MAX
    IDENTITY_SHARE
    PURPOSE_GAIN
    PURPOSE_ZERO
    N_CODING


def observe(likeness, confidence, on, middle, weight, coding, double share, alignment, level, identity, vector):
    """Move alignment, level and identity by one event, and write its purpose vector.

    Each alignment goes towards confidence * coded likeness at the pace share, and to 0, which speaks for
    neither side, as the other spaces speak and it says nothing: an event that says nothing at all changes
    no alignment. Each level, the running likeness, goes towards the likeness by its own rate. The identity
    goes towards the new purpose vector's direction. All buffers hold 13 doubles, but for ``coding``.

    Args:
        likeness: In [0, 1]; NaN where the event or the goals say nothing.
        confidence: In [0, 1).
        on: Positive likeness that is usual for on-goal work.
        middle: Share of that at which an event speaks for neither side.
        weight: Of an alignment in the sum, positive.
        coding: 7 doubles: how far the level shifts ``on``, its rate, and the bounds of its ratio to on; the
            identity's share; gain and zero of the purpose vector.
        share: Of this event, in [0, 1].
        alignment: Changed in place; stays in [-1, 1].
        level: Changed in place.
        identity: Changed in place.
        vector: Overwritten by tanh(gain * (alignment - zero)).

    Returns:
        Sum of weight * alignment.

    Raises:
        ValueError: A buffer of another length.
    """
    cdef const double[::1] like = _thirteen(likeness, "likeness")
    cdef const double[::1] sure = _thirteen(confidence, "confidence")
    cdef const double[::1] high = _thirteen(on, "on")
    cdef const double[::1] centre = _thirteen(middle, "middle")
    cdef const double[::1] w = _thirteen(weight, "weight")
    cdef const double[::1] code = doubles(coding, "coding")
    cdef double[::1] m = alignment
    cdef double[::1] running = level
    cdef double[::1] ego = identity
    cdef double[::1] pv = vector
    cdef double certain = 0.0
    cdef double length = 0.0
    cdef double total = 0.0
    cdef double spoken
    cdef int k
    require_length("coding", code.shape[0], N_CODING)
    require_length("alignment", m.shape[0], N)
    require_length("level", running.shape[0], N)
    require_length("identity", ego.shape[0], N)
    require_length("vector", pv.shape[0], N)
    for k in range(N):
        if like[k] == like[k]:  # not NaN
            certain += sure[k] / N
    for k in range(N):
        spoken = 0.0
        if like[k] == like[k]:
            spoken = sure[k] * _coded(like[k], high[k], centre[k], running[k], &code[0])
            running[k] += code[LEVEL_RATE] * sure[k] * (like[k] - running[k])
        m[k] = _bounded(m[k] + share * (spoken - certain * m[k]))
        pv[k] = tanh(code[PURPOSE_GAIN] * (m[k] - code[PURPOSE_ZERO]))
        length += pv[k] * pv[k]
        total += w[k] * m[k]
    length = sqrt(length)
    if length > 1e-9:
        for k in range(N):
            ego[k] = (1.0 - code[IDENTITY_SHARE]) * ego[k] + code[IDENTITY_SHARE] * pv[k] / length
    return total


cdef inline double _coded(double likeness, double on, double middle, double level, const double* code) noexcept nogil:
    cdef double ratio = level / on
    if ratio < code[LEVEL_MIN]:
        ratio = code[LEVEL_MIN]
    elif ratio > code[LEVEL_MAX]:
        ratio = code[LEVEL_MAX]
    return _bounded(likeness / (on * (1.0 + code[LEVEL_SHIFT] * (ratio - 1.0))) - middle)


cdef inline double _bounded(double value) noexcept nogil:
    return 1.0 if value > 1.0 else (-1.0 if value < -1.0 else value)


cdef inline const double[::1] _thirteen(object source, str name):
    """13 doubles, NaN allowed: it marks a space without evidence."""
    cdef const double[::1] view = doubles(source, name)
    require_length(name, view.shape[0], N)
    return view
