"""How benches tell what they measured: one figure a line, beside its limit, as a table and as JSON.

A figure is *ours*, a *limit* (the best that the machine or the library below does for the same work), a
*rival* (another way to the same end) or a *twin* (our readable version of a kernel). Ratios are to the limit
of the same workload, measured in the same rounds: they survive another machine, times don't.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["ours", "limit", "rival", "twin"]
ORDER: tuple[Kind, ...] = ("limit", "ours", "rival", "twin")
UNITS = ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms"), (float("inf"), 1.0, "s"))


@dataclass(frozen=True)
class Figure:
    """One case of a workload; times in seconds, of one operation."""

    workload: str
    case: str
    kind: Kind
    p10_s: float
    p50_s: float
    p95_s: float
    rounds: int
    ratio: float = 1.0
    """Median over the limit's median."""
    ratio_p10: float = 1.0
    """The same of the fastest tenth, which other processes disturb less."""
    goal: float | None = None
    """What ``ratio`` is to stay under, where a goal was given."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    goal_p95: float | None = None
    """What p95 over the limit's median is to stay under."""
    goal_s: float | None = None
    """What the median in seconds is to stay under, where no limit says enough."""
    floor: tuple[float, float] = (1.0, 1.0)
    """The limit's median and p95, seconds."""
    samples: tuple[float, ...] = ()
    """Seconds of each round, in their order."""

    @property
    def name(self) -> str:
        """The key in benches/limits.py."""
        return f"{self.workload} / {self.case}"

    def missed(self) -> list[str]:
        """The goals that it misses by more than the run's own spread: in the fastest tenth as well as in the
        median, and in the tail by more than the limit's own tail is long.
        """
        found = []
        if self.goal is not None and min(self.ratio, self.ratio_p10) > self.goal:
            found.append(f"{ratio(self.ratio)} times its limit, goal {self.goal:g}")
        median, tail = self.floor
        if self.goal_p95 is not None and self.p95_s / max(median, tail) > self.goal_p95:
            found.append(f"p95 {ratio(self.p95_s / median)} times its limit, goal {self.goal_p95:g}")
        if self.goal_s is not None and self.p10_s > self.goal_s:
            found.append(f"{human(self.p50_s)}, goal {human(self.goal_s)}")
        return found


def quantile(ordered: Sequence[float], share: float) -> float:
    """The ``share`` quantile of sorted numbers, by nearest rank below."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def spread(times: Sequence[float]) -> dict[str, float]:
    """What is told of times in ms where no limit stands beside them."""
    ordered = sorted(times)
    return {"p50_ms": statistics.median(times), "p95_ms": quantile(ordered, 0.95), "max_ms": ordered[-1]}


def peak_mib(process: int | str = "self") -> float:
    """The most memory that this process, or that of the number, has ever had, MiB; 0 once it has ended."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def figures(
    workload: str,
    kinds: Mapping[str, Kind],
    samples: Mapping[str, Sequence[float]],
    *,
    goals: Mapping[str, float] | None = None,
    goals_p95: Mapping[str, float] | None = None,
    goals_s: Mapping[str, float] | None = None,
    extra: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Figure]:
    """The cases of one workload, the limit first; exactly one of ``kinds`` is the limit."""
    limits = [case for case, kind in kinds.items() if kind == "limit" and case in samples]
    if len(limits) != 1:
        raise ValueError(f"{workload}: one case must be the limit, not {len(limits)}")
    spreads = {
        case: (quantile(sorted(times), 0.1), statistics.median(times), quantile(sorted(times), 0.95))
        for case, times in samples.items()
    }
    base_p10, base_p50, base_p95 = spreads[limits[0]]
    return [
        Figure(
            workload,
            case,
            kinds[case],
            p10,
            p50,
            p95,
            len(samples[case]),
            p50 / base_p50,
            p10 / base_p10,
            (goals or {}).get(case),
            (extra or {}).get(case, {}),
            (goals_p95 or {}).get(case),
            (goals_s or {}).get(case),
            (base_p50, base_p95),
            tuple(samples[case]),
        )
        for case, (p10, p50, p95) in sorted(
            spreads.items(), key=lambda item: (ORDER.index(kinds[item[0]]), item[0])
        )
    ]


