"""Fit the weights of `notes/said` to the cases of `cases/tune`, and judge them on those of `cases/left_out`.

    python -m research.said.train [--write]

Logistic regression with an L1 penalty, by proximal gradient steps. What a case marks is one example for; each
clause that it does not mark, and each sentence without a mark, is one against.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np

import context_graph.notes.said as said
from context_graph.notes.said.evidence import Reading
from context_graph.notes.said.reading import Prompt
from research.said.cases import Case, read

OUT: Final = Path(said.__file__).parent / "weights.json"
PAIRS_COST: Final = 1.6
"""The penalty on a pair of signs, beside that on a single one."""
LEAST: Final = 4
"""Examples in which a kind of evidence must occur."""
Example = tuple[list[str], str]


def examples(case: Case) -> list[Example]:
    """The spans of a case with what each is: `rule`, `decision`, or `none`."""
    reading = Reading(Prompt(case.prompt))
    found: list[Example] = []
    for at, sentence in enumerate(reading.prompt.sentences):
        labels = [_label(case, reading.prompt.whole(one.text)) for one in sentence.clauses]
        count = len(labels)
        start = 0
        while start < count:
            end = start + 1
            while end < count and labels[end] == labels[start]:
                end += 1
            found.append((reading.evidence(at, start, end), labels[start]))
            if labels[start] == "none" and end - start > 1:
                found += [(reading.evidence(at, one, one + 1), "none") for one in range(start, end)]
            start = end
        if len(set(labels)) > 1:
            found.append((reading.evidence(at, 0, count), "mixed"))
    return found


def _squeezed(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _label(case: Case, clause: str) -> str:
    inner = _squeezed(clause)
    for name, marked in (("rule", case.rules), ("decision", case.decisions)):
        for one in marked:
            outer = _squeezed(one)
            if inner and (inner in outer or (len(outer) > 0.7 * len(inner) and outer in inner)):
                return name
    return "none"


def fitted(rows: list[Example], name: str, other: str, l1: float, against: float = 1.0) -> dict[str, float]:
    """Weights that tell ``name`` from all but ``other``."""
    used = [(evidence, label) for evidence, label in rows if label not in (other, "mixed")]
    seen = Counter(one for evidence, _ in used for one in evidence)
    names = sorted(one for one, times in seen.items() if times >= LEAST)
    column = {one: at for at, one in enumerate(names)}
    x = np.zeros((len(used), len(names)), np.float32)
    for row, (evidence, _) in enumerate(used):
        x[row, [column[one] for one in evidence if one in column]] = 1.0
    y = np.array([label == name for _, label in used], np.float32)
    weight = (np.where(y > 0, 1.0, against) / len(used)).astype(np.float32)
    free = np.array([one == "bias" for one in names])
    w = np.zeros(len(names), np.float32)
    v, t = w.copy(), 1.0
    step = 4.0 / _largest(x, weight)
    pair = np.where(["+" in one for one in names], PAIRS_COST, 1.0).astype(np.float32)
    for _ in range(500):
        p = 1 / (1 + np.exp(-(x @ v)))
        gradient = x.T @ ((p - y) * weight)
        new = v - step * gradient
        new = np.where(free, new, np.sign(new) * np.maximum(np.abs(new) - step * l1 * pair, 0))
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        v, w, t = new + (t - 1) / t_new * (new - w), new, t_new
    return {one: round(float(value), 3) for one, value in zip(names, w, strict=True) if abs(value) > 0.004}


def _largest(x: np.ndarray, weight: np.ndarray) -> float:
    """The largest eigenvalue of the weighted Gram matrix, by powers."""
    v = np.ones(x.shape[1], np.float32)
    for _ in range(30):
        v = x.T @ ((x @ v) * weight)
        size = float(np.linalg.norm(v))
        v /= size
    return 1.1 * size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--l1", type=float, default=0.0012)
    parser.add_argument("--rule-floor", type=float, default=0.0)
    parser.add_argument("--decision-floor", type=float, default=0.0)
    given = parser.parse_args()
    rows = [one for case in read("tune") for one in examples(case)]
    print(Counter(label for _, label in rows))
    found = {
        "rule": fitted(rows, "rule", "decision", given.l1),
        "decision": fitted(rows, "decision", "rule", given.l1),
        "rule_floor": given.rule_floor,
        "decision_floor": given.decision_floor,
    }
    print({name: len(found[name]) for name in ("rule", "decision")})
    if given.write:
        OUT.write_text(json.dumps(found, ensure_ascii=False, indent=0, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
