#!/usr/bin/env python3
"""Judges the suite at its small size, by turns with the commit before: exit 1 where a case costs too much.

    python benches/compare.py [--parent REV|none] [--only GROUP ...] [--json FILE]

A case may take at most ``MOST`` times as long as in the parent, which is built in a folder of its own, and
at most as many times the limit measured beside it as benches/limits.py says. It fails where that is missed in
the median as well as in the fastest tenth, in each of three runs (groups with a fault run again): what other
processes take hits one of them, what we wrote hits all. A case that the table has and the run has not, or the
other way round, fails too.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.beside import Run, build, by_turns, parent_of
from benches.limits import LIMITS, Limit
from benches.report import Figure, described, grid, human, machine, options, ratio, save

RUNS: Final = 3
MOST: Final = 1.2
"""Of the parent's time: unchanged code stays below it on a busy machine, code 1.3 times as slow does not."""


def slowdowns(ours: Iterable[Figure], parent: Iterable[Figure]) -> dict[str, float]:
    """How many times the parent's time each case of ours takes, of those that both have.

    It is the lesser of two: the median of the rounds' ratios, and the ratio of the fastest tenths.
    """
    before = {figure.name: figure for figure in parent}
    return {
        figure.name: min(
            statistics.median(
                x / y for x, y in zip(figure.samples, before[figure.name].samples, strict=False)
            ),
            figure.p10_s / before[figure.name].p10_s,
        )
        for figure in ours
        if figure.kind == "ours" and figure.name in before
    }


def slower(runs: Sequence[Mapping[str, float]], most: float = MOST) -> dict[str, str]:
    """The cases above ``most`` in each of the runs that have them: name and one sentence."""
    return {
        name: f"{ratio(least)} times as long as in the parent, at most {most:g} allowed"
        for name in {name for run in runs for name in run}
        if (least := min(run[name] for run in runs if name in run)) > most
    }


def faults(runs: Sequence[Sequence[Figure]], limits: Mapping[str, Limit]) -> dict[str, str]:
    """What is wrong in all of ``runs`` by the table: the case's name and one sentence."""
    least = least_ratios(runs)
    wrong = {name: "has a limit and was not measured" for name in limits.keys() - least.keys()}
    wrong |= {name: "was measured and has no limit" for name in least.keys() - limits.keys()}
    for name in least.keys() & limits.keys():
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


class Comparison:
    """What was measured so far, in up to three runs."""

    def __init__(self, pythons: Sequence[Path], limits: Mapping[str, Limit]) -> None:
        self._pythons, self._limits = pythons, limits
        self._runs: list[list[Figure]] = []
        self._factors: list[dict[str, float]] = []
        self._group: dict[str, str] = {}

    def measure(self, groups: Iterable[str]) -> None:
        """One run of these groups, in all trees by turns; says what has no counterpart in the parent."""
        self._runs.append([])
        self._factors.append({})
        for group in groups:
            ours, *parents = by_turns(self._pythons, group)
            if ours.error:
                raise SystemExit(f"{group}: {ours.error}")
            self._runs[-1] += ours.figures
            self._group |= dict.fromkeys((figure.name for figure in ours.figures), group)
            for parent in parents:
                self._compare(group, ours, parent)

    def _compare(self, group: str, ours: Run, parent: Run) -> None:
        if parent.error:
            print(f"{group}: not compared, the parent can't run it: {parent.error}")
        self._factors[-1] |= slowdowns(ours.figures, parent.figures)

    def faults(self) -> dict[str, str]:
        """What is wrong in all runs."""
        return {**faults(self._runs, self._limits), **slower(self._factors)}

    def suspects(self) -> list[str]:
        """The groups that have a fault and can be measured again."""
        return sorted({self._group[name] for name in self.faults() if name in self._group})

    def rows(self) -> list[dict[str, object]]:
        """Each case of the first run."""
        return [
            {
                "case": figure.name,
                "p50_s": figure.p50_s,
                "x_parent": self._factors[0].get(figure.name),
                "x_limit": min(figure.ratio, figure.ratio_p10),
                "most": self._limits[figure.name].most if figure.name in self._limits else None,
            }
            for figure in self._runs[0]
            if figure.kind == "ours"
        ]


def main(words: Sequence[str] | None = None) -> int:
    """Print the table and the faults."""
    from benches.suite import GROUPS  # it sets what NumPy reads when it is loaded

    parser = options(__doc__)
    parser.add_argument("--parent", metavar="REV", help="the commit to compare with, or none")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    arguments = parser.parse_args(words)
    print(described(machine()), flush=True)
    with tempfile.TemporaryDirectory(prefix="context-graph-parent-") as folder:
        return judged(arguments, Path(folder) / "tree", whole=len(arguments.only) == len(GROUPS))


def judged(arguments: argparse.Namespace, tree: Path, *, whole: bool) -> int:
    """Build the parent in ``tree``, measure up to three times, print; 1 where something is too slow."""
    pythons = [Path(sys.executable)]
    if arguments.parent != "none":
        pythons.append(build(arguments.parent or parent_of(), tree))
    comparison = Comparison(pythons, LIMITS)
    groups = arguments.only
    for _ in range(RUNS):
        comparison.measure(groups)
        groups = comparison.suspects()
        if not groups:
            break
    rows = comparison.rows()
    heads = ("case", "p50", "x parent", "x limit", "at most")
    print(grid(heads, [(row["case"], human(row["p50_s"]), *list(row.values())[2:]) for row in rows]))
    wrong = {name: why for name, why in comparison.faults().items() if whole or "not measured" not in why}
    for name, why in sorted(wrong.items()):
        print(f"FAILED {name}: {why}")
    save(arguments.json, {"cases": rows, "faults": wrong})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
