"""Finds areas: the folders and files that a store's sessions worked on, and how that changes over time.

An area is a path that several captured sessions changed (or looked at, where they changed nothing). Its words
are those that most of its sessions' prompts have and few others. What comes more or less often in the newest
sessions than in those before is a shift, unless chance explains it.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from context_graph.consolidation.finders.summaries import recorded_work
from context_graph.consolidation.finders.words import telling_words
from context_graph.consolidation.snapshot import I64, Snapshot

MIN_SESSIONS: Final = 4
MIN_SHARE: Final = 0.04
MAX_SHARE: Final = 0.5
"""An area of more sessions than that is the project itself."""
CHILD_SHARE: Final = 0.6
"""A path is told by one below it that has this share of its sessions."""
DEPTH: Final = 12
_SCRATCH: Final = ("repro", "tmp", "temp", "scratch", "debug")
"""How top folders are called that a session makes to try something."""

DAY_MS: Final = 86_400_000
RECENT_DAYS: Final = 30
LEAST_RECENT: Final = 8
LEAST_EARLIER: Final = 16
CHANCE: Final = 0.05
"""How likely any shift at all may be by chance."""
SHUFFLES: Final = 200


@dataclass(frozen=True, slots=True)
class Area:
    """One path that several sessions worked on."""

    path: str
    rows: I64
    """The sessions' summaries, ascending."""
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shift:
    """An area that is worked on more, or less, than before."""

    path: str
    recent: int
    of_recent: int
    earlier: int
    of_earlier: int

    def __str__(self) -> str:
        more = self.recent * self.of_earlier > self.earlier * self.of_recent
        return (
            f"{'more' if more else 'less'} {self.path}: {self.recent} of the last {self.of_recent} sessions, "
            f"{self.earlier} of the {self.of_earlier} before"
        )


@dataclass(frozen=True, slots=True)
class Change:
    """How far the newest sessions' areas are from the earlier ones'."""

    deviations: float
    """How many standard deviations beyond what the same sessions in random order give; 0 or more."""
    recent: int
    shifts: tuple[Shift, ...]
    """Those beyond chance, the least likely first."""


def find(snap: Snapshot, rows: Sequence[int] | I64) -> list[Area]:
    """The areas of the captured sessions among ``rows``, the largest first. Cost: 20 us a session."""
    sessions = _worked_on(snap, rows)
    by_path: dict[str, list[int]] = defaultdict(list)
    for row, files in sessions.items():
        for path in {above for file in files for above in _with_folders(file)}:
            by_path[path].append(row)
    least = max(MIN_SESSIONS, math.ceil(MIN_SHARE * len(sessions)))
    kept = {
        path: found for path, found in by_path.items() if least <= len(found) <= MAX_SHARE * len(sessions)
    }
    told = _told_by_one_below(kept)
    asked = {row: _asked(snap, row) for row in sessions}
    areas = [
        Area(path, np.array(sorted(found), np.int64), tuple(telling_words(asked, found)))
        for path, found in kept.items()
        if path not in told
    ]
    return sorted(areas, key=lambda area: (-len(area.rows), area.path))


def change(snap: Snapshot, rows: Sequence[int] | I64, areas: Sequence[Area]) -> Change | None:
    """How the newest sessions differ in their areas from those before; None with too few to tell.

    The newest are those of the last 30 days, or a third of all if these are too few or too many. Cost: some
    ms.
    """
    order = sorted(_worked_on(snap, rows), key=lambda row: (int(snap.created_ms[row]), row))
    recent = _recent(snap, order)
    if not areas or len(recent) < LEAST_RECENT or len(order) - len(recent) < LEAST_EARLIER:
        return None
    has = np.array([np.isin(order, area.rows) for area in areas]).T  # bool[sessions, areas]
    split = len(order) - len(recent)
    distance = _distance(has, split)
    rng = random.Random(7)
    chance = []
    for _ in range(SHUFFLES):
        places = rng.sample(range(len(order)), len(order))
        chance.append(_distance(has[places], split))
    spread = float(np.std(chance)) or 1.0
    return Change(
        max(0.0, (distance - float(np.mean(chance))) / spread), len(recent), _shifts(has, split, areas)
    )


def _worked_on(snap: Snapshot, rows: Sequence[int] | I64) -> dict[int, list[str]]:
    """Captured row -> the files that the session changed, or looked at if it changed none."""
    sessions = {}
    for row in np.asarray(rows, np.int64).tolist():
        work = recorded_work(snap, row)
        if work is not None:
            changed, read = (_own_files(work.get(name)) for name in ("changed", "read"))
            sessions[row] = changed or read
    return sessions


def _own_files(counted: object) -> list[str]:
    """Paths below the project's folder, without those that a session made to try something."""
    paths = [path for path in counted if isinstance(path, str)] if isinstance(counted, dict) else []
    return [
        path
        for path in paths
        if "/" in path and not path.startswith(("/", "../")) and not path.lower().startswith(_SCRATCH)
    ]


def _with_folders(path: str) -> list[str]:
    parts = path.split("/")[:DEPTH]
    return ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]


def _told_by_one_below(kept: dict[str, list[int]]) -> set[str]:
    told = set()
    for path, found in kept.items():
        for above in _with_folders(path)[:-1]:
            if above in kept and len(found) >= CHILD_SHARE * len(kept[above]):
                told.add(above)
    return told


def _asked(snap: Snapshot, row: int) -> str:
    prompts = (recorded_work(snap, row) or {}).get("prompts")
    return "\n".join(map(str, prompts)) if isinstance(prompts, list) else ""


def _recent(snap: Snapshot, order: Sequence[int]) -> Sequence[int]:
    if not order:
        return order
    since = int(snap.created_ms[order[-1]]) - RECENT_DAYS * DAY_MS
    recent = [row for row in order if int(snap.created_ms[row]) > since]
    if LEAST_RECENT <= len(recent) <= len(order) // 2:
        return recent
    return order[-(len(order) // 3) :] if len(order) >= 3 else []


def _distance(has: NDArray[np.bool_], split: int) -> float:
    """Mean square difference of the areas' shares after and before ``split``, by what chance gives each."""
    before, after, both = has[:split].mean(axis=0), has[split:].mean(axis=0), has.mean(axis=0)
    return float((((after - before) ** 2) / np.maximum(both * (1.0 - both), 1e-9)).mean())


def _shifts(has: NDArray[np.bool_], split: int, areas: Sequence[Area]) -> tuple[Shift, ...]:
    found = []
    of_earlier, of_recent = split, len(has) - split
    for at, area in enumerate(areas):
        earlier, recent = int(has[:split, at].sum()), int(has[split:, at].sum())
        chance = 2.0 * _tail(recent, of_recent, earlier + recent, len(has))
        if chance * len(areas) <= CHANCE:
            found.append((chance, Shift(area.path, recent, of_recent, earlier, of_earlier)))
    return tuple(shift for _, shift in sorted(found, key=lambda one: (one[0], one[1].path)))


def _tail(hits: int, drawn: int, marked: int, total: int) -> float:
    """The smaller tail of the hypergeometric distribution, from ``hits`` on: Fisher's exact test."""

    def likely(count: int) -> float:
        return math.comb(marked, count) * math.comb(total - marked, drawn - count) / math.comb(total, drawn)

    low, high = max(0, drawn - (total - marked)), min(marked, drawn)
    below = sum(likely(count) for count in range(low, hits + 1))
    above = sum(likely(count) for count in range(hits, high + 1))
    return min(below, above, 0.5)
