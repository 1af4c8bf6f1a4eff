"""Is a forecast of tool failure better than the base rate, on projects that its constants were not fitted on?

Each session is forecast by the weights that all other projects give, from a tracker that knows nothing. The
base rate too is that of the other projects. On a user's own transcripts the weights in the code are judged,
against the base rate in the code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from research.fit.drift_data import Session
from research.fit.forecast import Call, base_rate, calls_of, fit
from research.measures.report import Data, Table, auc, brier_skill, interval
from research.measures.sessions import sessions, set_of

from context_graph.identity.forecast import BASE_RATE, WEIGHTS, command_head

BINS: Final = (0.02, 0.05, 0.1, 0.25, 1.0)
"""Upper ends of the five bins of forecasts."""
NAMES: Final = {"swe": "SWE-bench agents", "cc": "Claude Code transcripts", "own": "your transcripts"}


@dataclass(frozen=True, slots=True)
class Forecast:
    """What was said of one call, and what came."""

    failed: bool
    said: float
    base: float
    laplace: float
    """By the success rates of the tool and its command alone, as it was before."""


def tables(data: Data) -> list[Table]:
    """Skill, and how the forecasts are calibrated."""
    found = sessions(data)
    if not found:
        return []
    forecasts = held_out(found)
    groups = {name: [forecasts[s.name] for s in found if set_of(s) == name] for name in NAMES}
    groups = {name: group for name, group in groups.items() if group}
    everything = [forecasts[s.name] for s in found]
    rows = [_row("all", everything)] if len(groups) > 1 else []
    rows += [_row(NAMES[name], group) for name, group in groups.items()]
    own = "own" in groups
    source = f"{len(found)} sessions, {sum(map(len, everything))} tool calls; " + (
        "the constants and the base rate in the code"
        if own
        else "weights and base rate of the other projects"
    )
    columns = (
        "calls of",
        "n",
        "failed",
        "skill",
        "95 %",
        "rates alone",
        "AUC",
        "failures said > 0.25",
        "of those said",
    )
    notes = ("skill: 1 - Brier / Brier of the base rate; the interval is over sessions.",)
    return [
        Table("forecast of tool failure", source, columns, rows, notes),
        Table(
            "forecast of tool failure: calibration",
            source,
            ("said", "n", "mean said", "failed"),
            _calibration([one for group in everything for one in group]),
        ),
    ]


def held_out(found: Sequence[Session]) -> dict[str, list[Forecast]]:
    """Session name -> the forecasts of its calls, by the weights of all other projects."""
    calls = calls_of(found)
    fits: dict[str, tuple[float, tuple[float, ...]]] = {}
    for project in {session.project for session in found}:
        others = [c for c in calls if c.session.project != project and c.session.split == "dev"]
        fits[project] = (base_rate(others), fit(others)) if others else (BASE_RATE, WEIGHTS)
    plain = laplace(found)
    forecasts: dict[str, list[Forecast]] = {session.name: [] for session in found}
    for call, rate in zip(calls, plain, strict=True):
        base, weights = fits[call.session.project]
        forecasts[call.session.name].append(Forecast(call.failed, said(weights, call), base, rate))
    return forecasts


def said(weights: Sequence[float], call: Call) -> float:
    """The probability that these weights give a call."""
    return 1.0 / (1.0 + math.exp(-math.fsum(w * x for w, x in zip(weights, call.features, strict=True))))


def laplace(found: Iterable[Session]) -> list[float]:
    """The forecasts by success rates alone: a tool's begins at 1/2, a command's at its tool's."""
    rates = []
    for session in found:
        counts: dict[tuple[str, str], tuple[int, int]] = {}
        for event in session.events:
            if not event.tool_name or event.is_delegated:
                continue
            head = command_head(event.input_text) if event.tool_name == "Bash" else ""
            failures, trials = counts.get((event.tool_name, ""), (0, 0))
            rate = (failures + 1) / (trials + 2)
            if head:
                failures, trials = counts.get((event.tool_name, head), (0, 0))
                rate = (failures + 2 * rate) / (trials + 2)
            rates.append(rate)
            for key in {(event.tool_name, ""), (event.tool_name, head)}:
                failures, trials = counts.get(key, (0, 0))
                counts[key] = failures + (event.success is False), trials + 1
    return rates


def skill_of(groups: Sequence[Sequence[Forecast]], value: Callable[[Forecast], float]) -> float:
    """Brier skill of ``value`` over all calls of these sessions."""
    every = [one for group in groups for one in group]
    return brier_skill([value(o) for o in every], [o.failed for o in every], [o.base for o in every])


def _row(name: str, groups: Sequence[Sequence[Forecast]]) -> tuple[object, ...]:
    every = [one for group in groups for one in group]
    low, high = interval(groups, lambda chosen: skill_of(chosen, lambda one: one.said))
    failures = [one.said for one in every if one.failed]
    loud = [one.failed for one in every if one.said > BINS[-2]]
    return (
        name,
        len(every),
        len(failures) / len(every),
        skill_of(groups, lambda one: one.said),
        f"{low:.3f} to {high:.3f}",
        skill_of(groups, lambda one: one.laplace),
        auc(failures, [one.said for one in every if not one.failed]),
        sum(loud) / len(failures) if failures else math.nan,
        sum(loud) / len(loud) if loud else math.nan,
    )


def _calibration(every: Sequence[Forecast]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for low, high in zip((0.0, *BINS), BINS, strict=False):
        inside = [one for one in every if low <= one.said < high]
        if inside:
            mean, failed = (sum(getattr(o, n) for o in inside) / len(inside) for n in ("said", "failed"))
            rows.append((f"{low:.2f} to {high:.2f}", len(inside), mean, failed))
    return rows
