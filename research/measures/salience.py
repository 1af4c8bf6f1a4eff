"""Salience against later need: sessions of SWE-bench projects replayed in order, and LoCoMo's conversations.

A memory's salience at a time uses only what was known then. Needed later, and never shown to the product: a
later session's patch changes a file that the memory's session changed, or a later session uses it by the
ledger (handover_dev); a question's evidence (LoCoMo).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from research.measures.replayed import Replay, replays
from research.measures.report import Data, Table, auc, interval, quantiles

from context_graph.consolidation.finders import salience
from context_graph.consolidation.finders.salience import summary_facts
from context_graph.consolidation.finders.words import informative_words
from context_graph.consolidation.snapshot import F64, Snapshot
from context_graph.memory.embed import default_provider
from context_graph.model.memory import MemoryNode
from context_graph.model.spaces import SLICES, SPACES, WEIGHTS

AT: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Shares of a project's sessions before which its store is judged."""
REFIT: Final = "the same evidence, powers fitted on the other projects"


def tables(data: Data) -> list[Table]:
    """Four tables: sessions, the ledger's uses, conversations, how salience is spread."""
    made: list[Table] = []
    spread: list[tuple[str, Snapshot]] = []
    if data.handover.exists():
        projects = list(replays(data.handover, AT))
        made += [_sessions(projects, "patch"), _sessions(projects, "use"), _ledger(projects)]
        spread += [(f"{one.project}: summaries", one.moments[-1].snap) for one in projects]
    if data.locomo.exists():
        talks = _talks(data.locomo)
        made.append(_conversations(talks))
        spread.append(("LoCoMo: turns", talks[0].snap))
    return [*made, _spread(spread)] if spread else []


# Sessions


@dataclass(slots=True)
class _Judged:
    """One store at one moment."""

    project: str
    memory: list[str]
    """Names, the same at every moment: what is drawn for an interval."""
    need: NDArray[np.bool_]
    snap: Snapshot


def _judged(replay: Replay, need: str) -> list[_Judged]:
    used = {(by, of) for by, of, was_used in replay.brought if was_used}
    found = []
    for moment in replay.moments:
        later = range(moment.session, len(replay.sessions))
        needed = [
            any((by, row) in used for by in later)
            if need == "use"
            else any(replay.sessions[by].files & replay.sessions[row].files for by in later)
            for row in moment.rows
        ]
        names = [f"{replay.project}-{row}" for row in moment.rows]
        found.append(_Judged(replay.project, names, np.array(needed), moment.snap))
    return found


def _sessions(projects: Sequence[Replay], need: str) -> Table:
    judged = [one for replay in projects for one in _judged(replay, need)]
    predictors: dict[str, Callable[[Snapshot], F64]] = {
        "salience": salience.score,
        "salience before": formerly,
        "recency": lambda snap: snap.created_ms.astype(np.float64),
        "importance": lambda snap: snap.importance,
        "length": lambda snap: np.array([len(snap.text(row)) for row in range(len(snap))], np.float64),
        "uses in the ledger alone": lambda snap: snap.used.astype(np.float64),
        "shared files alone": lambda snap: summary_facts(snap).shared,
    }
    values = {name: [rank(one.snap) for one in judged] for name, rank in predictors.items()}
    values[REFIT] = _refitted(judged)
    names = [one.project for one in projects]
    rows: list[list[object]] = []
    for name, scores in values.items():
        per = [
            _within([(one, got) for one, got in zip(judged, scores, strict=True) if one.project == project])
            for project in names
        ]
        rows.append([name, _within(list(zip(judged, scores, strict=True))), *_drawn(judged, scores), *per])
    what = "a later patch changes a file of its patch" if need == "patch" else "a later session uses it"
    count = sum(len(one.need) for one in judged)
    return Table(
        f"salience of session summaries: {what}",
        f"handover_dev: {sum(len(one.sessions) for one in projects)} sessions, {count} memories at "
        f"{len(judged)} moments, {sum(int(one.need.sum()) for one in judged)} of them needed later",
        ["predictor", "AUC", "from", "to", *names],
        rows,
        [
            "AUC over pairs of memories of one store at one moment; 95 % interval over memories.",
            "The powers are round values chosen on these projects; the last row is what choosing is worth.",
        ],
    )


def _pairs(need: NDArray[np.bool_], scores: F64) -> F64:
    """[needed, not needed]: 1 where the needed one scores more, 0.5 where they are alike."""
    high, low = scores[need][:, None], scores[~need][None]
    return np.asarray((high > low) + 0.5 * (high == low))


def _within(judged: Sequence[tuple[_Judged, F64]]) -> float:
    pairs = [_pairs(one.need, scores) for one, scores in judged]
    count = sum(pair.size for pair in pairs)
    return float(sum(pair.sum() for pair in pairs) / count) if count else math.nan


