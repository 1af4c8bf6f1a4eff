"""What a rem consolidation says of sessions: habits, areas and shifts, judged on sessions it has not seen."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from research.measures.report import Data, Table, interval
from research.measures.summaries import handover_sessions, summarised

from context_graph.consolidation.finders import areas, habits
from context_graph.consolidation.snapshot import Snapshot

SHUFFLES: Final = 20
PLANTED: Final = 10
"""Sessions of another project at the end of one."""
LEAST: Final = 24


@dataclass(frozen=True, slots=True)
class _Chance:
    """One place in a held-out session where a habit's first steps had come."""

    followed: bool
    confidence: float
    usual: float


def tables(data: Data) -> list[Table]:
    """Habits and shifts of the handover sessions."""
    projects = handover_sessions(data.handover)
    return [_habits(projects), _shifts(projects)] if projects else []


def _habits(projects: dict[str, list[dict[str, Any]]]) -> Table:
    rows: list[Sequence[object]] = []
    pooled: list[list[_Chance]] = []
    for name, sessions in projects.items():
        with summarised(sessions) as snap:
            lists = [_steps(snap, row) for row in range(len(snap))]
        half = len(lists) // 2
        found = habits.find(lists[:half])
        chances = [_chances(found, steps) for steps in lists[half:]]
        pooled += chances
        rows.append((name, len(found), *_told(chances), _of_shuffled(lists)))
    low, high = interval([one for one in pooled if one], lambda some: _rate(some))
    rows.append(("all", "", *_told(pooled), ""))
    return Table(
        number="patterns: habits found in the first half of a project's sessions, judged on the second half",
        source=f"handover sessions ({sum(map(len, projects.values()))}); the second halves were not tuned on",
        columns=("project", "habits", "places", "followed", "said", "usual", "habits in 20 shuffles"),
        rows=rows,
        notes=[
            f"followed: how often the last step came, {low:.2f} to {high:.2f} over all; "
            "said: the confidence; usual: how often that step comes anyway"
        ],
    )


def _steps(snap: Snapshot, row: int) -> list[str]:
    state = snap.node(row).metadata["capture"]
    return list(state["steps"])


def _chances(found: Sequence[habits.Habit], steps: Sequence[str]) -> list[_Chance]:
    return [
        _Chance(steps[at + len(first)] == last, habit.follows, habit.usual)
        for habit in found
        for *first, last in (habit.steps,)
        for at in range(len(steps) - len(first))
        if list(steps[at : at + len(first)]) == first
    ]


def _told(chances: Sequence[Sequence[_Chance]]) -> tuple[object, ...]:
    every = [one for some in chances for one in some]
    if not every:
        return 0, "-", "-", "-"
    said = sum(one.confidence for one in every) / len(every)
    return len(every), _rate(chances), said, sum(one.usual for one in every) / len(every)


def _rate(chances: Sequence[Sequence[_Chance]]) -> float:
    every = [one for some in chances for one in some]
    return sum(one.followed for one in every) / len(every)


def _of_shuffled(lists: Sequence[Sequence[str]]) -> int:
    """Habits found where the steps of each session are in random order."""
    rng = random.Random(7)
    return sum(len(habits.find([_shuffled(steps, rng) for steps in lists])) for _ in range(SHUFFLES))


def _shuffled(steps: Sequence[str], rng: random.Random) -> list[str]:
    mixed = rng.sample(list(steps), len(steps))
    return [step for at, step in enumerate(mixed) if not at or step != mixed[at - 1]]


def _shifts(projects: dict[str, list[dict[str, Any]]]) -> Table:
    """Sessions in random order, and the same with sessions of another project at the end."""
    rng = random.Random(7)
    rows: list[Sequence[object]] = []
    for name, sessions in projects.items():
        others = [one for other, found in projects.items() if other != name for one in found]
        if len(sessions) < LEAST - PLANTED:
            continue
        own = [_shift(rng.sample(sessions, len(sessions))) for _ in range(5)]
        foreign = [_shift([*rng.sample(sessions, len(sessions)), *_of_one(others, rng)]) for _ in range(5)]
        rows.append((name, *_share(own), *_share(foreign)))
    return Table(
        number="drift: what sessions work on, the newest against those before",
        source=f"handover sessions, five random orders; foreign: {PLANTED} sessions of another project last",
        columns=("project", "own: judged", "told a shift", "foreign: judged", "told a shift "),
        rows=rows,
    )


def _of_one(others: Sequence[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    project = rng.choice(sorted({one["project"] for one in others}))
    return [one for one in others if one["project"] == project][:PLANTED]


def _shift(sessions: Sequence[dict[str, Any]]) -> bool | None:
    with summarised(sessions) as snap:
        rows = range(len(snap))
        change = areas.change(snap, rows, areas.find(snap, rows))
    return None if change is None else bool(change.shifts)


def _share(told: Sequence[bool | None]) -> tuple[int, int]:
    return sum(one is not None for one in told), sum(bool(one) for one in told)
