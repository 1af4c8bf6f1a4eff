"""How well identity continuity tells foreign work from a session's own, and how often it alarms without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from research.fit.drift_data import load_cases, load_sessions
from research.fit.identity import ALARM, WINDOW, Recorder, Trial, fit, signals, training_trials
from research.measures.circles import SETS
from research.measures.report import Data, Table, auc, interval

SIGNALS: Final = ("IC", "r alone", "cosine alone", "words alone")
_PACE: Final = 0.4
"""Of an event in the smoothed cosine of word stems, the baseline: as much as in an alignment."""


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded case, under constants that were fitted without any project in it that is measured."""

    name: str
    kind: str
    at: int
    values: dict[str, list[float]]

    def drop(self, signal: str) -> float:
        """How far the signal falls after the cut: positive for drift."""
        values = self.values[signal]
        return fmean(values[self.at - WINDOW : self.at]) - min(values[self.at : self.at + WINDOW])


def tables(data: Data) -> list[Table]:
    if not data.drift.is_dir():
        return []
    cases = _cases(data)
    rows = []
    for name, begin in SETS.items():
        group = [case for case in cases if case.name.split("|", 1)[1].startswith(begin)]
        rows += [_row(name, signal, group) for signal in SIGNALS]
    return [
        Table(
            "ic",
            "drift_dev, work of another project (splice) or another task (near) cut in, against the "
            "session's own. Fitted without the case's project; AUC of the fall within six events, with 95 %.",
            ("set", "signal", "cases", "splice", "95 %", "near", "95 %", "asked", "alarms/100", ">= .9 %"),
            rows,
            (
                "asked: the same splice after a prompt that asks for it; 0.5 and below is no alarm.",
                "alarms: undisturbed events below 0.7. Words alone: smoothed cosine of word stems.",
            ),
        )
    ]


def _cases(data: Data) -> list[Case]:
    sessions = {name: one for name, one in load_sessions(data.drift).items() if one.split == "dev"}
    trials = training_trials(sessions)
    fits = {
        project: fit(trial for trial in trials if project not in trial.projects)
        for project in sorted({trial.project for trial in trials})
    }
    recorder, found = Recorder(), []
    for case in load_cases(data.drift, "dev"):
        events = [(sessions[name], sessions[name].events[index]) for name, index in case.refs]
        trial = recorder.trial(case.kind, events, case.at)
        both = signals(trial, fits[trial.project])
        values = {
            "IC": [ic for ic, _ in both],
            "r alone": [r for _, r in both],
            "cosine alone": [ic / r for ic, r in both],
            "words alone": _words(trial),
        }
        found.append(Case(case.name, case.kind, case.at, values))
    return found


def _words(trial: Trial) -> list[float]:
    value, values = 1.0, []
    for comparison in trial.compared:
        if comparison is not None and comparison.likeness[0] == comparison.likeness[0]:
            value += _PACE * (comparison.likeness[0] - value)
        values.append(value)
    return values


def _row(name: str, signal: str, cases: Sequence[Case]) -> list[object]:
    own = [case for case in cases if case.kind == "control"]
    undisturbed = [value for case in own for value in case.values[signal][1:]]
    shown: list[object] = [name, signal, len(cases)]
    for kind in ("splice", "near"):
        low, high = interval([case for case in cases if case.kind in (kind, "control")], _of(signal, kind))
        shown += [_of(signal, kind)(cases), f"{low:.3f}-{high:.3f}"]
    shown.append(_of(signal, "asked")(cases))
    if signal == "words alone":
        return [*shown, "", ""]
    return [
        *shown,
        100 * _share(value < ALARM for value in undisturbed),
        100 * _share(value >= 0.9 for value in undisturbed),
    ]


def _share(flags: Iterable[bool]) -> float:
    return fmean(float(flag) for flag in flags)


def _of(signal: str, kind: str) -> Callable[[Sequence[Case]], float]:
    def value(cases: Sequence[Case]) -> float:
        drops = [case.drop(signal) for case in cases if case.kind == kind]
        return auc(drops, [case.drop(signal) for case in cases if case.kind == "control"])

    return value
