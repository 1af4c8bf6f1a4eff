"""How well recall finds what answers a question: the figures of README, benches/README.md and ADR 0010.

    .venv/bin/python benches/memory/recall_quality.py --locomo locomo10.json
    .venv/bin/python benches/memory/recall_quality.py --cosqa FOLDER [--a-session 20]
    .venv/bin/python benches/memory/recall_quality.py --locomo locomo10.json --parts --cross-validate

Each collection (recall_data.py says what they are, and under which licences) gets a store of its own
through `Memex`, packaged table, nothing from the network. Printed are, over all questions, in percent:

- hit@1, hit@10: questions with an answer as the first, or among the first ten memories,
- recall@10: share of a question's answers among the first ten.

--parts takes each weight of the ranking out alone, and all but words and vectors. --cross-validate chooses
the weights anew on all collections but one, from words and vectors alone upwards, and measures them on
that one: what comes out is what choosing by measurement is worth on a conversation that was not looked at.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benches.memory.recall_data import Collection, Item, Question, cosqa, locomo

from context_graph import Memex
from context_graph.memory.embed import default_provider
from context_graph.memory.index.blend import DEFAULT, Blend
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.recall import Recaller
from context_graph.model.memory import MemoryNode

TOP = 10
BATCH = 500
STORE = b"a store of recall_quality"
WEIGHTS = ("question", "name", "time", "after_question", "back", "session")
"""Those of `Blend` that are chosen."""
STEPS = (-0.3, 0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
Row = tuple[float, float, float]
"""hit@1, hit@10, recall@10 of one question."""
Ask = Callable[[str], Sequence[str]]
"""A question's best ten, by name."""


def main() -> None:
    """Measure and print."""
    assert __doc__ is not None
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--locomo", type=Path, help="locomo10.json")
    options.add_argument("--cosqa", type=Path, help="folder with code_idx_map.txt and the dev questions")
    options.add_argument("--a-session", type=int, default=0, help="CoSQA: functions that share a session")
    options.add_argument("--parts", action="store_true", help="also take each weight out alone")
    options.add_argument("--cross-validate", action="store_true", help="also choose the weights anew")
    given = options.parse_args()
    if given.locomo is None and given.cosqa is None:
        options.error("name --locomo or --cosqa, or both: no data comes with the repository")
    for name, collections in (
        ("LoCoMo", locomo(given.locomo) if given.locomo else ()),
        ("CoSQA", cosqa(given.cosqa, given.a_session) if given.cosqa else ()),
    ):
        if not collections:
            continue
        questions = sum(len(one.questions) for one in collections)
        print(f"{name}: {questions} questions, {sum(len(one.items) for one in collections)} memories")
        rows = [row for one in collections for row in through_memex(one)]
        print(f"{'':34}{'hit@1':>8}{'hit@10':>8}{'recall@10':>11}")
        show("through Memex", rows)
        if given.parts:
            parts(collections)
        if given.cross_validate:
            cross_validate(collections)


def through_memex(collection: Collection) -> list[Row]:
    """All of its questions, asked of a store with all of its items."""
    with tempfile.TemporaryDirectory() as folder, Memex.open(folder) as memex:
        names: dict[UUID, str] = {}
        for at in range(0, len(collection.items), BATCH):
            part = collection.items[at : at + BATCH]
            nodes = memex.store_many([draft(item) for item in part])
            names.update((node.id, item.name) for node, item in zip(nodes, part, strict=True))
        return measured(
            collection.questions,
            lambda text: [names[one.node.id] for one in memex.recall(text, top_k=TOP, looks_up=True).nodes],
        )


def draft(item: Item) -> dict[str, object]:
    """As `store_many` takes it."""
    return {
        "content": item.text,
        "rationale": "a memory of the collection",
        "session_id": item.session,
    }


def measured(questions: Iterable[Question], ask: Ask) -> list[Row]:
    """Each question's figures."""
    rows = []
    for one in questions:
        found = [name in one.answers for name in ask(one.text)]
        rows.append((float(any(found[:1])), float(any(found)), sum(found) / len(one.answers)))
    return rows


def show(what: str, rows: Sequence[Row]) -> None:
    """One line of the table."""
    first, ten, share = (100 * fmean(column) for column in zip(*rows, strict=True))
    print(f"{what:34}{first:8.1f}{ten:8.1f}{share:11.1f}")


def indexed(collection: Collection) -> Callable[[Blend], list[Row]]:
    """Its items in an index of its own; asks all questions with the weights that it is given."""
    provider = default_provider()
    index = MemoryIndex(provider.digest, provider.vocabulary_size)
    index.store_uid = STORE
    for number, item in enumerate(collection.items, 1):
        index.add(node(number, item), provider.encode(item.text))

    def rows_of(blend: Blend) -> list[Row]:
        recaller = Recaller(
            index, provider, lambda found: node(found.int, collection.items[found.int - 1]), blend=blend
        )
        return measured(
            collection.questions,
            lambda text: [
                collection.items[one.node.id.int - 1].name for one in recaller.recall(text, top_k=TOP).nodes
            ],
        )

    return rows_of


def node(number: int, item: Item) -> MemoryNode:
    """The memory of an item, with its number for an id."""
    return MemoryNode(
        id=UUID(int=number),
        content=item.text,
        rationale="a memory of the collection",
        session_id=item.session,
        created_at_ms=number,
        last_accessed_ms=number,
        commit_seq=number,
    )


def parts(collections: Sequence[Collection]) -> None:
    """What is left without each weight."""
    ask = [indexed(one) for one in collections]

    def line(what: str, blend: Blend) -> None:
        show(what, [row for one in ask for row in one(blend)])

    for name in WEIGHTS:
        if getattr(DEFAULT, name):
            line(f"without {name}", replace(DEFAULT, **{name: 0.0}))
    line("words and vectors alone", plain())
    line("words alone", replace(plain(), dense=0.0))


def plain() -> Blend:
    """Words and vectors."""
    return replace(DEFAULT, **dict.fromkeys(WEIGHTS, 0.0))


def cross_validate(collections: Sequence[Collection]) -> None:
    """Weights from all but one, measured on that one, for each."""
    ask = [indexed(one) for one in collections]

    @cache
    def rows_of(at: int, blend: Blend) -> list[Row]:
        return ask[at](blend)

    def mean(places: Iterable[int], blend: Blend) -> float:
        return fmean(row[2] for at in places for row in rows_of(at, blend))

    chosen: list[Row] = []
    for out in range(len(collections)):
        others = [at for at in range(len(collections)) if at != out]
        blend = plain()
        for name in WEIGHTS:
            tried = [replace(blend, **{name: step}) for step in STEPS]
            blend = max(tried, key=lambda one: mean(others, one))
        chosen += rows_of(out, blend)
        said = " ".join(f"{name}={getattr(blend, name):g}" for name in WEIGHTS)
        print(f"  {collections[out].name}: recall@10 {100 * mean([out], blend):.1f} with {said}")
    everywhere = range(len(collections))
    show("chosen on the other collections", chosen)
    show("the shipped weights", [row for at in everywhere for row in rows_of(at, DEFAULT)])
    show("words and vectors alone", [row for at in everywhere for row in rows_of(at, plain())])


if __name__ == "__main__":
    main()
