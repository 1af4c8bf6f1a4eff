"""Computes with purpose vectors. Its oracle is tests/oracles/vectors.py: change both."""

from libc.math cimport exp, fabs, fmax, fmin, frexp, ldexp, log2, sqrt

from _types cimport N, doubles13, require_number, require_range

__all__ = [
    "below32",
    "cosine13",
    "ic_index",
    "identity_continuity",
    "logistic_reflection",
    "purpose_entropy",
    "state_index",
]

cdef double ZERO_NORM = 1e-8  # a shorter vector has no direction
cdef double ZERO_MASS = 1e-6  # D3.2: a purpose vector this small has no distribution
cdef double MIN_SHARE = 1e-6  # floor of a component's share before its logarithm


cdef double _largest(const double* values, Py_ssize_t n) noexcept nogil:
    cdef double largest = 0.0
    cdef double size
    cdef Py_ssize_t i
    for i in range(n):
        size = fabs(values[i])
        if size > largest:  # fmax is a call, for the sake of NaN, which the caller has excluded
            largest = size
    return largest


cdef double _cosine(const double* a, const double* b, Py_ssize_t n) noexcept nogil:
    """Both vectors are first scaled by a power of two (exact), so that no square overflows or vanishes."""
    cdef double largest_a = _largest(a, n)
    cdef double largest_b = _largest(b, n)
    cdef double scale_a, scale_b, x, y
    cdef double aa = 0.0
    cdef double bb = 0.0
    cdef double ab = 0.0
    cdef int exponent_a, exponent_b
    cdef Py_ssize_t i
    if largest_a < 1e-300 or largest_b < 1e-300:
        return 0.0  # shorter than ZERO_NORM at any length, and its scale would overflow
    frexp(largest_a, &exponent_a)
    frexp(largest_b, &exponent_b)
    scale_a = ldexp(1.0, -exponent_a)
    scale_b = ldexp(1.0, -exponent_b)
    for i in range(n):
        x = a[i] * scale_a
        y = b[i] * scale_b
        aa += x * x
        bb += y * y
        ab += x * y
    if sqrt(aa) < ZERO_NORM * scale_a or sqrt(bb) < ZERO_NORM * scale_b:
        return 0.0
    # One root of the product instead of a product of roots: equal vectors give exactly 1.
    return fmax(-1.0, fmin(1.0, ab / sqrt(aa * bb)))


def cosine13(a, b):
    """Cosine of two purpose vectors.

    Args:
        a: Buffer of 13 doubles.
        b: Buffer of 13 doubles.

    Returns:
        The cosine, clamped to [-1, 1], exactly 1 for equal vectors; 0 when either norm is below 1e-8.
    """
    cdef const double[::1] x = doubles13(a, "a")
    cdef const double[::1] y = doubles13(b, "b")
    return _cosine(&x[0], &y[0], N)


def purpose_entropy(purpose_vector):
    """Differentiation D: Shannon entropy of the shares |v_i| / sum |v|, over its maximum log2 13.

    Args:
        purpose_vector: Buffer of 13 doubles.

    Returns:
        In [0, 1]: 1 for a uniform vector, about 6e-5 for a single component (a share is at least 1e-6
        before its logarithm), 0 when sum |v| is at most 1e-6.

    Source: D3.2.
    """
    cdef const double[::1] v = doubles13(purpose_vector, "purpose_vector")
    # Thirteen huge values would add up to infinity; a power of two changes no share.
    cdef double scale = 0.00390625 if _largest(&v[0], N) > 1e300 else 1.0
    cdef double total = 0.0
    cdef double entropy = 0.0
    cdef double share
    cdef Py_ssize_t i
    for i in range(N):
        total += fabs(v[i]) * scale
    if total <= ZERO_MASS:
        return 0.0
    for i in range(N):
        share = fmax(MIN_SHARE, fmin(1.0, fabs(v[i]) * scale / total))
        entropy -= share * log2(share)
    return fmax(0.0, fmin(1.0, entropy / log2(<double>N)))


def identity_continuity(purpose_vector, previous, double r):
    """IC = clamp(cos(purpose_vector, previous) * r, 0, 1).

    Args:
        purpose_vector: Buffer of 13 doubles.
        previous: Buffer of 13 doubles.
        r: Order parameter, in [0, 1].

    Returns:
        In [0, 1]: exactly r for equal vectors; 0 for orthogonal, opposed and zero vectors.

    Source: IDENTITY-001; seed 000 REQ-SESSION-06.
    """
    cdef const double[::1] x = doubles13(purpose_vector, "purpose_vector")
    cdef const double[::1] y = doubles13(previous, "previous")
    require_range(r, "r", 0.0, 1.0)
    return fmax(0.0, fmin(1.0, _cosine(&x[0], &y[0], N) * r))


def logistic_reflection(double accuracy):
    """Reflection R = 1 / (1 + exp(-(4 a - 2))).

    Args:
        accuracy: a, running accuracy of predictions, in [0, 1].

    Returns:
        From 0.119 (a = 0) over 0.5 (a = 0.5) to 0.881 (a = 1).

    Source: D3.2.
    """
    require_range(accuracy, "accuracy", 0.0, 1.0)
    return 1.0 / (1.0 + exp(2.0 - 4.0 * accuracy))


# Classification compares in single precision, the precision of a stored value: 0.9 computed here and the same 0.9
# read back from a snapshot (0.89999998) fall in the same class.


cdef inline bint _below(double value, double threshold) noexcept nogil:
    return <float>value < <float>threshold


def below32(double value, double threshold):
    """Whether ``value`` < ``threshold``, both finite, once both are rounded to single precision."""
    require_number(value, "value")
    require_number(threshold, "threshold")
    return _below(value, threshold)


def ic_index(double ic):
    """Class of an identity continuity.

    Args:
        ic: Any finite number.

    Returns:
        0 (healthy) at >= 0.9, 1 at >= 0.7, 2 at >= 0.5, else 3.

    Source: IDENTITY-002; seed 000 REQ-SESSION-07.
    """
    require_number(ic, "ic")
    return <int>_below(ic, 0.9) + <int>_below(ic, 0.7) + <int>_below(ic, 0.5)


def state_index(double consciousness):
    """Class of a consciousness level.

    Args:
        consciousness: C, in [0, 1].

    Returns:
        0 at C < 0.3, 1 at < 0.5, 2 at < 0.8, 3 at <= 0.95, else 4.

    Source: D3.2.
    """
    require_range(consciousness, "consciousness", 0.0, 1.0)
    if _below(0.95, consciousness):
        return 4
    return 3 - <int>_below(consciousness, 0.8) - <int>_below(consciousness, 0.5) - <int>_below(consciousness, 0.3)
