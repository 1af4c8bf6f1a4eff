"""Judge `notes/said` on the cases of `cases/tune`: each fifth by weights that are fitted to the others.

python -m research.said.folds [--folds 5]
"""

from __future__ import annotations

import argparse
from collections import defaultdict

from research.said.cases import read
from research.said.judge import Marked, add, show
from research.said.train import DECISION_FLOOR, L1, RULE_FLOOR, fitted, training_rows

from context_graph.notes.said import finding
from context_graph.notes.said.scoring import weights_of


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folds", type=int, default=5)
    count = parser.parse_args().folds
    cases = read("tune")
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * 6)
    for fold in range(count):
        rows = training_rows([one for at, one in enumerate(cases) if at % count != fold])
        made = {
            "rule": weights_of(fitted(rows, "rule", "decision", L1), RULE_FLOOR),
            "decision": weights_of(fitted(rows, "decision", "rule", L1), DECISION_FLOOR),
        }
        finding.weights = made.__getitem__  # type: ignore[assignment]  # those that ship have seen all cases
        for one in cases[fold::count]:
            says = one.rules + one.decisions
            add(counts, Marked(one.language, one.prompt, says, bool(says)))
    show(counts)


if __name__ == "__main__":
    main()