def _drawn(judged: Sequence[_Judged], scores: Sequence[F64]) -> tuple[float, float]:
    pairs = [(one, _pairs(one.need, got)) for one, got in zip(judged, scores, strict=True)]

    def value(drawn: Sequence[str]) -> float:
        times = Counter(drawn)
        right = count = 0.0
        for one, pair in pairs:
            weight = np.array([times[name] for name in one.memory], np.float64)
            high, low = weight[one.need], weight[~one.need]
            right += float(high @ pair @ low)
            count += float(high.sum() * low.sum())
        return right / count if count else math.nan

    return interval(sorted({name for one in judged for name in one.memory}), value)


def _evidence(snap: Snapshot) -> F64:
    """log(1 + x) of each kind that these stores have, float64[n, 5]: salience is linear in them."""
    facts = summary_facts(snap)
    words = [informative_words(snap.text(row)) for row in range(len(snap))]
    kinds = [facts.shared, facts.calls, snap.used, snap.accesses, np.array(words)]
    return np.asarray(np.log1p(np.stack(kinds, axis=1)))


def _refitted(judged: Sequence[_Judged]) -> list[F64]:
    """Each store ranked by powers >= 0 that order the other projects' pairs best (pairwise logistic)."""
    evidence = [_evidence(one.snap) for one in judged]
    powers: dict[str, F64] = {}
    for project in {one.project for one in judged}:
        apart = [
            (known[one.need][:, None] - known[~one.need][None]).reshape(-1, known.shape[1])
            for one, known in zip(judged, evidence, strict=True)
            if one.project != project
        ]
        powers[project] = _ordering(np.concatenate(apart))
    return [known @ powers[one.project] for one, known in zip(judged, evidence, strict=True)]


def _ordering(apart: F64, rate: float = 0.5, rounds: int = 400) -> F64:
    powers = np.full(apart.shape[1], 0.1)
    for _ in range(rounds):
        wrong = 1.0 / (1.0 + np.exp(apart @ powers))
        powers = np.maximum(0.0, powers + rate * ((wrong[:, None] * apart).mean(axis=0) - 0.01 * powers))
    return powers


def _ledger(projects: Sequence[Replay]) -> Table:
    rows: list[list[object]] = []
    for part in [*([one] for one in projects), list(projects)]:
        found = Counter(
            (used, bool(replay.sessions[by].files & replay.sessions[of].files))
            for replay in part
            for by, of, used in replay.brought
        )
        hits, marked, shared = found[True, True], found[True, True] + found[True, False], 0
        shared = hits + found[False, True]
        name = part[0].project if len(part) == 1 else "all"
        rows.append([name, found.total(), marked, shared, hits / max(1, marked), hits / max(1, shared)])
    return Table(
        "'used' in the ledger: does the session change a file that the memory's session changed?",
        "handover_dev: the three memories that a recall of the issue brings to each session",
        ["project", "brought", "used", "files shared", "precision", "recall"],
        rows,
        ["Before: any three points of words, precision .11 at recall 1.00 (397 of 455 counted as used)."],
    )


# Conversations


@dataclass(slots=True)
class _Talk:
    name: str
    need: NDArray[np.bool_]
    snap: Snapshot


_DIALOGUE: Final = re.compile(r"D:?(\d+):(\d+)")


def _talks(path: Path) -> list[_Talk]:
    return [_talk(raw) for raw in json.loads(path.read_text(encoding="utf-8"))]


def _talk(raw: dict[str, Any]) -> _Talk:
    needed = {
        f"D{int(a)}:{int(b)}"
        for one in raw["qa"]
        if one["category"] != 5  # those that are not to be answered
        for a, b in _DIALOGUE.findall(str(one.get("evidence")))
    }
    turns = [
        (session, turn)
        for session, found in raw["conversation"].items()
        if re.fullmatch(r"session_\d+", session)
        for turn in found
    ]
    texts = [
        f"{turn['speaker']}: {turn['text']}".strip()
        + (f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else "")
        for _, turn in turns
    ]
    need = np.array([turn["dia_id"] in needed for _, turn in turns])
    return _Talk(raw["sample_id"], need, _of_texts(texts))


def _of_texts(texts: Sequence[str]) -> Snapshot:
    """Memories without any history, a minute apart, a month old."""
    from benches.consolidation.snapshots import of_memories

    provider, now = default_provider(), 1_700_000_000_000
    nodes = []
    for number, text in enumerate(texts):
        at = now - 30 * 86_400_000 + 60_000 * number
        embedding = provider.encode(text).embedding
        nodes.append(
            MemoryNode(
                id=UUID(int=number + 1),
                content=text,
                rationale="a turn",
                source="import",
                created_at_ms=at,
                last_accessed_ms=at,
                embedding=embedding,
            )
        )
    return of_memories(nodes, taken_ms=now)


