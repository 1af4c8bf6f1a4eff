#!/usr/bin/env python3
"""Refit the purpose vector's constants (identity.ego.CALIBRATION) on recorded agent sessions.

    python tools/fit_identity.py DATA                  # print the constants
    python tools/fit_identity.py DATA --check          # and fail unless they are those in the code
    python tools/fit_identity.py DATA --leave-one-out  # held-out figures: each project by a fit of the others

DATA is drift_bench's format; only its dev split is read. From every session, cut at three places, come its
own continuation (control), three of the same project (near) and three of other projects (splice). ``on`` and
``off`` are the mean likeness of controls and of the first two foreign events. ``weight`` is a logistic
regression of foreign (near and splice) against own on the 13 smoothed alignments, without negative weights
and with a strong ridge on standardised alignments: it keeps all spaces in use, where a free fit would lean
on the few that serve these projects best.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from context_graph.identity.consciousness import KuramotoNetwork, coupling_for
from context_graph.identity.continuity import identity_continuity
from context_graph.identity.ego import (
    CALIBRATION,
    SPACES,
    Calibration,
    Comparison,
    EventReader,
    Goals,
    Purpose,
)
from context_graph.model import EventKind, HookEvent

try:
    from tools.drift_data import Session, load_cases, load_sessions
except ImportError:  # run as a script: the folder of this file is on the path, its parent is not
    from drift_data import Session, load_cases, load_sessions  # type: ignore[no-redef]

Array = NDArray[np.float64]

CUTS = (0.35, 0.5, 0.65)
DONORS = 3
BEFORE, AFTER, LEAST = 20, 20, 8
"""Events kept on either side of a cut, and the fewest that there must be."""
WINDOW = 6
"""Events before and after a cut that a drop is measured over, as score.py does."""
RIDGE, ROUNDS, STEP, MOMENTUM = 0.3, 500, 0.3, 0.9
LEAST_WEIGHT = 0.05
"""A purpose vector needs all its components: differentiation is their entropy."""


@dataclass(slots=True)
class Trial:
    """One case with what the 13 spaces say about each event; none of it depends on the calibration."""

    kind: str
    project: str
    projects: frozenset[str]
    at: int
    compared: list[Comparison | None]
    """None for a prompt."""


class Recorder:
    """Turns events into likenesses, with one reader for all."""

    def __init__(self) -> None:
        self._reader = EventReader()

    def trial(self, kind: str, events: list[tuple[Session, HookEvent]], at: int) -> Trial:
        goals = Goals()
        trial = Trial(kind, events[0][0].project, frozenset(s.project for s, _ in events), at, [])
        for _, event in events:
            self._reader.read(event.input_text, event.output_text)
            prompt = event.kind is EventKind.PROMPT_SUBMIT
            trial.compared.append(None if prompt else goals.compare(self._reader))
            goals.absorb(self._reader, prompt=prompt)
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
            head = [(own, event) for event in own.events[max(0, at - BEFORE) : at]]
            tail = [(own, event) for event in own.events[at : at + AFTER]]
            trials.append(recorder.trial("control", head + tail, len(head)))
            for kind, same in (("near", True), ("splice", False)):
                pool = [s for s in others if (s.project == own.project) is same]
                for donor in rng.sample(pool, min(DONORS, len(pool))):
                    start = max(1, min(round(cut * len(donor.events)), len(donor.events) - LEAST))
                    foreign = [(donor, event) for event in donor.events[start : start + AFTER]]
                    trials.append(recorder.trial(kind, head + foreign, len(head)))
    return trials


def fit(trials: Iterable[Trial]) -> Calibration:
    """The calibration that these trials give."""
    trials = list(trials)
    on = _mean(c for t in trials if t.kind == "control" for c in t.compared[WINDOW:])
    off = _mean(c for t in trials if t.kind == "splice" for c in t.compared[t.at : t.at + 2])
    coded = Calibration(on, off, (1.0,) * len(SPACES))
    own, foreign = [], []
    for trial in trials:
        alignments = smoothed(trial, coded)
        if trial.kind == "control":
            own.append(alignments[WINDOW:])
        else:
            foreign.append(alignments[trial.at + 1 : trial.at + WINDOW])
    weight = _separate(np.concatenate(own), np.concatenate(foreign))
    return Calibration(on, off, tuple(round(float(w), 3) for w in weight))


def _mean(compared: Iterable[Comparison | None]) -> tuple[float, ...]:
    rows = np.array([comparison.likeness for comparison in compared if comparison is not None])
    return tuple(round(float(value), 3) for value in np.nanmean(rows, axis=0))


def smoothed(trial: Trial, calibration: Calibration) -> Array:
    """The alignments after each event, (events, 13)."""
    purpose, rows = Purpose(calibration), []
    for comparison in trial.compared:
        if comparison is None:
            purpose.prompt()
        else:
            purpose.observe(comparison)
        rows.append(list(purpose.alignment))
    return np.array(rows)


def _separate(own: Array, foreign: Array) -> Array:
    """Weights of a non-negative ridge logistic regression, both classes counting the same; mean 1."""
    rows = np.concatenate([own, foreign])
    label = np.r_[np.ones(len(own)), np.zeros(len(foreign))]
    count = np.r_[np.full(len(own), 0.5 / len(own)), np.full(len(foreign), 0.5 / len(foreign))]
    spread = rows.std(axis=0) + 1e-6
    rows = (rows - rows.mean(axis=0)) / spread
    weight, bias, velocity = np.zeros(rows.shape[1]), 0.0, np.zeros(rows.shape[1])
    for _ in range(ROUNDS):
        error = count * (1.0 / (1.0 + np.exp(-(rows @ weight + bias))) - label)
        velocity = MOMENTUM * velocity + rows.T @ error + RIDGE * weight
        weight = np.maximum(weight - STEP * velocity, 0.0)
        bias -= STEP * float(error.sum())
    weight = weight / spread
    weight = np.maximum(weight / weight.mean(), LEAST_WEIGHT)
    result: Array = weight / weight.mean()
    return result


def continuity(trial: Trial, calibration: Calibration) -> list[float]:
    """IC after each event of a trial."""
    purpose, network, values = Purpose(calibration), KuramotoNetwork.synchronised(), [1.0]
    for comparison in trial.compared:
        if comparison is None:
            purpose.prompt()
        elif not comparison.is_empty:
            reading = purpose.observe(comparison)
            r = network.advance(coupling_for(reading.coherence))
            values.append(identity_continuity(reading.purpose_vector, reading.identity, r))
            continue
        values.append(values[-1])
    return values[1:]


def leave_one_out(data: Path, sessions: dict[str, Session], trials: list[Trial], out: Path | None) -> None:
    """Print the drop AUC of trials of each project under the fit of all others, and write cases' signals."""
    fits = {}
    for project in sorted({trial.project for trial in trials}):
        fits[project] = fit(t for t in trials if project not in t.projects)
        held = [t for t in trials if t.project == project]
        print(f"{project:>16} {len(held):>5} trials  {_table(held, fits[project])}")
    pooled: dict[str, list[float]] = {}
    for trial in trials:
        pooled.setdefault(trial.kind, []).append(_drop(continuity(trial, fits[trial.project]), trial.at))
    print(f"{'pooled':>16} {len(trials):>5} trials  {_aucs(pooled)}")
    if out is None:
        return
    recorder = Recorder()
    with out.open("w", encoding="utf-8") as file:
        for case in load_cases(data, "dev"):
            events = [(sessions[name], sessions[name].events[index]) for name, index in case.refs]
            trial = recorder.trial(case.kind, events, 0)
            for t, ic in enumerate(continuity(trial, fits[trial.project])):
                file.write(json.dumps({"case": case.name, "t": t, "signal": round(ic, 6)}) + "\n")


