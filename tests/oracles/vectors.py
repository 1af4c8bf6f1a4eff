"""Computes vectors and oscillators: the readable twins of ext/kernels/{oscillators,vectors}.pyx.

Standard library only, so a fallback never pulls NumPy into the owner. Sums run in index order and use the
same libm functions as the compiled code, so both agree to the last bits. Change a kernel and its twin
together; the tests in tests/kernels run on both.

Wherever a docstring says *buffer of doubles*: any C-contiguous one-dimensional object with the buffer
protocol and element type ``double``. Every function raises TypeError for an object without buffer, and
ValueError naming the argument for a wrong element type, wrong length, NaN, infinity or a number out of range.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Final

__all__ = [
    "below32",
    "cosine13",
    "ic_index",
    "identity_continuity",
    "kuramoto_order",
    "kuramoto_steps",
    "logistic_reflection",
    "phase_drift",
    "purpose_entropy",
    "state_index",
]

if TYPE_CHECKING:
    from typing_extensions import Buffer

N: Final = 13
MAX_STEPS: Final = 100_000
ZERO_NORM: Final = 1e-8
ZERO_MASS: Final = 1e-6
MIN_SHARE: Final = 1e-6

_DOUBLES: Final = ("d", "@d", "=d", "<d" if struct.pack("=H", 1) == b"\1\0" else ">d")
"""Spellings of the native element type."""


def _view(source: Buffer, name: str) -> memoryview[float]:
    try:
        view = memoryview(source)
    except TypeError:
        raise TypeError(f"{name} must be a buffer of doubles, not {type(source).__name__}") from None
    if view.format not in _DOUBLES or view.ndim != 1 or not view.c_contiguous:
        raise ValueError(f"{name} must be a contiguous one-dimensional buffer of doubles")
    # Through bytes: memoryview indexes only the plain spelling of a format, and casts nothing empty.
    return view.cast("B").cast("d") if view.nbytes else memoryview(b"").cast("d")


def _require_length(name: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise ValueError(f"{name} must have {wanted} values, got {found}")


def _require_finite(values: Sequence[float], name: str) -> None:
    for i, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"{name}[{i}] must be finite, got {value!r}")


def _require_number(value: float, name: str) -> None:
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")


def _require_range(value: float, name: str, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be in [{low:g}, {high:g}], got {value!r}")


def _doubles13(source: Buffer, name: str) -> list[float]:
    view = _view(source, name)
    _require_length(name, len(view), N)
    values = list(view)
    _require_finite(values, name)
    return values


def _wrapped(angle: float) -> float:
    rest = math.fmod(angle, math.tau)
    if rest < 0.0:
        rest += math.tau
    # A tiny negative angle rounds up to exactly 2*pi.
    return 0.0 if rest >= math.tau else rest


# --- oscillators ---


def kuramoto_order(phases: Buffer) -> tuple[float, float]:
    """Order parameter of 13 phases: r e^(i psi) = mean of e^(i theta)."""
    theta = _doubles13(phases, "phases")
    mean_cos = _mean([math.cos(angle) for angle in theta])
    mean_sin = _mean([math.sin(angle) for angle in theta])
    return _length(mean_cos, mean_sin), _wrapped(math.atan2(mean_sin, mean_cos))


def kuramoto_steps(phases: Buffer, omega: Buffer, coupling: float, dt: float, steps: int) -> float:
    """Advance 13 coupled oscillators: dtheta_i/dt = omega_i + (K/N) sum_j sin(theta_j - theta_i)."""
    target = _view(phases, "phases")
    theta = [_wrapped(angle) for angle in _doubles13(phases, "phases")]
    if target.readonly:
        raise ValueError("phases must be writable")
    speeds = _doubles13(omega, "omega")
    for speed in speeds:
        _require_range(speed, "omega", -1e6, 1e6)
    _require_range(coupling, "coupling", 0.0, 10.0)
    _require_range(dt, "dt", 0.0, 1.0)
    steps = index(steps)
    if not 1 <= steps <= MAX_STEPS:
        raise ValueError(f"steps must be in [1, {MAX_STEPS}], got {steps}")

    settled = steps // 2
    total = 0.0
    for step in range(steps):
        cosines = [math.cos(angle) for angle in theta]
        sines = [math.sin(angle) for angle in theta]
        mean_cos, mean_sin = _mean(cosines), _mean(sines)
        if step >= settled:
            total += _length(mean_cos, mean_sin)
        # r sin(psi - theta) = S cos theta - C sin theta
        theta = [
            angle + dt * (speed + coupling * (mean_sin * c - mean_cos * s))
            for angle, speed, c, s in zip(theta, speeds, cosines, sines, strict=True)
        ]
    for i, angle in enumerate(theta):
        target[i] = _wrapped(angle)
    return min(total / (steps - settled), 1.0)


def phase_drift(phases: Buffer, previous: Buffer) -> float:
    """Mean absolute difference of two sets of 13 phases, each wrapped to [-pi, pi]; radians in [0, pi]."""
    total = 0.0
    for a, b in zip(_doubles13(phases, "phases"), _doubles13(previous, "previous"), strict=True):
        # Both are wrapped first, so that the difference of two huge phases can't overflow.
        total += abs(math.remainder(_wrapped(a) - _wrapped(b), math.tau))
    return total / N


def _mean(values: list[float]) -> float:
    """In index order and rounded at each addition, as the compiled loop; ``sum`` of 3.12 is more exact."""
    total = 0.0
    for value in values:
        total += value
    return total / N


def _length(x: float, y: float) -> float:
    return min(math.sqrt(x * x + y * y), 1.0)


# --- vectors ---


def cosine13(a: Buffer, b: Buffer) -> float:
    """Cosine of two purpose vectors."""
    return _cosine(_doubles13(a, "a"), _doubles13(b, "b"))


def _cosine(a: list[float], b: list[float]) -> float:
    largest_a = max(abs(value) for value in a)
    largest_b = max(abs(value) for value in b)
    if largest_a < 1e-300 or largest_b < 1e-300:
        return 0.0  # shorter than ZERO_NORM at any length, and its scale would overflow
    # A power of two scales exactly, and keeps every square from overflowing or vanishing.
    scale_a = math.ldexp(1.0, -math.frexp(largest_a)[1])
    scale_b = math.ldexp(1.0, -math.frexp(largest_b)[1])
    aa = bb = ab = 0.0
    for x, y in zip(a, b, strict=True):
        x *= scale_a
        y *= scale_b
        aa += x * x
        bb += y * y
        ab += x * y
    if math.sqrt(aa) < ZERO_NORM * scale_a or math.sqrt(bb) < ZERO_NORM * scale_b:
        return 0.0
    # One root of the product instead of a product of roots: equal vectors give exactly 1.
    return max(-1.0, min(1.0, ab / math.sqrt(aa * bb)))


def purpose_entropy(purpose_vector: Buffer) -> float:
    """Differentiation D: Shannon entropy of the shares |v_i| / sum |v|, over its maximum log2 13."""
    sizes = [abs(value) for value in _doubles13(purpose_vector, "purpose_vector")]
    # Thirteen huge values would add up to infinity; a power of two changes no share.
    scale = 0.00390625 if max(sizes) > 1e300 else 1.0
    total = 0.0
    for size in sizes:
        total += size * scale
    if total <= ZERO_MASS:
        return 0.0
    entropy = 0.0
    for size in sizes:
        share = max(MIN_SHARE, min(1.0, size * scale / total))
        entropy -= share * math.log2(share)
    return max(0.0, min(1.0, entropy / math.log2(N)))


def identity_continuity(purpose_vector: Buffer, previous: Buffer, r: float) -> float:
    """IC = clamp(cos(purpose_vector, previous) * r, 0, 1)."""
    current = _doubles13(purpose_vector, "purpose_vector")
    reference = _doubles13(previous, "previous")
    _require_range(r, "r", 0.0, 1.0)
    return max(0.0, min(1.0, _cosine(current, reference) * r))


def logistic_reflection(accuracy: float) -> float:
    """Reflection R = 1 / (1 + exp(-(4 a - 2)))."""
    _require_range(accuracy, "accuracy", 0.0, 1.0)
    return 1.0 / (1.0 + math.exp(2.0 - 4.0 * accuracy))


# --- classification ---
# In single precision, the precision of a stored value: 0.9 computed here and the same 0.9 read back from a
# snapshot (0.89999998) fall in the same class.


def _float32(value: float) -> float:
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _below(value: float, threshold: float) -> bool:
    return _float32(value) < _float32(threshold)


def below32(value: float, threshold: float) -> bool:
    """Whether ``value`` < ``threshold``, both finite, once both are rounded to single precision."""
    _require_number(value, "value")
    _require_number(threshold, "threshold")
    return _below(value, threshold)


def ic_index(ic: float) -> int:
    """Class of an identity continuity."""
    _require_number(ic, "ic")
    return _below(ic, 0.9) + _below(ic, 0.7) + _below(ic, 0.5)


def state_index(consciousness: float) -> int:
    """Class of a consciousness level."""
    _require_range(consciousness, "consciousness", 0.0, 1.0)
    if _below(0.95, consciousness):
        return 4
    return 3 - _below(consciousness, 0.8) - _below(consciousness, 0.5) - _below(consciousness, 0.3)
