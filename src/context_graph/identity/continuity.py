"""Computes identity continuity (IC): its plain formula, classes, crises, and drift between two sessions.

The live IC of a session is computed in `ego`. Here is seed 000's formula on given vectors, and what follows
from an IC. Thresholds are compared in single precision, the precision of a stored IC.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from context_graph.identity.consciousness import order_of, require_unit
from context_graph.kernels import oscillators, vectors
from context_graph.model import CRISIS_THRESHOLD, DriftMetrics, ICClassification, SessionIdentitySnapshot

DREAM_COOLDOWN_MS: Final = 60_000
"""Least time between two dream requests of one session (D3.7)."""

MonitorState = tuple[float | None, bool, int | None]
"""(IC or None, in a crisis, time of the last dream request in ms or None)."""


class ICLevel(StrEnum):
    """Seed 001's words for the classes of an IC, as its JSON spells them, best first."""

    HEALTHY = "healthy"
    NORMAL = "normal"
    WARNING = "warning"
    CRITICAL = "critical"

    @classmethod
    def from_value(cls, ic: float) -> ICLevel:
        """>= 0.9 healthy, >= 0.7 normal, >= 0.5 warning, else critical (IDENTITY-002)."""
        return _LEVELS[vectors.ic_index(ic)]

    @property
    def rank(self) -> int:
        """0 for healthy to 3 for critical."""
        return _LEVELS.index(self)


_LEVELS: Final = tuple(ICLevel)
_WORDS: Final = ("healthy", "good", "warning", "degraded")


def classify_ic(ic: float) -> str:
    """Seed 000's words for the same classes: healthy, good, warning, degraded (REQ-SESSION-07)."""
    return _WORDS[vectors.ic_index(ic)]


def is_ic_crisis(ic: float, threshold: float = CRISIS_THRESHOLD) -> bool:
    """Return whether ``ic`` is below the threshold; exactly at it is no crisis (IDENTITY-007)."""
    return vectors.below32(ic, threshold)


def is_ic_warning(ic: float) -> bool:
    """Return whether 0.5 <= ``ic`` < 0.7 (REQ-SESSION-07). Raises ValueError for NaN and infinity."""
    return vectors.ic_index(ic) == ICLevel.WARNING.rank


def classified(ic: float, threshold: float) -> ICClassification:
    """Return ``ic`` in [0, 1] as seed 001 reports it."""
    level = ICLevel.from_value(ic).value
    return ICClassification(value=ic, level=level, crisis_triggered=is_ic_crisis(ic, threshold))


def identity_continuity(purpose_vector: Sequence[float], previous: Sequence[float], r: float) -> float:
    """IC = clamp(cos(purpose_vector, previous) * r, 0, 1), seed 000's plain formula (IDENTITY-001).

    Args:
        purpose_vector: 13 finite numbers.
        previous: 13 finite numbers.
        r: Order parameter, in [0, 1].

    Returns:
        Exactly r for equal vectors; 0 for orthogonal, opposed or zero ones.

    Raises ValueError: By name and value.
    """
    return vectors.identity_continuity(array("d", purpose_vector), array("d", previous), r)


def cross_session_ic(current: SessionIdentitySnapshot, previous: SessionIdentitySnapshot) -> float:
    """Return the formula on two snapshots' purpose vectors and the current one's phases (REQ-SESSION-06).

    It says something only of vectors that were made apart: a vector that was taken over gives r. The owner
    measures the words of both sessions' work instead (`across`).
    """
    r = order_of(current.kuramoto_phases)
    return identity_continuity(current.purpose_vector, previous.purpose_vector, r)


@dataclass(frozen=True, slots=True)
class ICChange:
    """The consequences of one new IC."""

    classification: ICClassification
    level: ICLevel
    entered_crisis: bool
    """Below the crisis threshold now, and not before (or reset since)."""
    entered_warning: bool
    """The value is in the warning class now, and came from a better one or from nothing."""


