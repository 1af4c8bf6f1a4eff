#!/usr/bin/env python3
"""How well a relevance floor tells memories that answer a prompt from those that only rank first.

    python tools/fit_floor.py LOCOMO.json [--conversations 5] [--questions 100] [--memories N] [--seed 1]

Each conversation becomes a store. Its own questions should bring their evidence; questions about other
conversations and requests of programmers should bring nothing. Printed for each floor: the share of evidence
among the first five that stays, and the share of foreign prompts that still bring something. The setting
memory_floor is the lowest floor at which at most 4 % of foreign prompts do.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from context_graph import Memex
from context_graph.memory.embed import default_provider
from context_graph.memory.relevance import Asked

FLOORS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
TOP = 5
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


def main() -> None:
    """Measure and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("locomo", type=Path)
    options.add_argument("--conversations", type=int, default=5)
    options.add_argument("--questions", type=int, default=100)
    options.add_argument("--memories", type=int, default=0, help="store only so many turns: a young store")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    random.seed(given.seed)
    conversations = list(read(given.locomo))[: given.conversations]
    evidence: list[float] = []
    foreign: dict[str, list[float]] = {"other conversations": [], "programmers' requests": []}
    for turns, questions in conversations:
        if given.memories:
            names = sorted(random.sample(list(turns), given.memories))
            turns = {name: turns[name] for name in names}
            questions = [(text, gold) for text, gold in questions if gold & set(names)]
        with tempfile.TemporaryDirectory() as folder, Memex.open(folder) as memex:
            ids = fill(memex, turns)
            for question, gold in random.sample(questions, min(given.questions, len(questions))):
                evidence += [score for turn, score in asked(memex, question, ids) if turn in gold]
            others = [one for _, more in conversations if more is not questions for one, _ in more]
            for question in random.sample(others, given.questions):
                foreign["other conversations"].append(best(memex, question, ids))
            for request in REQUESTS:
                foreign["programmers' requests"].append(best(memex, request, ids))
    print(f"{'floor':>6}  {'evidence kept':>13}  " + "  ".join(f"{name:>22}" for name in foreign))
    for floor in FLOORS:
        false = "  ".join(f"{share(scores, floor):>22.3f}" for scores in foreign.values())
        print(f"{floor:>6}  {share(evidence, floor):>13.3f}  {false}")


def read(path: Path) -> Iterator[tuple[dict[str, str], list[tuple[str, set[str]]]]]:
    """(turns by id, questions with the ids of their evidence) of each conversation."""
    for conversation in json.loads(path.read_text()):
        turns = {
            turn["dia_id"]: f"{turn['speaker']}: {turn['text']}"
            for name, session in conversation["conversation"].items()
            if re.fullmatch(r"session_\d+", name)
            for turn in session
        }
        questions = [
            (one["question"], set(one.get("evidence", ())) & set(turns)) for one in conversation["qa"]
        ]
        yield turns, [(question, gold) for question, gold in questions if gold]


def fill(memex: Memex, turns: dict[str, str]) -> dict[Any, str]:
    """Store the turns; memory id to turn id."""
    names, ids = list(turns), {}
    for at in range(0, len(names), 500):
        part = names[at : at + 500]
        nodes = memex.store_many([{"content": turns[one], "rationale": "a turn of a talk"} for one in part])
        ids.update({node.id: name for node, name in zip(nodes, part, strict=True)})
    return ids


def asked(memex: Memex, question: str, ids: dict[Any, str]) -> list[tuple[str, float]]:
    """(turn, relevance) of the first five."""
    wanted = Asked(question, default_provider(), memex.count())
    found = memex.recall(wanted.text, top_k=TOP).nodes
    return [(ids[one.node.id], wanted.relevance(one.node.content, one.parts)) for one in found]


def best(memex: Memex, question: str, ids: dict[Any, str]) -> float:
    """The highest relevance among the first five, 0 when nothing is found."""
    return max((score for _, score in asked(memex, question, ids)), default=0.0)


def share(scores: list[float], floor: float) -> float:
    """Share of ``scores`` at or above ``floor``."""
    return sum(score >= floor for score in scores) / max(1, len(scores))


if __name__ == "__main__":
    main()
