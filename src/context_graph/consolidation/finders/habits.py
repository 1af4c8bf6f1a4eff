"""Finds habits: steps of work that follow each other in many sessions ("edit → tests/runtests.py").

Sessions are the lists of steps that captures keep (`memory.context.steps`). A run of steps is a habit if its
last step follows the ones before it more often than that step occurs anyway, in enough sessions, beyond what
chance explains. On held-out sessions `research/measures/patterns.py` says how often the last step did follow.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from context_graph.consolidation.finders.sequences import MAX_LENGTH, surprise

MIN_SESSIONS: Final = 3
CHANCE: Final = 0.05
"""How likely any habit at all may be by chance in a store."""
MIN_SHARE: Final = 0.08
"""Of all sessions that have a run."""
MIN_FOLLOWS: Final = 0.25
"""How often the last step must follow those before it."""
PART_OF: Final = 0.6
"""A run is told as part of a longer one that has this share of its sessions."""
PRIOR: Final = 2.0
"""Occurrences that the last step's own frequency counts for in `Habit.follows`."""

Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Habit:
    """Steps that follow each other at once."""

    steps: Run
    sessions: tuple[int, ...]
    """The lists that have it, ascending."""
    follows: float
    """How often the last step came when the others had come, (0, 1), shrunk towards `usual`."""
    usual: float
    """How often it would come if each session's steps were in random order, [0, 1]."""
    worth: float
    """For the order: sessions times the logarithm of follows / usual."""


def find(lists: Sequence[Sequence[str]]) -> list[Habit]:
    """The habits in ``lists``, the most telling first; no step is twice in one.

    Cost: some 2 us a step.
    """
    counts = _Counts(_with_whole_paths(lists))
    least = max(MIN_SESSIONS, math.ceil(MIN_SHARE * sum(len(one) > 1 for one in lists)))
    found: dict[Run, Habit] = {}
    for run in list(counts.after[()]):
        _grow(counts, (run,), least, found)
    kept = [one for one in found.values() if not _is_told(one, found)]
    return sorted(kept, key=lambda one: (-one.worth, one.steps))


def _with_whole_paths(lists: Sequence[Sequence[str]]) -> list[list[str]]:
    """``lists`` with "runtests.py" as "tests/runtests.py" where only one script of that name has a path."""
    paths = defaultdict(set)
    for step in {step for one in lists for step in one if "/" in step}:
        paths[step.rsplit("/", 1)[1]].add(step)
    whole = {name: next(iter(found)) for name, found in paths.items() if len(found) == 1}
    return [[whole.get(step, step) for step in one] for one in lists]


class _Counts:
    """How often each step follows each run of steps that differ, and in which lists."""

    def __init__(self, lists: Sequence[Sequence[str]]) -> None:
        self.after: dict[Run, Counter[str]] = defaultdict(Counter)
        self.lists: dict[Run, Counter[int]] = defaultdict(Counter)
        self._own = [Counter(steps) for steps in lists]
        for number, steps in enumerate(lists):
            for end in range(len(steps)):
                for length in range(1, min(MAX_LENGTH, end + 1) + 1):
                    run = tuple(steps[end + 1 - length : end + 1])
                    if len(set(run)) < length:
                        break
                    self.after[run[:-1]][run[-1]] += 1
                    self.lists[run][number] += 1
        self.tried = sum(len(one) >= MIN_SESSIONS for one in self.lists.values())

    def usual(self, run: Run, step: str) -> float:
        """How often ``step`` would follow ``run`` if each session's own steps came in random order.

        By each session's own steps, because sessions differ in what they are made of.
        """
        before, places = run[-1], self.lists[run]
        expected = sum(
            count * self._own[number][step] / max(1, self._own[number].total() - self._own[number][before])
            for number, count in places.items()
        )
        return expected / places.total()


def _grow(counts: _Counts, run: Run, least: int, found: dict[Run, Habit]) -> None:
    following = counts.after.get(run)
    if not following or len(run) == MAX_LENGTH:
        return
    total = sum(following.values())
    for step, count in following.items():
        longer = (*run, step)
        sessions = counts.lists[longer]
        if len(sessions) < least:
            continue
        usual = counts.usual(run, step)
        follows = (count + PRIOR * usual) / (total + PRIOR)
        if follows < max(MIN_FOLLOWS, usual):
            continue
        if surprise(count, total * usual) <= math.log(counts.tried / CHANCE):
            continue
        worth = len(sessions) * math.log(follows / usual)
        found[longer] = Habit(longer, tuple(sorted(sessions)), follows, usual, worth)
        _grow(counts, longer, least, found)


def _is_told(habit: Habit, found: dict[Run, Habit]) -> bool:
    """Whether a longer habit, in most of its sessions, tells it too."""
    size = len(habit.steps)
    return any(
        len(other.steps) > size
        and len(other.sessions) >= PART_OF * len(habit.sessions)
        and any(other.steps[at : at + size] == habit.steps for at in range(len(other.steps) - size + 1))
        for other in found.values()
    )
