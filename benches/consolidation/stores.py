"""Stores for the benches of consolidation: memories of many subjects, with something of each kind to find.

Of each hundred memories some 88 are facts of some 30 words, each about one of many subjects (50 facts a
subject, in words that are rare elsewhere), 5 say again what another says (other case, spaces, punctuation,
order of clauses), 4 say nothing, 3 tell what was done, in an order that recurs. Twenty follow each other in a
session; one in ten leads to another by an edge, one in five was used.

    .venv/bin/python benches/consolidation/stores.py FOLDER COUNT
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from context_graph.config.settings import MemoryConfig
from context_graph.memory.embed import default_provider, packaged_table
from context_graph.memory.memex import Memex
from context_graph.redact import Redactor

DAY_MS = 86_400_000
A_SUBJECT = 50
A_SESSION = 20
BATCH = 1000
FACTS = (
    "The {0} {1} keeps its {2} in the {3}, so every {4} of the {5} has to wait for {n} {6}",
    "We moved the {0} of the {1} next to the {2} because the {3} {4} was too slow for the {5} of team {n}",
    "When the {0} {1} fails, the {2} is written again by the {3}; the {4} of {n} {5} stays as it was",
    "{0} and {1} share one {2} since release {n}, and that is why the {3} {4} must never touch the {5}",
    "Nobody may change the {0} {1} without the {2} of the {3}: the {4} broke twice with {n} {5} open",
)
NOTHING = ("ok thanks", "hello again", "great, thank you", "sounds good", "yes please", "hmm, let me see")
DONE = (
    "Ran the tests of {0}, read the failing assertion, edited {1}, ran the tests again and committed",
    "Searched the logs for {0}, opened the dashboard, restarted the service and told the channel",
    "Created the branch {0}, edited the changelog, pushed it and opened a pull request",
)


def words() -> list[str]:
    """Words that mean something, from the embedding's own vocabulary, in a fixed order."""
    pieces = bytes(packaged_table().sections["vocabulary"]).decode().split("\n")
    return [piece for piece in pieces if piece.isascii() and piece.isalpha() and len(piece) > 4]


def texts(count: int, seed: int = 11) -> Iterator[str]:
    """That many texts; the same for the same seed."""
    rng, known = random.Random(seed), words()
    subjects = [rng.sample(known, 10) for _ in range(count // A_SUBJECT + 1)]
    before: list[str] = []
    for number in range(count):
        kind = rng.random()
        if kind < 0.05 and before:
            text = again(rng.choice(before), rng)
        elif kind < 0.09:
            text = rng.choice(NOTHING)
        elif kind < 0.12:
            text = rng.choice(DONE).format(*rng.sample(rng.choice(subjects), 2))
        else:
            own = rng.sample(rng.choice(subjects), 5) + rng.sample(known, 2)
            text = rng.choice(FACTS).format(*own, n=number % 7 + 2)
            if len(before) < 5000:
                before.append(text)
        yield text


def again(text: str, rng: random.Random) -> str:
    """The same said once more."""
    way = rng.randrange(4)
    if way == 0:
        return f"  {text.upper()} "
    if way == 1:
        return text.replace(" ", "  ") + "!"
    if way == 2 and ", " in text:
        first, rest = text.split(", ", 1)
        return f"{rest}, {first}"
    return f"Note: {text[0].lower()}{text[1:]}."


def make(folder: Path, count: int, seed: int = 11) -> None:
    """A store of that many memories in ``folder``, over the last ninety days."""
    rng, now = random.Random(seed), time.time_ns() // 1_000_000
    config = MemoryConfig()
    with Memex.open(folder, config=config, redactor=Redactor(), provider=default_provider()) as memex:
        ids: list[UUID] = []
        drafts: list[dict[str, Any]] = []
        for number, text in enumerate(texts(count, seed)):
            drafts.append(
                {
                    "content": text,
                    "rationale": "kept because a bench needs it",
                    "importance": rng.choice((0.3, 0.5, 0.5, 0.6, 0.9)),
                    "session_id": f"session-{number // A_SESSION}",
                    "occurred_at_ms": now - 90 * DAY_MS + number * 90 * DAY_MS // count,
                }
            )
            if len(drafts) == BATCH or number == count - 1:
                ids += [node.id for node in memex.store_many(drafts)]
                drafts = []
        for _ in range(count // 10):
            source, target = rng.sample(ids, 2)
            memex.link(source, target, rng.choice(("related_to", "causes")), weight=rng.random())
        memex.touch(rng.sample(ids, count // 5))


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
