"""Stores that tell each other: the same state everywhere, whatever the order, however often."""

from __future__ import annotations

import itertools
import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.memories import WHY, open_memex

from context_graph.memory.memex import Memex
from context_graph.sync.exchange import Exchange
from context_graph.sync.run import OpenStore, Report, exchange
from context_graph.sync.transport import InMemory

Stores = list[Memex]


def stores(folder: Path, count: int, stack: ExitStack) -> Stores:
    found = [open_memex(folder / str(number)) for number in range(count)]
    for one in found:
        stack.callback(one.close)
    return found


def told(memex: Memex, place: InMemory) -> Report:
    return exchange(OpenStore(memex), place)


def settle(some: Stores, place: InMemory) -> None:
    """Exchange until nobody hears anything new."""
    for _ in range(10):
        reports = [told(one, place) for one in some]
        if not any(report.heard or report.told for report in reports):
            return
    raise AssertionError("they never agree")


def state(memex: Memex) -> str:
    """What was agreed on, and what a recall or a list would show."""
    with memex.core.operation("sync") as core:
        agreed = Exchange(core).state()
    live = sorted((str(one.node.id), one.node.content) for one in memex.stored_after() if not one.deleted)
    links = sorted((str(e.source_id), str(e.target_id), e.relationship_type, e.weight) for e in memex.all_edges())
    return json.dumps([agreed, live, links], sort_keys=True)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Stores]:
    with ExitStack() as stack:
        yield stores(tmp_path, 2, stack)


def test_what_one_stores_the_other_recalls(two: Stores) -> None:
    one, other = two
    place = InMemory()
    node = one.store("Staging listens on port 8443", rationale=WHY, tags=("ops",), importance=0.75)
    settle(two, place)
    found = other.recall("which port does staging listen on?").nodes
    assert found and found[0].node.id == node.id
    there = other.get(node.id)
    assert there is not None and (there.content, there.importance, there.tags) == (
        node.content,
        node.importance,
        node.tags,
    )
    assert state(one) == state(other)
    assert told(one, place).told == told(other, place).told == 0


def test_forgetting_restoring_and_deleting_for_good_travel(two: Stores) -> None:
    one, other = two
    place = InMemory()
    a, b = (one.store(f"The answer to question {n} is {7 * n}", rationale=WHY).id for n in (1, 2))
    settle(two, place)
    other.forget(a, reason="by hand")
    settle(two, place)
    assert one.get(a) is None and one.tombstone(a) is not None
    one.restore(a)
    settle(two, place)
    assert other.get(a) is not None
    one.forget(b, soft=False, reason="user_requested")
    other.core.operation  # noqa: B018
    settle(two, place)
    assert other.stored(b) is None and state(one) == state(other)
