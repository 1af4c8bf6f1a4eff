#!/usr/bin/env python3
"""How often a prompt brings the memory that answers it, and how often one that is asked for by nobody.

    python tools/fit_floor.py --fit DATA
    python tools/fit_floor.py [--locomo FILE] [--cosqa FOLDER] [--sessions FILE.jsonl.gz] [--held-back]

Stores of different kinds, each asked as a prompt's hook asks, with the default floor:

    facts       young stores of facts written for this (tools/floor_cases.py), of 2, 8, 20 and all of them
    locomo      turns of talks, whole and 20 of each (locomo10.json); foreign: questions about other talks
    cosqa       Python functions (CoSQA's retrieval set); foreign: queries whose function is not stored
    sessions    summaries of recorded agent sessions, made as a capture makes them; foreign: the first prompts
                of sessions of other projects

Foreign prompts and requests of programmers should bring nothing. A request may fit a memory by chance, and
CoSQA has functions that answer other queries too: what is printed is an upper bound.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_graph import Memex
from context_graph.config import Settings
from context_graph.memory.context.relevance import Asked, floor_of
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.embed import default_provider
from context_graph.model import EVENT_TEXT_BYTES, EventKind, HookEvent
from context_graph.text.flattening import flatten_text
from floor_cases import DEV, DEV_REQUESTS, HELD_BACK, HELD_BACK_REQUESTS

CANDIDATES = 12
"""What the prompt's hook looks at."""
FLOORS = (0.3, 0.35, 0.4, 0.45, 0.5)
REQUESTS = """fix the failing test in the parser
why does the build break on arm64
add a --verbose flag to the command line
rename the config module and update imports
what does the rate limiter do when redis is down
write a migration for the users table
refactor the payment service to use async
the docker image is too big, shrink it
make the flaky integration test for uploads deterministic
bump the dependencies and run the full test suite
how is authentication handled in the gateway
implement retry with exponential backoff for the http client
add logging to the scheduler so we can see why jobs are skipped
document the public api of the cache package
the memory usage grows over time in the worker process, find the leak
review my last commit""".splitlines()


@dataclass(frozen=True)
class Store:
    """One store with what is asked of it."""

    texts: Sequence[str]
    answered: Sequence[tuple[str, set[str]]]
    """Prompt and the texts that answer it."""
    foreign: Sequence[str]
    requests: Sequence[str]


