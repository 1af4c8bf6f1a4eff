"""Goals that a bench is held to: a ratio to a limit that is measured in the same run.

The seeds give times; a time says more of the machine than of us. So each goal is the seed's time over the
limit's time on the machine that the goals were set on (benches/README.md), and holds on any other. A
bench fails, and with it the run (exit 1), where a goal is missed by more than the limit itself spreads. A
smoke run is too short to judge.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benches.report import quantile
from benches.scale import SMOKE

__all__ = ["GoalMissedError", "held"]


MOST_SPREAD = 2.0
"""However busy the machine is, a goal that is missed twofold is missed."""


class GoalMissedError(AssertionError):
    """A goal was missed by more than the spread."""


def held(
    what: str,
    ours: Sequence[float],
    limit: Sequence[float],
    goal: float,
    *,
    share: float = 0.5,
    judged: bool = not SMOKE,
) -> dict[str, float]:
    """The ratio of ``ours`` to ``limit``, told beside its goal.

    Args:
        ours: Seconds of our runs.
        limit: Seconds of the limit's runs, taken between ours.
        goal: What the ratio is to stay under.
        share: Which quantile of ``ours`` is meant: 0.95 for a p95. Of the limit it is the median.

    Raises:
        GoalMissedError: The goal is missed by more than the limit's own spread (its p90 over its median).
    """
    base, ordered = statistics.median(limit), sorted(limit)
    ratio = quantile(sorted(ours), share) / base
    spread = min(MOST_SPREAD, max(1.0, quantile(ordered, 0.9) / base))
    if judged and ratio > goal * spread:
        raise GoalMissedError(
            f"{what}: {ratio:.3g} times its limit, goal {goal:.3g} (the limit's spread {spread:.2f})"
        )
    return {"x_limit": round(ratio, 3), "goal": round(goal, 3), "spread": round(spread, 3)}
