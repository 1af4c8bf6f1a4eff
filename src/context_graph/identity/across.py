"""Measures whether a session goes on with the work of the session before it: the cross-session IC.

The new session's first prompt and first events are compared with the goals that the earlier session ended
with, as bags of word stems, paths, letter triples and dotted names. A term counts less, the more of the
project's earlier work had it: what all work on a project shares says nothing about one task. Constants are
fitted by research/measures/continuity.py on recorded sessions, and judged there one project left out.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from struct import Struct
from typing import Annotated, Final, Literal

import msgspec

from context_graph.identity.ego import SPACES, EventReader, Goals
from context_graph.kernels import features

EVENTS_NEEDED: Final = 3
"""Tool results, beside one prompt, before anything is said."""

CONTINUES_FROM: Final = 0.5
"""The likelihood from which a session counts as going on with the earlier one's work."""

PROMPT_SHARE: Final = 0.25
"""Share of the prompts in what a session has begun with; the rest are its tool results."""

VIEWS: Final = ("semantic", "graph", "trigram", "dotted")
"""The goals that are compared: stems, paths, letter triples, dotted names."""

WEIGHTS: Final = (6.49, 1.66, 2.65, 2.82)
OFFSET: Final = -5.33
FAMILIAR: Final = 2.45
"""Similarities are lower once common terms count less: this times n / (n + 2) after n pieces of work."""

MOST_WORK: Final = 64
"""Pieces of work that are counted apart; then all counts are halved, so that old work fades."""

COVERED: Final = 0.003
"""Share of a goal's length from which a term counts: what is fainter is a trace of work long past."""

_BUCKETS: Final = features.BUCKETS
_NAMES: Final = [space.name for space in SPACES]
_BAGS: Final = tuple(features.BAGS.index(SPACES[_NAMES.index(view)].bag) for view in VIEWS)

Terms = tuple["array[int]", "array[float]"]
"""Buckets and their weights, of one view."""


def relation(similarity: float | None) -> str:
    """`continues`, `new work`, or `unknown` for None: what a cross-session IC says in words."""
    if similarity is None:
        return "unknown"
    return "continues" if similarity >= CONTINUES_FROM else "new work"


def likelihood(similarities: Sequence[float], works: int) -> float:
    """Return how likely it is, in [0, 1], that work with these similarities, one a view, is the same work.

    Args:
        similarities: Cosines in [0, 1], in the order of VIEWS.
        works: Pieces of earlier work that the terms' weights come from.
    """
    score = OFFSET + FAMILIAR * works / (works + 2)
    score += math.fsum(weight * value for weight, value in zip(WEIGHTS, similarities, strict=True))
    return 1.0 / (1.0 + math.exp(-score))


