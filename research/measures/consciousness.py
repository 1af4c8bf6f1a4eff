"""C, r (which is I), R, D, the state and the Johari quadrant: how they are spread, and what they predict.

Two things are asked of each number. Does it fall when work of another session begins (cut and spliced
sessions, as for IC)? Is it low before tool calls that fail? The baseline of the first is r, of which C is a
product; of the second, how many of the last five calls failed. And how does a session read in which nothing
failed? Nothing is fitted here.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from research.fit.drift_data import load_cases
from research.measures.report import Data, Table, auc, bits, interval, quantiles
from research.measures.sessions import sessions, set_of

from context_graph.identity.consciousness import Metrics, johari_system
from context_graph.identity.live import LiveSession
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot

AHEAD: Final = (1, 5)
"""Tool calls after an event that are asked whether one failed."""
BEFORE: Final = 5
"""Of the baseline."""
WINDOW: Final = 6
"""Events before and after a cut that a drop is measured over, as score.py does."""
NUMBERS: Final[dict[str, Callable[[Metrics], float]]] = {
    "C": lambda m: m.consciousness,
    "r (I)": lambda m: m.integration,
    "R": lambda m: m.reflection,
    "D": lambda m: m.differentiation,
}
SETS: Final = {"swe": "SWE-bench agents", "cc": "Claude Code", "own": "your transcripts"}


@dataclass(frozen=True, slots=True)
class Point:
    """A session after a measured event."""

    metrics: Metrics
    failed_before: int
    failed_ever: bool
    """A call of the session has failed so far."""
    fails: tuple[bool | None, ...]
    """Whether one of the next calls fails, for each AHEAD; None where there are not as many."""

    @property
    def quadrant(self) -> str:
        return johari_system(self.metrics.consciousness, self.metrics.integration).value


def tables(data: Data) -> list[Table]:
    """Distributions, labels, and what the numbers predict."""
    found = sessions(data)
    points = {session.name: points_of(session.events) for session in found}
    groups = {name: [points[s.name] for s in found if set_of(s) == name] for name in SETS}
    groups = {name: group for name, group in groups.items() if group}
    made = []
    for name, group in groups.items():
        events = sum(map(len, group))
        source = f"{SETS[name]}: {len(group)} sessions, {events} measured events; nothing fitted here"
        made += [_spread(group, source), _labels(group, source), _failures(group, source)]
    if data.drift.is_dir():
        made.append(_drift(data))
    return made


def points_of(events: Sequence[HookEvent]) -> list[Point]:
    """The session after each of its measured events, from a fresh session on."""
    live = LiveSession(SessionIdentitySnapshot(session_id="measured", timestamp_ms=0))
    failed: list[bool] = []
    measured: list[tuple[Metrics, int]] = []
    for event in events:
        outcome = live.apply(event)
        if event.tool_name and not event.is_delegated:
            failed.append(event.success is False)
        if outcome.measured:
            measured.append((outcome.metrics, len(failed)))
    return [
        Point(
            metrics,
            sum(failed[max(0, at - BEFORE) : at]),
            any(failed[:at]),
            tuple(any(failed[at : at + n]) if at + n <= len(failed) else None for n in AHEAD),
        )
        for metrics, at in measured
    ]


def _spread(groups: Sequence[Sequence[Point]], source: str) -> Table:
    every = [point.metrics for group in groups for point in group]
    r = [metrics.integration for metrics in every]
    rows = []
    for name, value in NUMBERS.items():
        values = [value(metrics) for metrics in every]
        rows.append((name, *quantiles(values), _correlation(values, r)))
    return Table(
        "C, r, R, D: spread", source, ("", "5 %", "25 %", "50 %", "75 %", "95 %", "corr. with r"), rows
    )


def _labels(groups: Sequence[Sequence[Point]], source: str) -> Table:
    every = [point for group in groups for point in group]
    calm = [point for point in every if not point.failed_ever]
    rows: list[tuple[object, ...]] = []
    kinds: dict[str, Callable[[Point], str]] = {
        "state": lambda point: point.metrics.state.name,
        "Johari": lambda point: point.quadrant,
    }
    for kind, label in kinds.items():
        for name in sorted({label(point) for point in every}):
            inside = [point for point in every if label(point) == name]
            known = [point.fails[-1] for point in inside if point.fails[-1] is not None]
            fails = sum(known) / len(known) if known else math.nan
            rows.append((kind, name, len(inside) / len(every), _share(calm, label, name), fails))
        rows.append((kind, "bits", bits(label(point) for point in every), "", ""))
    columns = ("", "", "share", "before any failure", f"a failure in the next {AHEAD[-1]} calls")
    notes = ("Hidden can't be reached: it needs C >= 0.7 with I < 0.7, and C = I * R * D is never above I.",)
    return Table("state and Johari quadrant", source, columns, rows, notes)


def _share(points: Sequence[Point], label: Callable[[Point], str], name: str) -> float:
    return sum(label(point) == name for point in points) / len(points) if points else math.nan


def _failures(groups: Sequence[Sequence[Point]], source: str) -> Table:
    values: dict[str, Callable[[Point], float]] = {
        name: (lambda point, value=value: -value(point.metrics)) for name, value in NUMBERS.items()
    }
    values[f"baseline: failures among the last {BEFORE}"] = lambda point: point.failed_before
    rows = []
    for name, value in values.items():
        row: list[object] = [name]
        for at in range(len(AHEAD)):

            def found(
                chosen: Sequence[Sequence[Point]], value: Callable[[Point], float] = value, at: int = at
            ) -> float:
                known = [p for group in chosen for p in group if p.fails[at] is not None]
                return auc(
                    [value(p) for p in known if p.fails[at]], [value(p) for p in known if not p.fails[at]]
                )

            low, high = interval(groups, found)
            row += [found(groups), f"{low:.3f} to {high:.3f}"]
        rows.append(row)
    columns = ("low value, failure ahead", *(text for n in AHEAD for text in (f"next {n}: AUC", "95 %")))
    return Table("C, r, R, D: a failure in the next calls", source, columns, rows)


def _drift(data: Data) -> Table:
    by_name = {session.name: session for session in sessions(data)}
    rows_of_cases = map(json.loads, (data.drift / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    cuts = {row["case"]: int(row["at"]) for row in rows_of_cases}
    drops: dict[tuple[str, str], list[dict[str, float]]] = {}
    for case in load_cases(data.drift, "dev"):
        if case.kind in ("control", "splice", "near"):
            events = [by_name[name].events[index] for name, index in case.refs]
            group = "cc" if case.refs[0][0].startswith("cc:") else "swe"
            drops.setdefault((group, case.kind), []).append(_drops(events, cuts[case.name]))
    rows = []
    for group in ("swe", "cc"):
        for kind in ("splice", "near"):
            own, foreign = drops.get((group, "control"), []), drops.get((group, kind), [])
            if own and foreign:
                rows.append(
                    (SETS[group], kind, len(foreign), *(_auc(own, foreign, name) for name in NUMBERS))
                )
    source = "cut and spliced dev sessions: does the number fall within six events? AUC and 95 % over cases"
    return Table("C, r, R, D: drift", source, ("", "", "cases", *NUMBERS), rows)


def _drops(events: Iterable[HookEvent], at: int) -> dict[str, float]:
    """How far each number falls after ``at``: the lowest of WINDOW events less the mean of those before."""
    live = LiveSession(SessionIdentitySnapshot(session_id="case", timestamp_ms=0))
    live.apply(HookEvent(EventKind.SESSION_START, "case", "start", at_ms=0, source="startup"))
    after = [(live.apply(event), live.metrics)[1] for event in events]
    return {
        name: min(map(value, after[at : at + WINDOW]))
        - statistics.fmean(map(value, after[max(0, at - WINDOW) : at]))
        for name, value in NUMBERS.items()
    }


def _auc(own: Sequence[dict[str, float]], foreign: Sequence[dict[str, float]], name: str) -> str:
    cases = [(-drop[name], True) for drop in foreign] + [(-drop[name], False) for drop in own]

    def found(chosen: Sequence[tuple[float, bool]]) -> float:
        return auc([fall for fall, drift in chosen if drift], [fall for fall, drift in chosen if not drift])

    low, high = interval(cases, found)
    return f"{found(cases):.3f} ({low:.3f} to {high:.3f})"


def _correlation(values: Sequence[float], others: Sequence[float]) -> float:
    try:
        return statistics.correlation(values, others)
    except statistics.StatisticsError:  # a number that never changes
        return math.nan
