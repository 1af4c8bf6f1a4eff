"""Refit the purpose vector's constants (identity.ego.CALIBRATION) on recorded agent sessions.

    python -m research.fit.identity DATA                  # print the constants
    python -m research.fit.identity DATA --check          # and fail unless they are those in the code

DATA is drift_bench's format; only its dev split is read. From every session, cut at three places, come its
own continuation (control), three of the same project (near) and three of other projects (splice), each after
a long and after a short beginning. ``on`` is the mean likeness of controls. ``weight`` and ``middle`` are a
logistic regression of own events against the first six foreign ones on the spaces' ratios to ``on``, each by
its share of the event's confidence: without negative weights, and each middle between half of what foreign
events have and all that own ones have. ``half`` is set for the alarms that undisturbed work may raise.
`python -m research DATA --number ic` tells how good that is on projects left out of the fit.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from research.fit.drift_data import Session, load_sessions

from context_graph.identity.consciousness import KuramotoNetwork, coupling_for
from context_graph.identity.continuity import identity_continuity
from context_graph.identity.ego import (
    CALIBRATION,
    LEVEL_MAX,
    LEVEL_MIN,
    LEVEL_RATE,
    LEVEL_SHIFT,
    SPACES,
    Calibration,
    Comparison,
    EventReader,
    Goals,
    Purpose,
)
from context_graph.identity.live import MEASURED
from context_graph.model import HookEvent

Array = NDArray[np.float64]

CUTS = (0.35, 0.5, 0.65)
DONORS = 3
BEFORE, AFTER, LEAST = (20, 8), 20, 8
"""Events kept before a cut and after it, and the fewest that there must be."""
WINDOW = 6
"""Events before and after a cut that a drop is measured over, as score.py does."""
WEIGHT = {"control": 0.5, "splice": 0.5, "near": 1.0}
TRANSCRIPTS = 2.0
"""Transcripts of Claude Code are few here and many where this is used: each counts twice."""
RIDGE, ROUNDS, STEP, MOMENTUM = 0.005, 3000, 0.3, 0.95
LEAST_WEIGHT = 0.02
"""On standardised rows: a purpose needs all its spaces."""
APART = 3.2
"""Mean evidence of own events less that of foreign ones: the unit of evidence."""
ALARM, ALARMS, OF_TRANSCRIPTS = 0.7, 0.01, 0.02
"""An IC below this is an alarm; the share of undisturbed events that may raise one: all; transcripts'."""


@dataclass(slots=True)
class Trial:
    """One case with what the 13 spaces say about each event; none of it depends on the calibration."""

    kind: str
    project: str
    projects: frozenset[str]
    transcript: bool
    at: int
    compared: list[Comparison | None]
    """None for what is not measured."""
    prompts: list[bool]


class Recorder:
    """Turns events into likenesses, with one reader for all."""

    def __init__(self) -> None:
        self._reader = EventReader()

    def trial(self, kind: str, events: list[tuple[Session, HookEvent]], at: int) -> Trial:
        goals, first = Goals(), events[0][0]
        transcript = first.name.startswith("cc:")
        trial = Trial(kind, first.project, frozenset(s.project for s, _ in events), transcript, at, [], [])
        for _, event in events:
            measured = event.kind in MEASURED and not event.is_delegated
            self._reader.read(event.input_text, event.output_text)
            trial.compared.append(goals.compare(self._reader) if measured else None)
            trial.prompts.append(event.is_prompt)
            if measured or event.is_prompt:
                goals.absorb(self._reader, prompt=event.is_prompt)
        return trial


def training_trials(sessions: dict[str, Session]) -> list[Trial]:
    """Control, near and splice trials from every session; the same for the same data."""
    rng, recorder, trials = random.Random(1), Recorder(), []
    for own in sessions.values():
        others = [s for s in sessions.values() if s is not own]
        for cut in CUTS:
            at = round(cut * len(own.events))
            if at < LEAST or len(own.events) - at < LEAST:
                continue
            tails = [("control", [(own, event) for event in own.events[at : at + AFTER]])]
            for kind, same in (("near", True), ("splice", False)):
                pool = [s for s in others if (s.project == own.project) is same]
                for donor in rng.sample(pool, min(DONORS, len(pool))):
                    start = max(1, min(round(cut * len(donor.events)), len(donor.events) - LEAST))
                    tails.append((kind, [(donor, event) for event in donor.events[start : start + AFTER]]))
            for before in BEFORE:
                head = [(own, event) for event in own.events[max(0, at - before) : at]]
                trials += [recorder.trial(kind, head + tail, len(head)) for kind, tail in tails]
    return trials


def fit(trials: Iterable[Trial]) -> Calibration:
    """The calibration that these trials give."""
    trials = list(trials)
    on = _mean(c for t in trials if t.kind == "control" for c in t.compared[WINDOW:])
    off = _mean(c for t in trials if t.kind == "splice" for c in t.compared[t.at : t.at + 2])
    least, most = 0.5 * off / on, np.ones(len(SPACES))
    ratios, heard, foreign, counts = _rows(trials, on)
    rows = np.hstack([heard * (ratios - least), heard * (ratios - most)])
    found = _separate(rows, foreign, counts)
    low, high = np.split(found, 2)
    weight = low + high
    middle = (least * low + most * high) / weight
    evidence = (heard * (ratios - middle)) @ weight
    means = [np.average(evidence[foreign == side], weights=counts[foreign == side]) for side in (0, 1)]
    unit = APART / (means[0] - means[1])
    calibration = Calibration(
        on=_rounded(on),
        middle=_rounded(middle),
        weight=_rounded(weight * unit),
        offset=round(float(sum(means)) / 2 * unit, 3),
        half=0.0,
    )
    return replace(calibration, half=_half(trials, calibration))


