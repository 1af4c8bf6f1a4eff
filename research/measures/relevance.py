"""Relevance: what a prompt brings and what it should not, on stores and questions that no fit saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from research.fit.relevance_cases import ODDS, Case, cases, cross_validated
from research.measures.report import Data, Table, auc, interval

from context_graph.config import Settings
from context_graph.memory.asked import NAMES
from context_graph.memory.relevance import Kind, floor_unasked, is_brought
from context_graph.model.memory import MIN_RELEVANCE

_BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
_SIZES = ((1, 20), (21, 300), (301, 1000))
_FLOORS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Settings of memory_floor."""
_HOW = (
    "weights fitted without the project, talk, list of facts, or fifth of the code queries; "
    "foreign questions that no fit saw"
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with the memory that it found most above its bar."""

    case: Case
    likely: float
    """0 where nothing was found."""
    bar: str
    right: bool
    signs: tuple[float, ...] = ()

    def above(self, floor: float) -> bool:
        """Whether a prompt brings it at that setting of memory_floor."""
        signs = dict(zip(NAMES, self.signs, strict=False))
        return self.likely > 0.0 and is_brought(floor, self.bar, self.likely, signs)


def tables(data: Data) -> list[Table]:
    """Cost: a minute."""
    if not (data.locomo.exists() and data.cosqa.exists() and data.handover.exists()):
        return []
    asked = cases(data.folder, judged=True)
    values = cross_validated(cases(data.folder), asked)
    judged = [_best(one, found) for one, found in zip(asked, values, strict=True)]
    return [_brought(judged), _foreign(judged), _handover(judged), _reliability(asked, values)]


def _best(case: Case, likely: Sequence[float]) -> Judged:
    if not likely:
        return Judged(case, 0.0, Kind.TEXT, right=False)
    floor = Settings().memory_floor
    above = [value / floor_unasked(floor, found.bar) for value, found in zip(likely, case.found, strict=True)]
    found, highest = case.found[above.index(max(above))], likely[above.index(max(above))]
    return Judged(case, highest, found.bar, found.answers, found.signs)


def _groups(judged: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    for kind in dict.fromkeys(one.case.kind for one in judged):
        for low, high in _SIZES:
            here = [one for one in judged if one.case.kind == kind and low <= one.case.size <= high]
            if here:
                yield f"{kind}, {low} to {high}", here


def _brought(judged: Sequence[Judged]) -> Table:
    rows: list[list[object]] = []
    for name, here in _groups(judged):
        for label in ("own", "own short"):
            some = [one for one in here if one.case.label == label]
            if not some:
                continue
            answered = [one for one in some if one.case.answered]
            row: list[object] = [name, "whole" if label == "own" else "first line", len(some), len(answered)]
            asked_for = [one.likely >= MIN_RELEVANCE for one in some]
            brought = [one.above(Settings().memory_floor) for one in some]
            for shown in (asked_for, brought):
                right = sum(one.right for one, is_shown in zip(some, shown, strict=True) if is_shown)
                row += [sum(shown) / len(some), right / max(1, len(answered)), right / max(1, sum(shown))]
            foreign = [one.likely for one in here if not one.case.own]
            row.append(auc([one.likely for one in answered if one.right], foreign))
            rows.append(row)
    floors = [f"{how} {what}" for how in ("recall", "prompt") for what in _WHAT]
    columns = ("stores", "prompt", "asked", "with answer", *floors, "AUC against foreign")
    return Table("relevance: a store's own questions, the best memory", _HOW, columns, rows)


_WHAT = ("brings", "right, of answered", "right, of brought")


def _foreign(judged: Sequence[Judged]) -> Table:
    rows: list[list[object]] = []
    for name, here in _groups(judged):
        for label in sorted({one.case.label for one in here if not one.case.own}):
            some = [one for one in here if one.case.label == label]
            rows.append([name, label, len(some)] + [100 * _share(some, floor) for floor in _FLOORS])
    columns = ("stores", "asked", "questions", *(f"of 100 at {floor}" for floor in _FLOORS))
    return Table("relevance: questions that have nothing to do with the store", _HOW, columns, rows)


def _share(some: Sequence[Judged], floor: float) -> float:
    return sum(one.above(floor) for one in some) / len(some)


def _handover(judged: Sequence[Judged]) -> Table:
    own = [one for one in judged if one.case.kind == "summaries" and one.case.label == "own"]
    projects = sorted({one.case.store for one in own})
    rows: list[list[object]] = []
    for floor in _FLOORS:

        def right(names: Sequence[str], floor: float = floor) -> float:
            some = [one for name in names for one in own if one.case.store == name and one.case.answered]
            return sum(one.right and one.above(floor) for one in some) / len(some) if some else 0.0

        shown = [one for one in own if one.above(floor)]
        low, high = interval(projects, right)
        precision = sum(one.right for one in shown) / max(1, len(shown))
        rows.append([floor, len(shown) / len(own), right(projects), f"{low:.2f} to {high:.2f}", precision])
    columns = (
        "floor",
        "prompts that bring one",
        "a related session shown",
        "95 % over projects",
        "precision",
    )
    source = f"{len(own)} issues in {len(projects)} projects; {_HOW}"
    return Table("relevance: sessions that change the same files", source, columns, rows)


def _reliability(asked: Sequence[Case], values: Sequence[Sequence[float]]) -> Table:
    """At the odds of the fit, each kind of memory by itself."""
    rows: list[list[object]] = []
    notes = []
    for kind in Kind:
        pairs = [
            (p, found.answers, "" if one.own else one.label)
            for one, some in zip(asked, values, strict=True)
            for found, p in list(zip(one.found, some, strict=True))[: None if one.own else 3]
            if found.kind is kind
        ]
        sorts = {label for _, _, label in pairs if label}
        size = {
            key: sum((answers, label) == key for _, answers, label in pairs)
            for key in {(answers, label) for _, answers, label in pairs}
        }
        share = {
            (answers, label): (1.0 if answers else ODDS / 2 / (len(sorts) if label else 1))
            / size[answers, label]
            for answers, label in size
        }
        weighed = [(p, answers, share[answers, label]) for p, answers, label in pairs]
        for low, high in pairwise(_BINS):
            here = [one for one in weighed if low <= one[0] < high or one[0] == 1.0 == high]
            whole = sum(weight for _, _, weight in here)
            if whole:
                told = sum(p * weight for p, _, weight in here) / whole
                true = sum(weight for _, answers, weight in here if answers) / whole
                rows.append([kind.value, f"{low:.1f} to {high:.1f}", len(here), told, true])
        whole = sum(weight for _, _, weight in weighed)
        brier = sum(weight * (p - answers) ** 2 for p, answers, weight in weighed) / whole
        base = ODDS / (1.0 + ODDS) ** 2
        notes.append(f"{kind.value}: Brier {brier:.3f}; {base:.3f} for always {1 / (1 + ODDS):.2f}")
    columns = ("memories", "told", "seen", "told, mean", "were answers")
    return Table("relevance: reliability", _HOW, columns, rows, notes)
