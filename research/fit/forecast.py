"""Refit the constants of the forecast of tool failures (identity.forecast) on recorded agent sessions.

    python -m research.fit.forecast DATA            # print the constants
    python -m research.fit.forecast DATA --check    # and fail unless they are those in the code

DATA is drift_bench's format; only its dev split is read. A ridge logistic regression of failure on the
features that a tracker has before each call's result; subagents' calls are left out, as the product does.
The session's rates begin with the base rate in the code: paste that first, then fit again.
`python -m research DATA --number forecast` has the held-out figures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from research.fit.drift_data import Session, load_sessions

from context_graph.identity.forecast import BASE_RATE, FEATURES, WEIGHTS, PredictionTracker, command_head
from context_graph.model import EventKind

Array = NDArray[np.float64]

RIDGE, ROUNDS = 10.0, 30


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as it stood before its result, and how it ended."""

    session: Session
    features: tuple[float, ...]
    failed: bool


def calls_of(sessions: Iterable[Session]) -> list[Call]:
    """All tool calls of these sessions, each session from a tracker that knows nothing."""
    calls = []
    for session in sessions:
        tracker = PredictionTracker()
        for event in session.events:
            if event.kind is EventKind.PROMPT_SUBMIT or event.is_delegated:
                continue
            head = command_head(event.input_text) if event.tool_name == "Bash" else ""
            success = event.kind is EventKind.POST_TOOL and event.success is not False
            known = tracker.features(event.tool_name, head, event.input_text)
            calls.append(Call(session, known, not success))
            tracker.record(event.tool_name, head, success, event.input_text)
    return calls


def fit(calls: Iterable[Call]) -> tuple[float, ...]:
    """The weights that these calls give, by Newton's method on standardised features."""
    calls = list(calls)
    rows: Array = np.array([call.features for call in calls])
    failed: Array = np.array([call.failed for call in calls], float)
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    mean[0], spread[0] = 0.0, 1.0  # the constant
    rows, weight = (rows - mean) / spread, np.zeros(len(FEATURES))
    ridge = np.diag([1e-9] + [RIDGE] * (len(FEATURES) - 1))
    for _ in range(ROUNDS):
        forecasts = 1.0 / (1.0 + np.exp(-(rows @ weight)))
        curvature = (rows * (forecasts * (1.0 - forecasts))[:, None]).T @ rows + ridge
        weight -= np.linalg.solve(curvature, rows.T @ (forecasts - failed) + ridge @ weight)
    weight /= spread
    weight[0] -= weight[1:] @ mean[1:]
    return tuple(round(float(value), 3) for value in weight)


def base_rate(calls: Iterable[Call]) -> float:
    """The share of these calls that failed."""
    failed = [call.failed for call in calls]
    return round(sum(failed) / len(failed), 3)


def _literal(base: float, weights: tuple[float, ...]) -> str:
    return f"BASE_RATE: Final = {base}\nWEIGHTS: Final = {weights}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    calls = calls_of(s for s in load_sessions(options.data).values() if s.split == "dev")
    base, weights = base_rate(calls), fit(calls)
    print(_literal(base, weights))
    if options.check and (base, weights) != (BASE_RATE, WEIGHTS):
        print("identity/forecast.py has other constants", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
