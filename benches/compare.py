#!/usr/bin/env python3
"""Judges smoke runs of the suite by benches/limits.py: exit 1 where one of our cases costs too much.

    CONTEXT_GRAPH_BENCH_SMOKE=1 python benches/suite.py --json RUN.json
    python benches/compare.py RUN.json ...

A case fails when its ratio to the limit measured beside it is above the table's both in the median and in the
fastest tenth, in each run that is named: what other processes take hits the one or the other, what we wrote
hits all. A case that the table has and the last run has not, or the other way round, fails too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.limits import LIMITS, Limit
from benches.report import Figure, described, grid, ratio, read


def faults(runs: Sequence[Sequence[Figure]], limits: Mapping[str, Limit]) -> dict[str, str]:
    """What is wrong in all of ``runs``: the case's name and one sentence."""
    ours = {figure.name for figure in runs[-1] if figure.kind == "ours"}
    wrong = {name: "has a limit and was not measured" for name in limits.keys() - ours}
    wrong |= {name: "was measured and has no limit" for name in ours - limits.keys()}
    least = least_ratios(runs)
    for name in ours & limits.keys():
        limit = limits[name]
        if least[name] > limit.most:
            allowed = f"at most {ratio(limit.most)} allowed, once {ratio(limit.measured)}"
            wrong[name] = f"{ratio(least[name])} times its limit, {allowed} ({limit.why})"
    return wrong


def least_ratios(runs: Iterable[Iterable[Figure]]) -> dict[str, float]:
    """The least ratio of each case of ours, of its medians and fastest tenths in all runs."""
    least: dict[str, float] = {}
    for figure in (figure for run in runs for figure in run if figure.kind == "ours"):
        least[figure.name] = min(figure.ratio, figure.ratio_p10, least.get(figure.name, figure.ratio))
    return least


def main() -> int:
    """Print the table and the faults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="+")
    runs = [read(path) for path in parser.parse_args().run]
    if any(body["size"] != "smoke" for body, _ in runs):
        print(
            "only a smoke run is judged: set CONTEXT_GRAPH_BENCH_SMOKE=1 for benches/suite.py",
            file=sys.stderr,
        )
        return 2
    body, figures = runs[-1]
    print(described(body["machine"]))
    heads = ("x limit", "p50", "p10", "at most", "once")
    rows = [
        (one.name, one.ratio, one.ratio_p10, LIMITS[one.name].most, LIMITS[one.name].measured)
        for one in figures
        if one.name in LIMITS
    ]
    print(grid(heads, rows))
    wrong = faults([of_run for _, of_run in runs], LIMITS)
    for name, what in sorted(wrong.items()):
        print(f"FAILED {name}: {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
