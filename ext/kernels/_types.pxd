"""What the kernels share: dimensions, buffer checks and their error texts (C level only, no module of its own).

A kernel takes any object with the buffer protocol (array.array, bytes, a NumPy array) and never touches the NumPy C
API, so the owner runs without NumPy. The texts of the errors are part of the contract with the twin
(tests/oracles/vectors.py): both must raise the same.
"""

from libc.float cimport DBL_MAX
from libc.math cimport fabs, fmod
from libc.stdint cimport uint8_t

cdef enum:
    N = 13  # oscillators, spaces and purpose-vector components (AP-25); never anything else

cdef inline double two_pi() noexcept nogil:
    return 6.283185307179586  # the double nearest to 2*pi, as Python's math.tau

cdef inline double wrapped(double angle) noexcept nogil:
    """``angle`` in [0, 2*pi)."""
    cdef double rest = fmod(angle, two_pi())
    if rest < 0.0:
        rest += two_pi()
    # A tiny negative angle rounds up to exactly 2*pi.
    return 0.0 if rest >= two_pi() else rest


cdef inline Py_ssize_t count_set(const uint8_t* mask, Py_ssize_t n) noexcept nogil:
    """How many of these bytes are not 0."""
    cdef Py_ssize_t found = 0
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t i
    cdef uint8_t few
    while start < n:  # at most 240 ones fit a byte: 16 such sums are one instruction
        few = 0
        for i in range(start, start + 240 if start + 240 < n else n):
            few += mask[i] != 0
        found += few
        start += 240
    return found


cdef inline int not_doubles(object source, str name) except -1:
    raise TypeError(f"{name} must be a buffer of doubles, not {type(source).__name__}")


cdef inline int require_length(str name, Py_ssize_t found, Py_ssize_t wanted) except -1:
    if found != wanted:
        raise ValueError(f"{name} must have {wanted} values, got {found}")
    return 0


cdef inline int require_finite(const double* values, Py_ssize_t n, str name) except -1:
    cdef Py_ssize_t i
    for i in range(n):
        # Written so that NaN, which compares false with everything, is caught too.
        if not (fabs(values[i]) <= DBL_MAX):
            raise ValueError(f"{name}[{i}] must be finite, got {values[i]!r}")
    return 0


cdef inline int require_number(double value, str name) except -1:
    if not (fabs(value) <= DBL_MAX):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return 0


cdef inline int require_range(double value, str name, double low, double high) except -1:
    if not (low <= value <= high):
        raise ValueError(f"{name} must be in [{low:g}, {high:g}], got {value!r}")
    return 0


cdef inline const double[::1] doubles(object source, str name):
    """A view of ``source``'s doubles; it holds the buffer while it lives."""
    cdef const double[::1] view
    if source is None:
        not_doubles(source, name)
    try:
        view = source
    except TypeError:
        not_doubles(source, name)
    except (ValueError, BufferError):
        raise ValueError(f"{name} must be a contiguous one-dimensional buffer of doubles")
    return view


cdef inline const double[::1] doubles13(object source, str name):
    """A view of 13 finite doubles: every index below N is inside the buffer afterwards."""
    cdef const double[::1] view = doubles(source, name)
    require_length(name, view.shape[0], N)
    require_finite(&view[0], N, name)
    return view


cdef inline double[::1] writable13(object source, str name):
    """As doubles13, for a buffer that is written to."""
    cdef double[::1] view
    doubles13(source, name)
    try:
        view = source
    except (ValueError, BufferError):
        raise ValueError(f"{name} must be writable") from None
    return view
