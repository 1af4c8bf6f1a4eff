"""Fit the weights of `notes/said` to the cases of `cases/tune`, and judge them on those of `cases/left_out`.

    python -m research.said.train [--write]

Logistic regression with an L1 penalty, by proximal gradient steps. What a case marks is one example for; each
clause that it does not mark, and each sentence without a mark, is one against.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np
from research.said.cases import Case, read

import context_graph.notes.said as said
from context_graph.notes.said.evidence import Reading
from context_graph.notes.said.reading import Prompt

OUT: Final = Path(said.__file__).parent / "weights.json"
PAIRS_COST: Final = 4.0
"""The penalty on a pair of signs, beside that on a single one."""
L1: Final = 0.00005
RULE_FLOOR: Final = 0.2
DECISION_FLOOR: Final = -0.3
STEPS: Final = 300
SEED: Final = 7
LEAST: Final = 5
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
            found.append((reading.evidence(at, start, end).names(), labels[start]))
            if labels[start] == "none" and end - start > 1:
                found += [(reading.evidence(at, one, one + 1).names(), "none") for one in range(start, end)]
            start = end
        if len(set(labels)) > 1:
            found.append((reading.evidence(at, 0, count).names(), "mixed"))
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


def together(cases: list[Case], seed: int) -> list[Case]:
    """Prompts made of two or three of ``cases`` of one language: what holds further among other things."""
    chance = random.Random(seed)
    found = []
    for language in sorted({one.language for one in cases}):
        mine = [
            one
            for one in cases
            if one.language == language and len(one.prompt) < 160 and "\n" not in one.prompt
        ]
        plain = [one for one in mine if not one.rules and not one.decisions]
        for one in mine:
            parts = [one, *chance.sample(plain, chance.choice((1, 1, 2)))]
            chance.shuffle(parts)
            texts = [part.prompt if part.prompt[-1] in ".?!。？！" else part.prompt + "." for part in parts]
            found.append(Case(language, " ".join(texts), one.rules, one.decisions))
    return found


class Sparse:
    """A matrix of zeros and ones by the columns of its rows' ones."""

    def __init__(self, rows: list[list[int]], width: int) -> None:
        self._columns = np.array([one for row in rows for one in row])
        self._lengths = np.array([len(row) for row in rows])
        self._starts = np.concatenate(([0], np.cumsum(self._lengths)[:-1]))
        self._width = width

    def times(self, v: np.ndarray) -> np.ndarray:
        return np.add.reduceat(v[self._columns], self._starts)

    def back(self, r: np.ndarray) -> np.ndarray:
        return np.bincount(self._columns, np.repeat(r, self._lengths), self._width)

    def largest(self, weight: np.ndarray) -> float:
        """The largest eigenvalue of the weighted Gram matrix, by powers, and a tenth more."""
        v = np.ones(self._width)
        size = 1.0
        for _ in range(20):
            v = self.back(self.times(v) * weight)
            size = float(np.linalg.norm(v))
            v /= size
        return 1.1 * size


def fitted(rows: list[Example], name: str, other: str, l1: float) -> dict[str, float]:
    """Weights that tell ``name`` from all but ``other``."""
    used = [(evidence, label) for evidence, label in rows if label not in (other, "mixed")]
    seen = Counter(one for evidence, _ in used for one in evidence)
    names = sorted(one for one, times in seen.items() if times >= LEAST)
    column = {one: at for at, one in enumerate(names)}
    rows_of = [[column[one] for one in evidence if one in column] for evidence, _ in used]
    x = Sparse(rows_of, len(names))
    y = np.array([label == name for _, label in used], float)
    weight = np.full(len(used), 1 / len(used))
    free = np.array([one == "bias" for one in names])
    pair = np.where(["+" in one for one in names], PAIRS_COST, 1.0)
    w = np.zeros(len(names))
    v, t = w.copy(), 1.0
    step = 4.0 / x.largest(weight)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x.times(v)))
        new = v - step * x.back((p - y) * weight)
        new = np.where(free, new, np.sign(new) * np.maximum(np.abs(new) - step * l1 * pair, 0))
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        v, w, t = new + (t - 1) / t_new * (new - w), new, t_new
    return {one: round(float(value), 3) for one, value in zip(names, w, strict=True) if abs(value) > 0.004}


def training_rows(cases: list[Case]) -> list[Example]:
    """The examples of ``cases``: each alone, only what it marks, and among others."""
    bare = [
        Case(one.language, each, (each,), ()) for one in cases for each in one.rules if each != one.prompt
    ]
    bare += [
        Case(one.language, each, (), (each,)) for one in cases for each in one.decisions if each != one.prompt
    ]
    return [one for case in cases + bare + together(cases, SEED) for one in examples(case)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--l1", type=float, default=L1)
    parser.add_argument("--rule-floor", type=float, default=RULE_FLOOR)
    parser.add_argument("--decision-floor", type=float, default=DECISION_FLOOR)
    given = parser.parse_args()
    rows = training_rows(read("tune"))
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
