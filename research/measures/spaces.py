"""What each part of recall's ranking is worth, and what each of the 13 spaces would add to it, on three
tasks.

The first table leaves one part out of the shipped ranking. The second puts a space's cosine with the
query, as a z-score over the store, beside the own scores, before neighbours and sessions add theirs, for
queries of one kind. Kind and weight are chosen on all groups but one (a LoCoMo conversation, a fifth of
CoSQA's queries, a project) by the mean of the three tasks, and measured there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from research.fit.ranking_cases import MEASURES, TASKS, Case, Folds, Values, cases
from research.measures.report import Data, Table

from context_graph.memory.index.blend import DEFAULT, Blend, asks_when, lead_of
from context_graph.model.spaces import DIM, SLICES, SPACES

STEPS: Final = (0.1, 0.2, 0.4)
PARTS: Final[dict[str, Blend]] = {
    "Semantic (cosine)": replace(DEFAULT, dense=0.0, dense_plain=0.0),
    "Terms (exact: BM25)": replace(DEFAULT, lexical=0.0, lexical_plain=0.0),
    "Temporal (words of time, when asked)": replace(DEFAULT, time=0.0),
    "more meaning for plain queries": replace(
        DEFAULT, lexical_plain=DEFAULT.lexical, dense_plain=DEFAULT.dense
    ),
    "the first line": replace(DEFAULT, lead=1.0, lead_dense=0.0),
    "names": replace(DEFAULT, name=0.0),
    "less for what asks": replace(DEFAULT, question=0.0),
    "what follows a question": replace(DEFAULT, after_question=0.0),
    "the one before": replace(DEFAULT, back=0.0),
    "session": replace(DEFAULT, session=0.0),
}
"""What recall uses, and the ranking without it. The other spaces are in no part of it."""


def _says(pattern: str) -> Callable[[str], bool]:
    found = re.compile(rf"\b({pattern})\b", re.IGNORECASE)
    return lambda text: found.search(text[:200]) is not None


KINDS: Final[dict[str, Callable[[str], bool]]] = {
    "any": lambda text: True,
    "when": asks_when,
    "why": _says("why|how come|reasons?|causes?|caused|because"),
    "who": _says("who|whom|whose"),
    "would": _says("would|could|might|should|likely|if"),
    "aim": _says("goals?|plans?|planning|wants?|aims?|purpose|hopes?|dreams?|intends?|going to"),
    "order": _says("before|after|then|next|first|last|previous|recent|recently|since|until"),
    "feel": _says("feel|feels|feeling|felt|emotions?|react|reaction|happy|afraid|proud"),
    "symbol": lambda text: re.search(r"\w_\w|\w\(\)|[a-z][A-Z]|\w/\w|\w\.\w", text) is not None,
    "long": lambda text: bool(lead_of(text)),
}
"""What a query may ask; the kinds are not exclusive."""


def tables(data: Data) -> list[Table]:
    """One row a part, one a space; empty if a task's data is missing. Cost: about two minutes."""
    asked = [one for one in cases(data) if one.plain]
    if not asked:
        return []
    folds = Folds(asked)
    lists, points = _ranked(asked, DEFAULT)
    counts = ", ".join(f"{task} {sum(one.task == task for one in asked)}" for task in TASKS)
    return [_parts(asked, folds, lists, points, counts), _spaces(asked, folds, lists, points, counts)]


def _ranked(asked: Sequence[Case], blend: Blend) -> tuple[list[list[int]], Values]:
    lists = []
    for one in asked:
        one.score(blend)
        lists.append(one.best(blend))
    return lists, np.array([one.points(best) for one, best in zip(asked, lists, strict=True)])