def _mean(compared: Iterable[Comparison | None]) -> Array:
    rows = np.array([comparison.likeness for comparison in compared if comparison is not None])
    result: Array = np.nanmean(rows, axis=0)
    return result


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(round(float(value), 3) for value in values)


def _rows(trials: Iterable[Trial], on: Array) -> tuple[Array, Array, Array, Array]:
    """Of own events and of the first foreign ones: ratios to ``on`` and shares of confidence, both (n, 13);
    1 for a foreign one, and how much it counts, both classes alike."""
    ratios, heard, foreign, counts = [], [], [], []
    for trial in trials:
        own = trial.kind == "control"
        counted = range(WINDOW - 1, len(trial.compared)) if own else range(trial.at, trial.at + WINDOW)
        level = on.copy()
        for t, comparison in enumerate(trial.compared):
            if comparison is None or comparison.is_empty:
                continue
            like, sure = np.array(comparison.likeness), np.array(comparison.confidence)
            sure = np.where(np.isnan(like), 0.0, sure)
            like = np.nan_to_num(like)
            usual = on * (1.0 + LEVEL_SHIFT * (np.clip(level / on, LEVEL_MIN, LEVEL_MAX) - 1.0))
            level += LEVEL_RATE * sure * np.where(sure > 0.0, like - level, 0.0)
            if t in counted:
                ratios.append(np.minimum(like / usual, 1.25))
                heard.append(sure / sure.mean())
                foreign.append(0.0 if own else 1.0)
                counts.append(WEIGHT[trial.kind] * (TRANSCRIPTS if trial.transcript else 1.0))
    label, count = np.array(foreign), np.array(counts)
    for side in (0.0, 1.0):
        count[label == side] /= 2.0 * count[label == side].sum()
    return np.array(ratios), np.array(heard), label, count


def _separate(rows: Array, foreign: Array, counts: Array) -> Array:
    """Weights (not negative) of a ridge logistic regression of own (0) against foreign (1) rows."""
    spread = rows.std(axis=0) + 1e-6
    rows = rows / spread
    weight, offset = np.full(rows.shape[1], 0.1), 0.0
    pull, pull_offset = np.zeros(rows.shape[1]), 0.0
    for _ in range(ROUNDS):
        error = counts * (1.0 / (1.0 + np.exp(rows @ weight - offset)) - foreign)
        pull = MOMENTUM * pull + rows.T @ error - 2.0 * RIDGE * weight
        pull_offset = MOMENTUM * pull_offset - float(error.sum())
        weight = np.maximum(weight + STEP * (1.0 - MOMENTUM) * pull, LEAST_WEIGHT)
        offset += STEP * (1.0 - MOMENTUM) * pull_offset
    result: Array = weight / spread
    return result


def _half(trials: Iterable[Trial], calibration: Calibration) -> float:
    """The most sensitive ``half``, to 0.01, with no more alarms in undisturbed work than there may be."""
    controls = [trial for trial in trials if trial.kind == "control"]
    low, high = -3.0, 3.0
    while high - low > 0.01:
        middle = (low + high) / 2.0
        tried = replace(calibration, half=middle)
        alarms = [np.array(continuity(trial, tried)[1:]) < ALARM for trial in controls]
        told = [a for a, trial in zip(alarms, controls, strict=True) if trial.transcript]
        many = np.concatenate(alarms).mean() > ALARMS
        if many or (told and np.concatenate(told).mean() > OF_TRANSCRIPTS):
            high = middle
        else:
            low = middle
    return round(low, 2)


def continuity(trial: Trial, calibration: Calibration) -> list[float]:
    """IC after each event of a trial."""
    return [ic for ic, _ in signals(trial, calibration)]


def signals(trial: Trial, calibration: Calibration) -> list[tuple[float, float]]:
    """IC and r after each event of a trial."""
    purpose, network, values = Purpose(calibration), KuramotoNetwork.synchronised(), [(1.0, 1.0)]
    for comparison, prompt in zip(trial.compared, trial.prompts, strict=True):
        if prompt:
            purpose.prompt()
        elif comparison is not None and not comparison.is_empty:
            reading = purpose.observe(comparison)
            r = network.advance(coupling_for(reading.coherence))
            values.append((identity_continuity(reading.purpose_vector, reading.identity, r), r))
            continue
        values.append(values[-1])
    return values[1:]


def _literal(calibration: Calibration) -> str:
    lines = [f"    {field.name}={getattr(calibration, field.name)}," for field in fields(calibration)]
    return "\n".join(["CALIBRATION: Final = Calibration(", *lines, ")"])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    sessions = {name: s for name, s in load_sessions(options.data).items() if s.split == "dev"}
    trials = training_trials(sessions)
    calibration = fit(trials)
    print(_literal(calibration))
    if options.check and calibration != CALIBRATION:
        print("identity/ego.py has other constants", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
