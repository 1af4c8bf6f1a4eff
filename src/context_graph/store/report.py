"""What a salvage tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from context_graph.store.graph_layout import MEMORY_FAMILIES
from context_graph.store.layout import FAMILIES

__all__ = ["ALL_FAMILIES", "UNREADABLE_NAMED", "RepairReport", "UnreadableKey"]

UNREADABLE_NAMED: Final = 1000
ALL_FAMILIES: Final = (*FAMILIES, *MEMORY_FAMILIES)


@dataclass(frozen=True, slots=True)
class UnreadableKey:
    """A record, or a stretch of keys, that could not be saved."""

    family: str
    key: str
    reason: str


@dataclass(slots=True)
class RepairReport:
    """What a salvage found. JSON-able."""

    source: str
    target: str
    family: str
    """The family asked for; ``all`` for each."""
    rebuilt: bool = False
    """Whether RocksDB's own repair had to be used (on a copy)."""
    copied: dict[str, int] = field(default_factory=dict)
    """Records in the target, by family."""
    missing: list[str] = field(default_factory=list)
    """Families that the database does not have; they are empty in the target."""
    unreadable: list[UnreadableKey] = field(default_factory=list)
    """At most UNREADABLE_NAMED, those of the family asked for first."""
    unreadable_count: int = 0
    notes: list[str] = field(default_factory=list)
    """What was wrong with the database as a whole."""
    complete: bool = True
    """Whether nothing of the family asked for is known or feared to be lost: nothing unreadable or missing,
    and no table or log that could not be read whole (what stood only there can't be named)."""

    def judge(self, *, feared: bool) -> None:
        """Set ``complete`` from the rest; ``feared`` when a table or log could not be read whole."""
        wanted = ALL_FAMILIES if self.family == "all" else (self.family,)
        lost = any(family in wanted for family in self.missing)
        unread = any(one.family in wanted for one in self.unreadable)
        self.complete = not (lost or unread or feared)
