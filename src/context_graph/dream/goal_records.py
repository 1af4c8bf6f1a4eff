"""A store's goals as one fact about it, and back (docs/formats.md). No NumPy: the owner reads them too."""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from context_graph.dream.plan import Goal, GoalLevel
from context_graph.errors import DatabaseCorruptionError
from context_graph.model.spaces import EMBEDDING_BYTES

__all__ = ["MAX_STORED", "NAME", "decode", "encode"]

NAME: Final = "goals"
"""Of the fact (`GraphStore.meta`)."""
VERSION: Final = 1
MAX_STORED: Final = 50
MEMBERS: Final = 200
"""Of a goal that are kept: those nearest to its centre."""


def encode(goals: Sequence[Goal], at_ms: int) -> dict[str, Any]:
    """The fact: JSON-able, some 15 KB a goal; at most 50 goals, the most certain ones."""
    kept = sorted(goals, key=lambda goal: (-goal.confidence, goal.goal_id))[:MAX_STORED]
    known = {goal.goal_id for goal in kept}
    return {"version": VERSION, "at_ms": at_ms, "goals": [_packed(goal, known) for goal in kept]}


def decode(fact: Mapping[str, Any] | None) -> list[Goal]:
    """The goals that `encode` was given, with at most 200 members each; [] where there is no such fact.

    Raises:
        DatabaseCorruptionError: It can't be read, or is of a later version. Nothing is guessed in its place.
    """
    if fact is None:
        return []
    version = fact.get("version")
    if version != VERSION:
        raise DatabaseCorruptionError(
            f"the goals of this store are of version {version!r}; this build reads version {VERSION}"
        )
    try:
        return [_unpacked(goal) for goal in fact["goals"]]
    except (KeyError, TypeError, ValueError) as error:
        raise DatabaseCorruptionError(f"the goals of this store can't be read: {error!r}") from error


def _packed(goal: Goal, known: set[UUID]) -> dict[str, Any]:
    return {
        "goal_id": str(goal.goal_id),
        "description": goal.description,
        "level": goal.level.value,
        "confidence": goal.confidence,
        "coherence": goal.coherence,
        "parent": str(goal.parent) if goal.parent in known else None,
        "members": [str(member) for member in goal.members[:MEMBERS]],
        "centroid": binascii.b2a_base64(goal.centroid, newline=False).decode("ascii"),
    }


def _unpacked(packed: Mapping[str, Any]) -> Goal:
    parent = packed["parent"]
    centroid = binascii.a2b_base64(packed["centroid"])
    if len(centroid) not in (0, EMBEDDING_BYTES):
        raise ValueError(f"a goal's centre has {len(centroid)} bytes")
    return Goal(
        goal_id=UUID(packed["goal_id"]),
        description=str(packed["description"]),
        level=GoalLevel(packed["level"]),
        confidence=float(packed["confidence"]),
        coherence=float(packed["coherence"]),
        parent=None if parent is None else UUID(parent),
        members=tuple(UUID(member) for member in packed["members"]),
        centroid=centroid,
    )
