"""Computes consciousness C = I * R * D, its parts and its five states.

I is the order parameter of thirteen coupled oscillators. Their phases are kept here, the arithmetic is in the
kernels. Their time passes only with events: each event is 2 s of network time, so an idle session costs
nothing and the same events always give the same phases. The two Johari windows, of a piece of knowledge and
of the system (D3.6), are two axes that are never mixed.

R comes from `identity.forecast`: how much better the last forecasts of a tool call's failure were than the
base rate of failures.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from context_graph.kernels import oscillators, vectors
from context_graph.model import ConsciousnessMeasures, SessionIdentitySnapshot
from context_graph.model.memory import JohariQuadrant


class ConsciousnessState(Enum):
    """The five states; ``name`` is what seed 000's block prints.

    The values are the state byte of a brief slot and the index of the kernel state_index: never renumber.
    """

    DORMANT = 0
    FRAGMENTED = 1
    EMERGING = 2
    CONSCIOUS = 3
    HYPERSYNC = 4

    @property
    def short_name(self) -> str:
        """The three-letter code of the brief (REQ-SESSION-03)."""
        return _SHORT_NAMES[self.value]


_SHORT_NAMES = ("DOR", "FRG", "EMG", "CON", "HYP")


def state_for(consciousness: float, circling: bool = False) -> ConsciousnessState:
    """Return the state of C, in [0, 1]: C < .3 DOR, < .5 FRG, < .8 EMG, <= .95 CON, above HYP.

    HYP also when the session goes in circles (``circling``), whatever C is. Raises ValueError outside [0, 1]
    and for NaN: that is never a state. Source: docs/dev/adr/0022-state.md.
    """
    by_level = ConsciousnessState(vectors.state_index(consciousness))
    return ConsciousnessState.HYPERSYNC if circling else by_level


@dataclass(frozen=True, slots=True)
class Metrics:
    """The measures of a session after an event; every float in [0, 1].

    Raises ValueError on construction, naming the field and its value.
    """

    consciousness: float
    integration: float
    reflection: float
    differentiation: float
    ic: float
    """Identity continuity, beside the three factors of C and no part of them."""
    circling: bool = False
    """The session goes in circles (LiveSession.circling)."""

    def __post_init__(self) -> None:
        for name in ("consciousness", "integration", "reflection", "differentiation", "ic"):
            require_unit(name, getattr(self, name))

    @classmethod
    def of_snapshot(cls, snapshot: SessionIdentitySnapshot, *, circling: bool = False) -> Metrics:
        """Return the measures a snapshot holds: those after its session's last event.

        A snapshot does not say whether the session went in circles; a live session knows it.
        """
        return cls(
            consciousness=snapshot.consciousness,
            integration=snapshot.integration,
            reflection=snapshot.reflection,
            differentiation=snapshot.differentiation,
            ic=snapshot.last_ic,
            circling=circling,
        )

    def reported(self) -> ConsciousnessMeasures:
        """Return the same as seed 001 reports it, with the system's Johari quadrant."""
        return ConsciousnessMeasures(
            consciousness=self.consciousness,
            integration=self.integration,
            reflection=self.reflection,
            differentiation=self.differentiation,
            identity_continuity=self.ic,
            johari_quadrant=johari_system(self.consciousness, self.integration).value,
        )

    @property
    def r(self) -> float:
        """The Kuramoto order parameter: I by its other name."""
        return self.integration

    @property
    def state(self) -> ConsciousnessState:
        """state_for this C, in circles or not."""
        return state_for(self.consciousness, self.circling)


def consciousness_of(integration: float, reflection: float, differentiation: float) -> float:
    """C = I * R * D, in [0, 1]. Raises ValueError for a factor outside [0, 1] or NaN, by name and value."""
    require_unit("integration", integration)
    require_unit("reflection", reflection)
    require_unit("differentiation", differentiation)
    return integration * reflection * differentiation