def _half_used(talk: _Talk) -> tuple[F64, F64, NDArray[np.bool_]]:
    """(salience of turns, the same after every other answer was used three times, the turns to judge)."""
    answers = np.flatnonzero(talk.need)[::2]
    before = salience.score(talk.snap)
    talk.snap.used[answers] = 3
    after = salience.score(talk.snap)
    talk.snap.used[answers] = 0
    rest = np.ones(len(before), np.bool_)
    rest[answers] = False
    return before, after, rest


def _conversations(talks: Sequence[_Talk]) -> Table:
    predictors: dict[str, Callable[[Snapshot], F64]] = {
        "salience": salience.score,
        "salience before": formerly,
        "recency": lambda snap: snap.created_ms.astype(np.float64),
        "importance": lambda snap: snap.importance,
        "length": lambda snap: np.array([len(snap.text(row)) for row in range(len(snap))], np.float64),
    }
    rows: list[list[object]] = []
    for name, rank in predictors.items():
        rows.append([name, *_over_talks([(rank(one.snap), one.need) for one in talks])])
    halves = [(*_half_used(talk), talk.need) for talk in talks]
    rows.append(
        [
            "half of the answers used: salience of the rest before",
            *_over_talks([(before[rest], need[rest]) for before, _, rest, need in halves]),
        ]
    )
    rows.append(
        [
            "half of the answers used: salience of the rest after",
            *_over_talks([(after[rest], need[rest]) for _, after, rest, need in halves]),
        ]
    )
    rows.append(
        [
            "half of the answers used: gain of the rest",
            *_over_talks([((after - before)[rest], need[rest]) for before, after, rest, need in halves]),
        ]
    )
    turns = sum(len(one.need) for one in talks)
    evidence = sum(int(one.need.sum()) for one in talks)
    return Table(
        "salience of turns of talk: evidence of a question",
        f"LoCoMo: {len(talks)} conversations, {turns} turns, {evidence} of them evidence",
        ["predictor", "AUC", "from", "to", "least", "most"],
        rows,
        [
            "Mean of the conversations' AUC; 95 % interval over conversations. No constant was fitted to",
            "these answers; the lists of polite words were once completed on these conversations.",
        ],
    )


def _over_talks(judged: Sequence[tuple[F64, NDArray[np.bool_]]]) -> list[float]:
    found = [auc(scores[need].tolist(), scores[~need].tolist()) for scores, need in judged]
    return [
        float(np.mean(found)),
        *interval(found, lambda some: float(np.mean(some))),
        min(found),
        max(found),
    ]


# How it is spread


def _spread(stores: Sequence[tuple[str, Snapshot]]) -> Table:
    rows: list[list[object]] = []
    for name, snap in stores:
        scores, spaces = salience.score(snap), salience.by_space(snap)
        held = (spaces > 0.0) @ np.array(WEIGHTS)
        alike = float(np.corrcoef(scores, held)[0, 1]) if np.ptp(held) > 0.0 < np.ptp(scores) else math.nan
        own = np.mean([len(set(row[row > 0.0].round(6))) > 1 for row in spaces])
        rows.append([name, len(snap), *quantiles(scores), float((scores < 0.3).mean()), alike, float(own)])
    return Table(
        "salience: how it is spread",
        "the stores above, as last judged",
        ["store", "memories", "5 %", "25 %", "50 %", "75 %", "95 %", "below .3", "corr", "own"],
        rows,
        [
            "corr: with the summed weight of the spaces in which a memory says something (before: .99).",
            "own: share of memories whose thirteen scores are not one number (without use or goals: none).",
        ],
    )


def formerly(snap: Snapshot) -> F64:
    """Salience as it was until this measure: words, importance and access counts, summed over the spaces."""
    scores = np.zeros(len(snap))
    for start, block in snap.blocks():
        for at, row in enumerate(block):
            terms = float(np.count_nonzero(row[SLICES["Terms"]]))
            terms = informative_words(snap.text(start + at)) if terms <= 10 else terms
            held = sum(
                weight for name, weight in zip(SPACES, WEIGHTS, strict=True) if row[SLICES[name]].any()
            )
            worth = 1.0 - 0.7 * max(0.0, 1.0 - 2.0 * snap.importance[start + at]) ** 3
            said = 0.9 * (1.0 - math.exp(-terms / 0.8)) * worth
            scores[start + at] = held * (1.0 - (1.0 - said) * (1.0 - _formerly_used(snap, start + at)))
    return scores


def _formerly_used(snap: Snapshot, row: int) -> float:
    accesses = int(snap.accesses[row])
    left = 1.0 - 0.4 * max(0.0, 2.0 * float(snap.importance[row]) - 1.0)
    left *= 1.0 - 0.4 * (1.0 - math.exp2(-accesses / 2.0))
    left *= 1.0 - 0.3 * (1.0 - math.exp2(-float(snap.degree[row])))
    since = max(0, snap.taken_ms - int(snap.accessed_ms[row]))
    recent = 0.15 * math.exp2(-since / (14 * 86_400_000)) if accesses else 0.0
    return 1.0 - left * (1.0 - recent)
