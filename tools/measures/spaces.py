"""What each of the 13 spaces would add to recall's ranking, on three tasks at once.

Recall ranks by words and the Semantic space; its order is the baseline. A space's cosine with the query, as a
z-score over the store, is added at one weight for every query. The weight is chosen on all groups but one (a
LoCoMo conversation, a fifth of CoSQA, a handover project) by the mean of the three tasks, and measured there.
"""

from __future__ import annotations

import gzip
import json
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from drift_data import hook_event
from measures.report import Data, Table

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benches.recall_data import cosqa, locomo

from context_graph.memory.context.summary import SessionWork
from context_graph.memory.embed import default_provider, dense_part
from context_graph.memory.index.blend import DEFAULT, Scores, Wanted, asks_when, hashes, rank
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.recall import _TIMES, MAX_QUERY_CHARS
from context_graph.model.memory import MemoryNode
from context_graph.model.spaces import DIM, SLICES, SPACES
from context_graph.redact import Redactor

Values: TypeAlias = NDArray[np.float32]
TASKS: Final = ("LoCoMo", "CoSQA", "handover")
STEPS: Final = (0.0, 0.1, 0.2, 0.4, 0.8)
TOP: Final = 10
_FOLDS: Final = 5
_STORE: Final = b"a store of measures.spaces"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One query's lists, with a space at each weight."""

    group: tuple[str, str]
    changed: Values
    """1 where the first ten are not those of weight 0; [space, step]."""
    right: Values
    """recall@10, hit@10 or hit@5, by task; [space, step]."""


class Store:
    """Memories in an index of their own, with all their spaces."""

    def __init__(self) -> None:
        self.provider = default_provider()
        self.index = MemoryIndex(self.provider.digest, self.provider.vocabulary_size)
        self.index.store_uid = _STORE
        self.vectors: list[Values] = []
        self.scores = Scores()
        self.times = hashes(self.provider.encode(_TIMES).terms)

    def add(self, text: str, session: str | None, speaker: str | None = None) -> None:
        number = len(self.vectors) + 1
        encoded = self.provider.encode(text)
        node = MemoryNode(
            id=UUID(int=number),
            content=text,
            rationale="a memory of the measurement",
            session_id=session,
            metadata={"speaker": speaker} if speaker else {},
            created_at_ms=number,
            last_accessed_ms=number,
            commit_seq=number,
        )
        self.index.add(node, encoded)
        self.vectors.append(np.frombuffer(encoded.embedding, np.float32))

    def ask(self, text: str, gold: set[int], group: tuple[str, str], matrix: Values) -> Outcome:
        """The first lists at every weight of every space. Cost: a pass over the store for each."""
        text = text[:MAX_QUERY_CHARS]
        encoded = self.provider.query(text, self.index.piece_counts, self.index.pieces)
        times: array[int] | None = self.times if asks_when(text) else None
        wanted = Wanted(text, hashes(encoded.terms), dense_part(encoded.embedding), None, times)
        rank(self.index, wanted, self.index.rows.live, DEFAULT, self.scores)
        count = len(matrix)
        base = np.array(self.scores.total[:count], np.float32)
        query = np.frombuffer(encoded.embedding, np.float32)
        if len(query) != DIM:
            raise ValueError("an embedding of another length")
        shape = (len(SPACES), len(STEPS))
        changed, right = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        for at, space in enumerate(SPACES):
            own = matrix[:, SLICES[space]] @ query[SLICES[space]]
            spread = float(own.std())
            own = (own - own.mean()) / spread if spread > 0.0 else np.zeros_like(own)
            first: list[int] = []
            for step, weight in enumerate(STEPS):
                best = _best(base + weight * own)
                first = first or best
                changed[at, step] = best != first
                right[at, step] = _right(best, gold, group[0])
        return Outcome(group, changed, right)


def _best(scores: Values) -> list[int]:
    part = np.argpartition(-scores, min(TOP, len(scores) - 1))[: TOP + 1]
    return [int(row) for row in part[np.lexsort((part, -scores[part]))][:TOP]]


