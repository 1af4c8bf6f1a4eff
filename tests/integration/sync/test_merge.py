"""Stores that tell each other: the same state everywhere, whatever the order, however often."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.exchange.in_memory import InMemory
from tests.support.memories import WHY, open_memex

from context_graph.memory.memex import Memex
from context_graph.sync.exchange import Exchange, OpenStore
from context_graph.sync.run import Report, exchange

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
    links = sorted(
        (str(e.source_id), str(e.target_id), e.relationship_type, e.weight) for e in memex.all_edges()
    )
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
    settle(two, place)
    assert other.stored(b) is None and state(one) == state(other)


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "store",
                "edit",
                "forget",
                "restore",
                "remove",
                "link",
                "unlink",
                "use",
                "pin",
                "tell",
                "tell",
                "tell",
            ]
        ),
        st.integers(0, 2),
        st.integers(0, 30),
        st.integers(0, 1),
    ),
    max_size=40,
)


class Play:
    """Three machines and two places; what one does is drawn by hypothesis."""

    def __init__(self, some: Stores) -> None:
        self.some, self.places = some, [InMemory("first"), InMemory("second")]
        self.count = 0

    def do(self, what: str, who: int, which: int, where: int) -> None:
        memex = self.some[who]
        known = sorted(one.node.id for one in memex.stored_after())
        live = sorted(one.node.id for one in memex.stored_after() if not one.deleted)
        if what == "store":
            self.count += 1
            memex.store(f"Fact {self.count} about subject {which % 5}", rationale=WHY)
        elif what == "tell":
            told(memex, self.places[where])
        elif known and what in ("restore", "remove"):
            wanted = known[which % len(known)]
            if what == "remove":
                memex.forget(wanted, soft=False, reason="user_requested")
            elif wanted not in live:
                memex.restore(wanted)
        elif live:
            self._change(memex, what, live, which)

    @staticmethod
    def _change(memex: Memex, what: str, live: list[UUID], which: int) -> None:
        node = memex.get(live[which % len(live)])
        other = live[(which // 3) % len(live)]
        assert node is not None
        if what == "edit":
            memex.update([replace(node, importance=which / 30, tags=(f"t{which % 3}",))])
        elif what == "pin":
            memex.update([replace(node, metadata={**node.metadata, "note": which})])
        elif what == "forget":
            memex.forget(node.id, reason="drawn")
        elif what == "use":
            memex.touch([node.id])
        elif what == "link" and other != node.id:
            memex.link(node.id, other, "causes", weight=(which % 10) / 10)
        elif what == "unlink" and memex.edges(node.id):
            memex.unlink(memex.edges(node.id)[0].id)


def test_any_order_gives_the_same_state_on_all_machines(rounds: Callable[[int], int]) -> None:
    settings(max_examples=5 * rounds(5), deadline=None)(given(OPERATIONS)(_agree_at_last))()


def _agree_at_last(drawn: list[tuple[str, int, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        play = Play(stores(Path(folder), 3, stack))
        for what, who, which, where in drawn:
            play.do(what, who, which, where)
        for _ in range(2):
            for place in play.places:
                settle(play.some, place)
        first, *others = [state(one) for one in play.some]
        assert all(one == first for one in others)
