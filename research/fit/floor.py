"""Fit how likely a memory is what was asked for, and print what memory/relevance.py has of it.

    python -m research.fit.floor --fit DATA

DATA is a folder with the data sets (`research/measures/report.py` names them).
`python -m research DATA --number relevance` judges the same fit on stores and questions that it did not see.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from research.fit.relevance_cases import cases, fitted

from context_graph.memory.relevance import Kind


def main() -> None:
    """Fit and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--fit", type=Path, required=True, metavar="DATA")
    known = cases(options.parse_args().fit)
    found = {kind: [round(float(one), 3) for one in fitted(known, kind)] for kind in Kind}
    print("_CONSTANT: Final[Mapping[Kind, float]] = {")
    for kind, (constant, *_) in found.items():
        print(f"    Kind.{kind.name}: {constant},")
    print("}\n_WEIGHTS: Final[Mapping[Kind, tuple[float, ...]]] = {")
    for kind, (_, *weights) in found.items():
        print(f"    Kind.{kind.name}: {tuple(weights)},")
    print("}")


if __name__ == "__main__":
    main()
