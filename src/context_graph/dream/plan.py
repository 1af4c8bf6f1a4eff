"""What a consolidation is to do, item by item: found by the finders, told by a dry run, done by a commit.

Plain values without arrays: the same plan is made beside the owner and read in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

__all__ = [
    "Cluster",
    "Drift",
    "Goal",
    "GoalLevel",
    "Merge",
    "Mode",
    "NewLink",
    "Pattern",
    "Plan",
    "Prune",
    "Reweight",
]


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
    """Which finder made it, for the edge's metadata: cluster, causal, blind_spot, shortcut."""
    shortcut: bool = False
    path: tuple[UUID, ...] = ()
    """Of a shortcut: the memories that it leads past."""


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
    """Of its members, so that the same members have the same id in every run."""
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
    parent: UUID | None
    members: tuple[UUID, ...]
    centroid: bytes = field(repr=False, default=b"")
    """1536 float32 as an embedding's: the members' mean, each space of length sqrt(weight) or zero."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How far recent memories are from the goals (E7)."""

    similarity: float
    """How near recent memories are to the goals in E7, [0, 1]: 1 as near as sessions usually are, or nothing
    to compare; a quarter less for each standard deviation further."""
    level: str
    """none, low, medium, high, critical."""
    significant: bool
    trend: float
    """Slope of the similarity over the recent memories, per memory; below 0 it grows worse."""
    recent: int
    """Memories that were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that one run found in the store as of commit ``seq``."""

    mode: Mode
    seq: int
    taken_ms: int
    memories: int
    """Live memories in the store."""
    considered: int
    """Of them, those that the run looked at."""
    merges: tuple[Merge, ...] = ()
    prunes: tuple[Prune, ...] = ()
    links: tuple[NewLink, ...] = ()
    reweights: tuple[Reweight, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    goals: tuple[Goal, ...] = ()
    goals_adjusted: int = 0
    """Goals that are kept with the store from now on and were not, or not so."""
    drift: Drift | None = None
    notes: tuple[str, ...] = ()
    """What a person should know of how it went: a stage that had nothing to do, a limit that was reached."""

    def changes(self) -> Mapping[str, int]:
        """How many of each kind of change it makes."""
        return {
            "merged": sum(len(merge.losers) for merge in self.merges),
            "pruned": len(self.prunes),
            "links": len(self.links),
            "reweighted": len(self.reweights),
        }
