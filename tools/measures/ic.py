"""IC: does it fall when the work turns to something that nobody asked for, and only then?"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from context_graph.identity.ego import CALIBRATION, Calibration
from context_graph.model import EventKind, HookEvent
from drift_data import Case, Session, load_cases, load_sessions
from fit_identity import Parts, Recorder, Trial, continuity, drop, fit, training_trials
from measures.report import Data, Table, auc, interval, quantiles

SEEK: Final = 12
"""Events after the cut in which a fall is a hit, as in drift_bench."""
ALARM: Final = 0.7
GROUPS: Final = ("all", "swe", "cc")
SHARE: Final = 0.05
"""Least share of an event in the baseline's running mean, as in ego."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A case and one signal after each of its events, to six digits: what differs less is a tie."""

    case: Case
    values: Sequence[float]

    @property
    def fall(self) -> float:
        return -drop(self.values, self.case.at)

    def delay(self, below: float) -> float:
        """Foreign events before the first value below; infinite without any."""
        after = self.values[self.case.at : self.case.at + SEEK]
        return next((float(i) for i, value in enumerate(after) if value < below), math.inf)


def tables(data: Data) -> list[Table]:
    """One row a group of sessions and signal."""
    if not data.drift.is_dir():
        return []
    sessions = {name: one for name, one in load_sessions(data.drift).items() if one.split == "dev"}
    cases = load_cases(data.drift, "dev")
    signals = dict(_signals(sessions, cases))
    rows = [
        (name, group, *_row([one for one in traced if group in ("all", one.case.group)]))
        for group in GROUPS
        for name, traced in signals.items()
    ]
    usual = [v for one in signals["IC, left out"] if one.case.kind == "control" for v in one.values[1:]]
    spread = ", ".join(f"{value:.2f}" for value in quantiles(usual, (0.01, 0.05, 0.25, 0.5)))
    return [
        Table(
            "IC",
            f"drift_dev: {len(sessions)} sessions, {len(cases)} cases cut and spliced. "
            "swe: benchmark agents; cc: Claude Code.",
            (
                *("signal", "sessions", "splice", "95 %", "near", "95 %"),
                *("alarms/100", "hit", "delay", "hit 2 %"),
            ),
            rows,
            (
                "left out: constants fitted without the project that a case begins in. shipped: on all.",
                "splice, near: AUC of the fall after a cut to another project, to another task of one.",
                "alarms: undisturbed events below 0.7. hit: splices that fall below within 12 events; "
                "hit 2 %: below what 2 % of undisturbed events do.",
                f"IC of undisturbed events, quantiles 1, 5, 25, 50 %: {spread}",
            ),
        )
    ]


def _signals(sessions: dict[str, Session], cases: Sequence[Case]) -> Iterator[tuple[str, list[Traced]]]:
    recorder = Recorder()
    events = [[(sessions[name], sessions[name].events[i]) for name, i in case.refs] for case in cases]
    trials = [recorder.trial(case.kind, list(row), case.at) for case, row in zip(cases, events, strict=True)]
    training = training_trials(sessions)
    fits = {p: fit(t for t in training if p not in t.projects) for p in {trial.project for trial in trials}}

    def traced(calibration: Callable[[Trial], Calibration]) -> list[list[Parts]]:
        return [continuity(trial, calibration(trial)) for trial in trials]

    def one(values: list[list[Parts]], part: int) -> list[Traced]:
        return [Traced(c, [round(v[part], 6) for v in row]) for c, row in zip(cases, values, strict=True)]

    yield "IC, shipped", one(traced(lambda _: CALIBRATION), 0)
    held_out = traced(lambda trial: fits[trial.project])
    for part, name in enumerate(("IC, left out", "r alone, left out", "cosine alone, left out")):
        yield name, one(held_out, part)
    words = {name: [_words(event) for event in session.events] for name, session in sessions.items()}
    yield "words: cosine with their mean", [Traced(case, _baseline(case, sessions, words)) for case in cases]


def _row(traced: Sequence[Traced]) -> tuple[object, ...]:
    undisturbed = [value for one in traced if one.case.kind == "control" for value in one.values[1:]]
    if not undisturbed:
        return ("-",) * 8
    splices = [one for one in traced if one.case.kind == "splice"]
    delays = [delay for one in splices if not math.isinf(delay := one.delay(ALARM))]
    low = quantiles(undisturbed, (0.02,))[0]
    return (
        *_separation(traced, "splice"),
        *_separation(traced, "near"),
        100.0 * sum(value < ALARM for value in undisturbed) / len(undisturbed),
        len(delays) / len(splices),
        statistics.median(delays) if delays else math.nan,
        sum(not math.isinf(one.delay(low)) for one in splices) / len(splices),
    )


def _separation(traced: Sequence[Traced], kind: str) -> tuple[float, str]:
    falls = [(one.case.kind, one.fall) for one in traced if one.case.kind in (kind, "control")]

    def value(chosen: Sequence[tuple[str, float]]) -> float:
        return auc([fall for k, fall in chosen if k == kind], [fall for k, fall in chosen if k != kind])

    low, high = interval(falls, value)
    return value(falls), f"{low:.3f}-{high:.3f}"


def _words(event: HookEvent) -> dict[str, float]:
    """The words of an event, at length 1."""
    counts = Counter(re.findall(r"[a-z_]{3,}", f"{event.input_text} {event.output_text}".lower()))
    length = math.sqrt(sum(n * n for n in counts.values())) or 1.0
    return {word: n / length for word, n in counts.items()}


def _baseline(
    case: Case, sessions: dict[str, Session], words: dict[str, list[dict[str, float]]]
) -> list[float]:
    """The plain form of the idea: each event's cosine with the mean of those before, smoothed by half."""
    mean: dict[str, float] = {}
    values, smooth = [], 1.0
    for n, (name, i) in enumerate(case.refs):
        event, prompt = words[name][i], sessions[name].events[i].kind is EventKind.PROMPT_SUBMIT
        if mean and event and not prompt:
            length = math.sqrt(sum(weight * weight for weight in mean.values()))
            cosine = sum(weight * mean.get(word, 0.0) for word, weight in event.items()) / length
            smooth = 0.5 * (smooth + cosine)
        values.append(smooth)
        share = max(0.5 if prompt else SHARE, 1.0 / (n + 1))
        mean = {word: (1.0 - share) * weight for word, weight in mean.items()}
        for word, weight in event.items():
            mean[word] = mean.get(word, 0.0) + share * weight
    return values