class CommonTerms:
    """In how many pieces of a project's work each term came up."""

    __slots__ = ("counts", "works")

    def __init__(self) -> None:
        self.works = 0
        self.counts = tuple(array("H", bytes(2 * _BUCKETS)) for _ in VIEWS)

    def add(self, work: Iterable[Terms]) -> None:
        """Count one more piece of work."""
        for counts, (buckets, values) in zip(self.counts, work, strict=True):
            floor = COVERED * math.hypot(*values)
            for bucket, value in zip(buckets, values, strict=True):
                if value > floor:
                    counts[bucket] += 1
        self.works += 1
        if self.works >= MOST_WORK:
            self.works //= 2
            for counts in self.counts:
                counts[:] = array("H", [count // 2 for count in counts])

    def copy(self) -> CommonTerms:
        """Return the same counts, to be counted on apart."""
        made = CommonTerms()
        made.works, made.counts = self.works, tuple(counts[:] for counts in self.counts)
        return made

    def cosine(self, view: int, own: dict[int, float], other: Terms) -> float:
        """Return how alike two bags of terms are, rare terms counting more; 0 where one is empty."""
        counts, whole = self.counts[view], self.works + 1.5
        rarity = [math.log(whole / (count + 0.5)) for count in range(max(counts, default=0) + 1)]
        weighted = {b: value * rarity[counts[b]] for b, value in zip(*other, strict=True)}
        mine = {b: value * rarity[counts[b]] for b, value in own.items()}
        lengths = math.hypot(*weighted.values()) * math.hypot(*mine.values())
        if lengths < 1e-12:
            return 0.0
        shared = math.fsum(value * weighted[b] for b, value in mine.items() if b in weighted)
        return min(1.0, shared / lengths)


class Opening:
    """What a session has begun with: sums of its prompts' and its events' terms, view by view."""

    __slots__ = ("asked", "events", "prompts", "terms")

    def __init__(self) -> None:
        self.asked = False
        """There was a prompt, even if it had no terms ("go on")."""
        self.prompts = self.events = 0
        self.terms: tuple[tuple[dict[int, float], ...], ...] = tuple(
            tuple({} for _ in VIEWS) for _ in range(2)
        )
        """Of events, and of prompts."""

    def absorb(self, reader: EventReader, *, prompt: bool) -> None:
        """Add the text just read, unless there is nothing in it. Cost: some 0.3 ms for 4 KB."""
        bags = reader.bags
        counts, buckets, values = bags.counts, bags.buckets, bags.values
        self.asked |= prompt
        if not counts[_BAGS[0]]:
            return
        self.prompts, self.events = self.prompts + prompt, self.events + (not prompt)
        for bag, total in zip(_BAGS, self.terms[prompt], strict=True):
            start, end = bag * _BUCKETS, bag * _BUCKETS + counts[bag]
            for bucket, value in zip(buckets[start:end], values[start:end], strict=True):
                total[bucket] = total.get(bucket, 0.0) + value

    @property
    def suffices(self) -> bool:
        return self.asked and self.events >= EVENTS_NEEDED

    def mixed(self, view: int) -> dict[int, float]:
        """Return the mean event and the mean prompt together, in one view."""
        share = PROMPT_SHARE if self.prompts else 0.0
        parts = ((1.0 - share) / max(1, self.events), share / max(1, self.prompts))
        mixed: dict[int, float] = {}
        for part, terms in zip(parts, self.terms, strict=True):
            for bucket, value in terms[view].items():
                mixed[bucket] = mixed.get(bucket, 0.0) + part * value
        return mixed


class SessionLink:
    """What ties a session to the one before it, until it can be said whether it goes on with its work.

    Args:
        earlier: What the earlier session was about, one bag a view; None for a session that follows none.
        common: What the project's work has in common; becomes this link's own.
    """

    __slots__ = ("common", "earlier", "opening")

    def __init__(self, earlier: tuple[Terms, ...] | None = None, common: CommonTerms | None = None) -> None:
        self.earlier = earlier
        """None also once it is measured."""
        self.common = common or CommonTerms()
        self.opening = Opening()

    @classmethod
    def after(cls, previous: SessionLink, goals: Goals) -> SessionLink:
        """Return the link of a session that follows one with these goals. Cost: some 1 ms."""
        terms = terms_of(goals)
        return cls(terms if any(len(values) for _, values in terms) else None, previous.common.copy())

    def absorb(self, reader: EventReader, *, prompt: bool) -> float | None:
        """Take in the text just read.

        Returns:
            The cross-session IC, in [0, 1], when this text completes what it takes; else None.

        Cost: nothing once it is measured; the measuring itself takes some 2 ms, once a session.
        """
        if self.earlier is None:
            return None
        self.opening.absorb(reader, prompt=prompt)
        if not self.opening.suffices:
            return None
        continuity = likelihood(self.similarities(self.earlier), self.common.works)
        if continuity < CONTINUES_FROM:  # the earlier work is over: it counts as one of the project's
            self.common.add(self.earlier)
        self.earlier, self.opening = None, Opening()
        return continuity

    def similarities(self, others: tuple[Terms, ...]) -> list[float]:
        """Return how alike the beginning and ``others`` are, one cosine a view."""
        mixed, cosine = self.opening.mixed, self.common.cosine
        return [cosine(view, mixed(view), others[view]) for view in range(len(VIEWS))]

    def to_bytes(self) -> bytes:
        """Return all of it, lossless; b"" where there is nothing. 40 KB until it is measured, then 10."""
        if self.earlier is None and not self.common.works:
            return b""
        opening = self.opening
        return _ENCODER.encode(
            _Stored(
                works=self.common.works,
                common=[_packed("H", {b: n for b, n in enumerate(c) if n}) for c in self.common.counts],
                earlier=None
                if self.earlier is None
                else [(b.tobytes(), v.tobytes()) for b, v in self.earlier],
                asked=opening.asked,
                prompts=opening.prompts,
                events=opening.events,
                opening=[_packed("d", terms) for part in opening.terms for terms in part],
            )
        )

    @classmethod
    def from_bytes(cls, packed: bytes) -> SessionLink:
        """Return the link that to_bytes gave. Raises ValueError for other bytes."""
        if not packed:
            return cls()
        try:
            stored = _DECODER.decode(packed)
        except msgspec.DecodeError as error:
            raise ValueError(f"link to the session before: {error}") from error
        link = cls()
        link.common.works = stored.works
        for counts, pair in zip(link.common.counts, stored.common, strict=True):
            for bucket, count in zip(*_unpacked("H", pair), strict=True):
                counts[bucket] = int(count)
        if stored.earlier is not None:
            link.earlier = tuple(_unpacked("f", pair) for pair in stored.earlier)
        link.opening.asked = stored.asked
        link.opening.prompts, link.opening.events = stored.prompts, stored.events
        bags = [terms for part in link.opening.terms for terms in part]
        for terms, pair in zip(bags, stored.opening, strict=True):
            terms.update(zip(*_unpacked("d", pair), strict=True))
        return link


class _Stored(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A link on disk. Fields by position: append only. Each pair is buckets (uint16) and numbers."""

    works: Annotated[int, msgspec.Meta(ge=0)]
    common: list[tuple[bytes, bytes]]
    earlier: list[tuple[bytes, bytes]] | None
    asked: bool
    prompts: Annotated[int, msgspec.Meta(ge=0)]
    events: Annotated[int, msgspec.Meta(ge=0)]
    opening: list[tuple[bytes, bytes]]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Stored)


def _packed(code: Literal["H", "d"], terms: dict[int, float] | dict[int, int]) -> tuple[bytes, bytes]:
    return array("H", terms.keys()).tobytes(), array(code, terms.values()).tobytes()


def _unpacked(code: Literal["H", "f", "d"], pair: tuple[bytes, bytes]) -> Terms:
    buckets: array[int] = array("H", pair[0])
    values: array[float] = array(code, pair[1])  # of whole numbers for H
    if len(buckets) != len(values) or (buckets and max(buckets) >= _BUCKETS):
        raise ValueError("link to the session before: terms without their weights")
    if not all(0.0 <= value < math.inf for value in values):
        raise ValueError("link to the session before: a weight that is no number")
    return buckets, values


class Before(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """The session before this one, as it was when this one began. Fields by position: append only."""

    ic: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] | None
    """Its own IC at its end; None if nothing was measured in it."""
    ago_ms: Annotated[int, msgspec.Meta(ge=0)]
    phases: bytes
    """13 doubles."""


_LINKED: Final = b"CGL\x01"
"""Goals with a link behind them begin so; without one they are the goals' own bytes, as they always were."""
_SIZE: Final = Struct("<I")


def join_goals(goals: bytes, link: bytes) -> bytes:
    """Return the record of both; `part_goals` parts them."""
    return b"".join((_LINKED, _SIZE.pack(len(goals)), goals, link)) if link else goals


def part_goals(packed: bytes) -> tuple[bytes, bytes]:
    """Return (goals, link) of what join_goals gave. Raises ValueError for bytes that are cut short."""
    if packed[: len(_LINKED)] != _LINKED:
        return packed, b""
    start = len(_LINKED) + _SIZE.size
    end = start + _SIZE.unpack_from(packed, len(_LINKED))[0] if len(packed) > start else start
    if not start < end < len(packed):
        raise ValueError("goals end early")
    return packed[start:end], packed[end:]


_GOAL: Final = Struct("<IHddd")
_GOALS_HEAD: Final = 4
_CELL: Final = 6


def terms_of(goals: Goals, views: Sequence[str] = VIEWS) -> tuple[Terms, ...]:
    """Return what the goals are about, one bag a view: read from their record, whose layout never changes."""
    packed = goals.to_bytes()
    starts, at = [], _GOALS_HEAD
    for _ in SPACES:
        starts.append(at)
        at += _GOAL.size + _CELL * _GOAL.unpack_from(packed, at)[1]
    return tuple(_cells(packed, starts[_NAMES.index(view)]) for view in views)


def _cells(packed: bytes, at: int) -> Terms:
    n = _GOAL.unpack_from(packed, at)[1]
    edges = list(accumulate((_GOAL.size, 2 * n, 4 * n), initial=at))
    return array("H", packed[edges[1] : edges[2]]), array("f", packed[edges[2] : edges[3]])