def _right(best: list[int], gold: set[int], task: str) -> float:
    if task == "handover":
        return float(bool(gold & set(best[:5])))
    found = len(gold & set(best))
    return found / len(gold)


def _collections(data: Data) -> Iterator[Outcome]:
    for task, collections in (("LoCoMo", locomo(data.locomo)), ("CoSQA", cosqa(data.cosqa, 0))):
        for one in collections:
            store = Store()
            for item in one.items:
                store.add(item.text, item.session, item.speaker)
            rows = {item.name: row for row, item in enumerate(one.items)}
            matrix = np.stack(store.vectors)
            for number, question in enumerate(one.questions):
                group = one.name if task == "LoCoMo" else str(number % _FOLDS)
                yield store.ask(
                    question.text, {rows[name] for name in question.answers}, (task, group), matrix
                )


def _handover(data: Data) -> Iterator[Outcome]:
    redactor = Redactor()
    stores: dict[str, tuple[Store, list[set[str]]]] = {}
    with gzip.open(data.handover, "rt", encoding="utf-8") as file:
        for line in file:
            raw = json.loads(line)
            store, files = stores.setdefault(raw["project"], (Store(), []))
            own = set(raw["files"])
            gold = {row for row, earlier in enumerate(files) if earlier & own}
            if gold:
                matrix = np.stack(store.vectors)
                yield store.ask(raw["prompt"], gold, ("handover", raw["project"]), matrix)
            name, work = f"{raw['project']}-{raw['num']}", SessionWork()
            work.absorb(
                (at, hook_event(name, at, event, redactor)) for at, event in enumerate(raw["events"], 1)
            )
            store.add(work.text(), name)
            files.append(own)


def tables(data: Data) -> list[Table]:
    """One row a space; empty if a task's data is missing. Cost: about a minute."""
    if not (data.locomo.exists() and data.cosqa.exists() and data.handover.exists()):
        return []
    outcomes = [*_collections(data), *_handover(data)]
    counts = ", ".join(f"{task} {sum(one.group[0] == task for one in outcomes)}" for task in TASKS)
    source = f"queries: {counts}; the weight chosen on all groups but one and measured on that one"
    rows = [_row(outcomes, at) for at in range(len(SPACES))]
    notes = (
        "delta: points of recall@10 (LoCoMo), hit@10 (CoSQA), hit@5 (handover), with a 95 % interval;",
        "weights: the chosen ones over the groups, lowest to highest. Semantic is in the baseline already.",
    )
    scored = {task: np.array([one.right[0, 0] for one in outcomes if one.group[0] == task]) for task in TASKS}
    rows.insert(0, ["recall as it is", "", *(f"{100 * scored[task].mean():.1f}" for task in TASKS), ""])
    columns = ("space", "lists changed", *TASKS, "weights")
    return [Table("what each space would add to recall", source, columns, rows, notes)]


def _row(outcomes: Sequence[Outcome], space: int) -> list[object]:
    tasks = np.array([TASKS.index(one.group[0]) for one in outcomes])
    right = np.stack([one.right[space] for one in outcomes])
    changed = np.stack([one.changed[space] for one in outcomes])
    groups = sorted({one.group for one in outcomes})
    chosen = np.zeros(len(outcomes), np.int64)
    steps = []
    for group in groups:
        held = np.array([one.group == group for one in outcomes])
        means = np.stack([right[~held & (tasks == at)].mean(axis=0) for at in range(len(TASKS))])
        chosen[held] = int(means.mean(axis=0).argmax())
        steps.append(STEPS[int(means.mean(axis=0).argmax())])
    every = np.arange(len(outcomes))
    gain = 100.0 * (right[every, chosen] - right[:, 0])
    cells = [_interval(gain[tasks == at]) for at in range(len(TASKS))]
    share = 100.0 * float(changed[every, chosen].mean())
    return [SPACES[space], f"{share:.1f} %", *cells, f"{min(steps)} to {max(steps)}"]


def _interval(gain: Values) -> str:
    half = 1.96 * float(gain.std()) / float(np.sqrt(len(gain)))
    return f"{float(gain.mean()):+.2f} +- {half:.2f}"
