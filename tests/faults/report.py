"""What a fault test found: one row of the summary table, and its log.

Rows travel as pytest's user properties, so they reach the terminal from xdist's workers too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["PROPERTY", "Log", "Row", "table"]

PROPERTY = "fault"
_LOG = Path(__file__).resolve().parents[2] / "artifacts" / "torture.log"
_SUMMED = ("faults", "sent", "acknowledged", "lost", "twice", "stuck")


@dataclass
class Row:
    """One scenario's figures. ``lost``, ``twice`` and ``stuck`` are 0, or the test has failed."""

    scenario: str
    seed: int
    faults: int = 0
    """How often something was killed, stopped, filled, broken."""
    sent: int = 0
    acknowledged: int = 0
    """Of those sent: told to be recorded or stored. What was killed or refused aloud is not among them."""
    lost: int = 0
    twice: int = 0
    stuck: int = 0
    slowest_ms: float = 0.0
    """Of all hooks, the longest, from its start to its end."""
    note: str = ""

    def hand_in(self, record: Callable[[str, object], None]) -> None:
        """Put the row into the report, by pytest's ``record_property``."""
        record(PROPERTY, json.dumps(asdict(self)))

    def require_clean(self) -> None:
        """No fault was met without a loss where there was no fault at all."""
        assert self.faults, "nothing was broken, so nothing is shown"
        assert (self.lost, self.twice, self.stuck) == (0, 0, 0), self


@dataclass
class Log:
    """artifacts/torture.log: what was done, in order, for whoever has to repeat a run."""

    scenario: str
    seed: int
    path: Path = field(default_factory=lambda: Path(os.environ.get("CONTEXT_GRAPH_TORTURE_LOG", _LOG)))

    def __call__(self, what: str, **more: Any) -> None:
        line = {"scenario": self.scenario, "seed": self.seed, "what": what, **more}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as sink:
            sink.write(json.dumps(line, default=str) + "\n")


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The rows as lines, and a line of their sums."""
    if not rows:
        return []
    head = f"{'scenario':<56} {'seed':>10}" + "".join(f" {name:>12}" for name in _SUMMED) + f" {'slowest':>9}"
    lines = [head, "-" * len(head), *map(_line, rows), "-" * len(head)]
    total = ", ".join(f"{name} {sum(row[name] for row in rows)}" for name in _SUMMED)
    failed = sum("FAILED" in row["note"] for row in rows)
    return [*lines, f"{len(rows)} scenarios, {failed} failed: {total}"]


def _line(row: dict[str, Any]) -> str:
    figures = "".join(f" {row[name]:>12}" for name in _SUMMED)
    return f"{row['scenario']:<56} {row['seed']:>10}{figures} {row['slowest_ms']:>6.0f} ms  {row['note']}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table at the end of a run; imported by tests/conftest.py."""
    failed = {report.nodeid for report in terminalreporter.stats.get("failed", ())}
    found: dict[str, dict[str, Any]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY:
                    found[str(value)] = json.loads(str(value))
                    found[str(value)]["note"] += " FAILED" if report.nodeid in failed else ""
    lines = table(sorted(found.values(), key=lambda row: str(row["scenario"])))
    if lines:
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.line(line)
