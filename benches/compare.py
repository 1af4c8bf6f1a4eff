#!/usr/bin/env python3
"""Judges a smoke run of the suite by benches/limits.py: exit 1 where one of our cases costs too much.

    CONTEXT_GRAPH_BENCH_SMOKE=1 python benches/suite.py --json RUN.json
    python benches/compare.py RUN.json

A case fails when its ratio to the limit measured beside it is above the table's both in the median and in the
fastest tenth: what other processes take hits the one or the other, what we wrote hits both. A case that the
table has and the run has not, or the other way round, fails too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.limits import LIMITS, Limit
from benches.report import Figure, described, grid, ratio, read


def faults(found: Iterable[Figure], limits: Mapping[str, Limit]) -> dict[str, str]:
    """What is wrong with a run: the case's name and one sentence."""
    ours = {one.name: one for one in found if one.kind == "ours"}
    wrong = {name: "has a limit and was not measured" for name in limits.keys() - ours}
    wrong |= {name: "was measured and has no limit" for name in ours.keys() - limits}
    for name, limit in limits.items():
        least = min(ours[name].ratio, ours[name].ratio_p10) if name in ours else 0.0
        if least > limit.most:
            allowed = f"at most {ratio(limit.most)} allowed, once {ratio(limit.measured)}"
            wrong[name] = f"{ratio(least)} times its limit, {allowed} ({limit.why})"
    return wrong


def main() -> int:
    """Print the table and the faults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    body, found = read(parser.parse_args().run)
    if body["size"] != "smoke":
        print(
            "only a smoke run is judged: set CONTEXT_GRAPH_BENCH_SMOKE=1 for benches/suite.py",
            file=sys.stderr,
        )
        return 2
    print(described(body["machine"]))
    heads = ("x limit", "p50", "p10", "at most", "once")
    rows = [
        (one.name, one.ratio, one.ratio_p10, LIMITS[one.name].most, LIMITS[one.name].measured)
        for one in found
        if one.name in LIMITS
    ]
    print(grid(heads, rows))
    wrong = faults(found, LIMITS)
    for name, what in sorted(wrong.items()):
        print(f"FAILED {name}: {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
