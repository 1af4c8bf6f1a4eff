"""Print, for each number that the product shows, how it is spread and what it predicts, beside a baseline.

    python -m research DATA [--number NAME ...]

DATA is a folder with the data sets (`research/measures/report.py` names them), or with your own Claude Code
transcripts (`~/.claude/projects/NAME`): then only what needs no labels is measured. Nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

from research.measures.report import Data

MEASURES: Final[tuple[str, ...]] = (
    "contradictions",
    "consciousness",
    "forecast",
    "salience",
    "pulse",
    "continuity",
    "earlier",
    "files",
    "ic",
    "state",
    "circles",
    "spaces",
    "relevance",
    "compaction",
    "tokens",
)
"""Modules of `measures`, in the order of printing; each has ``tables(data) -> list[Table]``."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m research", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--number", action="append", choices=MEASURES, help="only this; may be repeated")
    options = parser.parse_args(argv)
    if not options.data.is_dir():
        parser.error(f"{options.data} is not a folder")
    for name in options.number or MEASURES:
        for table in import_module(f"research.measures.{name}").tables(Data(options.data)):
            print(table.text(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
