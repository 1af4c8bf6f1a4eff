"""Keeps running goals and compares events with them: the readable twin of ext/kernels/goals.pyx.

Standard library only. A goal is the running mean of the event vectors of one space. Its entries are kept as
raw * scale, so that decay is one multiplication, with their sum (mass) and sum of squares beside them.
Entries are 32-bit floats in both twins, which agree within 1e-5 and read each other's bytes.
"""

from __future__ import annotations

import math
from array import array
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final, Protocol

from tests.oracles.features import BAGS, BUCKETS

if TYPE_CHECKING:
    from typing_extensions import Buffer

COSINE: Final = 0
"""Cosine of the event's vector and the goal."""
COVERAGE: Final = 1
"""Share of the event's weight on buckets where the goal has at least 0.3 % of its length."""
ROOT: Final = 2
"""Cosine of the event's vector and the goal's square root: a few frequent tokens don't drown the rest."""

N: Final = 13
SCANT: Final = 1.0
"""Tokens at which confidence is halved: one word says less than twenty."""
YOUNG: Final = 2.0
"""Events in a goal at which confidence is halved: work can't look like a goal that has hardly begun."""
PROMPT_SHARE: Final = 0.5
COVERED: Final = 0.003
RESCALE_BELOW: Final = 1 / 64
"""Entries are rescaled in good time: they never grow beyond 64 times their value."""
FORGET_BELOW: Final = 1e-4
"""Share of a goal's length below which an entry is forgotten, when it is rescaled."""
MAX_EVENTS: Final = 1_000_000_000

MAGIC: Final = b"CGG\x01"
SPACE: Final = Struct("<IHddd")
"""Events, nonzeros, scale, mass, squares; buckets (uint16) and raw entries (float) follow. Never renumber."""


class Sparse(Protocol):
    """The part of EventFeatures that this module reads."""

    @property
    def counts(self) -> array[int]: ...
    @property
    def buckets(self) -> array[int]: ...
    @property
    def values(self) -> array[float]: ...


