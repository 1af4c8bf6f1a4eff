"""Fit how likely a session's note answers a question, and print what memory/relevance.py has of it.

    python -m research.fit.answers DATA [--second]

Stores are made of `answer_cases.toml`, the sessions of ten made-up projects in six languages, and of DATA's
recorded sessions, which are only asked about other things. Half of the projects and half of what is asked
about other things are fitted; the rest is only counted. ``--second`` fits with second vectors ([minilm]).
"""

from __future__ import annotations

import argparse
import re
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from research.fit.floor_cases import DEV_REQUESTS, HELD_BACK_REQUESTS
from research.fit.relevance_cases import GENERAL, REQUESTS
from research.measures.summaries import BEGAN_MS, DAY_MS, capture_session, handover_sessions

from context_graph.config import Settings
from context_graph.memory.asked import STORED
from context_graph.memory.index.second_vectors import find_model
from context_graph.memory.memex import Memex
from context_graph.memory.relevance import ANSWER_BAR, BARS, SECOND, bar_of
from context_graph.model.memory import CAPTURED, NOTED
from context_graph.redact import Redactor
from context_graph.text.phrases import is_question

SIGNS: Final = ("beyond", "opening", "opening_files", "cosine", "passage", STORED)
FOREIGN: Final = 0.01
"""Share of the fitted questions about other things that may bring something."""
RIDGE: Final = 5.0
DEPTH: Final = 3
"""Memories of a foreign question that count: a prompt brings the best."""
MINOR: Final = 0.3
"""Weight of what does not answer beside what does, and of a foreign question."""
JUDGED: Final = 24
SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Case:
    """A question put to a store."""

    sort: str
    fitted: bool
    own: bool
    """Whether some memory may answer it."""
    signs: np.ndarray
    """A row of the signs for each note that was judged."""
    bars: np.ndarray
    """What each must take, in log-odds."""
    answers: np.ndarray


class Asker:
    """Puts questions to stores and keeps what they find, with second vectors or without."""

    def __init__(self, *, second: bool) -> None:
        self.signs = (*SIGNS, SECOND) if second else SIGNS
        self.cases: list[Case] = []
        model = find_model("minilm") if second else None
        self._encode = None if model is None else model.encode
        self._vectors: dict[str, np.ndarray] = {}

    def ask(self, memex: Memex, sort: str, question: str, *, fitted: bool, answer: str = "") -> None:
        """One question; without ``answer``, a pattern, nothing there answers it."""
        rows = [
            row
            for row in memex.recall(question, top_k=JUDGED).nodes
            if row.node.source in (CAPTURED, NOTED) and SIGNS[0] in row.parts
        ]
        signs = [self._of(question, row.node.content, row.parts) for row in rows]
        right = [bool(answer) and re.search(answer, row.node.content) is not None for row in rows]
        table = np.array(signs).reshape(-1, len(self.signs))
        bars = np.array([ANSWER_BAR * BARS[bar_of(row.node)] for row in rows])
        self.cases.append(Case(sort, fitted, bool(answer), table, bars, np.array(right, bool)))

    def _of(self, question: str, content: str, parts: Mapping[str, float]) -> list[float]:
        signs = [parts[name] for name in SIGNS]
        return (
            signs if self._encode is None else [*signs, float(self._vector(question) @ self._vector(content))]
        )

    def _vector(self, text: str) -> np.ndarray:
        assert self._encode is not None
        if text not in self._vectors:
            self._vectors[text] = np.frombuffer(self._encode(text), np.float32)
        return self._vectors[text]


def projects() -> list[dict[str, Any]]:
    """The made-up projects."""
    with Path(__file__).with_name("answer_cases.toml").open("rb") as file:
        rows: list[dict[str, Any]] = tomllib.load(file)["projects"]
    return rows


def events_of(session: Sequence[Sequence[str]]) -> Iterator[dict[str, Any]]:
    """A made-up session as hooks would tell it."""
    for number, (prompt, path, last) in enumerate(session):
        yield {"event": "UserPromptSubmit", "prompt": prompt}
        if path:
            change = {"file_path": path, "old_string": "old", "new_string": f"new {number}"}
            yield {"event": "PostToolUse", "tool_name": "Edit", "tool_input": change, "tool_response": {}}
            test = {"command": "make test"}
            yield {"event": "PostToolUse", "tool_name": "Bash", "tool_input": test, "tool_response": "ok"}
        yield {"event": "Stop", "last_assistant_message": last}


