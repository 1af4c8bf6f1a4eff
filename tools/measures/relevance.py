"""Relevance: whether its probability holds in stores that it was not fitted on, and what the floor costs."""

from __future__ import annotations

from context_graph.model.memory import MIN_RELEVANCE
from measures.report import Data, Table, auc, interval
from relevance_cases import Case, cases, cross_validated

_BINS = 5
_HOW = "weights fitted without the store, large or in part; general questions and nonsense not in the fit"


def tables(data: Data) -> list[Table]:
    """Cost: a minute."""
    if not (data.locomo.exists() and data.cosqa.exists() and data.handover.exists()):
        return []
    asked = cases(data.folder, judged=True)
    judged = list(zip(asked, cross_validated(cases(data.folder), asked), strict=True))
    return [_kept(judged), _reliability(judged)]


def _kept(judged: list[tuple[Case, float]]) -> Table:
    rows = []
    for kind in dict.fromkeys(one.kind for one, _ in judged):
        for young in (True, False):
            here = [(one, p) for one, p in judged if one.kind == kind and (one.size <= 20) == young]
            own = [(one, p) for one, p in here if one.label == "own" and one.hit]
            if not own:
                continue
            for label in sorted({one.label for one, _ in here} - {"own"}):
                foreign = [(one, p) for one, p in here if one.label == label]
                rows.append(_row(f"{kind}, {'1 to 20' if young else 'larger'}", label, own, foreign))
    columns = ("stores", "asked", "AUC", "95 %", "answers kept", "foreign answered, of 100")
    return Table("relevance: floor", f"floor {MIN_RELEVANCE}; {_HOW}", columns, rows)


def _row(
    stores: str, label: str, own: list[tuple[Case, float]], foreign: list[tuple[Case, float]]
) -> list[object]:
    names = sorted({one.store for one, _ in own} & {one.store for one, _ in foreign})

    def value(some: object) -> float:
        chosen = list(some)  # type: ignore[call-overload]
        yes = [p for name in chosen for one, p in own if one.store == name]
        return auc(yes, [p for name in chosen for one, p in foreign if one.store == name])

    low, high = interval(names, value) if len(names) > 1 else (float("nan"), float("nan"))
    kept = sum(p >= MIN_RELEVANCE for _, p in own) / len(own)
    passed = 100 * sum(p >= MIN_RELEVANCE for _, p in foreign) / len(foreign)
    return [stores, label, value(names), f"{low:.3f} to {high:.3f}", kept, passed]


def _reliability(judged: list[tuple[Case, float]]) -> Table:
    """Answered and general questions and nonsense, each half weighed alike, as in the fit."""
    used = [(one, p) for one, p in judged if (one.label == "own" and one.hit) or one.label != "own"]
    answered = sum(one.label == "own" for one, _ in used)
    weight = {True: 0.5 / answered, False: 0.5 / (len(used) - answered)}
    rows: list[list[object]] = []
    for at in range(_BINS):
        low, high = at / _BINS, (at + 1) / _BINS
        here = [(one.label == "own", p) for one, p in used if low <= p < high or (p == 1.0 == high)]
        whole = sum(weight[own] for own, _ in here)
        if whole:
            told = sum(weight[own] * p for own, p in here) / whole
            true = sum(weight[own] for own, _ in here if own) / whole
            rows.append([f"{low:.1f} to {high:.1f}", len(here), told, true])
    brier = sum(weight[one.label == "own"] * (p - (one.label == "own")) ** 2 for one, p in used)
    return Table(
        "relevance: reliability",
        _HOW,
        ("told", "questions", "told, mean", "answered"),
        rows,
        [f"Brier {brier:.3f}; 0.250 for always one half"],
    )