def _table(trials: list[Trial], calibration: Calibration) -> str:
    drops: dict[str, list[float]] = {}
    for trial in trials:
        drops.setdefault(trial.kind, []).append(_drop(continuity(trial, calibration), trial.at))
    return _aucs(drops)


def _drop(values: list[float], at: int) -> float:
    return min(values[at : at + WINDOW]) - float(np.mean(values[max(0, at - WINDOW) : at]))


def _aucs(drops: dict[str, list[float]]) -> str:
    own = np.array(drops["control"])[None]
    shown = []
    for kind in ("splice", "near"):
        if kind in drops:
            foreign = np.array(drops[kind])[:, None]
            shown.append(f"{kind} {float(((foreign < own) + 0.5 * (foreign == own)).mean()):.3f}")
    return "  ".join(shown)


def _literal(calibration: Calibration) -> str:
    lines = [f"    {name}={getattr(calibration, name)}," for name in ("on", "off", "weight")]
    return "\n".join(["CALIBRATION: Final = Calibration(", *lines, ")"])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--leave-one-out", action="store_true")
    parser.add_argument("--signals", type=Path, help="with --leave-one-out: held-out signals for score.py")
    options = parser.parse_args(argv)
    sessions = {name: s for name, s in load_sessions(options.data).items() if s.split == "dev"}
    trials = training_trials(sessions)
    if options.leave_one_out:
        leave_one_out(options.data, sessions, trials, options.signals)
        return 0
    calibration = fit(trials)
    print(_literal(calibration))
    if options.check and calibration != CALIBRATION:
        print("identity/ego.py has other constants", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
