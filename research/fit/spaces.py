"""Chooses the weights of recall's ranking on talk, code and summaries of work together; prints them.

    python -m research.fit.spaces DATA

Each weight of `Blend` is varied alone, the others as shipped. A value is chosen on all groups but one (a
conversation, a fifth of CoSQA's queries, a project), the three tasks counting the same, and measured on
the group left out. Printed are the shipped value, the one that is best on everything, those that the
groups chose, and what the choice gives on what was left out. A weight stays as it is unless another one
gains more than its interval. Cost: some minutes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from research.fit.ranking_cases import TASKS, Case, Folds, Values, cases
from research.measures.report import Data, Table

from context_graph.memory.index.blend import DEFAULT, Blend

STEPS: Final[dict[str, tuple[float, ...]]] = {
    "k1": (0.6, 0.9, 1.2),
    "b": (0.2, 0.4, 0.6, 0.75),
    "dense": (0.6, 0.9, 1.2),
    "b_plain": (0.4, 0.6, 0.75, 0.9),
    "plain": (0.9, 1.2, 1.6, 2.0, 3.0),
    "lead": (1.0, 2.0, 3.0, 4.0, 6.0),
    "lead_dense": (0.0, 0.5, 1.0, 2.0),
    "question": (0.0, -0.3, -0.5),
    "name": (0.0, 0.4, 0.8, 1.2),
    "time": (0.0, 0.4, 0.8, 1.2),
    "after_question": (0.0, 0.3, 0.5, 0.7),
    "back": (0.0, 0.1, 0.2),
    "session": (0.0, 0.3, 0.5, 0.7),
}


def varied(name: str, value: float) -> Blend:
    """The shipped weights with another value of one; `plain` is dense to lexical where the query is plain."""
    if name != "plain":
        return replace(DEFAULT, **{name: value})
    whole = DEFAULT.lexical_plain + DEFAULT.dense_plain
    return replace(DEFAULT, lexical_plain=whole / (1 + value), dense_plain=whole * value / (1 + value))


def shipped(name: str) -> float:
    """The value that `Blend` has."""
    return DEFAULT.dense_plain / DEFAULT.lexical_plain if name == "plain" else getattr(DEFAULT, name)


def measured(asked: list[Case], blend: Blend) -> Values:
    """Each query's points."""
    found = []
    for one in asked:
        one.score(blend)
        found.append(one.points(one.best(blend)))
    return np.array(found)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path)
    asked = cases(Data(options.parse_args().data))
    if not asked:
        options.error("the folder lacks locomo10.json, cosqa/ or handover_dev.jsonl.gz")
    folds, now = Folds(asked), measured(asked, DEFAULT)
    everything = np.ones(len(asked), bool)
    rows = []
    for name, steps in STEPS.items():
        points = np.stack([measured(asked, varied(name, step)) for step in steps], axis=1)
        chosen = folds.chosen(points)
        gain = points[np.arange(len(asked)), chosen] - now
        best = steps[int(np.argmax(folds.mean(points, everything)))]
        span = sorted({steps[at] for at in chosen})
        deltas = [folds.interval(gain, at) for at in range(len(TASKS))]
        rows.append([name, f"{shipped(name):.2f}", best, ", ".join(map(str, span)), *deltas])
    columns = ("weight", "shipped", "best", "chosen", *TASKS)
    source = f"{len(asked)} queries in {len(folds.groups)} groups; chosen on all groups but one"
    print(Table("weights of recall's ranking", source, columns, rows).text())


if __name__ == "__main__":
    main()