class ICMonitor:
    """Tracks one session's IC: class, crisis, recovery, and when a crisis may ask for a consolidation.

    Times are the caller's (an event's Unix ms), so that replays and restarts give the same answers.

    Args:
        crisis_threshold: In [0, 1]; the snapshot's.

    Raises ValueError: A threshold out of range.

    Source: seed 001 section 4.2.
    """

    __slots__ = ("_in_crisis", "_last_dream_ms", "crisis_threshold", "current_ic")

    def __init__(self, crisis_threshold: float = CRISIS_THRESHOLD) -> None:
        require_unit("crisis_threshold", crisis_threshold)
        self.crisis_threshold = crisis_threshold
        self.current_ic: float | None = None
        self._in_crisis = False
        self._last_dream_ms: int | None = None

    def observe(self, ic: float) -> ICChange:
        """Take note of a new IC, in [0, 1], however it was computed.

        Raises ValueError outside [0, 1] and for NaN; the monitor keeps its state.
        """
        require_unit("ic", ic)
        level = ICLevel.from_value(ic)
        before = ICLevel.HEALTHY if self.current_ic is None else ICLevel.from_value(self.current_ic)
        crisis, was_crisis = is_ic_crisis(ic, self.crisis_threshold), self._in_crisis
        self.current_ic, self._in_crisis = ic, crisis
        return ICChange(
            classification=ICClassification(value=ic, level=level.value, crisis_triggered=crisis),
            level=level,
            entered_crisis=crisis and not was_crisis,
            entered_warning=level is ICLevel.WARNING and before.rank < level.rank,
        )

    def is_crisis(self) -> bool:
        """Return whether the last IC was below the threshold, and no dream has reset it since."""
        return self._in_crisis

    def reset_crisis(self) -> None:
        """Close the crisis after a dream; the next IC below the threshold opens a new one."""
        self._in_crisis = False

    def claim_dream(self, at_ms: int) -> bool:
        """Return whether a dream may be requested at ``at_ms``; True starts the cool-down.

        Only in a crisis, and DREAM_COOLDOWN_MS or more from the last request in either direction: a clock
        that was set back must not silence the alarm for as long as it was wrong.
        """
        if not self._in_crisis:
            return False
        if self._last_dream_ms is not None and abs(at_ms - self._last_dream_ms) < DREAM_COOLDOWN_MS:
            return False
        self._last_dream_ms = at_ms
        return True

    def to_state(self) -> MonitorState:
        """Return all but the threshold, which the snapshot has, as a plain tuple."""
        return self.current_ic, self._in_crisis, self._last_dream_ms

    @classmethod
    def from_state(cls, state: Sequence[Any], crisis_threshold: float = CRISIS_THRESHOLD) -> ICMonitor:
        """Return the monitor that to_state described; a list does as well as a tuple."""
        monitor = cls(crisis_threshold)
        monitor.current_ic, monitor._in_crisis, monitor._last_dream_ms = state
        return monitor


def drift_metrics(current: SessionIdentitySnapshot, previous: SessionIdentitySnapshot) -> DriftMetrics:
    """Return how far ``current`` is from the session it continues: seed 000's formula on two given snapshots.

    The owner reports what it measured instead (`live.LiveSession.drift`).

    ic_delta is current.last_ic - previous.last_ic; purpose_drift 1 - cosine of the purpose vectors, 0 when
    either is a zero vector; time_since_snapshot_ms never negative; kuramoto_phase_drift the mean wrapped
    difference, radians. Raises ValueError for a vector or phases of another length than 13, or not finite.
    """
    a, b = array("d", current.purpose_vector), array("d", previous.purpose_vector)
    directed = vectors.cosine13(a, a) * vectors.cosine13(b, b)  # 0 when either has no direction, else 1
    return DriftMetrics(
        ic_delta=current.last_ic - previous.last_ic,
        purpose_drift=1.0 - vectors.cosine13(a, b) if directed else 0.0,
        time_since_snapshot_ms=max(0, current.timestamp_ms - previous.timestamp_ms),
        kuramoto_phase_drift=phase_drift(current.kuramoto_phases, previous.kuramoto_phases),
    )


def phase_drift(current: Sequence[float], previous: Sequence[float]) -> float:
    """Mean wrapped difference of 13 phases and 13 others, radians in [0, pi]."""
    return oscillators.phase_drift(array("d", current), array("d", previous))
