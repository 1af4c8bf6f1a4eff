"""What a consolidation answers (seed 002's ConsolidateResult and what D5 adds), in a bounded form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

from context_graph.dream.modes import Consciousness
from context_graph.dream.plan import Drift, Goal, Merge, Mode, NewLink, Pattern, Plan, Prune

__all__ = ["LISTED", "Result", "Skipped", "goal_view"]

LISTED: Final = 100
"""Entries of each list at most; the counts beside them are of all."""


class Skipped(Protocol):
    """Something planned that was not done, since what it concerns was changed meanwhile."""

    @property
    def kind(self) -> str: ...
    @property
    def ids(self) -> Sequence[UUID]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run: what it did, or in a dry run what it would do."""

    plan: Plan
    """Of a dry run what can be done, of a real one what was."""
    requested_mode: Mode
    consciousness: Consciousness
    dry_run: bool
    final_memory_count: int
    """Live memories after it; of a dry run, what they would be."""
    duration_ms: int
    undo_token: UUID | None = None
    """None in a dry run, and if nothing was changed."""
    skipped: Sequence[Skipped] = ()

    @property
    def mode(self) -> Mode:
        """The mode that ran."""
        return self.plan.mode

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it, in whole sentences."""
        notes = list(self.plan.notes)
        if not any((*self.plan.changes().values(), self.plan.goals_adjusted, self.skipped)):
            notes.insert(0, _nothing(self.plan))
        if self.skipped:
            notes.append(
                f"{len(self.skipped)} of the changes found were not made: what they concern was changed "
                "while they were looked for."
            )
        if self.mode != self.requested_mode:
            state = self.consciousness.dream_state.value
            level = self.consciousness.consciousness_level
            notes.insert(
                0,
                f"{self.requested_mode.value} was asked for; C is {level:.2f} ({state}), which allows "
                f"{self.mode.value}.",
            )
        return tuple(notes)

    def as_dict(self) -> dict[str, Any]:
        """JSON-able: seed 002's fields, then ours; lists hold at most LISTED entries."""
        plan, changes = self.plan, self.plan.changes()
        made: dict[str, Any] = {
            "mode": self.mode.value,
            "pruned_count": changes["pruned"],
            "merged_count": changes["merged"],
            "clusters_discovered": len(plan.clusters),
            "new_patterns": [_pattern(one) for one in plan.patterns[:LISTED]],
            "final_memory_count": self.final_memory_count,
            "duration_ms": self.duration_ms,
            "dry_run": self.dry_run,
            "consciousness": self.consciousness.as_dict(),
            "requested_mode": self.requested_mode.value,
            "memory_count": plan.memories,
            "considered_count": plan.considered,
            "links_made_count": changes["links"],
            "reweighted_count": changes["reweighted"],
            "goals_count": len(plan.goals),
            "goals_adjusted_count": plan.goals_adjusted,
            "merged": [_merge(one) for one in plan.merges[:LISTED]],
            "pruned": [_prune(one) for one in plan.prunes[:LISTED]],
            "links_made": [_link(one) for one in plan.links[:LISTED]],
            "goals": [goal_view(one) for one in plan.goals[:LISTED]],
            "notes": list(self.notes),
        }
        if plan.drift is not None:
            made["drift"] = _drift(plan.drift)
        if self.undo_token is not None:
            made["undo_token"] = str(self.undo_token)
        if self.skipped:
            made["skipped_count"] = len(self.skipped)
            made["skipped"] = [
                {"kind": one.kind, "ids": [str(each) for each in one.ids]} for one in self.skipped[:LISTED]
            ]
        return made


def _nothing(plan: Plan) -> str:
    if plan.memories == 0:
        return "There was nothing to do: the store has no memories."
    looked = (
        f"{plan.considered} of {plan.memories}" if plan.considered < plan.memories else f"{plan.memories}"
    )
    noun = "memory" if looked == "1" else "memories"
    return f"There was nothing to do: of the {looked} {noun}, none is to be merged, forgotten or linked."


def _pattern(one: Pattern) -> dict[str, Any]:
    return {
        "pattern_id": one.pattern_id,
        "description": one.description,
        "memory_count": one.memory_count,
        "confidence": round(one.confidence, 4),
    }


def _merge(one: Merge) -> dict[str, Any]:
    return {
        "survivor": str(one.survivor),
        "losers": [str(each) for each in one.losers[:LISTED]],
        "similarity": round(one.similarity, 4),
    }


def _prune(one: Prune) -> dict[str, Any]:
    return {"node_id": str(one.id), "salience": round(one.salience, 4)}


def _link(one: NewLink) -> dict[str, Any]:
    return {
        "source": str(one.source),
        "target": str(one.target),
        "relationship_type": one.relationship_type,
        "weight": round(one.weight, 4),
        "confidence": round(one.confidence, 4),
        "why": one.why,
    }


def goal_view(one: Goal) -> dict[str, Any]:
    """A goal as answers tell it, JSON-able; without its members and its centroid."""
    return {
        "goal_id": str(one.goal_id),
        "description": one.description,
        "level": one.level.value,
        "confidence": round(one.confidence, 4),
        "coherence": round(one.coherence, 4),
        "parent": None if one.parent is None else str(one.parent),
        "member_count": len(one.members),
    }


def _drift(one: Drift) -> dict[str, Any]:
    return {
        "similarity": round(one.similarity, 4),
        "level": one.level,
        "significant": one.significant,
        "trend": round(one.trend, 6),
        "recent": one.recent,
    }
