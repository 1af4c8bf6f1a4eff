#!/usr/bin/env python3
"""A run of the suite beside a saved baseline: ratios only, so that another machine can be compared with.

    python benches/compare.py RUN.json [--baseline FILE] [--tolerance 1.5] [--tell] [--save]

A case of ours is worse when its ratio to the limit grew by more than the tolerance both in the median and in
the fastest tenth: what other processes take hits the one or the other, what we wrote hits both. Exit 1 if one
is worse or missing; `--tell` says it and exits 0. `--save` makes RUN the baseline.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.report import Figure, described, ratio, read

BASELINES = Path(__file__).resolve().parent / "baselines"


@dataclass(frozen=True)
class Change:
    """One case now and then."""

    name: str
    before: float
    now: float
    factor: float
    factor_p10: float

    def verdict(self, tolerance: float) -> str:
        """What to say of it."""
        if min(self.factor, self.factor_p10) > tolerance:
            return "WORSE"
        return "better" if max(self.factor, self.factor_p10) < 1 / tolerance else ""


def ratios(found: list[Figure]) -> dict[str, dict[str, float]]:
    """What a baseline keeps: ratios of all cases that are no limit."""
    kept = [one for one in found if one.kind != "limit"]
    return {
        one.name: {"kind": one.kind, "p50": round(one.ratio, 4), "p10": round(one.ratio_p10, 4)}
        for one in kept
    }


def compare(baseline: dict[str, Any], found: list[Figure]) -> tuple[list[Change], list[str]]:
    """Ours, worst first, and the names that the baseline has and the run has not."""
    now, changes, missing = ratios(found), [], []
    for name, before in baseline["ratios"].items():
        if before["kind"] != "ours":
            continue
        if name not in now:
            missing.append(name)
            continue
        one = now[name]
        factors = (one[share] / before[share] for share in ("p50", "p10"))
        changes.append(Change(name, before["p50"], one["p50"], *factors))
    return sorted(changes, key=lambda change: -change.factor), missing


def save(path: Path, body: dict[str, Any], found: list[Figure]) -> None:
    """The run as a baseline."""
    path.parent.mkdir(exist_ok=True)
    kept = {"machine": body["machine"], "size": body["size"], "ratios": ratios(found)}
    path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    print(f"{len(kept['ratios'])} ratios saved in {path}")


def main() -> int:
    """Compare, or save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--baseline", type=Path, help="default: that of the run's size in benches/baselines")
    parser.add_argument("--tolerance", type=float, default=1.5)
    parser.add_argument("--tell", action="store_true")
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    body, found = read(given.run)
    path = given.baseline or BASELINES / f"{body['size']}.json"
    if given.save:
        save(path, body, found)
        return 0
    if not path.exists():
        print(f"{path} is not there: make bench-baseline saves one", file=sys.stderr)
        return 2
    baseline = json.loads(path.read_text())
    changes, missing = compare(baseline, found)
    show(changes, missing, baseline["machine"], given.tolerance)
    worse = [change for change in changes if change.verdict(given.tolerance) == "WORSE"]
    return 0 if given.tell or not (worse or missing) else 1


def show(changes: list[Change], missing: list[str], machine: dict[str, Any], tolerance: float) -> None:
    """The table, worst first."""
    print(f"baseline: {described(machine)}")
    print(f"x limit, p50, then and now; by how much it grew in p50 and in p10; tolerance {tolerance:g}")
    for one in changes:
        grown = f"{one.factor:>7.2f}{one.factor_p10:>7.2f}"
        print(
            f"  {one.name:<72}{ratio(one.before):>8} -> {ratio(one.now):<8}{grown}  {one.verdict(tolerance)}"
        )
    for name in missing:
        print(f"  {name}: in the baseline, not in this run")


if __name__ == "__main__":
    sys.exit(main())