def _parts(asked: list[Case], folds: Folds, lists: list[list[int]], points: Values, counts: str) -> Table:
    scored = [f"{100 * points[folds.task == at].mean():.1f}" for at in range(len(TASKS))]
    rows: list[list[object]] = [["the ranking as it is", "", *scored]]
    for name, blend in PARTS.items():
        other, left = _ranked(asked, blend)
        changed = sum(a != b for a, b in zip(lists, other, strict=True)) / len(lists)
        rows.append(
            [
                f"without {name}",
                f"{100 * changed:.1f} %",
                *(folds.interval(left - points, at) for at in range(3)),
            ]
        )
    measured = "; ".join(f"{task}: {measure}" for task, measure in zip(TASKS, MEASURES, strict=True))
    notes = (f"points of {measured}.", "The other spaces are in no part of the ranking.")
    columns = ("", "lists changed", *TASKS)
    return Table("recall's ranking, one part left out", f"queries: {counts}", columns, rows, notes)


def _spaces(asked: list[Case], folds: Folds, lists: list[list[int]], points: Values, counts: str) -> Table:
    kinds = np.array([[ask(one.text) for ask in KINDS.values()] for one in asked])
    # [case, space, step]
    gains, changed = np.zeros((2, len(asked), len(SPACES), len(STEPS)))
    for at, one in enumerate(asked):
        _try_spaces(one, lists[at], points[at], gains[at], changed[at])
    rows = [_space(folds, kinds, gains[:, at], changed[:, at], name) for at, name in enumerate(SPACES)]
    source = f"queries: {counts}; kind and weight chosen on all groups but one and measured on that one"
    notes = ("the change in each task's points; chosen: kinds of queries and weights, over the groups.",)
    columns = ("space", "lists changed", *TASKS, "chosen")
    return Table("what each space would add to recall", source, columns, rows, notes)


def _try_spaces(one: Case, best: list[int], points: float, gains: Values, changed: Values) -> None:
    """Rank with each space at each weight. Cost: a pass over the store for each."""
    base = one.score(DEFAULT)
    own = np.array(base[: one.rows], np.float32)
    matrix = _matrix(one)
    query = np.frombuffer(one.store.provider.query(one.text, *_counts(one)).embedding, np.float32)
    for at, space in enumerate(SPACES):
        cosine = matrix[: one.rows, SLICES[space]] @ query[SLICES[space]]
        spread = float(cosine.std())
        if spread < 1e-9:
            continue
        score = (cosine - cosine.mean()) / spread
        for step, weight in enumerate(STEPS):
            np.frombuffer(base, np.float32)[: one.rows] = own + np.float32(weight) * score
            found = one.best(DEFAULT)
            changed[at, step] = found != best
            gains[at, step] = one.points(found) - points


def _counts(one: Case) -> tuple[Sequence[int], int]:
    index = one.store.index
    return (
        (index.piece_counts, index.pieces) if one.rows == len(index.rows) else index.counted_before(one.rows)
    )


_MATRICES: Final[dict[int, NDArray[np.float32]]] = {}


def _matrix(one: Case) -> NDArray[np.float32]:
    key = id(one.store)
    if key not in _MATRICES:
        _MATRICES[key] = np.stack(one.store.vectors)
        if _MATRICES[key].shape[1] != DIM:
            raise ValueError("an embedding of another length")
    return _MATRICES[key]


def _space(folds: Folds, kinds: NDArray[np.bool_], gains: Values, changed: Values, name: str) -> list[object]:
    """The row of one space: [case, step] -> chosen among nothing and each kind at each weight."""
    by_kind = [gains * kinds[:, at, None] for at in range(len(KINDS))]
    variants = np.concatenate([np.zeros((len(gains), 1)), *by_kind], axis=1)
    chosen = folds.chosen(variants)
    each = np.arange(len(gains))
    gain = variants[each, chosen]
    moved = np.concatenate(
        [np.zeros((len(gains), 1)), *(changed * kinds[:, at, None] for at in range(len(KINDS)))], axis=1
    )
    names = ["none", *(f"{kind} {step}" for kind in KINDS for step in STEPS)]
    said = ", ".join(names[at] for at in sorted(set(chosen.tolist())))
    share = f"{100 * float(moved[each, chosen].mean()):.1f} %"
    return [name, share, *(folds.interval(gain, at) for at in range(len(TASKS))), said]
