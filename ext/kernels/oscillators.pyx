"""Advances 13 coupled phase oscillators. Its oracle is tests/oracles/vectors.py: change both."""

from libc.math cimport atan2, cos, fabs, fmin, remainder, sin, sqrt

from _types cimport N, doubles13, require_range, two_pi, wrapped, writable13

from operator import index

__all__ = ["kuramoto_order", "kuramoto_steps", "phase_drift"]

cdef enum:
    MAX_STEPS = 100_000  # bounds the time of one call (about 20 ms)


def kuramoto_order(phases):
    """Order parameter of 13 phases: r e^(i psi) = mean of e^(i theta).

    Args:
        phases: Buffer of 13 doubles, radians, any finite value.

    Returns:
        (r, psi): r in [0, 1], 1 when all phases are equal; psi in [0, 2*pi), meaningless where r is near 0.

    Source: seed 000 compute_kuramoto_r.
    """
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
    """Advance 13 coupled oscillators: dtheta_i/dt = omega_i + (K/N) sum_j sin(theta_j - theta_i).

    Explicit Euler on the mean-field form of that sum, K r sin(psi - theta_i).

    Args:
        phases: Writable buffer of 13 doubles, radians. Overwritten by the new phases in [0, 2*pi); unchanged
            when an error is raised.
        omega: Buffer of 13 doubles, natural frequencies in rad/s, each within +-1e6.
        coupling: K, rad/s, in [0, 10].
        dt: Length of a step, s, in [0, 1].
        steps: Number of steps, 1 to 100,000.

    Returns:
        Mean r over the second half of the steps (the middle one of an odd number counts), in [0, 1]; a
        step's r is taken before it moves the phases.

    Cost: O(steps); 50 steps are some 10 us compiled, without the GIL.
    Source: D3.1; docs/dev/adr/0008-drift-definition.md.
    """
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
    """Mean absolute difference of two sets of 13 phases, each wrapped to [-pi, pi]; radians in [0, pi].

    Args:
        phases: Buffer of 13 doubles, radians.
        previous: Buffer of 13 doubles, radians.

    Source: drift metric kuramoto_phase_drift.
    """
    cdef const double[::1] a = doubles13(phases, "phases")
    cdef const double[::1] b = doubles13(previous, "previous")
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(N):
        # Both are wrapped first, so that the difference of two huge phases can't overflow.
        total += fabs(remainder(wrapped(a[i]) - wrapped(b[i]), two_pi()))
    return total / N
