"""Three tasks for recall's ranking, in indexes as the product keeps them: talk, code, and summaries of work.

LoCoMo: ten conversations, each turn a memory; every question is also asked with `they` for its names.
CoSQA: Python functions, without sessions and with twenty unlike ones in each. Handover: summaries of
agent sessions; a session's first prompt looks for earlier ones that changed a file which it will change.
What is measured: recall@10; hit@10; the mean of hit@1 and hit@5.
"""

from __future__ import annotations

import gzip
import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import numpy as np
from benches.memory.recall_data import cosqa, locomo
from numpy.typing import NDArray
from research.fit.drift_data import hook_event
from research.measures.report import Data

from context_graph.kernels import ranking
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.embed import default_provider
from context_graph.memory.index.blend import (
    Blend,
    Scores,
    Wanted,
    asks_when,
    hashes,
    names_in,
    read,
    score_each,
)
from context_graph.memory.index.blend import pass_on as pass_scores_on
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.recall import MAX_QUERY_CHARS, TIMES
from context_graph.model.memory import MemoryNode
from context_graph.redact import Redactor

Values = NDArray[np.float64]
TASKS: Final = ("LoCoMo", "CoSQA", "handover")
MEASURES: Final = ("recall@10", "hit@10", "hit@1, hit@5")
TOP: Final = 10
_FOLDS: Final = 5
_A_SESSION: Final = 20
_STORE: Final = b"a store of ranking_cases"


class Store:
    """Memories in an index, with all values of their embeddings."""

    def __init__(self) -> None:
        self.provider = default_provider()
        self.index = MemoryIndex(self.provider.digest, self.provider.vocabulary_size)
        self.index.store_uid = _STORE
        self.vectors: list[NDArray[np.float32]] = []
        self.scores = Scores()
        self.times = hashes(self.provider.encode(TIMES).terms)

    def add(self, text: str, session: str | None) -> None:
        number = len(self.vectors) + 1
        encoded = self.provider.encode(text)
        node = MemoryNode(
            id=UUID(int=number),
            content=text,
            rationale="a memory of the measurement",
            session_id=session,
            created_at_ms=number,
            last_accessed_ms=number,
            commit_seq=number,
        )
        self.index.add(node, encoded)
        self.vectors.append(np.frombuffer(encoded.embedding, np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One query of one store."""

    store: Store
    text: str
    right: frozenset[int]
    """Rows that answer it."""
    task: str
    group: str
    """What is left out together: a conversation, a fifth of CoSQA's queries, a project."""
    rows: int
    """The store's memories when it was asked."""
    plain: bool = True
    """As the data has it; not a variant of the query or of the store."""

    def wanted(self, blend: Blend) -> Wanted:
        """The query as recall reads it."""
        index, counts, total = self.store.index, self.store.index.piece_counts, self.store.index.pieces
        if self.rows < len(index.rows):
            counts, total = index.counted_before(self.rows)
        found = read(self.text, self.store.provider, counts, total, blend)
        return replace(found, times=self.store.times if asks_when(self.text) else None)

    def live(self) -> bytearray:
        index = self.store.index.rows
        return bytearray(b"\1") * self.rows + bytes(len(index) - self.rows)

    def score(self, blend: Blend) -> array[float]:
        """Own scores, without what neighbours add; overwritten by the store's next query."""
        score_each(self.store.index, self.wanted(blend), self.live(), blend, self.store.scores)
        return self.store.scores.base

    def best(self, blend: Blend) -> list[int]:
        """The ten best after `score`, which may have been changed."""
        live = self.live()
        pass_scores_on(self.store.index, live, blend, self.store.scores)
        return ranking.top(self.store.scores.total, live, TOP)

    def points(self, best: list[int]) -> float:
        """The task's measure of a list, [0, 1]."""
        found = [row in self.right for row in best]
        if self.task == "handover":
            return (any(found[:1]) + any(found[:5])) / 2
        return sum(found) / len(self.right)


def cases(data: Data) -> list[Case]:
    """All queries; empty if a task's data is missing. Cost: some seconds."""
    if not (data.locomo.exists() and data.cosqa.exists() and data.handover.exists()):
        return []
    return [*_talk(data), *_code(data), *_handover(data)]


def _filled(items: Iterable[tuple[str, str | None]]) -> Store:
    store = Store()
    for text, session in items:
        store.add(text, session)
    return store


def _talk(data: Data) -> Iterator[Case]:
    for talk in locomo(data.locomo):
        store = _filled((item.text, item.session) for item in talk.items)
        rows = {item.name: row for row, item in enumerate(talk.items)}
        for one in talk.questions:
            right = frozenset(rows[name] for name in one.answers)
            case = Case(store, one.text[:MAX_QUERY_CHARS], right, "LoCoMo", talk.name, len(talk.items))
            yield case
            text = case.text
            for name in names_in(text):
                text = text.replace(name, "they")
            yield replace(case, text=text, plain=False)


def _code(data: Data) -> Iterator[Case]:
    for a_session in (0, _A_SESSION):
        (code,) = cosqa(data.cosqa, a_session)
        store = _filled((item.text, item.session) for item in code.items)
        rows = {item.name: row for row, item in enumerate(code.items)}
        for number, one in enumerate(code.questions):
            right = frozenset(rows[name] for name in one.answers)
            group = str(number % _FOLDS)
            yield Case(store, one.text, right, "CoSQA", group, len(code.items), plain=not a_session)


def _handover(data: Data) -> Iterator[Case]:
    redactor = Redactor()
    stores: dict[str, tuple[Store, list[set[str]]]] = {}
    with gzip.open(data.handover, "rt", encoding="utf-8") as file:
        for line in file:
            raw = json.loads(line)
            store, files = stores.setdefault(raw["project"], (Store(), []))
            own = set(raw["files"])
            right = frozenset(row for row, earlier in enumerate(files) if earlier & own)
            if right:
                text = raw["prompt"][:MAX_QUERY_CHARS]
                yield Case(store, text, right, "handover", raw["project"], len(files))
            name, work = f"{raw['project']}-{raw['num']}", SessionWork()
            work.absorb(
                (at, hook_event(name, at, event, redactor)) for at, event in enumerate(raw["events"], 1)
            )
            store.add(work.text(), name)
            files.append(own)


class Folds:
    """Chooses among variants by all groups but one, and says what that gives on the one left out."""

    def __init__(self, asked: list[Case]) -> None:
        self.task = np.array([TASKS.index(one.task) for one in asked])
        self.plain = np.array([one.plain for one in asked])
        names = [(one.task, one.group) for one in asked]
        self.groups = sorted(set(names))
        self.group = np.array([self.groups.index(name) for name in names])

    def mean(self, points: Values, where: NDArray[np.bool_]) -> Values:
        """Mean over the tasks of each variant's mean points; [case, variant] -> [variant]."""
        each = [points[where & (self.task == at)].mean(axis=0) for at in range(len(TASKS))]
        return np.asarray(np.mean(each, axis=0))

    def chosen(self, points: Values) -> NDArray[np.int64]:
        """For each case the variant that is best on the other groups; the first of equals."""
        best = np.zeros(len(points), np.int64)
        for at in range(len(self.groups)):
            out = self.group == at
            best[out] = int(np.argmax(np.round(self.mean(points, ~out), 6)))
        return best

    def interval(self, gain: Values, task: int) -> str:
        """Mean and 95 % interval of a task's gain over its queries as the data has them, in points."""
        here = 100.0 * gain[(self.task == task) & self.plain]
        return f"{here.mean():+.2f} +- {1.96 * here.std() / np.sqrt(len(here)):.2f}"
