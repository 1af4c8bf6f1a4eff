"""Reports how far a consolidation is, from a finder's loop to a progress bar; shares work among threads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final, TypeVar

import msgspec

from context_graph.errors import ContextGraphError
from context_graph.system.processes import processors

Progress = Callable[[int, int], None]
"""Called with (done, total) from time to time, a few times a second at most or after each block of work; may
raise Cancelled, which ends the run."""
Part = TypeVar("Part")
Made = TypeVar("Made")

_EVERY_S: Final = 0.05
"""Seconds between two updates of one stage."""


class Cancelled(ContextGraphError):
    """The consolidation was ended before it changed anything."""

    code = "cancelled"


class Update(msgspec.Struct, frozen=True, tag="progress"):
    """The progress of a run."""

    stage: str
    """What it does now: reading, duplicates, salience, …"""
    done: int
    total: int
    """All there is to do in the stage, in units of its own."""
    fraction: float
    """Progress of the whole run, [0, 1], never less than before."""


Report = Callable[[Update], None]


def silent(done: int, total: int) -> None:
    """Report to nobody: a `Progress`."""


class Stages:
    """Combines the progress of consecutive stages into one fraction.

    Args:
        weights: Stage -> its usual share of the time, in order; any positive scale.
        report: Gets the updates; if it raises Cancelled, the running stage ends.
    """

    def __init__(self, weights: Mapping[str, float], report: Report) -> None:
        self._weights = weights
        self._report = report
        self._fraction = 0.0
        self._told = 0.0

    def begin(self, stage: str) -> Progress:
        """Return the Progress of ``stage``; those before it count as done."""
        names, whole = list(self._weights), sum(self._weights.values())
        before = sum(self._weights[name] for name in names[: names.index(stage)]) / whole
        share = self._weights[stage] / whole

        def progress(done: int, total: int) -> None:
            now = time.monotonic()
            if now - self._told < _EVERY_S and 0 < done < total:
                return
            self._told = now
            part = min(1.0, done / total) if total > 0 else 1.0
            self._fraction = min(1.0, max(self._fraction, before + share * part))
            self._report(Update(stage, done, total, round(self._fraction, 4)))

        progress(0, 1)
        return progress


def shared_out(
    work: Callable[[Part], Made],
    parts: Sequence[Part],
    progress: Progress = silent,
    *,
    threads: int | None = None,
) -> Iterator[Made]:
    """Yield ``work`` of each part, in order, on threads; few parts run ahead, so that a forced end is quick.

    ``progress`` is called for each part and may raise; then nothing is left running. ``threads`` defaults to
    this process's processors: all in a library, one fewer beside the owner.
    """
    threads = threads or processors()
    with ThreadPoolExecutor(threads) as pool:
        left = iter(parts)
        running = deque(pool.submit(work, part) for part in islice(left, 2 * threads))
        try:
            for done in range(1, len(parts) + 1):
                yield running.popleft().result()
                running.extend(pool.submit(work, part) for part in islice(left, 1))
                progress(done, len(parts))
        finally:
            pool.shutdown(cancel_futures=True)
