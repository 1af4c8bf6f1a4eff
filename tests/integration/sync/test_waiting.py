"""What others told and can't be written yet costs nothing while it waits, and is written when it can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import pytest
from tests.integration.sync.test_faults import LEAST, MACHINE, NAME, change, replace_seq
from tests.support.exchange.in_memory import InMemory
from tests.support.memories import WHY, open_memex

from context_graph.memory.memex import Memex
from context_graph.store.graph import tables
from context_graph.sync.change import LINK, Change, encode
from context_graph.sync.exchange import Exchange, OpenStore
from context_graph.sync.run import exchange
from context_graph.sync.side import Stretch

COUNT = 200


class Log:
    """Another machine's, of which a store hears line after line."""

    def __init__(self, memex: Memex) -> None:
        self.side, self._seq = OpenStore(memex), 0

    def tell(self, *some: Change) -> bool:
        """Tell these; whether the store has more to write than it did."""
        lines = [encode(replace_seq(one, self._seq + at)) for at, one in enumerate(some, 1)]
        merged = self.side.merge("place", Stretch(MACHINE, lines, self._seq + len(lines)))
        assert not merged.refused, merged.refused
        self._seq += len(lines)
        return merged.more

    def settle(self, *some: Change) -> None:
        """Tell these, and have all be written that can be."""
        more = self.tell(*some)
        while more:
            more = self.side.apply()


def memory(number: int, **fields: object) -> Change:
    return change(1, subject=str(UUID(int=number)), fields={**LEAST, **fields})


def link(number: int, **given: object) -> Change:
    """From NAME, which has not come, to a memory that has."""
    subject = f"{NAME}/{UUID(int=number)}/causes"
    return change(1, kind=LINK, subject=subject, fields={"id": str(UUID(int=number << 64)), **given})


@contextmanager
def notes_read() -> Iterator[list[bytes]]:
    """The keys of all notes that are read within."""
    keys, real = list[bytes](), tables.decode_meta

    def decoded(key: bytes, record: bytes) -> object:
        keys.append(key)
        return real(key, record)

    with patch.object(tables, "decode_meta", decoded):
        yield keys


@pytest.fixture
def memex(tmp_path: Path) -> Iterator[Memex]:
    with open_memex(tmp_path) as opened:
        yield opened


def count(memex: Memex) -> int:
    return len(list(memex.all_edges()))


def waits(memex: Memex, node_id: str = NAME) -> bool:
    with memex.core.operation("sync") as core:
        return Exchange(core).notes.is_awaited(node_id)


def test_what_waits_is_read_by_no_merge_and_no_exchange(memex: Memex) -> None:
    log, place = Log(memex), InMemory()
    log.settle(*(memory(number) for number in range(1, COUNT + 1)))
    log.settle(*(link(number) for number in range(1, COUNT + 1)))
    assert waits(memex) and not list(memex.all_edges()), "else nothing is proved"
    exchange(log.side, place)
    with notes_read() as keys:
        log.settle(memory(COUNT + 1))
        exchange(log.side, place)
    assert len(keys) < 50


def test_when_a_memory_comes_what_waited_is_written_some_at_a_time(memex: Memex) -> None:
    log = Log(memex)
    log.settle(*(memory(number) for number in range(1, COUNT + 1)))
    log.settle(*(link(number) for number in range(1, COUNT + 1)))
    more, written = log.tell(change(1)), [count(memex)]
    while more:
        more = log.side.apply()
        written.append(count(memex))
    assert max(b - a for a, b in pairwise([0, *written])) <= 64
    assert written[-1] == COUNT and not waits(memex)


def test_a_link_between_two_that_come_later_is_written_with_the_second(memex: Memex) -> None:
    log = Log(memex)
    log.settle(link(1))
    log.settle(change(1))
    assert not list(memex.all_edges())
    log.settle(memory(1))
    assert count(memex) == 1


def test_what_waits_is_written_when_its_memory_is_imported_here(tmp_path: Path, memex: Memex) -> None:
    """A newer text of it, without which it was told, is what counts."""
    with open_memex(tmp_path / "other") as other:
        Log(other).settle(change(1))
        exported = BytesIO()
        other.export(exported)
    log = Log(memex)
    log.settle(memory(1), link(1), change(2, fields={"importance": 0.75}))
    exported.seek(0)
    memex.import_(exported)
    exchange(log.side, InMemory())
    (edge,) = memex.all_edges()
    imported = memex.get(UUID(NAME))
    assert str(edge.source_id) == NAME and imported is not None and imported.importance == 0.75


def test_a_link_whose_id_another_has_is_written_when_that_has_gone(memex: Memex) -> None:
    log = Log(memex)
    a, b = (memex.store(f"Fact {number} of the matter", rationale=WHY).id for number in (1, 2))
    own = memex.link(a, b, "causes")
    log.settle(change(1), memory(1), link(1, id=str(own.id)))
    assert [edge.source_id for edge in memex.all_edges()] == [a]
    memex.unlink(own.id)
    for _ in range(2):
        exchange(log.side, InMemory())
    assert [str(edge.source_id) for edge in memex.all_edges()] == [NAME]
