"""How far a consolidation is, from a finder's loop to a person's progress bar; and how it is ended early."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from context_graph.errors import ContextGraphError

__all__ = ["Cancelled", "Progress", "Stages", "Update", "silent"]

Progress = Callable[[int, int], None]
"""Called with (done, total) from time to time, a few times a second at most or after each block of work; may
raise Cancelled, which ends the run."""

_EVERY_S: Final = 0.05
"""Between two updates of one stage."""


class Cancelled(ContextGraphError):
    """The consolidation was ended before it changed anything."""

    code = "cancelled"


class Update(msgspec.Struct, frozen=True, tag="progress"):
    """Where a run stands."""

    stage: str
    """What it does now: reading, duplicates, salience, …"""
    done: int
    total: int
    """Of the stage, in units of its own."""
    fraction: float
    """Of the whole run, [0, 1], never less than before."""


def silent(done: int, total: int) -> None:
    """A Progress that tells nobody."""


class Stages:
    """Makes one fraction of the progress of stages that follow one another.

    Args:
        weights: Stage -> its usual share of the time, in the order they run in; any positive scale.
        report: Gets the updates; what it raises (Cancelled) ends the stage that is running.
    """

    def __init__(self, weights: Mapping[str, float], report: Callable[[Update], None]) -> None:
        whole = sum(weights.values()) or 1.0
        self._shares = {name: weight / whole for name, weight in weights.items()}
        self._report = report
        self._fraction = 0.0
        self._told = 0.0

    def begin(self, stage: str) -> Progress:
        """The Progress of ``stage``; those before it count as done."""
        before = 0.0
        for name, share in self._shares.items():
            if name == stage:
                break
            before += share
        share = self._shares.get(stage, 0.0)

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