@contextmanager
def remembered(sessions: Sequence[dict[str, Any]]) -> Iterator[Memex]:
    """A store of what these sessions leave."""
    redactor = Redactor()
    with tempfile.TemporaryDirectory() as folder, Memex.open(folder) as memex:
        for number, session in enumerate(sessions):
            capture_session(memex, f"s{number}", session, BEGAN_MS + number * DAY_MS, redactor)
        yield memex


def ask_all(data: Path, asker: Asker) -> None:
    """Every question put to every store it is for. Cost: some minutes."""
    made_up = projects()
    about = {row["name"]: [text for text, _ in row["same_words"] + row["other_words"]] for row in made_up}
    general = {"general": GENERAL, "request": [*REQUESTS, *DEV_REQUESTS, *HELD_BACK_REQUESTS]}

    def ask_others(memex: Memex, kind: str, name: str) -> None:
        others = [text for project, texts in about.items() if project != name for text in texts]
        for sort, texts in {**general, "other project": others}.items():
            for text in filter(is_question, texts):
                asker.ask(memex, f"{kind}: {sort}", text, fitted=crc32(text.encode()) % 2 == 0)

    for row in made_up:
        sessions = [{"events": list(events_of(session))} for session in row["sessions"]]
        with remembered(sessions) as memex:
            for sort in ("same_words", "other_words"):
                for question, answer in row[sort]:
                    asker.ask(memex, f"made up: {sort}", question, fitted=row["fitted"], answer=answer)
            ask_others(memex, "made up", row["name"])
    for name, sessions in handover_sessions(data / "handover_dev.jsonl.gz").items():
        with remembered(sessions) as memex:
            ask_others(memex, "recorded", name)


def fit(known: Sequence[Case], width: int) -> np.ndarray:
    """Constant and weights of answers against others; the constant lets FOREIGN of what is foreign pass."""
    beta = np.zeros(width + 1)
    for round_ in range(2):
        rows, target, weight = [], [], []
        for case in known:
            kept = np.arange(len(case.signs))
            if not case.own and round_:
                kept = np.argsort(-(case.signs @ beta[1:]))[:DEPTH]
            right = max(1, int(case.answers.sum()))
            for at in kept:
                rows.append(case.signs[at])
                target.append(float(case.answers[at]))
                weight.append(1.0 / right if case.answers[at] else MINOR if case.own else MINOR / DEPTH)
        beta = _regressed(np.array(rows), np.array(target), np.array(weight))
    best = sorted(
        float((case.signs @ beta[1:] - case.bars).max(initial=-99.0)) for case in known if not case.own
    )
    beta[0] = _least() - best[int(len(best) * (1.0 - FOREIGN))]
    return beta


def _least() -> float:
    floor = Settings().memory_floor
    return float(np.log(floor / (1.0 - floor)))


def _regressed(raw: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    mean, deviation = raw.mean(axis=0), raw.std(axis=0) + 1e-9
    x = np.column_stack([np.ones(len(y)), (raw - mean) / deviation])
    beta, ridge = np.zeros(x.shape[1]), np.eye(x.shape[1]) * RIDGE
    ridge[0, 0] = 1e-9
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30, 30)))
        curve = (x * (weight * p * (1 - p))[:, None]).T @ x + ridge
        beta += np.linalg.solve(curve, x.T @ (weight * (y - p)) - ridge @ beta)
    slopes = beta[1:] / deviation
    return np.array([beta[0] - slopes @ mean, *slopes])


def main() -> None:
    """Fit, print, and count what is told of what."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--second", action="store_true")
    options = parser.parse_args()
    asker = Asker(second=options.second)
    ask_all(options.data, asker)
    beta = fit([case for case in asker.cases if case.fitted], len(asker.signs))
    weights = dict(zip(asker.signs, (round(float(one), 2) for one in beta[1:]), strict=True))
    print(f"({beta[0]:.2f}, {weights})")
    counts: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    for case in asker.cases:
        odds = beta[0] + case.signs @ beta[1:] - case.bars
        shown = [at for at in np.argsort(-odds)[:SHOWN] if odds[at] >= _least()]
        hit = any(case.answers[at] for at in shown) if case.own else bool(shown)
        counts[case.fitted, case.sort].append(hit)
    for (fitted, sort), hits in sorted(counts.items()):
        print(f"{'fitted' if fitted else 'left out':9} {sort:26} {100 * np.mean(hits):5.1f} % of {len(hits)}")


if __name__ == "__main__":
    main()
