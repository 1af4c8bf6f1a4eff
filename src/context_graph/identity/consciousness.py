"""Consciousness C = I * R * D and its five states (D3.2)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from context_graph._kernels import vectors
from context_graph.identity.prediction import PredictionTracker, command_head
from context_graph.identity.ranges import require_unit
from context_graph.model import SessionIdentitySnapshot

__all__ = [
    "ConsciousnessState",
    "Metrics",
    "PredictionTracker",  # whose accuracy is what R is computed from
    "command_head",
    "consciousness_of",
    "measure",
    "state_for",
]


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

    @classmethod
    def from_level(cls, consciousness: float) -> ConsciousnessState:
        """The state of a C in [0, 1] by itself: < .3 DOR, < .5 FRG, < .8 EMG, <= .95 CON, above HYP.

        Raises:
            ValueError: Outside [0, 1] or NaN: that is never a state.
        """
        return cls(vectors.state_index(consciousness, 0.0))


_SHORT_NAMES = ("DOR", "FRG", "EMG", "CON", "HYP")


def state_for(consciousness: float, r: float) -> ConsciousnessState:
    """The live state: as from_level, and HYPERSYNC when r > 0.95 (C alone can't pass 0.881).

    Raises:
        ValueError: Either one outside [0, 1] or NaN.

    Source: D3.2.
    """
    return ConsciousnessState(vectors.state_index(consciousness, r))


@dataclass(frozen=True, slots=True)
class Metrics:
    """What is measured of a session after an event; every number in [0, 1].

    Raises:
        ValueError: On construction, naming the field and its value.
    """

    consciousness: float
    integration: float
    reflection: float
    differentiation: float
    ic: float
    """Identity continuity, beside the three factors of C and no part of them."""

    def __post_init__(self) -> None:
        for name in ("consciousness", "integration", "reflection", "differentiation", "ic"):
            require_unit(name, getattr(self, name))

    @classmethod
    def of_snapshot(cls, snapshot: SessionIdentitySnapshot) -> Metrics:
        """The measures a snapshot holds: those after its session's last event."""
        return cls(
            consciousness=snapshot.consciousness,
            integration=snapshot.integration,
            reflection=snapshot.reflection,
            differentiation=snapshot.differentiation,
            ic=snapshot.last_ic,
        )

    @property
    def r(self) -> float:
        """The Kuramoto order parameter: I by its other name."""
        return self.integration

    @property
    def state(self) -> ConsciousnessState:
        """state_for these C and r."""
        return state_for(self.consciousness, self.integration)


def consciousness_of(integration: float, reflection: float, differentiation: float) -> float:
    """C = I * R * D, in [0, 1].

    Raises:
        ValueError: A factor outside [0, 1] or NaN, by name and value.
    """
    require_unit("integration", integration)
    require_unit("reflection", reflection)
    require_unit("differentiation", differentiation)
    return integration * reflection * differentiation


def measure(r: float, accuracy: float, purpose_vector: Sequence[float], ic: float) -> Metrics:
    """All measures after one event: I = r, R of ``accuracy``, D of ``purpose_vector``, and their product.

    Args:
        r: Order parameter, in [0, 1].
        accuracy: Running accuracy of our predictions, in [0, 1] (PredictionTracker.accuracy).
        purpose_vector: 13 finite numbers.
        ic: Identity continuity, in [0, 1].

    Raises:
        ValueError: By name and value.
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
