"""The tables that `python -m research` prints, and the statistics in them."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

T = TypeVar("T")

ROUNDS: Final = 1000
"""Resamples behind an interval."""


@dataclass(frozen=True, slots=True)
class Data:
    """Where the data sets are. A measure whose data is missing returns no table."""

    folder: Path
    """Has drift_dev/, handover_dev.jsonl.gz, locomo10.json, cosqa/; or a user's transcripts (`*.jsonl`)."""

    @property
    def drift(self) -> Path:
        return self.folder / "drift_dev"

    @property
    def handover(self) -> Path:
        return self.folder / "handover_dev.jsonl.gz"

    @property
    def locomo(self) -> Path:
        return self.folder / "locomo10.json"

    @property
    def cosqa(self) -> Path:
        return self.folder / "cosqa"


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a number: what it was measured on, its rows, and the baseline that it must beat."""

    number: str
    source: str
    """The data, how much of it, and how tuning was kept apart from it."""
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = field(default=())

    def text(self) -> str:
        cells = [[_cell(value) for value in row] for row in (self.columns, *self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([f"## {self.number}", self.source, "", lines[0], rule, *lines[1:], *self.notes, ""])


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """P(a positive's value > a negative's), ties counting half; NaN without both."""
    if not positive or not negative:
        return math.nan
    ranked = sorted([(value, 1) for value in positive] + [(value, 0) for value in negative])
    above, i = 0.0, 0
    seen = 0
    while i < len(ranked):
        j = i
        while j < len(ranked) and ranked[j][0] == ranked[i][0]:
            j += 1
        own = sum(label for _, label in ranked[i:j])
        above += own * (seen + (j - i - own) / 2)
        seen += j - i - own
        i = j
    return above / (len(positive) * len(negative))


def interval(groups: Sequence[T], value: Callable[[Sequence[T]], float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of ``value`` over ``groups`` (sessions, cases: what is independent)."""
    rng = random.Random(7)
    found = sorted(v for _ in range(ROUNDS) if not math.isnan(v := value(rng.choices(groups, k=len(groups)))))
    return (
        (found[int(0.025 * len(found))], found[int(0.975 * len(found)) - 1])
        if found
        else (math.nan, math.nan)
    )


def quantiles(values: Iterable[float], at: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)) -> list[float]:
    """Nearest-rank quantiles; NaN of nothing."""
    ordered = sorted(values)
    return [ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else math.nan for q in at]


def bits(labels: Iterable[Hashable]) -> float:
    """Shannon entropy of the labels' distribution, in bits."""
    counts = Counter(labels)
    total = sum(counts.values())
    return -sum(n / total * math.log2(n / total) for n in counts.values()) if total else 0.0


def brier_skill(forecast: Sequence[float], happened: Sequence[bool], base: Sequence[float]) -> float:
    """1 - Brier(forecast) / Brier(base), where ``base`` is the rate known from other data; NaN of nothing."""
    error = sum((p - y) ** 2 for p, y in zip(forecast, happened, strict=True))
    reference = sum((p - y) ** 2 for p, y in zip(base, happened, strict=True))
    return 1.0 - error / reference if reference else math.nan