def human(seconds: float) -> str:
    """Three digits and a unit."""
    for below, factor, unit in UNITS:
        if seconds < below:
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError(seconds)


def table(found: Iterable[Figure]) -> str:
    """The table for people: workloads as headings, cases below."""
    lines, last = [], ""
    for one in found:
        if one.workload != last:
            last = one.workload
            heads = f"{'p50':>9}{'p95':>9}{'x limit':>9}{'p10 x':>8}{'goal':>7}{'rounds':>8}"
            lines.append(f"\n{last:<44}{'kind':<7}{heads}")
        goal = f"{one.goal:g}" if one.goal is not None else ""
        missed = "  MISSED" if one.missed() else ""
        more = "".join(f"  {name} {value}" for name, value in one.extra.items())
        if one.goal_p95 is not None:
            more += f"  p95 x {ratio(one.p95_s / one.floor[0])} (goal {one.goal_p95:g})"
        if one.goal_s is not None:
            more += f"  goal {human(one.goal_s)}"
        lines.append(
            f"  {one.case:<42}{one.kind:<7}{human(one.p50_s):>9}{human(one.p95_s):>9}"
            f"{ratio(one.ratio):>9}{ratio(one.ratio_p10):>8}{goal:>7}{one.rounds:>8}{missed}{more}"
        )
    return "\n".join(lines)


def markdown(found: Iterable[Figure]) -> str:
    """The same as rows for benches/README.md."""
    lines = ["| workload | case | | p50 | p95 | x limit | p10 | goal |", "|---|---|---|---|---|---|---|---|"]
    last = ""
    for one in found:
        shown = one.workload if one.workload != last else ""
        last = one.workload
        goal = f"{one.goal:g}" if one.goal is not None else ""
        times = f"{human(one.p50_s)} | {human(one.p95_s)}"
        ratios = f"{ratio(one.ratio)} | {ratio(one.ratio_p10)}"
        lines.append(f"| {shown} | {one.case} | {one.kind} | {times} | {ratios} | {goal} |")
    return "\n".join(lines)


def grid(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of anything: the first column to the left, the others to the right, numbers to three digits."""
    cells = [list(headers), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(headers))]
    lines = []
    for first, *others in cells:
        lines.append("  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]))
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return ratio(value) if isinstance(value, float) else str(value)


def ratio(value: float) -> str:
    """Three digits, no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def machine() -> dict[str, Any]:
    """What a reader must know of the machine."""
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def described(found: Mapping[str, Any]) -> str:
    """`machine()` in a line."""
    system = f"{found['processor']}, {found['cores']} cores, {found['system']}, Python {found['python']}"
    return f"{system}, load {found['load']}"


def options(about: str | None) -> argparse.ArgumentParser:
    """A bench's command line, of its module's docstring, with what all have: --json."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    return parser


def save(path: Path | None, body: Mapping[str, Any]) -> None:
    """Write the JSON that --json asks for; the machine goes first in it."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), **body}, indent=1) + "\n")


def write(path: Path | None, found: Iterable[Figure], **more: Any) -> None:
    """The JSON that benches/compare.py reads."""
    save(path, {**more, "figures": [asdict(one) for one in found]})


def read(path: Path) -> tuple[dict[str, Any], list[Figure]]:
    """What `write` wrote: all but the figures, and the figures."""
    body = json.loads(path.read_text())
    rows = body.pop("figures")
    return body, [
        Figure(**{**row, "floor": tuple(row["floor"]), "samples": tuple(row["samples"])}) for row in rows
    ]