class GoalVectors:
    """One goal per space. Not thread-safe."""

    def __init__(self, bags: bytes, kinds: bytes, shares: Buffer) -> None:
        self._least = array("d", memoryview(shares))
        for name, given in (("bags", bags), ("kinds", kinds), ("shares", self._least)):
            if len(given) != N:
                raise ValueError(f"{name} must have {N} values, got {len(given)}")
        for k, (bag, kind, share) in enumerate(zip(bags, kinds, self._least, strict=True)):
            if bag >= len(BAGS) or kind > ROOT or not 0.0 < share < 1.0:
                raise ValueError(f"space {k} has no such bag, kind or share: {bag}, {kind}, {share!r}")
        self._bags, self._kinds = bags, kinds
        self._clear()

    def _clear(self) -> None:
        self._raw = [array("f", bytes(4 * BUCKETS)) for _ in range(N)]
        self._scale, self._mass, self._squares = [1.0] * N, [0.0] * N, [0.0] * N
        self._events = [0] * N

    def counts(self) -> list[int]:
        """Events absorbed by each space, as capped."""
        return list(self._events)

    def cap_counts(self, limit: int) -> None:
        """Let no space count more than ``limit`` events, so that new ones weigh as in a goal that young."""
        if limit < 1:
            raise ValueError(f"limit must be at least 1, got {limit}")
        self._events = [min(events, limit) for events in self._events]

    def measure(self, event: Sparse, likeness: array[float], confidence: array[float]) -> None:
        """Measure the similarity of the event to each goal, and how far to trust it."""
        for name, given in (("likeness", likeness), ("confidence", confidence)):
            if len(given) != N:
                raise ValueError(f"{name} must have {N} values, got {len(given)}")
        for k in range(N):
            likeness[k] = self._likeness(k, *_bag(event, self._bags[k]))
            tokens, events = event.counts[self._bags[k]], self._events[k]
            confidence[k] = tokens / (tokens + SCANT) * (events / (events + YOUNG))

    def absorb(self, event: Sparse, prompt: bool) -> None:
        """Move each goal towards the event, where it has evidence."""
        for k in range(N):
            buckets, values = _bag(event, self._bags[k])
            if buckets:
                self._absorb(k, buckets, values, PROMPT_SHARE if prompt else self._least[k])

    def _likeness(self, k: int, buckets: array[int], values: array[float]) -> float:
        goal = self._raw[k]
        if not buckets or not self._events[k]:
            return math.nan
        if self._kinds[k] == COSINE:
            product = sum(goal[bucket] * value for bucket, value in zip(buckets, values, strict=True))
            return min(product * self._scale[k] / math.sqrt(self._squares[k]), 1.0)
        if self._kinds[k] == ROOT:
            product = sum(
                math.sqrt(goal[bucket]) * value for bucket, value in zip(buckets, values, strict=True)
            )
            return min(product * math.sqrt(self._scale[k] / self._mass[k]), 1.0)
        floor = COVERED * math.sqrt(self._squares[k]) / self._scale[k]
        covered = sum(value for bucket, value in zip(buckets, values, strict=True) if goal[bucket] > floor)
        return covered / sum(values)

    def _absorb(self, k: int, buckets: array[int], values: array[float], least: float) -> None:
        share = max(1.0 / (self._events[k] + 1.0), least)
        # An empty goal has nothing that could decay, and a scale of 0 would lose what comes.
        keep = 1.0 - share if self._events[k] else 1.0
        self._events[k] = min(self._events[k] + 1, MAX_EVENTS)
        self._move(k, buckets, values, share, keep)

    def _move(self, k: int, buckets: array[int], values: array[float], share: float, keep: float) -> None:
        self._scale[k] *= keep
        self._mass[k] *= keep
        self._squares[k] *= keep * keep
        goal, scale = self._raw[k], self._scale[k]
        for bucket, value in zip(buckets, values, strict=True):
            added = share * value
            self._squares[k] += added * (2.0 * goal[bucket] * scale + added)
            self._mass[k] += added
            goal[bucket] += _single(added / scale)
        if self._scale[k] < RESCALE_BELOW:
            self._rescale(k)

    def _rescale(self, k: int) -> None:
        """Apply the scale to the entries, drop the smallest and sum again, which removes rounding errors."""
        floor = FORGET_BELOW * math.sqrt(self._squares[k])
        entries = (raw * self._scale[k] for raw in self._raw[k])
        goal = array("f", [entry if entry >= floor else 0.0 for entry in entries])
        self._raw[k], self._scale[k] = goal, 1.0
        self._mass[k], self._squares[k] = sum(goal), sum(raw * raw for raw in goal)

    def to_bytes(self) -> bytes:
        """All goals, lossless: goals loaded from it go on bit for bit as these do. Cost: some 2 ms."""
        parts = [MAGIC]
        for k, goal in enumerate(self._raw):
            buckets = [bucket for bucket, raw in enumerate(goal) if raw]
            n = len(buckets)
            parts.append(SPACE.pack(self._events[k], n, self._scale[k], self._mass[k], self._squares[k]))
            parts.append(Struct(f"<{n}H{n}f").pack(*buckets, *(goal[bucket] for bucket in buckets)))
        return b"".join(parts)

    def load_bytes(self, packed: bytes) -> None:
        """Replace the goals by those that to_bytes gave."""
        self._clear()
        try:
            self._load(packed)
        except StructError as error:
            self._clear()
            raise ValueError(f"goals end early: {error}") from None
        except ValueError:
            self._clear()
            raise

    def _load(self, packed: bytes) -> None:
        at = len(MAGIC)
        if packed[:at] != MAGIC:
            raise ValueError(f"not goals, or of a later version: {packed[:at]!r}")
        for k in range(N):
            self._events[k], n, self._scale[k], self._mass[k], self._squares[k] = SPACE.unpack_from(
                packed, at
            )
            at += SPACE.size
            layout = Struct(f"<{n}H{n}f")
            cells = layout.unpack_from(packed, at)
            at += layout.size
            self._check(k, cells[:n], cells[n:])
            for bucket, raw in zip(cells[:n], cells[n:], strict=True):
                self._raw[k][bucket] = raw
        if at != len(packed):
            raise ValueError(f"{len(packed) - at} bytes after the goals")

    def _check(self, k: int, buckets: tuple[int, ...], entries: tuple[float, ...]) -> None:
        """Reject bytes that to_bytes can't have written."""
        if any(left >= right for left, right in zip((-1, *buckets), (*buckets, BUCKETS), strict=True)):
            raise ValueError(f"buckets of space {k} are not ascending below {BUCKETS}")
        if not all(0.0 < entry < math.inf for entry in entries):
            raise ValueError(f"space {k} has an entry that is not a positive number")
        if buckets:
            whole = (
                self._events[k] > 0 and 0.0 < self._mass[k] < math.inf and 0.0 < self._squares[k] < math.inf
            )
        else:
            whole = self._events[k] == 0 and self._mass[k] == 0.0 and self._squares[k] == 0.0
        if not (whole and RESCALE_BELOW <= self._scale[k] <= 1.0):
            raise ValueError(f"the sums of space {k} don't belong to its entries")


def _bag(event: Sparse, row: int) -> tuple[array[int], array[float]]:
    start = row * BUCKETS
    end = start + event.counts[row]
    return event.buckets[start:end], event.values[start:end]


def _single(value: float) -> float:
    """``value`` rounded to a 32-bit float, as the compiled twin adds it."""
    return array("f", [value])[0]
