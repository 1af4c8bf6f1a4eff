"""Tracks the purpose of a session: 13 running goals, how well each event fits them, the purpose vector.

``EventReader`` reads from its texts what an event (or a prompt) is about. ``Goals`` keeps what the session
has been about. ``Purpose`` turns the similarity of the two into a purpose vector, compares that with the
session's identity and says how coherent the work is. Definition: ADR 0008, with the
feature spaces below; its constants come from research/fit/identity.py, fitted on the dev split only.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from context_graph.identity.consciousness import COUPLING_MIDPOINT
from context_graph.kernels import features, goals, purpose
from context_graph.spaces import reading


class Space(NamedTuple):
    """One of the 13 spaces in which an event is compared with the goal."""

    name: str
    bag: str
    """Which tokens of the event (the kernels' features.BAGS)."""
    kind: int
    """How likeness is measured (the kernels' goals.COSINE, COVERAGE or ROOT)."""
    share: float
    """Least share of a new event in the goal."""


_SLOW: Final = 0.05
"""A goal remembers some twenty events: what is foreign for a while doesn't become the goal."""
_RECENT: Final = 0.2

SPACES: Final = (
    Space("semantic", "stem", goals.ROOT, _SLOW),
    Space("recent", "stem", goals.COSINE, _RECENT),
    Space("defined", "defined", goals.COVERAGE, _SLOW),
    Space("dotted", "dotted", goals.ROOT, _SLOW),
    Space("sequence", "pair", goals.ROOT, _SLOW),
    Space("lexical", "word", goals.ROOT, _SLOW),
    Space("code", "code", goals.ROOT, _SLOW),
    Space("graph", "path", goals.ROOT, _SLOW),
    Space("trigram", "trigram", goals.COVERAGE, _SLOW),
    Space("intent", "intent", goals.COVERAGE, _SLOW),
    Space("entity", "proper", goals.ROOT, _SLOW),
    Space("late", "word", goals.COVERAGE, _SLOW),
    Space("expanded", "expanded", goals.COSINE, _SLOW),
)
"""The spaces by position: the same oscillator, purpose-vector component and stored goal for ever. Never
reorder."""

_ZEROS: Final = bytes(8 * len(SPACES))


@dataclass(frozen=True, slots=True)
class Calibration:
    """What likeness means in each of the 13 spaces, and all of them together."""

    on: tuple[float, ...]
    """Mean likeness of an event to the goal while the work goes on."""
    middle: tuple[float, ...]
    """Share of ``on`` at which an event speaks for neither side."""
    weight: tuple[float, ...]
    """Evidence that an alignment of 1 stands for: log odds, up to one factor for all."""
    offset: float
    """Sum of weighted alignments half way between a session's own work and other work."""
    half: float
    """Evidence at which the coupling is half way."""


CALIBRATION: Final = Calibration(
    on=(0.397, 0.489, 0.547, 0.265, 0.229, 0.328, 0.255, 0.343, 0.843, 0.859, 0.277, 0.763, 0.464),
    middle=(0.276, 0.55, 0.777, 0.89, 0.548, 0.541, 0.568, 0.567, 0.673, 0.608, 0.226, 0.593, 0.211),
    weight=(0.769, 0.233, 0.665, 0.996, 0.216, 0.24, 0.242, 0.227, 0.249, 0.259, 0.948, 0.221, 4.109),
    offset=3.602,
    half=0.33,
)
"""Printed by research/fit/identity.py."""

# A session whose work is more varied than that of the fit has a lower likeness on both sides: its own running
# level shifts ``on`` by half of what it differs, within these bounds.
LEVEL_SHIFT: Final = 0.5
LEVEL_RATE: Final = 0.1
LEVEL_MIN: Final = 0.3
LEVEL_MAX: Final = 1.2

SMOOTHING: Final = 0.4
"""Share of an event in the alignment: without smoothing one ``git status`` looks like drift."""
WARM_UP: Final = 2.0
"""After a prompt the share grows as n / (n + 2): the first events of a new task look for their way."""
KEPT: Final = 0.3
"""Share of what was missing from full alignment that a prompt leaves."""
IDENTITY_SHARE: Final = 0.05
"""Share of an event in the identity that the next one is compared with."""

PURPOSE_GAIN: Final = 2.0
PURPOSE_ZERO: Final = -0.6
"""PV_t is tanh(gain * (alignment - zero)): it turns only where a space speaks clearly against the work."""

_CODING: Final = array(
    "d", (LEVEL_SHIFT, LEVEL_RATE, LEVEL_MIN, LEVEL_MAX, IDENTITY_SHARE, PURPOSE_GAIN, PURPOSE_ZERO)
)

COHERENCE_SLOPE: Final = 0.12
"""Coherence, whose logistic is the coupling (`coupling_for`), for one unit of evidence."""


class EventReader:
    """Reads texts into the kernels' bags; one per process is enough. Not thread-safe."""

    __slots__ = ("bags",)

    def __init__(self) -> None:
        self.bags = reading.reader()

    def read(self, input_text: str, output_text: str) -> None:
        """Read texts, in place of those read before. Cost: some 40 us for 4 KB."""
        self.bags.scan(input_text.encode("utf-8", "replace"), output_text.encode("utf-8", "replace"))


class Comparison(NamedTuple):
    """The comparison of an event with the goals, space by space."""

    likeness: array[float]
    """In [0, 1]; NaN where the event or the goal is empty."""
    confidence: array[float]
    """In [0, 1): grows with the event's tokens and with the goal's events."""

    @property
    def is_empty(self) -> bool:
        """Whether no space has anything to compare."""
        return all(map(math.isnan, self.likeness))


class Goals:
    """The subject of a session: one goal vector per space. 213 KB in memory."""

    __slots__ = ("_vectors",)

    def __init__(self) -> None:
        rows = bytes(features.BAGS.index(space.bag) for space in SPACES)
        kinds, shares = bytes(space.kind for space in SPACES), array("d", [space.share for space in SPACES])
        self._vectors = goals.GoalVectors(rows, kinds, shares)

    def compare(self, reader: EventReader) -> Comparison:
        """Return the similarity of the text just read to each goal."""
        comparison = Comparison(array("d", _ZEROS), array("d", _ZEROS))
        self._vectors.measure(reader.bags, *comparison)
        return comparison

    def absorb(self, reader: EventReader, *, prompt: bool = False) -> None:
        """Move the goals towards the text just read; a prompt moves them half way."""
        self._vectors.absorb(reader.bags, prompt)

    def as_prior(self, events: int) -> Goals:
        """Return a copy that counts as no more than ``events`` events, so that new ones soon outweigh it."""
        prior = Goals()
        prior._vectors.load_bytes(self._vectors.to_bytes())
        prior._vectors.cap_counts(events)
        return prior

    def to_bytes(self) -> bytes:
        """Return all goals, lossless: restored goals continue bit for bit as these do. Some 40 to 120 KB."""
        return self._vectors.to_bytes()

    @classmethod
    def from_bytes(cls, packed: bytes) -> Goals:
        """Return the goals that to_bytes gave. Raises ValueError for other bytes, or another version."""
        made = cls()
        made._vectors.load_bytes(packed)
        return made


class Reading(NamedTuple):
    """The purpose after one event."""

    purpose_vector: array[float]
    """PV_t: 13 components, positive unless the last events clearly don't fit their goal."""
    identity: array[float]
    """What PV_t is compared with: the stored identity before this event (PV_{t-1})."""
    coherence: float
    """The coherence that consciousness.coupling_for takes."""


class Purpose:
    """The smoothed alignment of a session's events with its goals, and the identity that forms from it.

    Args:
        calibration: What likeness means in each space.
    """

    __slots__ = ("_calibration", "_middle", "_on", "_weight", "alignment", "events", "identity", "level")

    def __init__(self, calibration: Calibration = CALIBRATION) -> None:
        self._calibration = calibration
        self._on, self._middle = array("d", calibration.on), array("d", calibration.middle)
        self._weight = array("d", calibration.weight)
        self.alignment = array("d", [1.0] * len(SPACES))
        """Smoothed, coded, in [-1, 1]: 0 where a space says nothing."""
        self.level = array("d", calibration.on)
        """This session's running likeness."""
        self.identity = array("d", unit(self.vector))
        self.events = 0
        """Since the last prompt."""

    @property
    def vector(self) -> list[float]:
        """The purpose vector: 13 in (-1, 1), positive unless a space speaks clearly against the work."""
        return [math.tanh(PURPOSE_GAIN * (m - PURPOSE_ZERO)) for m in self.alignment]

    def prompt(self) -> None:
        """Note that the user moved the goal: what follows is not drift, and takes its time to settle."""
        self.alignment = array("d", [1.0 + KEPT * (m - 1.0) for m in self.alignment])
        self.events = 0

    def continued(self) -> Purpose:
        """Return a copy for a session that continues this purpose; it adapts slowly at first."""
        copy = Purpose(self._calibration)
        copy.alignment, copy.level, copy.identity = self.alignment[:], self.level[:], self.identity[:]
        return copy

    def assume(self, vector: Sequence[float]) -> None:
        """Estimate the alignments from a purpose vector, if nothing else is known.

        A stored vector has length 1, which gives the proportions of the components but not their size: the
        largest is taken for that of full alignment. Raises ValueError unless there are 13.
        """
        if len(vector) != len(SPACES):
            raise ValueError(f"a purpose vector has {len(SPACES)} components, got {len(vector)}")
        whole = math.tanh(PURPOSE_GAIN * (1.0 - PURPOSE_ZERO))
        largest = max(map(abs, vector)) or 1.0
        turned = (math.atanh(value / largest * whole) / PURPOSE_GAIN + PURPOSE_ZERO for value in vector)
        self.alignment = array("d", [max(m, -1.0) for m in turned])

    def coded(self, comparison: Comparison) -> array[float]:
        """13 alignments in [-1, 1]: 1 as near as focused work, -1 as far as other work. Changes nothing."""
        alignment, level, identity, vector = (array("d", _ZEROS) for _ in range(4))
        level[:] = self.level
        certain = array("d", [1.0] * len(SPACES))
        purpose.observe(
            *(comparison.likeness, certain, self._on, self._middle, self._weight, _CODING, 1.0),
            *(alignment, level, identity, vector),
        )
        return alignment

    def weighted(self, alignment: Sequence[float]) -> list[float]:
        """13 alignments, each by the root of its weight: what `align` compares."""
        return [math.sqrt(weight) * m for weight, m in zip(self._weight, alignment, strict=True)]

    def observe(self, comparison: Comparison) -> Reading:
        """Take in one event, as it compares with the goals before it."""
        self.events += 1
        vector, before = array("d", _ZEROS), self.identity[:]
        aligned = purpose.observe(
            comparison.likeness,
            comparison.confidence,
            self._on,
            self._middle,
            self._weight,
            _CODING,
            SMOOTHING * self.events / (self.events + WARM_UP),
            self.alignment,
            self.level,
            self.identity,
            vector,
        )
        evidence = aligned - self._calibration.offset
        coherence = COUPLING_MIDPOINT + COHERENCE_SLOPE * (evidence - self._calibration.half)
        return Reading(vector, before, coherence)


def unit(vector: Sequence[float]) -> list[float]:
    """Return ``vector`` at length 1, as seed 000 stores it; cosine and entropy don't see the difference."""
    length = math.hypot(*vector)
    return [value / length for value in vector] if length > 0.0 else list(vector)


class Alignment(NamedTuple):
    """The comparison of texts with what a session has been about."""

    overall: float
    """Cosine of the session's weighted alignments and the texts', [-1, 1]."""
    spaces: tuple[float, ...]
    """A value for each space (`ego.SPACES`): 1 as near as the session's own work usually is, -1 as far as
    other work, 0 where the texts or the session say nothing."""


def align(purpose: Purpose, comparisons: Sequence[Comparison]) -> Alignment | None:
    """Return the mean over texts, each counting by how far its comparison can be trusted.

    Returns:
        None where no text and goal had anything to compare.
    """
    sums, weights = [0.0] * len(SPACES), [0.0] * len(SPACES)
    for comparison in comparisons:
        coded = purpose.coded(comparison)
        for k, likeness in enumerate(comparison.likeness):
            if not math.isnan(likeness):
                sums[k] += comparison.confidence[k] * coded[k]
                weights[k] += comparison.confidence[k]
    if not any(weights):
        return None
    spaces = [total / weight if weight else 0.0 for total, weight in zip(sums, weights, strict=True)]
    return Alignment(_cosine(purpose.weighted(purpose.alignment), purpose.weighted(spaces)), tuple(spaces))


def _cosine(first: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*first) * math.hypot(*other)
    if lengths < 1e-12:
        return 0.0
    product = math.fsum(a * b for a, b in zip(first, other, strict=True))
    return max(-1.0, min(1.0, product / lengths))