def main() -> None:
    """Measure and print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--locomo", type=Path)
    options.add_argument("--cosqa", type=Path)
    options.add_argument("--sessions", type=Path)
    options.add_argument("--held-back", action="store_true", help="the facts that nothing was chosen on")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--fit", type=Path, help="print likelihood.py's constants, fitted on this folder")
    given = options.parse_args()
    if given.fit:
        from relevance_cases import cases, fitted

        constant, *weights = (round(float(one), 3) for one in fitted(cases(given.fit)))
        print(f"_CONSTANT: Final = {constant}\n_WEIGHTS: Final = {tuple(weights)}")
        return
    random.seed(given.seed)
    print(f"{'':>24}{'floor':>7}{'memories':>10}{'answered':>10}{'foreign':>9}{'requests':>10}")
    for size in (2, 8, 20, 0):
        report(f"facts, {size or 'all'}", lambda size=size: facts(size, given.held_back))
    if given.locomo:
        report("locomo, 20 turns", lambda: locomo(given.locomo, 20))
        report("locomo", lambda: locomo(given.locomo, 0))
    if given.cosqa:
        for size in (60, 300, 1000):
            report(f"cosqa, {size}", lambda size=size: cosqa(given.cosqa, size))
    if given.sessions:
        report("sessions, a project", lambda: sessions(given.sessions, apart=True))
        report("sessions, all", lambda: sessions(given.sessions, apart=False))


def report(name: str, stores: Callable[[], Iterable[Store]]) -> None:
    """A line for each floor: the share of prompts that bring an answer, of others that bring anything."""
    state = random.getstate()
    best: dict[str, list[float]] = {"answered": [], "foreign": [], "requests": []}
    sizes = []
    for store in stores():
        sizes.append(len(store.texts))
        with tempfile.TemporaryDirectory() as folder, Memex.open(folder) as memex:
            fill(memex, store.texts)
            for prompt, wanted in store.answered:
                found = [score for text, score in asked(memex, prompt) if text in wanted]
                best["answered"].append(max(found, default=0.0))
            for kind, prompts in (("foreign", store.foreign), ("requests", store.requests)):
                for prompt in prompts:
                    best[kind].append(max((score for _, score in asked(memex, prompt)), default=0.0))
    random.setstate(state)
    for floor in FLOORS:
        shares = [share(scores, floor) for scores in best.values()]
        mark = " (default)" if floor == Settings().memory_floor else ""
        size = f"{min(sizes)}-{max(sizes)}" if min(sizes) < max(sizes) else str(sizes[0])
        print(f"{name:>24}{floor:>7}{size:>10}{shares[0]:>10}{shares[1]:>9}{shares[2]:>10}{mark}")


def share(scores: Sequence[float], floor: float) -> str:
    """Share of ``scores`` at or above ``floor``."""
    return f"{sum(score >= floor for score in scores) / len(scores):.3f}" if scores else "-"


def fill(memex: Memex, texts: Sequence[str]) -> None:
    """Store the texts."""
    for at in range(0, len(texts), 500):
        memex.store_many(
            [{"content": one, "rationale": "kept to be measured"} for one in texts[at : at + 500]]
        )


def asked(memex: Memex, prompt: str) -> list[tuple[str, float]]:
    """(text, the highest setting of memory_floor at which it is brought) of what the hook would look at."""
    wanted = Asked(prompt, default_provider(), memex.count())
    found = []
    for one in memex.recall(wanted.text, top_k=CANDIDATES).nodes:
        content = one.node.content
        score = wanted.relevance(content, one.parts)
        found.append((content, score / floor_of(1.0, memex.count(), content)))
    return found


def facts(size: int, held_back: bool) -> Iterator[Store]:
    """Stores of ``size`` facts, each fact in one of them at least; 0 for one store of all."""
    pairs, requests = (HELD_BACK, HELD_BACK_REQUESTS) if held_back else (DEV, DEV_REQUESTS)
    known = list(dict.fromkeys(fact for fact, _ in pairs))
    random.shuffle(known)
    size = size or len(known)
    for at in range(0, len(known), size):
        some = known[at : at + size]
        some += [one for one in known if one not in some][: size - len(some)]
        yield Store(some, [(asked, {fact}) for fact, asked in pairs if fact in some], (), requests)


def locomo(path: Path, turns_of_each: int) -> Iterator[Store]:
    """A store for each talk, asked 40 of its own questions and 40 about others."""
    talks = []
    for talk in json.loads(path.read_text()):
        turns = {
            turn["dia_id"]: f"{turn['speaker']}: {turn['text']}"
            for name, session in talk["conversation"].items()
            if re.fullmatch(r"session_\d+", name)
            for turn in session
        }
        if turns_of_each:
            turns = dict(random.sample(list(turns.items()), turns_of_each))
        questions = [(one["question"], set(one.get("evidence", ())) & set(turns)) for one in talk["qa"]]
        gold = [(question, {turns[one] for one in names}) for question, names in questions if names]
        talks.append((list(turns.values()), gold, [question for question, _ in questions]))
    for number, (texts, gold, _) in enumerate(talks):
        others = [one for at, (_, _, asked) in enumerate(talks) if at != number for one in asked]
        yield Store(texts, random.sample(gold, min(40, len(gold))), random.sample(others, 40), REQUESTS)


def cosqa(folder: Path, size: int) -> Iterator[Store]:
    """A store of ``size`` functions, asked what half of them answer, and what functions elsewhere answer."""
    known = json.loads((folder / "cosqa-retrieval-dev-500.json").read_text())
    functions = list(json.loads((folder / "code_idx_map.txt").read_text()))
    stored = random.sample(known, min(len(known) // 2, size // 2))
    texts = list(dict.fromkeys(one["code"] for one in stored))
    taken = {one["code"] for one in known}
    others = [one for one in functions if one not in taken]
    texts += random.sample(others, size - len(texts))
    away = [one["doc"] for one in known if one["code"] not in texts]
    yield Store(texts, [(one["doc"], {one["code"]}) for one in stored], away, REQUESTS)


def sessions(path: Path, *, apart: bool) -> Iterator[Store]:
    """A store of the summaries of each project's sessions, or of all; other projects' prompts are foreign.

    Whether a summary answers a prompt of its own project nobody has said: none counts as answered.
    """
    by_project: dict[str, list[tuple[str, str]]] = {}
    with gzip.open(path, "rt") as file:
        for line in file:
            row = json.loads(line)
            by_project.setdefault(row["project"], []).append((row["prompt"], summary(row["events"])))
    held = {} if apart else {"all": [pair for pairs in by_project.values() for pair in pairs]}
    for name, pairs in (by_project if apart else held).items():
        texts = list(dict.fromkeys(text for _, text in pairs if text))
        foreign = [prompt for other, more in by_project.items() if other != name for prompt, _ in more]
        if texts:
            yield Store(texts, (), random.sample(foreign, min(40, len(foreign))) if apart else (), REQUESTS)


def summary(events: Iterable[dict[str, Any]]) -> str:
    """What a capture makes of a session's events, given in the client's own fields."""
    work = SessionWork()
    kinds = {
        "UserPromptSubmit": EventKind.PROMPT_SUBMIT,
        "PostToolUse": EventKind.POST_TOOL,
        "PostToolUseFailure": EventKind.POST_TOOL_FAILURE,
    }
    known = [one for one in events if one["event"] in kinds]
    work.absorb(
        (
            number,
            HookEvent(
                kind=kinds[one["event"]],
                session_id="s",
                event_id=str(number),
                at_ms=number,
                tool_name=one.get("tool_name", ""),
                input_text=flatten_text(one.get("prompt", one.get("tool_input")), EVENT_TEXT_BYTES),
                output_text=flatten_text(one.get("error", one.get("tool_response")), EVENT_TEXT_BYTES),
            ),
        )
        for number, one in enumerate(known, 1)
    )
    return work.text()


if __name__ == "__main__":
    main()
