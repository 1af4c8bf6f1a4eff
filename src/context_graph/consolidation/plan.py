"""Holds a consolidation's plan: made by the finders, shown by a dry run, carried out by a commit.

Plain values without arrays: the process beside the owner makes it and the owner reads it. Goals, and the map
that a deep or rem run draws, are kept with the store as facts about it (docs/dev/formats.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec

from context_graph.errors import DatabaseCorruptionError
from context_graph.model.spaces import EMBEDDING_BYTES

MAX_GOALS: Final = 50
"""Goals that are kept, the most certain ones."""
GOAL_MEMBERS: Final = 200
"""Members of a goal that are kept: those nearest to its centre."""
_GOALS_VERSION: Final = 1
Made = TypeVar("Made")
_HINDSIGHT_VERSION: Final = 1


class Mode(StrEnum):
    """How much a consolidation does (seed 002)."""

    LIGHT = "light"
    DEEP = "deep"
    REM = "rem"


@dataclass(frozen=True, slots=True)
class Merge:
    """Memories that say the same become one (D5.2)."""

    survivor: UUID
    losers: tuple[UUID, ...]
    similarity: float
    """The least E1 cosine of a loser to the survivor, [0, 1]."""


@dataclass(frozen=True, slots=True)
class Prune:
    """A memory that is to be forgotten, to be restored within the retention (D5.3)."""

    id: UUID
    salience: float
    """[0, 1], below the run's threshold."""


@dataclass(frozen=True, slots=True)
class NewLink:
    """An edge to be made."""

    source: UUID
    target: UUID
    relationship_type: str
    weight: float
    confidence: float
    why: str
    """Which finder made it, for the edge's metadata: cluster, causal, shortcut."""
    shortcut: bool = False
    path: tuple[UUID, ...] = ()
    """The memories that a shortcut leads past; empty for any other link."""


@dataclass(frozen=True, slots=True)
class Reweight:
    """An edge whose base weight changes (NREM replay)."""

    edge: UUID
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that share rare words (E13)."""

    id: UUID
    """Made of its members, so the same members always have the same id."""
    members: tuple[UUID, ...]
    label: str
    """Its most telling terms."""
    coherence: float
    """Mean E13 cosine of the members to their centroid, [0, 1]."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Actions that recur (E10)."""

    pattern_id: str
    description: str
    memory_count: int
    confidence: float
    members: tuple[UUID, ...] = ()


class GoalLevel(StrEnum):
    """How much a goal covers."""

    NORTH_STAR = "NorthStar"
    STRATEGIC = "Strategic"
    TACTICAL = "Tactical"
    OPERATIONAL = "Operational"


@dataclass(frozen=True, slots=True)
class Goal:
    """What many memories are about: found, not set."""

    goal_id: UUID
    description: str
    level: GoalLevel
    confidence: float
    coherence: float
    members: tuple[UUID, ...]
    centroid: bytes = field(repr=False, default=b"")
    """1536 float32 as an embedding's: the members' mean, each space of length sqrt(weight) or zero."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How far recent memories are from the goals (E13)."""

    similarity: float
    """How near recent memories are to the goals in E13, [0, 1]: 1 as near as sessions usually are, or nothing
    to compare; a quarter less for each standard deviation further away.
    """
    level: str
    """none, low, medium, high, critical."""
    significant: bool
    recent: int
    """Memories that were compared; 0 if there were too few to judge."""


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What the last sessions would have been told of earlier ones (`finders.hindsight`)."""

    sessions: int
    floor: float
    """How alike an earlier session has to be from now on, (0, 1)."""
    shown: int
    """Sessions that are told of one by that."""
    right: int
    """Sessions that are told of one which changed a file that they changed too."""
    floor_before: float
    shown_before: int
    right_before: int

    @property
    def is_moved(self) -> bool:
        """Whether the floor is another one from now on."""
        return self.floor != self.floor_before

    def text(self) -> str:
        """Return one sentence for a person."""
        sentence = (
            f"Of the last {self.sessions} sessions {self.shown} would have been told of an earlier one, "
        )
        sentence += f"the right one in {self.right}"
        return (
            f"{sentence} (was {self.right_before} of {self.shown_before})."
            if self.is_moved
            else f"{sentence}."
        )


@dataclass(slots=True, kw_only=True)
class Plan:
    """Everything that one run found in the store as of commit ``seq``."""

    mode: Mode
    seq: int
    taken_ms: int
    memories: int
    """Live memories in the store."""
    considered: int
    """Memories that the run examined."""
    merges: tuple[Merge, ...] = ()
    prunes: tuple[Prune, ...] = ()
    links: tuple[NewLink, ...] = ()
    reweights: tuple[Reweight, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    goals: tuple[Goal, ...] = ()
    goals_adjusted: int = 0
    """Goals that are kept from now on and are new or changed."""
    drift: Drift | None = None
    hindsight: Hindsight | None = None
    notes: tuple[str, ...] = ()
    """Remarks for a person: a stage with nothing to do, a limit that was reached."""

    @property
    def moves_floor(self) -> bool:
        """Whether sessions are told of earlier ones by another floor from now on."""
        return self.hindsight is not None and self.hindsight.is_moved

    def changes(self) -> Mapping[str, int]:
        """Return how many of each kind of change it makes."""
        return {
            "merged": sum(len(merge.losers) for merge in self.merges),
            "pruned": len(self.prunes),
            "links": len(self.links),
            "reweighted": len(self.reweights),
        }


def encode_hindsight(hindsight: Hindsight, at_ms: int) -> dict[str, Any]:
    """Return the fact by which sessions are told of earlier ones from then on."""
    return {"version": _HINDSIGHT_VERSION, "at_ms": at_ms, **msgspec.to_builtins(hindsight)}


def floor_of(fact: Mapping[str, Any] | None, default: float) -> float:
    """Return the floor in what `encode_hindsight` made; ``default`` without such a fact, or of another
    version."""
    floor = fact.get("floor") if fact is not None and fact.get("version") == _HINDSIGHT_VERSION else None
    return floor if isinstance(floor, float) and 0.0 < floor < 1.0 else default


def encode_goals(goals: Sequence[Goal], at_ms: int) -> dict[str, Any]:
    """Return the fact: JSON-able, some 15 KB a goal; at most 50 goals, the most certain ones."""
    kept = sorted(goals, key=lambda goal: (-goal.confidence, goal.goal_id))[:MAX_GOALS]
    short = [replace(goal, members=goal.members[:GOAL_MEMBERS]) for goal in kept]
    return {"version": _GOALS_VERSION, "at_ms": at_ms, "goals": msgspec.to_builtins(short)}


def decode_goals(fact: Mapping[str, Any] | None) -> list[Goal]:
    """Return the goals given to `encode_goals`; DatabaseCorruptionError if they can't be read."""
    goals = [] if fact is None else _decoded("goals", fact, _GOALS_VERSION, fact.get("goals"), list[Goal])
    sizes = {len(goal.centroid) for goal in goals} - {0, EMBEDDING_BYTES}
    if sizes:
        raise DatabaseCorruptionError(
            f"the goals of this store can't be read: a goal's centre has {sizes.pop()} bytes"
        )
    return goals


