"""The thirteen coupled oscillators whose order parameter r is the integration of a session.

Phases live here, arithmetic in the kernels. Time passes only when an event comes: each event is 2 s of
network time, so an idle session costs nothing and the same events always give the same phases.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Final

from context_graph._kernels import oscillators

__all__ = [
    "COUPLING_MAX",
    "COUPLING_MIN",
    "NATURAL_HZ",
    "OMEGA",
    "KuramotoNetwork",
    "coupling_for",
    "order_of",
]

NATURAL_HZ: Final = (40, 8, 8, 8, 25, 4, 25, 12, 80, 40, 15, 60, 4)
"""Natural frequencies by position, Hz (D3.1)."""
MEAN_HZ: Final = 25.3
OMEGA: Final = tuple(hz / MEAN_HZ for hz in NATURAL_HZ)
"""The same, rad/s. Read as plain Hz they would never synchronise and IC would stay near 0.3 (D3.1)."""

COUPLING_MIN: Final = 0.5
COUPLING_MAX: Final = 4.0
COUPLING_SLOPE: Final = 8.0
COUPLING_MIDPOINT: Final = 0.2
"""Mean alignment at which the coupling is half way (drift.md section 4.6, fitted on its dev split)."""

STEP_S: Final = 0.04
STEPS_PER_EVENT: Final = 50

_OMEGA: Final = array("d", OMEGA)


class KuramotoNetwork:
    """Thirteen oscillators and their coupling; deterministic, not thread-safe.

    Args:
        phases: 13 finite phases, radians, e.g. a snapshot's.
        coupling: K of the last advance, rad/s, in [0, 10].

    Raises:
        ValueError: Not 13 phases, NaN or infinity, or a coupling out of range.
    """

    __slots__ = ("_phases", "coupling")

    def __init__(self, phases: Sequence[float], coupling: float) -> None:
        if not 0.0 <= coupling <= 10.0:
            raise ValueError(f"coupling must be in [0, 10], got {coupling!r}")
        self._phases = array("d", phases)
        oscillators.kuramoto_order(self._phases)  # refuses a wrong length and NaN before anything is advanced
        self.coupling = coupling

    @classmethod
    def synchronised(cls) -> KuramotoNetwork:
        """A network locked at K = COUPLING_MAX (r = 0.97): how a live session starts (D3.1).

        From zero phases r would fall from 1 to 0.97 while it settles; from here only the coupling changes it.
        """
        return cls(_locked_phases(COUPLING_MAX), COUPLING_MAX)

    @property
    def phases(self) -> list[float]:
        """A copy of the 13 phases, radians; in [0, 2*pi) after the first advance."""
        return self._phases.tolist()

    def advance(self, coupling: float) -> float:
        """Let 2 s pass at ``coupling`` (rad/s, in [0, 10]) and return the mean r of their second half.

        A refused coupling leaves the network as it was. Cost: some 15 us.
        """
        r = oscillators.kuramoto_steps(self._phases, _OMEGA, coupling, STEP_S, STEPS_PER_EVENT)
        self.coupling = coupling
        return r

    def order(self) -> tuple[float, float]:
        """(r in [0, 1], mean phase in [0, 2*pi)) of the phases as they are now."""
        return oscillators.kuramoto_order(self._phases)


def order_of(phases: Sequence[float]) -> float:
    """Order parameter r of 13 phases (radians), in [0, 1] (seed 000 compute_kuramoto_r).

    Raises:
        ValueError: Not 13 phases, or one that is not finite.
    """
    return oscillators.kuramoto_order(array("d", phases))[0]


def coupling_for(alignment: float) -> float:
    """K for a mean alignment q in [-1, 1]: 0.5 + 3.5 / (1 + exp(-8 (q - 0.2))), from 0.5 to 4 rad/s.

    Raises:
        ValueError: NaN or infinity.

    Source: drift.md section 4.6.
    """
    if not math.isfinite(alignment):
        raise ValueError(f"alignment must be finite, got {alignment!r}")
    q = max(-1.0, min(1.0, alignment))  # a weighted mean may pass its bounds by a rounding error
    span = COUPLING_MAX - COUPLING_MIN
    return COUPLING_MIN + span / (1.0 + math.exp(-COUPLING_SLOPE * (q - COUPLING_MIDPOINT)))


def _locked_phases(coupling: float) -> list[float]:
    """Phases that keep their distances at ``coupling``: sin(theta_i - psi) = (omega_i - mean omega) / (K r).

    r is the fixed point of r = mean of cos(theta_i - psi). Needs a coupling above the locking threshold
    (about 2.5 rad/s for these frequencies): below it the fastest oscillator has no such phase, sqrt raises.
    """
    mean = sum(OMEGA) / len(OMEGA)
    r = 1.0
    for _ in range(100):  # contracts by about 0.06 a round: exact long before
        sines = [(omega - mean) / (coupling * r) for omega in OMEGA]
        r = sum(math.sqrt(1.0 - sine * sine) for sine in sines) / len(sines)
    return [math.asin(sine) % math.tau for sine in sines]