def measure(r: float, accuracy: float, purpose_vector: Sequence[float], ic: float) -> Metrics:
    """Return all measures after one event: I = r, R of ``accuracy``, D of ``purpose_vector``, and their
    product.

    Args:
        r: Order parameter, in [0, 1].
        accuracy: How good our forecasts were, in [0, 1], 0.5 for unknown (PredictionTracker.accuracy).
        purpose_vector: 13 finite numbers.
        ic: Identity continuity, in [0, 1].

    Raises ValueError: By name and value.
    """
    reflection = vectors.logistic_reflection(accuracy)
    differentiation = vectors.purpose_entropy(array("d", purpose_vector))
    return Metrics(
        consciousness=consciousness_of(r, reflection, differentiation),
        integration=r,
        reflection=reflection,
        differentiation=differentiation,
        ic=ic,
    )


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

    Raises ValueError: Not 13 phases, NaN or infinity, or a coupling out of range.
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
        """Return a network locked at K = COUPLING_MAX (r = 0.97): how a live session starts (D3.1).

        From zero phases r would fall from 1 to 0.97 while it settles; from here only the coupling changes it.
        """
        return cls(_locked_phases(COUPLING_MAX), COUPLING_MAX)

    @property
    def phases(self) -> list[float]:
        """A copy of the 13 phases, radians; in [0, 2*pi) after the first advance."""
        return self._phases.tolist()

    def advance(self, coupling: float) -> float:
        """Let 2 s pass at ``coupling`` (rad/s, in [0, 10]) and return the mean r of their second half."""
        r = oscillators.kuramoto_steps(self._phases, _OMEGA, coupling, STEP_S, STEPS_PER_EVENT)
        self.coupling = coupling
        return r


def order_of(phases: Sequence[float]) -> float:
    """Order parameter r of 13 finite phases (radians), in [0, 1] (seed 000 compute_kuramoto_r)."""
    return oscillators.kuramoto_order(array("d", phases))[0]


def coupling_for(alignment: float) -> float:
    """K for a mean alignment q in [-1, 1]: 0.5 + 3.5 / (1 + exp(-8 (q - 0.2))), from 0.5 to 4 rad/s.

    Raises ValueError: NaN or infinity.

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


KNOWLEDGE_THRESHOLD: Final = 0.5
SYSTEM_HIGH_THRESHOLD: Final = 0.7
"""Seed 001's code: below it counts as low, there is no band between."""


def johari_knowledge(entropy: float, coherence: float) -> JohariQuadrant:
    """Quadrant of a memory from its entropy and coherence, both in [0, 1].

    Low entropy is below 0.5, high coherence above it, so 0.5 / 0.5 exactly is BLIND. Low and high: OPEN; low
    only: HIDDEN; high only: UNKNOWN; neither: BLIND.

    Raises ValueError: Outside [0, 1] or NaN.

    Source: seed 003; D3.6.
    """
    require_unit("entropy", entropy)
    require_unit("coherence", coherence)
    low_entropy = vectors.below32(entropy, KNOWLEDGE_THRESHOLD)
    high_coherence = vectors.below32(KNOWLEDGE_THRESHOLD, coherence)
    if low_entropy:
        return JohariQuadrant.OPEN if high_coherence else JohariQuadrant.HIDDEN
    return JohariQuadrant.UNKNOWN if high_coherence else JohariQuadrant.BLIND


def johari_system(consciousness: float, integration: float) -> JohariQuadrant:
    """Quadrant of the system from C and I, both in [0, 1]; high is >= 0.7.

    Both high: OPEN; I only: BLIND; C only: HIDDEN; neither: UNKNOWN.

    Raises ValueError: Outside [0, 1] or NaN.

    Source: seed 001 section 4.3, its code (D3.6).
    """
    require_unit("consciousness", consciousness)
    require_unit("integration", integration)
    aware = not vectors.below32(consciousness, SYSTEM_HIGH_THRESHOLD)
    integrated = not vectors.below32(integration, SYSTEM_HIGH_THRESHOLD)
    if integrated:
        return JohariQuadrant.OPEN if aware else JohariQuadrant.BLIND
    return JohariQuadrant.HIDDEN if aware else JohariQuadrant.UNKNOWN


def require_unit(name: str, value: float) -> None:
    """Refuse a ``value`` outside [0, 1], NaN included: it would become a state that means nothing.

    Raises ValueError, naming the field and the value.
    """
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {value!r}")
