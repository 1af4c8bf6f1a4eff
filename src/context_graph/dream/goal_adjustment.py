"""The goals that a store keeps, moved towards those that it shows now.

A goal that is found again keeps its id. It moves a part of the way, so that one odd run changes little;
where recent memories have drifted from the goals, it moves faster. One that is no longer found fades, and is
dropped once it is hardly certain any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import numpy as np

from context_graph.dream.goal_records import MAX_STORED
from context_graph.dream.plan import Drift, Goal, GoalLevel
from context_graph.dream.profiles import as_centroid

__all__ = ["adjusted"]

STEP: Final = 0.4
"""Share of what was found now in a goal that was known."""
STEP_DRIFTED: Final = 0.8
FADE: Final = 0.8
"""What is left of the confidence of a goal that was not found."""
FADE_DRIFTED: Final = 0.5
FORGOTTEN: Final = 0.2
"""Confidence below which a goal is dropped: some five runs without it, or two after a drift."""
OVERLAP: Final = 0.5
"""Share of the smaller one's members that two goals must share to be one."""
_ORDER: Final = list(GoalLevel)


def adjusted(stored: Sequence[Goal], found: Sequence[Goal], drift: Drift | None = None) -> list[Goal]:
    """The goals to keep from now on, most certain first, at most 50.

    Args:
        stored: Those that were kept until now (`goal_records.decode`).
        found: What `goals.discover` found now.
        drift: How far recent memories are from the goals (`drift.detect`).
    """
    drifted = drift is not None and drift.significant
    matched = _matched(stored, found)
    step, fade = (STEP_DRIFTED, FADE_DRIFTED) if drifted else (STEP, FADE)
    ids = {found[at].goal_id: goal.goal_id for at, goal in matched.items()}
    kept = [
        _named(goal if at not in matched else _moved(matched[at], goal, step), ids)
        for at, goal in enumerate(found)
    ]
    again = {goal.goal_id for goal in matched.values()} | {goal.goal_id for goal in kept}
    kept += [
        replace(goal, confidence=goal.confidence * fade)
        for goal in stored
        if goal.goal_id not in again and goal.confidence * fade >= FORGOTTEN
    ]
    kept = sorted(kept, key=lambda goal: (-goal.confidence, goal.goal_id))[:MAX_STORED]
    return _with_parents(kept)


def _matched(stored: Sequence[Goal], found: Sequence[Goal]) -> dict[int, Goal]:
    """Number in ``found`` -> the stored goal that it is, by members in common; each at most once."""
    members = [set(goal.members) for goal in stored]
    pairs = []
    for at, goal in enumerate(found):
        ours = set(goal.members)
        for other, theirs in enumerate(members):
            shared = len(ours & theirs)
            if shared and shared >= OVERLAP * min(len(ours), len(theirs)):
                pairs.append((-shared / len(ours | theirs), at, other))
    taken: set[int] = set()
    matched: dict[int, Goal] = {}
    for _, at, other in sorted(pairs):
        if at not in matched and other not in taken:
            taken.add(other)
            matched[at] = stored[other]
    return matched


def _moved(known: Goal, now: Goal, step: float) -> Goal:
    """``known`` with members and words as they were found now, its certainty and centre on the way there."""
    centroid = now.centroid
    if known.centroid and now.centroid:
        before, after = (np.frombuffer(goal.centroid, np.float32) for goal in (known, now))
        centroid = as_centroid((1 - step) * before.astype(np.float64) + step * after)
    return replace(
        now,
        goal_id=known.goal_id,
        confidence=(1 - step) * known.confidence + step * now.confidence,
        centroid=centroid,
    )


def _named(goal: Goal, ids: Mapping[UUID, UUID]) -> Goal:
    """With its parent by the id under which that is kept."""
    return goal if goal.parent is None else replace(goal, parent=ids.get(goal.parent, goal.parent))


def _with_parents(goals: Sequence[Goal]) -> list[Goal]:
    """Without parents that are not kept, or are of no higher level than their child."""
    level = {goal.goal_id: _ORDER.index(goal.level) for goal in goals}
    made = []
    for goal in goals:
        ok = goal.parent is None or level.get(goal.parent, len(_ORDER)) < level[goal.goal_id]
        made.append(goal if ok else replace(goal, parent=None))
    return made
