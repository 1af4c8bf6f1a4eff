"""Advances 13 coupled phase oscillators. The readable twin is context_graph/kernels/reference/vectors.py: change both."""

from libc.math cimport atan2, cos, fabs, fmin, remainder, sin, sqrt

from _types cimport N, doubles13, require_range, two_pi, wrapped, writable13

from operator import index

__all__ = ["kuramoto_order", "kuramoto_steps", "phase_drift"]

cdef enum:
    MAX_STEPS = 100_000  # bounds the time of one call (about 20 ms)


def kuramoto_order(phases):
    """Order parameter of 13 phases (radians): (r in [0, 1], mean phase psi in [0, 2*pi))."""
    cdef const double[::1] theta = doubles13(phases, "phases")
    cdef double mean_cos = 0.0
    cdef double mean_sin = 0.0
    cdef Py_ssize_t i
    for i in range(N):
        mean_cos += cos(theta[i])
        mean_sin += sin(theta[i])
    mean_cos /= N
    mean_sin /= N
    return fmin(sqrt(mean_cos * mean_cos + mean_sin * mean_sin), 1.0), wrapped(atan2(mean_sin, mean_cos))


def kuramoto_steps(phases, omega, double coupling, double dt, steps):
    """Advance 13 phases in place by ``steps`` Euler steps of ``dt`` s; mean r over the second half of the steps."""
    cdef double[::1] theta = writable13(phases, "phases")
    cdef const double[::1] speed = doubles13(omega, "omega")
    cdef double moved[N]
    cdef double mean_r
    cdef Py_ssize_t i
    cdef Py_ssize_t count
    for i in range(N):
        require_range(speed[i], "omega", -1e6, 1e6)
    require_range(coupling, "coupling", 0.0, 10.0)
    require_range(dt, "dt", 0.0, 1.0)
    steps = index(steps)
    if not 1 <= steps <= MAX_STEPS:
        raise ValueError(f"steps must be in [1, {MAX_STEPS}], got {steps}")
    count = steps
    with nogil:  # the one kernel long enough (some 10 us) for another thread to gain by it
        for i in range(N):
            moved[i] = wrapped(theta[i])
        mean_r = _advance(moved, &speed[0], coupling, dt, count)
        for i in range(N):
            theta[i] = wrapped(moved[i])
    return mean_r


cdef double _advance(double* theta, const double* speed, double coupling, double dt, Py_ssize_t steps) noexcept nogil:
    """Mean-field form: K r sin(psi - theta) = K (S cos theta - C sin theta), one sine and one cosine a step."""
    cdef double c[N]
    cdef double s[N]
    cdef double mean_cos, mean_sin
    cdef double total = 0.0
    cdef Py_ssize_t i, step
    cdef Py_ssize_t settled = steps // 2
    for step in range(steps):
        mean_cos = 0.0
        mean_sin = 0.0
        for i in range(N):
            c[i] = cos(theta[i])
            s[i] = sin(theta[i])
            mean_cos += c[i]
            mean_sin += s[i]
        mean_cos /= N
        mean_sin /= N
        if step >= settled:
            total += fmin(sqrt(mean_cos * mean_cos + mean_sin * mean_sin), 1.0)
        for i in range(N):
            theta[i] += dt * (speed[i] + coupling * (mean_sin * c[i] - mean_cos * s[i]))
    return fmin(total / (steps - settled), 1.0)


def phase_drift(phases, previous):
    """Mean absolute wrapped difference of two sets of 13 phases, radians in [0, pi]."""
    cdef const double[::1] a = doubles13(phases, "phases")
    cdef const double[::1] b = doubles13(previous, "previous")
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(N):
        # Both are wrapped first, so that the difference of two huge phases can't overflow.
        total += fabs(remainder(wrapped(a[i]) - wrapped(b[i]), two_pi()))
    return total / N
