"""Holds a consolidation's plan: made by the finders, shown by a dry run, carried out by a commit.

Plain values without arrays: the process beside the owner makes it and the owner reads it. Goals are stored
with the store as a fact about it (docs/dev/formats.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import msgspec

from context_graph.errors import DatabaseCorruptionError
from context_graph.model.spaces import EMBEDDING_BYTES

MAX_GOALS: Final = 50
"""Goals that are kept, the most certain ones."""
GOAL_MEMBERS: Final = 200
"""Members of a goal that are kept: those nearest to its centre."""
_GOALS_VERSION: Final = 1


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
    trend: float
    """Slope of the similarity over the recent memories, per memory; below 0 it falls."""
    recent: int
    """Memories that were compared; 0 if there were too few to judge."""


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
    notes: tuple[str, ...] = ()
    """Remarks for a person: a stage with nothing to do, a limit that was reached."""

    def changes(self) -> Mapping[str, int]:
        """Return how many of each kind of change it makes."""
        return {
            "merged": sum(len(merge.losers) for merge in self.merges),
            "pruned": len(self.prunes),
            "links": len(self.links),
            "reweighted": len(self.reweights),
        }


def encode_goals(goals: Sequence[Goal], at_ms: int) -> dict[str, Any]:
    """Return the fact: JSON-able, some 15 KB a goal; at most 50 goals, the most certain ones."""
    kept = sorted(goals, key=lambda goal: (-goal.confidence, goal.goal_id))[:MAX_GOALS]
    short = [replace(goal, members=goal.members[:GOAL_MEMBERS]) for goal in kept]
    return {"version": _GOALS_VERSION, "at_ms": at_ms, "goals": msgspec.to_builtins(short)}


def decode_goals(fact: Mapping[str, Any] | None) -> list[Goal]:
    """Return the goals given to `encode_goals`, with at most 200 members each; [] without such a fact.

    Raises DatabaseCorruptionError if it can't be read or is of a later version; nothing is guessed.
    """
    if fact is None:
        return []
    version = fact.get("version")
    if version != _GOALS_VERSION:
        raise DatabaseCorruptionError(
            f"the goals of this store are of version {version!r}; this build reads version {_GOALS_VERSION}"
        )
    try:
        goals = msgspec.convert(fact.get("goals"), list[Goal])
    except msgspec.ValidationError as error:
        raise DatabaseCorruptionError(f"the goals of this store can't be read: {error}") from error
    sizes = {len(goal.centroid) for goal in goals} - {0, EMBEDDING_BYTES}
    if sizes:
        raise DatabaseCorruptionError(
            f"the goals of this store can't be read: a goal's centre has {sizes.pop()} bytes"
        )
    return goals