def _decoded(name: str, fact: Mapping[str, Any], version: int, content: object, kind: type[Made]) -> Made:
    if fact.get("version") != version:
        raise DatabaseCorruptionError(
            f"the {name} of this store: version {fact.get('version')!r}; this build reads version {version}"
        )
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise DatabaseCorruptionError(f"the {name} of this store can't be read: {error}") from error


MAX_CLUSTERS: Final = 200
"""The largest ones."""
MAX_DRIFT: Final = 200
"""Measurements of drift that are kept, the newest: one for each rem run that measured another one."""
_MAP_VERSION: Final = 2


class Group(msgspec.Struct, frozen=True):
    """One cluster."""

    label: str
    memories: int
    coherence: float


class Recurring(msgspec.Struct, frozen=True):
    """One pattern."""

    text: str
    memories: int
    confidence: float


class Measured(msgspec.Struct, frozen=True):
    """Drift, as one run measured it (`plan.Drift`)."""

    at_ms: int
    similarity: float
    level: str


class StoreMap(msgspec.Struct, frozen=True, kw_only=True):
    """What a store's memories are about. It is there to be looked at; nothing is decided by it."""

    at_ms: int
    clusters: tuple[Group, ...] = ()
    patterns: tuple[Recurring, ...] = ()
    drift: tuple[Measured, ...] = ()
    """Oldest first."""
    version: int = _MAP_VERSION


def encode_map(drawn: StoreMap) -> dict[str, Any]:
    """Return the fact: JSON-able, at most some 40 KB."""
    document: dict[str, Any] = msgspec.to_builtins(drawn)
    return document


def decode_map(fact: Mapping[str, Any] | None) -> StoreMap | None:
    """Return what `encode_map` was given; None without such a fact. Raises as `decode_goals`."""
    return None if fact is None else _decoded("map", fact, _MAP_VERSION, fact, StoreMap)


def with_drift(kept: tuple[Measured, ...], now: Measured | None) -> tuple[Measured, ...]:
    """Return the measurements with ``now`` at the end, unless it says the same as the last."""
    if now is None or (kept and kept[-1] == msgspec.structs.replace(now, at_ms=kept[-1].at_ms)):
        return kept
    return (*kept, now)[-MAX_DRIFT:]


def is_redrawn(kept: StoreMap | None, drawn: StoreMap) -> bool:
    """Return whether anything but the time differs, so that a run with nothing to do writes nothing.

    The first map of a store needs something to show: a cluster, a pattern or drift.
    """
    if kept is None:
        return bool(drawn.clusters or drawn.patterns or drawn.drift)
    return msgspec.structs.replace(drawn, at_ms=kept.at_ms) != kept
